"""What a model is, as data: sizes, choices from closed vocabularies, and where each array stands in a file.

A family reads its config into a `ModelSpec`; `model/` computes whatever a spec says and knows no family by name.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

Activation = Literal["gelu_erf", "gelu_tanh", "quick_gelu", "relu", "relu2", "silu", "tanh", "clamped_swiglu", "none"]
Norm = Literal["layer", "rms"]
Placement = Literal["post", "pre", "parallel", "sandwich", "output", "bare"]
"""Where a block's norms stand. post: after the sum; pre: before attention and before the MLP; parallel: as pre, but both read
the block's input; sandwich: before and after; output: after, before the sum; bare: attention alone, no norm and no MLP."""
PositionScheme = Literal["none", "learned", "sinusoidal", "sinusoidal_halves", "sinusoidal_steps", "rotary", "alibi"]
"""Where positions enter. sinusoidal: sine and cosine in turn; sinusoidal_halves: all sines, then all cosines;
sinusoidal_steps: the same, and one step less between the frequencies."""
EmbedProject = Literal["", "tokens", "sum", "normed"]
"""What goes through a matrix from d_embed to d_model: the token vectors, all vectors summed, the sum after its norm."""
RopeScaling = Literal["none", "linear", "dynamic", "llama3", "yarn", "longrope"]
QKNorm = Literal["none", "head", "per_head", "whole"]  # one gain for all heads; a gain each; over all heads at once
RopePairs = Literal["halves", "interleaved"]
Layout = Literal["out_in", "in_out", "vector", "rows"]


@dataclass(frozen=True, kw_only=True)
class Rope:
    """Rotary positions (Su 2021, arXiv 2104.09864): `dims` of each head turn, by angles of base `theta`.

    `scaling` stretches them beyond the `original` length of training; model/_rope.py has each kind's formula and source.
    """

    theta: float = 10000.0
    dims: int
    pairs: RopePairs = "halves"
    scaling: RopeScaling = "none"
    factor: float = 1.0
    original: int = 0  # tokens of training before the stretch
    low: float = 1.0  # llama3: low_freq_factor; yarn: beta_slow
    high: float = 1.0  # llama3: high_freq_factor; yarn: beta_fast
    truncate: bool = True  # yarn: the ramp begins and ends at whole numbers
    magnitude: float = 1.0  # of cosines and sines; so the scores grow by its square
    short: tuple[float, ...] = ()  # longrope: a factor for each pair, up to `original` tokens
    long: tuple[float, ...] = ()  # and beyond


@dataclass(frozen=True, kw_only=True)
class Relative:
    """A bias per head and bucket of distance (Raffel 2020, arXiv 1910.10683, section 2.1), from one table or one per layer.

    Half of the buckets hold one distance each, the others grow up to `max_distance`; a causal stack needs one side only.
    """

    buckets: int = 32
    max_distance: int = 128
    rows: int = 0  # of the table, where it has more than the buckets


@dataclass(frozen=True, kw_only=True)
class Disentangled:
    """Distances as vectors that attend and are attended to (He 2021, arXiv 2006.03654, section 3.1).

    `terms`: c2p, a query looks at the distance; p2c, the distance looks at a key. There are 2 * `span` distances, one
    each, or in buckets that grow up to `log_up_to`. `shared`: they go through the content's own W_q and W_k.
    """

    terms: tuple[str, ...]
    span: int
    log_up_to: int | None = None
    shared: bool = False
    norm: bool = False


@dataclass(frozen=True, kw_only=True)
class Conv:
    """A convolution over neighbouring tokens, whose result joins the first block's (DeBERTa-v2)."""

    kernel: int
    groups: int = 1
    activation: Activation = "tanh"


@dataclass(frozen=True, kw_only=True)
class Alibi:
    """Linear biases (Press 2021, arXiv 2108.12409): slope * (key - query), the slopes from 2^(-max_bias/P) on."""

    max_bias: float = 8.0
    before_scale: bool = False  # added to q . k before it is scaled
    bfloat16: bool = False  # slope and slope * key are rounded to bfloat16


