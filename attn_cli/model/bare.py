"""Attention without the rest of a transformer: random weights, or matrices of the user's own.

Each layer is x + attention(x) W_O: no norms, no MLP. Three spellings are read: W_Q W_K W_V W_O for x @ W (whole, or per head),
q_proj.weight and its like for x @ W^T, and a torch.nn.MultiheadAttention state dict.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from attn_cli.checkpoint import Checkpoint, TensorInfo
from attn_cli.checkpoint._memory import Memory
from attn_cli.errors import CheckpointError, UsageError, quote
from attn_cli.model import draws
from attn_cli.model.weights import Bound, Weights
from attn_cli.spec import ModelSpec, Rope
from attn_cli.tokens import Tokens

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

Positions = Literal["none", "sinusoidal", "rotary"]
META = "attn-cli.bare/1"

_LAYER = re.compile(r"(?:.*?\.)??(?:layers|blocks)\.(\d{1,5})\.(.*)")
_OURS = {f"W_{p}": (p.lower(), "weight") for p in "QKVO"} | {f"b_{p}": (p.lower(), "bias") for p in "QKVO"}
_PROJ = {f"{p}_proj.{w}": (p, w) for p in "qkvo" for w in ("weight", "bias")} | {
    f"out_proj.{w}": ("o", w) for w in ("weight", "bias")
}
_FUSED = ("in_proj_weight", "in_proj_bias")
_TOP = ("X", "tokens", "W_E", "W_pos")


@dataclass(frozen=True, kw_only=True)
class Bare:
    """Bare attention as the forward pass wants it, and how it came about."""

    spec: ModelSpec
    weights: Weights
    tokens: Tokens | None = None  # the input stood in the file
    embeddings: Literal["loaded", "random", "given"] = "loaded"
    drawn: bool = False  # the weights themselves are random
    seed: int | None = None
    notes: tuple[str, ...] = ()


@dataclass
class _Found:
    """The arrays of a file by layer and role, as the file has them."""

    layers: dict[int, dict[tuple[str, str], np.ndarray]] = field(default_factory=dict)
    spelling: set[str] = field(default_factory=set)
    top: dict[str, np.ndarray] = field(default_factory=dict)
    others: list[str] = field(default_factory=list)


class Drawn(Checkpoint):
    """Random vectors for token ids, drawn when a row is asked for; other arrays from memory."""

    format = "random"

    def __init__(self, inner: Memory, seed: int, width: int, vocab: int) -> None:
        self.inner, self.seed, self.width = inner, seed, width
        self.path, self.meta = inner.path, inner.meta
        info = TensorInfo(name="embed.token", dtype="F32", shape=(vocab, width), nbytes=4 * vocab * width)
        self.tensors = {**inner.tensors, "embed.token": info}

    def read(self, name: str, *, rows: Sequence[int] | None = None, dtype: DTypeLike = "float32") -> np.ndarray:
        """Rows of the embedding by their ids, or an array from memory."""
        if name != "embed.token":
            return self.inner.read(name, rows=rows, dtype=dtype)
        ids = range(self.tensors[name].shape[0]) if rows is None else rows
        return draws.vectors(self.seed, list(ids), self.width).astype(dtype, copy=False)


def random_bare(
    *,
    n_layers: int = 1,
    n_heads: int = 4,
    d_model: int = 64,
    seed: int = 0,
    causal: bool = False,
    positions: Positions = "sinusoidal",
    vocab: int,
    dtype: DTypeLike = np.float32,
) -> Bare:
    """Random attention: W_Q, W_K, W_V and W_O of variance 1/d_model, token vectors of unit variance.

    A trained model's usual initial deviation of 0.02 would give almost even attention, which teaches nothing.
    """
    if d_model % n_heads:
        fit = ", ".join(str(h) for h in _divisors(d_model))
        raise UsageError(f"--n-heads {n_heads} does not divide --d-model {d_model}", f"head counts that do: {fit}")
    d_head = d_model // n_heads
    if positions == "rotary" and d_head % 2:
        raise UsageError(
            f"--positions rotary needs an even head size, not {d_head}", "choose another --d-model or --n-heads"
        )
    arrays = {
        f"layers.{i}.attn.{name}.weight": draws.matrix(seed, 1 + 4 * i + place, d_model, d_model, d_model**-0.5)
        for i in range(n_layers)
        for place, name in enumerate("qkvo")
    }
    spec = _spec(n_layers=n_layers, n_heads=n_heads, d_model=d_model, d_head=d_head, causal=causal, positions=positions)
    spec = _with(spec, vocab_size=vocab)
    checkpoint = Drawn(Memory(arrays, path="random weights"), seed, d_model, vocab)
    return Bare(spec=spec, weights=_weights(checkpoint, dtype), embeddings="random", drawn=True, seed=seed)


def read_bare(
    checkpoint: Checkpoint,
    *,
    n_heads: int | None = None,
    causal: bool | None = None,
    positions: Positions | None = None,
    seed: int = 0,
    vocab: int | None = None,
    dtype: DTypeLike = np.float32,
) -> Bare | None:
    """Bare attention from a weight file without a config; None if it holds no bare attention at all."""
    found = _sort(checkpoint, dtype)
    if not found.layers:
        return None
    where = quote(str(checkpoint.path))
    recipe = _recipe(checkpoint)
    _complete(found, where)
    if n_heads is None and isinstance(recipe.get("n_heads"), int):
        n_heads = recipe["n_heads"]
    shapes, notes = _Shapes.of(found, n_heads, where)
    arrays = {
        f"layers.{i}.attn.{p}.{w}": array for i in sorted(found.layers) for (p, w), array in shapes.layer(i).items()
    }
    chosen: Positions = positions or recipe.get("positions", "none")
    spec = _spec(
        n_layers=len(found.layers),
        n_heads=shapes.n_heads,
        n_kv_heads=shapes.n_kv_heads,
        d_model=shapes.d_model,
        d_head=shapes.d_head,
        d_value=shapes.d_value,
        causal=bool(recipe.get("causal", False)) if causal is None else causal,
        positions=chosen,
        output=any("attn.o.weight" in a for a in arrays),
    )
    drawn = recipe.get("weights") == "random"
    seed = recipe.get("seed", seed) if drawn else seed
    return _with_input(found, spec, arrays, checkpoint, notes, where, drawn=drawn, seed=seed, vocab=vocab, dtype=dtype)


def _with_input(
    found: _Found,
    spec: ModelSpec,
    arrays: dict[str, np.ndarray],
    checkpoint: Checkpoint,
    notes: list[str],
    where: str,
    *,
    drawn: bool,
    seed: int,
    vocab: int | None,
    dtype: DTypeLike,
) -> Bare:
    """Adds what the layers read: X from the file, or W_E, or vectors drawn from the seed; and W_pos."""
    top, d_model = found.top, spec.d_model
    for name in ("X", "W_E", "W_pos"):
        if name in top and (top[name].ndim != 2 or top[name].shape[1] != d_model):
            raise CheckpointError(
                f"{where}: {name} has shape {_x(top[name])} instead of (rows, {d_model})",
                f"its rows are vectors of d_model = {d_model} numbers, the input width of W_Q",
            )
    if "W_pos" in top:
        arrays["embed.position"] = top["W_pos"]
        spec = _with(spec, positions="learned", n_ctx=len(top["W_pos"]))
    tokens: Tokens | None = None
    embeddings: Literal["loaded", "random", "given"] = "loaded"
    held: Checkpoint
    if "X" in top:
        tokens = _tokens(top, len(top["X"]), where)
        arrays["embed.token"], embeddings = top["X"], "given"
        spec = _with(spec, vocab_size=len(top["X"]))
        held = Memory(arrays, path=checkpoint.path)
    elif "W_E" in top:
        arrays["embed.token"] = top["W_E"]
        spec = _with(spec, vocab_size=len(top["W_E"]))
        if vocab is not None and vocab != len(top["W_E"]):
            raise CheckpointError(
                f"{where}: W_E has {len(top['W_E'])} rows, the tokenizer {vocab} ids",
                "give the tokenizer that belongs to it: --tokenizer FILE",
            )
        held = Memory(arrays, path=checkpoint.path)
    else:
        if vocab is None:
            raise CheckpointError(f"{where}: no X, no W_E and no tokenizer", "put X (tokens, d_model) into the file")
        spec = _with(spec, vocab_size=vocab)
        embeddings = "random"
        held = Drawn(Memory(arrays, path=checkpoint.path), seed, d_model, vocab)
    return Bare(
        spec=spec,
        weights=_weights(held, dtype),
        tokens=tokens,
        embeddings=embeddings,
        drawn=drawn,
        seed=seed if embeddings == "random" or drawn else None,
        notes=tuple(notes),
    )


def to_arrays(bare: Bare) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """The weights in use under the names of a bare file, and the recipe that makes the same numbers of them again."""
    arrays: dict[str, np.ndarray] = {}
    for i in range(bare.spec.n_layers):
        for name, array in bare.weights.layer(i).items():
            _, part, what = name.split(".")
            ours = f"{'W' if what == 'weight' else 'b'}_{part.upper()}"
            arrays[f"layers.{i}.{ours}"] = np.ascontiguousarray(array.T)
    for name, ours in (("embed.token", "X" if bare.tokens is not None else "W_E"), ("embed.position", "W_pos")):
        if name in bare.weights and not (name == "embed.token" and bare.embeddings == "random"):
            arrays[ours] = bare.weights.read(name)
    if bare.tokens is not None:
        arrays["tokens"] = np.array(bare.tokens.texts)
    recipe: dict[str, Any] = {
        "weights": "random" if bare.drawn else "loaded",
        "n_heads": bare.spec.n_heads,
        "causal": bare.spec.causal,
        "positions": "none" if bare.spec.positions == "learned" else bare.spec.positions,
        "seed": bare.seed,
    }
    return arrays, {"format": META, "recipe": json.dumps({k: v for k, v in recipe.items() if v is not None})}


def _recipe(checkpoint: Checkpoint) -> dict[str, Any]:
    """What our own `save` noted in a file, each entry only if it is what it should be; n_heads alone counts too."""
    found: dict[str, Any] = {}
    number = checkpoint.meta.get("n_heads", "")
    if number.isascii() and number.isdigit() and int(number[:9]) > 0:
        found["n_heads"] = int(number[:9])
    if checkpoint.meta.get("format") != META:
        return found
    try:
        given = json.loads(checkpoint.meta.get("recipe", "{}"))
    except (ValueError, RecursionError):
        given = None
    if not isinstance(given, dict):
        raise CheckpointError(f"{quote(str(checkpoint.path))}: its recipe is not JSON", "save the file again")
    if type(given.get("n_heads")) is int and given["n_heads"] > 0:
        found["n_heads"] = given["n_heads"]
    if given.get("positions") in ("none", "sinusoidal", "rotary"):
        found["positions"] = given["positions"]
    if type(given.get("seed")) is int and 0 <= given["seed"] < 2**63:
        found["seed"] = given["seed"]
    found["causal"] = given.get("causal") is True
    found["weights"] = "random" if given.get("weights") == "random" else "loaded"
    return found


def _sort(checkpoint: Checkpoint, dtype: DTypeLike) -> _Found:
    """Every array of the file under its layer and role; names that mean nothing here are listed."""
    found = _Found()
    known = {**_OURS, **_PROJ}
    roles = (*known, *_FUSED, "bias_k", "bias_v", "q_proj_weight", "k_proj_weight", "v_proj_weight")
    for name in checkpoint.tensors:
        match = _LAYER.fullmatch(name)
        layer, rest = (int(match[1]), match[2]) if match else (0, name)
        role = next((r for r in roles if rest == r or rest.endswith("." + r)), None)
        if role is None or (match is None and rest in _TOP):
            if name.rsplit(".", 1)[-1] in _TOP:
                key = name.rsplit(".", 1)[-1]
                found.top[key] = checkpoint.read(name, dtype=dtype)
            else:
                found.others.append(name)
            continue
        arrays = found.layers.setdefault(layer, {})
        if role in ("bias_k", "bias_v") or (role.endswith("_proj_weight") and role not in _FUSED):
            raise CheckpointError(
                f"{quote(str(checkpoint.path))}: {quote(name)} belongs to a MultiheadAttention with add_bias_kv, kdim or vdim",
                "only self-attention with in_proj_weight is read",
            )
        array = checkpoint.read(name, dtype=dtype)
        if role in _FUSED:
            found.spelling.add("in_proj")
            if len(array) % 3:
                raise CheckpointError(
                    f"{quote(str(checkpoint.path))}: {quote(name)} has {len(array)} rows, not a multiple of 3",
                    "it stacks the rows of q, k and v",
                )
            what = "weight" if role == "in_proj_weight" else "bias"
            arrays.update({(p, what): part for p, part in zip("qkv", np.split(array, 3), strict=True)})
        else:
            found.spelling.add("W" if role in _OURS else "proj")
            part, what = known[role]
            arrays[part, what] = array.T if role in _OURS and what == "weight" and array.ndim == 2 else array
    return found


def _complete(found: _Found, where: str) -> None:
    """Refuses missing matrices, gaps between layers, and arrays that make it more than bare attention."""
    numbers = sorted(found.layers)
    if numbers != list(range(numbers[0], numbers[0] + len(numbers))):
        raise CheckpointError(f"{where}: layers {numbers} are not consecutive", "save every layer")
    for i in numbers:
        lacking = [f"W_{p.upper()}" for p in "qkv" if (p, "weight") not in found.layers[i]]
        if lacking:
            raise CheckpointError(
                f"{where}: layer {i} has no {', '.join(lacking)}",
                "attention needs W_Q, W_K and W_V (or q_proj.weight ...)",
            )
        if len(numbers) > 1 and ("o", "weight") not in found.layers[i]:
            raise CheckpointError(
                f"{where}: layer {i} has no W_O",
                "without W_O only one layer is accepted: layers chain as x + attn(x) W_O",
            )
    if found.others:
        raise CheckpointError(
            f"{where}: {len(found.others)} tensors are no part of bare attention, first {quote(found.others[0])}",
            "a whole model needs its config.json beside it; or save the attention matrices alone",
        )
    found.layers = {place: found.layers[i] for place, i in enumerate(numbers)}


@dataclass(frozen=True)
class _Shapes:
    """The sizes that all arrays of a file agree on."""

    found: _Found
    n_heads: int
    n_kv_heads: int
    d_model: int
    d_head: int
    d_value: int
    where: str

    @classmethod
    def of(cls, found: _Found, n_heads: int | None, where: str) -> tuple[_Shapes, list[str]]:
        """Reads the sizes off the first layer, and the head count off the per-head shape, the metadata or the option."""
        first = found.layers[0]
        notes: list[str] = []
        q, k, v = (first[p, "weight"] for p in "qkv")
        if any(a.ndim not in (2, 3) or 0 in a.shape for a in (q, k, v)):
            raise CheckpointError(
                f"{where}: W_Q has shape {_x(q)}", "matrices are (d_model, heads * d_head) or per head"
            )
        if q.ndim == 3:
            heads, kv, width = len(q), len(k), q.shape[1]
            if n_heads not in (None, heads):
                raise UsageError(f"--n-heads {n_heads}: W_Q has {heads} heads", "leave out --n-heads")
            if {k.ndim, v.ndim} != {3} or heads % max(kv, 1) or len(v) != kv:
                raise CheckpointError(
                    f"{where}: W_Q, W_K, W_V have shapes {_x(q)}, {_x(k)}, {_x(v)}", "give all per head"
                )
            return cls(found, heads, kv, width, q.shape[2], v.shape[2], where), notes
        rows, width = q.shape
        fit = [h for h in _divisors(rows) if len(v) % h == 0]
        if n_heads is None:
            if "W" not in found.spelling:
                raise UsageError(
                    f"{where}: how many heads? the file does not say",
                    f"--n-heads N; these fit: {', '.join(map(str, fit))}",
                )
            n_heads = 1
            if len(fit) > 1:
                notes.append(f"taken as one head of {rows}; --n-heads N splits it ({', '.join(map(str, fit[:8]))} fit)")
        if rows % n_heads:
            raise UsageError(
                f"--n-heads {n_heads} does not divide the {rows} columns of W_Q",
                f"these fit: {', '.join(map(str, fit))}",
            )
        d_head = rows // n_heads
        if k.ndim != 2 or v.ndim != 2 or len(k) % d_head or n_heads % max(1, len(k) // d_head):
            raise CheckpointError(
                f"{where}: W_Q and W_K have shapes {_x(q.T)} and {_x(k.T)}", "keys and queries must meet"
            )
        kv = len(k) // d_head
        if len(v) % kv:
            raise CheckpointError(f"{where}: W_V has shape {_x(v.T)} for {kv} heads", "give one value matrix per head")
        return cls(found, n_heads, kv, width, d_head, len(v) // kv, where), notes

    def layer(self, i: int) -> dict[tuple[str, str], np.ndarray]:
        """The layer's arrays as contiguous (out, in) matrices and vectors, all checked."""
        sizes = {
            "q": (self.n_heads, self.d_head),
            "k": (self.n_kv_heads, self.d_head),
            "v": (self.n_kv_heads, self.d_value),
            "o": (self.n_heads, self.d_value),
        }
        done = {}
        for (part, what), array in self.found.layers[i].items():
            heads, size = sizes[part]
            if what == "bias":
                want: tuple[int, ...] = (self.d_model,) if part == "o" else (heads * size,)
                flat = array.reshape(-1) if array.ndim == 2 and part != "o" else array
            elif part == "o":
                want, flat = (self.d_model, heads * size), array
                if array.ndim == 3:
                    flat = array.reshape(-1, array.shape[-1]).T
            else:
                want, flat = (heads * size, self.d_model), array
                if array.ndim == 3:
                    flat = array.swapaxes(1, 2).reshape(-1, array.shape[1])
            if flat.shape != want:
                name = f"{'W' if what == 'weight' else 'b'}_{part.upper()}"
                raise CheckpointError(
                    f"{self.where}: {name} of layer {i} has shape {_x(array)}, which does not fit",
                    f"as (out, in) it should be {'x'.join(map(str, want))}: {self.n_heads} heads of {self.d_head}, "
                    f"d_model {self.d_model}",
                )
            done[part, what] = np.ascontiguousarray(flat)
        return done


