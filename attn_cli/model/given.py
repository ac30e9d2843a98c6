"""Attention of the user's own: arrays saved from somewhere else, as the same stream of blocks.

Read are .npz and .safetensors files with `attn` of shape (layers, heads, n, n), (heads, n, n) or (n, n) and perhaps `tokens`,
and the JSON that this program writes. Rows are shown as they are, also where they do not sum to one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from attn_cli.checkpoint import Checkpoint
from attn_cli.checkpoint._folder import open_weights
from attn_cli.errors import CheckpointError, TextError, quote
from attn_cli.model import Provenance, short_name
from attn_cli.model.bare import named_tokens
from attn_cli.model.block import Block, Selection, Selections
from attn_cli.spec import ModelSpec
from attn_cli.tokens import Tokens

NAMES = ("attn", "attention", "attentions", "attn_weights", "weights")
JSON_LIMIT = 2**30  # bytes
TOLERANCE = 1e-3  # of a row sum
_HEAD = re.compile(r"(?:encoder\.)?L(\d{1,5})\.H(\d{1,5})", re.ASCII)  # as render/npz.py names them


class Given:
    """Attention arrays where a model would be: the same names, no weights behind them."""

    bare = None
    known_words = None

    def __init__(self, heads: Mapping[tuple[int, int], np.ndarray], tokens: Tokens, source: str) -> None:
        self.heads = dict(sorted(heads.items()))
        self.given = tokens
        self.source = source
        self.dtype = next(iter(self.heads.values())).dtype
        self.unused: tuple[str, ...] = ()
        there = self.selection(None)
        n_heads = max(map(len, there.values()))
        self.spec = ModelSpec(
            family="given attention",
            causal=False,
            n_layers=len(there),
            n_heads=n_heads,
            n_kv_heads=n_heads,
            d_model=0,
            d_head=0,
            n_ctx=None,
            vocab_size=None,
            placement="bare",
            positions="none",
        )
        self.provenance = Provenance(source=source, weights="given", embeddings="given", notes=self._notes())

    @property
    def title(self) -> str:
        """Where the arrays came from."""
        return short_name(self.source)

    def _notes(self) -> tuple[str, ...]:
        """What is unusual about the rows, said and not mended."""
        sums = np.concatenate([a.sum(-1) for a in self.heads.values()])
        off = sums[~(np.abs(sums - 1) <= TOLERANCE)]
        found = []
        if len(off):
            low, high = (
                (f"{v:.3g}" for v in (np.nanmin(off), np.nanmax(off))) if not np.isnan(off).all() else ("nan",) * 2
            )
            found.append(
                f"{len(off)} of {len(sums)} rows do not sum to one (sums from {low} to {high}): shown as they are"
            )
        if any((a < 0).any() for a in self.heads.values()):
            found.append("some weights are negative: shown as they are")
        if any(np.isnan(a).any() for a in self.heads.values()):
            found.append("some weights are missing (NaN)")
        return tuple(found)

    def encode(self, *_: Any, **__: Any) -> Tokens:
        """The tokens that came with the arrays; there is no text to read."""
        return self.given

    @property
    def kinds(self) -> Mapping[str, ModelSpec]:
        """One kind: nobody said what the attention is from."""
        return {"self": self.spec}

    def selections(self, select: Selection | None) -> Selections:
        """As `selection`, of the one kind there is."""
        return {"self": self.selection(select)}

    def selection(self, select: Selection | None) -> Selection:
        """Layers and heads: all that there are, or those of `select` that there are."""
        every: dict[int, tuple[int, ...]] = {}
        for layer, head in self.heads:
            every[layer] = (*every.get(layer, ()), head)
        return every if select is None else select

    def blocks(self, tokens: Tokens, select: Selections | None = None, **_: Any) -> Iterator[Block]:
        """One block per layer: everything is there already."""
        for layer, wanted in (self.selections(None) if select is None else select)["self"].items():
            lacking = [h for h in wanted if (layer, h) not in self.heads]
            if lacking:
                raise TextError(
                    f"{quote(self.source)} holds no head L{layer}.H{lacking[0]}",
                    "--measure rollout and flow need every head from layer 0 on",
                )
            attn = np.stack([self.heads[layer, h] for h in wanted])
            attn.flags.writeable = False
            yield Block(
                layer=layer,
                heads=wanted,
                queries=range(len(tokens)),
                keys=range(len(tokens)),
                query_tokens=tokens,
                key_tokens=tokens,
                attn=attn,
                _mask=lambda: None,
                _value_norm=_nothing_behind,
                _trace=_nothing_behind,
            )


def _nothing_behind(*_: Any) -> NoReturn:
    raise ValueError("attention that was given has no values and no scores behind it")


def read_given(path: Path) -> Given:
    """The attention in a file; CheckpointError says what is wrong with it."""
    if path.suffix.lower() == ".json":
        return _from_json(path)
    checkpoint = open_weights(path)
    where = quote(str(path))
    by_head = {(int(m[1]), int(m[2])): n for n in checkpoint.tensors if (m := _HEAD.fullmatch(n))}
    if by_head:
        return _by_head(checkpoint, by_head, path)
    named = [n for n in NAMES if n in checkpoint.tensors]
    arrays = [n for n in checkpoint.tensors if n != "tokens"]
    if not named and len(arrays) != 1:
        raise CheckpointError(
            f"{where}: which array is the attention? it holds {', '.join(quote(a) for a in arrays[:6]) or 'none'}",
            "name it attn, of shape (layers, heads, n, n)",
        )
    name = named[0] if named else arrays[0]
    attn = checkpoint.read(name)
    if attn.dtype.kind not in "fiub" or not 2 <= attn.ndim <= 4 or attn.shape[-1] != attn.shape[-2] or not attn.size:
        raise CheckpointError(
            f"{where}: {quote(name)} has shape {'x'.join(map(str, attn.shape)) or '()'} of {attn.dtype}",
            "attention is (layers, heads, n, n), (heads, n, n) or (n, n) floating-point weights",
        )
    attn = attn.astype(np.float32, copy=False).reshape((1,) * (4 - attn.ndim) + attn.shape)
    tokens = checkpoint.read("tokens") if "tokens" in checkpoint.tensors else None
    names = named_tokens(tokens, attn.shape[-1], where)
    heads = {(i, h): attn[i, h] for i in range(attn.shape[0]) for h in range(attn.shape[1])}
    return Given(heads, Tokens.given(names), str(path))


def _by_head(checkpoint: Checkpoint, names: Mapping[tuple[int, int], str], path: Path) -> Given:
    """The file that show writes with --format npz: one array for each head, of the same size."""
    where, heads = quote(str(path)), {}
    sizes = {checkpoint.tensors[name].shape for name in names.values()}
    n = next(iter(sizes))[-1:]
    places = [
        name for kind in ("", "encoder.") for side in ("queries", "keys") if (name := kind + side) in checkpoint.tensors
    ]
    whole = all(np.array_equal(checkpoint.read(name, dtype="int64"), np.arange(*n)) for name in places)
    if len(sizes) != 1 or sizes != {n * 2} or not n[0] or not whole:
        raise CheckpointError(
            f"{where}: no whole matrices: each head must have every query and key of the text once",
            "write it without --query, --key, --words, --hide-special and --no-attn",
        )
    for address, name in names.items():
        array = checkpoint.read(name)
        if array.dtype.kind != "f":
            raise CheckpointError(
                f"{where}: {quote(name)} is of type {array.dtype}", "attention is floating-point weights"
            )
        heads[address] = array.astype(np.float32, copy=False)
    tokens = checkpoint.read("tokens") if "tokens" in checkpoint.tensors else None
    return Given(heads, Tokens.given(named_tokens(tokens, n[0], where)), str(path))


def _from_json(path: Path) -> Given:
    """The document that `show --json` writes, with every query and key of the text."""
    where = quote(str(path))
    try:
        if path.stat().st_size > JSON_LIMIT:
            raise CheckpointError(f"{where}: larger than {JSON_LIMIT // 2**20} MiB", "save the arrays as .npz")
        document = json.loads(path.read_bytes().decode("utf-8-sig"))
    except OSError as error:
        raise CheckpointError(f"{where}: {error.strerror or error}", "check the path and its permissions") from None
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"{where}: not JSON: {quote(str(error))}", "give a file that show --json wrote") from None
    try:
        tokens = [str(t["text"]) for t in document["tokens"]]
        n = len(tokens)
        heads = {
            (_index(h["layer"]), _index(h["head"])): _square(h["attn"], n)
            for h in document["heads"]
            if h["queries"] == h["keys"] == list(range(n)) and h.get("kind", "self") in ("self", "encoder")
        }
        whole = len(heads) == len(document["heads"])
    except (KeyError, TypeError, ValueError, AttributeError):
        raise CheckpointError(f"{where}: not a document of show --json", "its schema is attn-cli.show/1") from None
    if not heads or not whole:
        raise CheckpointError(
            f"{where}: no whole matrices: each head must have every query and key of the text once",
            "write it without --query, --key, --words, --hide-special and --no-attn",
        )
    return Given(heads, Tokens.given(tokens), str(path))


def _index(value: Any) -> int:
    if type(value) is not int or not 0 <= value < 65536:
        raise ValueError(value)
    return value


def _square(rows: Any, n: int) -> np.ndarray:
    array = np.array([[np.nan if v is None else v for v in row] for row in rows], dtype=np.float32)
    if array.shape != (n, n):
        raise ValueError(array.shape)
    return array