@dataclass(frozen=True, kw_only=True)
class ModelSpec:
    """All that the arithmetic needs to know of a model. Sizes carry the field's names."""

    family: str
    causal: bool
    n_layers: int
    n_heads: int
    n_kv_heads: int
    d_model: int
    d_head: int
    d_value: int | None = None  # width of a head's values; None = d_head
    d_mlp: int = 0
    n_ctx: int | None  # longest text; None = no limit
    n_ctx_hard: bool = True  # False: positions reach beyond n_ctx, with a warning
    vocab_size: int | None
    n_segments: int = 0
    one_segment: bool = False  # every token reads the first segment's vector, in pairs as well
    placement: Placement
    norm: Norm = "layer"
    norm_eps: float = 1e-5
    norm_offset: float = 0.0  # the gain is this + the weight
    norm_weight: bool = True
    norm_bias: bool = True
    mlp_norm: bool = True  # a parallel block's MLP has a norm of its own
    embed_norm: bool = False
    embed_scale: float = 1.0  # token vectors are multiplied by it
    embed_project: EmbedProject = ""  # "tokens": and back for logits
    d_embed: int = 0
    residual_scale: float = 1.0  # what attention and MLP add is multiplied by it
    final_norm: bool = False
    positions: PositionScheme
    position_offset: int = 0  # rows at the head of the position table that stand for no position
    unplaced_id: int | None = None  # tokens of this id take no place: they read the last row before the first token's
    rope: Rope | None = None
    relative: Relative | None = None
    disentangled: Disentangled | None = None
    conv: Conv | None = None
    layer_ropes: tuple[Rope | None, ...] = ()  # one per layer, where they differ
    alibi: Alibi | None = None
    windows: tuple[int | None, ...] = ()  # per layer: only keys with |query - key| < window are seen; () = no windows
    sinks: bool = False  # a learned logit per head joins the softmax and is dropped after it
    softcap: float | None = None  # scores become c * tanh(scores / c)
    qk_norm: QKNorm = "none"  # of q and k, before rotary
    qkv_clip: float | None = None  # q, k and v are clamped to +- this
    scale: float | None = None  # of the scores before softmax; None = 1/sqrt(d_head)
    inverse_layer_scale: bool = False  # and divided by the layer's number + 1
    activation: Activation = "gelu_erf"
    gated_mlp: bool = False
    n_experts: int = 0  # above 0, the MLP is that many, of which each token goes through n_experts_used
    n_experts_used: int = 0
    expert_weights: Literal["chosen", "all"] = "chosen"  # the router's softmax runs over the chosen logits, or over all
    swiglu_alpha: float = 1.702  # of clamped_swiglu, with its limit
    swiglu_limit: float = 7.0
    attn_bias: bool = True
    mlp_bias: bool = True
    output_bias: bool = True  # on the attention's output projection
    attn_output: bool = True  # a W_O exists; False only for one bare layer
    tied_output: bool = True
    head_bias: bool = False
    logit_scale: float = 1.0
    logit_softcap: float | None = None
    logits: bool = False  # the family predicts a next token
    n_groups: int | None = None  # layers in turn share this many sets of weights; None: each has its own
    decoder: ModelSpec | None = None  # the second stack of an encoder-decoder
    cross: bool = False  # each layer also attends to the encoder's output
    decoder_start: int | None = None  # first id the decoder reads; None: the target's last token, moved to the front
    show_layer: int | None = None  # the layer to show first, named by the model's author
    roles: Mapping[str, str] = field(default_factory=dict)  # "L2.H1" -> what its author says the head does
    description: str = ""
    ignored_keys: tuple[str, ...] = ()  # config keys the user chose to pass over
    notes: tuple[str, ...] = ()  # what a user must know of how the config was read
    inside: tuple[str, ...] = ()  # what stands before the tensors' names, where the model is part of a larger one

    def rope_at(self, layer: int) -> Rope | None:
        """The rotary positions of a layer; None where it has none."""
        return self.layer_ropes[layer] if self.layer_ropes else self.rope

    def scale_at(self, layer: int) -> float:
        """What q . k is multiplied by before the softmax."""
        base = 1 / math.sqrt(self.d_head) if self.scale is None else self.scale
        return base / (layer + 1) if self.inverse_layer_scale else base

    def window_at(self, layer: int) -> int | None:
        """The window of a layer; None where its queries see the whole text."""
        return self.windows[layer] if self.windows else None

    @property
    def d_v(self) -> int:
        """The width of a head's values."""
        return self.d_head if self.d_value is None else self.d_value

    def sizes(self) -> dict[str, int]:
        """The named sizes that `Stored.shape` is written in."""
        return {
            "q": self.n_heads * self.d_head,
            "kv": self.n_kv_heads * self.d_head,
            "heads": self.n_heads,
            "kv_heads": self.n_kv_heads,
            "one": 1,
            "four": 4,
            "experts": self.n_experts,
            "expert": self.n_experts,
            "d_embed": self.d_embed or self.d_model,
            "positions": (self.n_ctx or 0) + self.position_offset,
            "d_model": self.d_model,
            "d_head": self.d_head,
            "d_mlp": self.d_mlp,
            "n_ctx": self.n_ctx or 0,
            "vocab": self.vocab_size or 0,
            "segments": self.n_segments,
            "buckets": (self.relative.rows or self.relative.buckets) if self.relative else 0,
            "distances": 2 * self.disentangled.span if self.disentangled else 0,
            "conv_in": self.d_model // self.conv.groups if self.conv else 0,
            "conv_kernel": self.conv.kernel if self.conv else 0,
        }

    def crossing(self) -> ModelSpec:
        """The spec as attention to the encoder sees it: no positions, nothing hidden."""
        return replace(
            self,
            causal=False,
            rope=None,
            layer_ropes=(),
            relative=None,
            disentangled=None,
            alibi=None,
            windows=(),
            sinks=False,
        )

    def stored_layer(self, layer: int) -> int:
        """Which set of stored weights a layer uses: its own number, unless layers share them in groups."""
        return layer if self.n_groups is None else int(layer / (self.n_layers / self.n_groups))

    @property
    def distance_keys(self) -> bool:
        """Whether distances have a key projection of their own."""
        return self.disentangled is not None and not self.disentangled.shared and "c2p" in self.disentangled.terms

    @property
    def distance_queries(self) -> bool:
        """Whether distances have a query projection of their own."""
        return self.disentangled is not None and not self.disentangled.shared and "p2c" in self.disentangled.terms

    @property
    def distance_norm(self) -> bool:
        """Whether the vectors of distances are normed."""
        return self.disentangled is not None and self.disentangled.norm

    @property
    def learned_positions(self) -> bool:
        """Whether there is a table of position vectors."""
        return self.positions == "learned"