def _spec(
    *,
    n_layers: int,
    n_heads: int,
    d_model: int,
    d_head: int,
    causal: bool,
    positions: Positions,
    n_kv_heads: int | None = None,
    d_value: int | None = None,
    output: bool = True,
) -> ModelSpec:
    if positions == "rotary" and d_head % 2:
        raise UsageError(f"--positions rotary needs an even head size, not {d_head}", "choose --positions sinusoidal")
    return ModelSpec(
        family="attention only",
        causal=causal,
        n_layers=n_layers,
        n_heads=n_heads,
        n_kv_heads=n_kv_heads or n_heads,
        d_model=d_model,
        d_head=d_head,
        d_value=d_value,
        n_ctx=None,
        vocab_size=None,
        placement="bare",
        positions=positions,
        rope=Rope(dims=d_head) if positions == "rotary" else None,
        attn_output=output,
    )


def _with(spec: ModelSpec, **changes: Any) -> ModelSpec:
    from dataclasses import replace

    return replace(spec, **changes)


def _weights(checkpoint: Checkpoint, dtype: DTypeLike) -> Weights:
    bound = {name: Bound(tensor=name, layout="out_in", cut=None) for name in checkpoint.tensors}
    return Weights(checkpoint, bound, (), np.dtype(dtype))


def _tokens(top: Mapping[str, np.ndarray], n: int, where: str) -> Tokens:
    """Names for the rows of X: the file's `tokens`, else their numbers."""
    names = named_tokens(top.get("tokens"), n, where)
    from dataclasses import replace

    return replace(Tokens.given(names), ids=tuple(range(n)))


def named_tokens(array: np.ndarray | None, n: int, where: str) -> list[str]:
    """The `tokens` array of a file as n strings; their numbers where there is none."""
    if array is None:
        return [str(i) for i in range(n)]
    if array.dtype.kind not in "US" or array.shape != (n,):
        raise CheckpointError(
            f"{where}: tokens should be {n} strings, not {array.dtype} of shape {_x(array)}",
            "one name for each row",
        )
    return [t.decode("utf-8", "replace") if isinstance(t, bytes) else str(t) for t in array.tolist()]


def _divisors(n: int) -> list[int]:
    return [d for d in range(1, n + 1) if n % d == 0]


def _x(array: np.ndarray) -> str:
    return "x".join(str(n) for n in array.shape) or "()"
