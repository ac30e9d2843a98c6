"""What a model is, as data: sizes, choices from closed vocabularies, and where each array stands in a file.

A family reads its config into a `ModelSpec`; `model/` computes whatever a spec says and knows no family by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NoReturn

from attn_cli.errors import CheckpointError, UnsupportedError

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
            self, causal=False, rope=None, layer_ropes=(), relative=None, disentangled=None, alibi=None, windows=(), sinks=False
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


BOOKKEEPING = frozenset(
    """
    _name_or_path architectures attn_cli auto_map classifier_dropout finetuning_task gradient_checkpointing
    id2label label2id initializer_range initializer_factor language languages model_type name_or_path num_labels
    _num_labels output_attentions output_hidden_states output_past problem_type return_dict task_specific_params
    tokenizer_class torch_dtype dtype torchscript transformers_version use_cache attention_dropout
    attention_probs_dropout_prob attn_pdrop embd_pdrop hidden_dropout_prob hidden_dropout resid_pdrop dropout
    summary_activation summary_first_dropout summary_proj_to_labels summary_type summary_use_proj bad_words_ids
    begin_suppress_tokens bos_token_id chunk_size_feed_forward cross_attention_hidden_size
    decoder_start_token_id diversity_penalty do_sample early_stopping encoder_no_repeat_ngram_size eos_token_id
    exponential_decay_length_penalty forced_bos_token_id forced_eos_token_id length_penalty max_length
    min_length no_repeat_ngram_size num_beam_groups num_beams num_return_sequences output_scores pad_token_id
    prefix remove_invalid_values repetition_penalty return_dict_in_generate sep_token_id suppress_tokens
    temperature tf_legacy_loss tie_encoder_decoder tie_word_embeddings top_k top_p typical_p use_bfloat16
    mask_token_id cls_token_id unk_token_id pooler_fc_size pooler_num_attention_heads pooler_num_fc_layers
    pooler_size_per_head pooler_type directionality gradient_checkpointing_kwargs n_ctx reorder_and_upcast_attn
    output_router_logits router_aux_loss_coef router_jitter_noise residual_dropout embedding_dropout
    resid_dropout embed_dropout activation_dropout layerdrop init_std emb_pdrop pretraining_tp
    attn_implementation _attn_implementation _attn_implementation_autoset _flash_attn_2_enabled use_flash_attn
    cache_implementation model_max_length tokenizer_model_max_length max_sequence_length unsloth_fixed unsloth_version
    transformers.js_config
    """.split()
)
"""Config keys that change no number here: names, versions, training, generation, labels, heads for other tasks."""


class ConfigReader:
    """Reads a config and remembers which keys were read, so that what was not understood can be named.

    null counts as absent. `finish` refuses any other key that holds something, unless it is bookkeeping or ignored.
    """

    def __init__(self, config: Mapping[str, Any], *, ignore: tuple[str, ...] = (), where: str = "config.json") -> None:
        self._config = config
        self._assumed: dict[str, Any] = {}
        self._ignore = ignore
        self._read: set[str] = set()
        self._neutral: dict[str, Any] = {}
        self.where = where

    def assume(self, **values: Any) -> None:
        """What the family's config class has where a key is absent; a key that is null stays without a value.

        The first to assume a value for a key wins: a relative speaks before the family it builds on.
        """
        self._assumed = {**values, **self._assumed}

    def _get(self, names: tuple[str, ...], kind: Callable[[Any], bool], wanted: str, default: Any) -> Any:
        self._read.update(names)
        for name in names:
            value = self._config.get(name)
            if value is None and name not in self._config and not any(n in self._config for n in names):
                value = self._assumed.get(name)
            if value is None:
                continue
            if not kind(value):
                raise CheckpointError(
                    f"{self.where}: {name} should be {wanted}, not {_short(value)}",
                    "compare the file with the original checkpoint's",
                )
            return value
        if default is _MISSING:
            raise CheckpointError(
                f"{self.where}: {names[0]} is missing", "compare the file with the original checkpoint's"
            )
        return default

    def size(self, *names: str, default: Any = ...) -> int:
        """A whole number above zero; the first of `names` that is present."""
        value = self._get(names, lambda v: type(v) is int and 0 < v < 2**31, "a whole number above 0", _or(default))
        return value  # type: ignore[no-any-return]

    def optional_size(self, *names: str) -> int | None:
        """As `size`, or None where absent."""
        return self.size(*names, default=None)

    def token_id(self, *names: str, default: Any = ...) -> int:
        """A token's id: a whole number, not below 0."""
        value = self._get(names, lambda v: type(v) is int and 0 <= v < 2**31, "a token's id", _or(default))
        return value  # type: ignore[no-any-return]

    def count(self, *names: str, default: Any = ...) -> int:
        """A whole number, not below 0."""
        value = self._get(names, lambda v: type(v) is int and 0 <= v < 2**31, "a whole number", _or(default))
        return value  # type: ignore[no-any-return]

    def integer(self, *names: str, default: Any = ...) -> int:
        """A whole number, below 0 as well."""
        value = self._get(names, lambda v: type(v) is int and abs(v) < 2**31, "a whole number", _or(default))
        return value  # type: ignore[no-any-return]

    def above(self, name: str, value: int, least: int) -> int:
        """`value`, which was worked out from key `name`, refused unless it is above `least`."""
        if value <= least:
            raise CheckpointError(
                f"{self.where}: {name} is too small", "compare the file with the original checkpoint's"
            )
        return value

    def number(self, *names: str, default: Any = ...) -> float:
        """A finite number."""
        value = self._get(
            names, lambda v: type(v) in (int, float) and abs(v) < 1e38, "a number", _or(default)
        )
        return _float(value)  # type: ignore[no-any-return]

    def positive(self, *names: str, default: Any = ...) -> float:
        """A finite number above zero."""
        value = self._get(
            names, lambda v: type(v) in (int, float) and 0 < v < 1e38, "a number above 0", _or(default)
        )
        return _float(value)  # type: ignore[no-any-return]

    def optional_positive(self, *names: str) -> float | None:
        """As `positive`, or None where absent."""
        return self.positive(*names, default=None)

    def flag(self, *names: str, default: bool) -> bool:
        """true or false."""
        value: bool = self._get(names, lambda v: isinstance(v, bool), "true or false", default)
        return value

    def word(self, *names: str, default: Any = ...) -> str:
        """A string."""
        value: str = self._get(names, lambda v: isinstance(v, str), "a text", _or(default))
        return value

    def listing(self, *names: str) -> list[Any]:
        """A list of anything; empty where absent."""
        value: list[Any] = self._get(names, lambda v: isinstance(v, list), "a list", [])
        return value

    def words(self, *names: str, separator: str = "") -> tuple[str, ...]:
        """A list of strings, or with a `separator` one string of several; empty where absent."""
        value = self._get(
            names,
            lambda v: (
                (isinstance(v, list) and all(isinstance(i, str) for i in v)) or (separator != "" and isinstance(v, str))
            ),
            "a list of texts",
            (),
        )
        return tuple(w.strip() for w in value.lower().split(separator)) if isinstance(value, str) else tuple(value)

    def numbers(self, *names: str) -> tuple[float, ...]:
        """A list of finite numbers (true and false count as 1 and 0); empty where absent."""
        value = self._get(
            names,
            lambda v: isinstance(v, list) and all(isinstance(i, int | float) and abs(i) < 1e38 for i in v),
            "a list of numbers",
            (),
        )
        return tuple(float(i) for i in value)

    def per_layer(self, name: str, given: Sequence[Any], n_layers: int) -> None:
        """Refuses a list from key `name` that has not one entry for each layer."""
        if len(given) != n_layers:
            raise CheckpointError(
                f"{self.where}: {name} has {len(given)} entries for {n_layers} layers",
                "compare the file with the original checkpoint's",
            )

    def refuse(self, name: str, value: Any, computed: str) -> NoReturn:
        """UnsupportedError: key `name` asks for something else than what is `computed`."""
        raise UnsupportedError(
            f"{self.where}: {name} {_short(value)} is not supported", f"this program computes {computed}"
        )

    def mapping(self, *names: str) -> Mapping[str, Any]:
        """An object; empty where absent."""
        value: Mapping[str, Any] = self._get(names, lambda v: isinstance(v, Mapping), "an object", {})
        return value

    def activation(self, *names: str, default: str) -> Activation:
        """The activation under its exact name; Hugging Face's spellings are looked up here once."""
        return self.activation_named(names[0], self.word(*names, default=default))

    def activation_named(self, key: str, name: str) -> Activation:
        """As `activation`, of a name that was worked out from `key`."""
        if name not in ACTIVATIONS:
            raise UnsupportedError(
                f"{self.where}: {key} {_short(name)} is not supported", f"supported: {', '.join(sorted(ACTIVATIONS))}"
            )
        return ACTIVATIONS[name]

    def only(self, name: str, *allowed: Any) -> None:
        """Refuses a setting that would change the numbers in a way we do not compute."""
        value = self._config.get(name)
        self._read.add(name)
        if value is not None and value not in allowed:
            raise UnsupportedError(
                f"{self.where}: {name} = {_short(value)} is not supported",
                f"this program computes {name} = {' or '.join(_short(a) for a in allowed)}",
            )

    def ignore(self, *names: str) -> None:
        """Marks keys of this family that change no number."""
        self._read.update(names)

    def divided(self, name: str, total: int, by: str, parts: int) -> int:
        """total / parts, refused where that is not whole."""
        if total % parts:
            raise UnsupportedError(
                f"{self.where}: {by} {parts} does not divide {name} {total}",
                "compare the file with the original checkpoint's",
            )
        return total // parts

    def finish(self) -> tuple[str, ...]:
        """The ignored keys that were present; UnsupportedError naming every key that was not understood."""
        unknown = [
            k
            for k, v in self._config.items()
            if k not in self._read and k not in BOOKKEEPING and v not in (None, False, 0, "", [], {})
        ]
        refused = [k for k in unknown if k not in self._ignore]
        if refused:
            named = ", ".join(f"{k if k.isidentifier() else _short(k)} = {_short(self._config[k])}" for k in refused[:6])
            raise UnsupportedError(
                f"{self.where}: unknown setting {named}" + (f" and {len(refused) - 6} more" if len(refused) > 6 else ""),
                "it may change the numbers; --ignore-key NAME goes on without it, and says so",
            )
        return tuple(k for k in unknown if k in self._ignore)


ACTIVATIONS: dict[str, Activation] = {
    "gelu": "gelu_erf",
    "gelu_new": "gelu_tanh",
    "gelu_fast": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "relu": "relu",
    "relu2": "relu2",
    "tanh": "tanh",
    "silu": "silu",
    "swish": "silu",
}

_MISSING = object()


def _float(value: Any) -> Any:
    return None if value is None else float(value)


def _or(default: Any) -> Any:
    return _MISSING if default is ... else default


def _short(value: Any) -> str:
    from attn_cli.errors import quote

    return quote(value if isinstance(value, str) else repr(value))