@dataclass(frozen=True, kw_only=True)
class Stored:
    """Where one array of the model stands in a file, and how.

    `names`: spellings in files, under one of the family's prefixes (`{i}` is the layer; a leading `/` means from the root).
    `shape`: in the named sizes, as the model uses it: (out, in) for matrices, whatever `layout` the file has.
    `{n}` in a name: one tensor for each index of the first axis. A first size `expert`: one array for each expert.
    `split`: the parts of a fused array, in order, as named sizes of its out axis; `part` is the one meant. `per`: the named
    size of groups that the out axis is first cut into, each of which holds its share of every part.
    `when`: ModelSpec fields that must be true for the array to exist (`!field`: false; `field=word`: that word), all of them
    where several stand there; `optional`: may be absent all the same.
    `skip_first`: the first layer has none. Names that begin with `decoder.` belong to the spec's decoder.
    """

    names: tuple[str, ...]
    shape: tuple[str, ...]
    layout: Layout = "out_in"
    split: tuple[str, ...] = ()
    part: int = 0
    per: str = ""
    when: str = ""
    optional: bool = False
    skip_first: bool = False


def stored(
    name: str | tuple[str, ...],
    *shape: str,
    layout: Layout | None = None,
    split: tuple[str, ...] = (),
    part: int = 0,
    per: str = "",
    when: str = "",
    optional: bool = False,
    skip_first: bool = False,
) -> Stored:
    """A `Stored` in one line; a single size means a vector."""
    names = (name,) if isinstance(name, str) else name
    chosen: Layout = layout or ("vector" if len(shape) == 1 else "out_in")
    return Stored(
        names=names, shape=shape, layout=chosen, split=split, part=part, per=per, when=when, optional=optional,
        skip_first=skip_first,
    )  # fmt: skip
