"""From a source to a model: a whole checkpoint, bare attention weights, or random ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from attn_cli.checkpoint import Checkpoint
from attn_cli.checkpoint._folder import Source, open_source
from attn_cli.checkpoint._sources import find
from attn_cli.errors import CheckpointError, UsageError, quote
from attn_cli.families import read_config
from attn_cli.model import Model, Provenance
from attn_cli.model.weights import bind
from attn_cli.tokens import Tokenizer, open_tokenizer, open_tokenizer_file

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from attn_cli.checkpoint.gguf import Gguf
    from attn_cli.model.bare import Bare, Positions


DEFAULT = "tiny"  # what runs when no model is named
MAX_RANDOM = 2**32  # bytes
DATA = Path(__file__).parents[1] / "data"


@dataclass(frozen=True, kw_only=True)
class Shape:
    """What the user said of random or bare weights; None where nothing was said."""

    n_layers: int | None = None
    n_heads: int | None = None
    d_model: int | None = None
    positions: Positions | None = None
    seed: int | None = None
    causal: bool | None = None

    def given(self) -> list[str]:
        """The options that were given, as they are typed."""
        return ["--" + f.name.replace("_", "-") for f in fields(self) if getattr(self, f.name) is not None]


def load(
    source: str | Path | None,
    *,
    dtype: DTypeLike | None = np.float32,
    tokenizer: str | Path | None = None,
    ignore_keys: tuple[str, ...] = (),
    shape: Shape | None = None,
    download: bool = False,
) -> Model:
    """The model that a source names (checkpoint/_sources.py says how); errors are AttnError with an exit code and a hint.

    None is the model that comes with the package, whatever has its name in the folder one stands in.

    `dtype` None is float32 for a whole model and float64 for bare attention, which is small and is checked by hand.
    `shape` says what a file of bare attention weights may leave open; a whole model takes none of it. `download` fetches
    what is not in the hub's cache.
    """
    if dtype is not None:
        _checked(dtype)
    path = DATA / DEFAULT if source is None else find(source, download=download) if isinstance(source, str) else source
    opened, source = open_source(path), DEFAULT if source is None else source
    shape = shape or Shape()
    named = None if tokenizer is None else open_tokenizer_file(Path(tokenizer))
    if opened.weights.format != "gguf" and (
        opened.config is None or (Path(path).is_file() and _is_bare(opened.weights))
    ):
        return _bare_file(opened, str(source), named, shape, dtype or np.float64)
    if shape.given():
        raise UsageError(
            f"{', '.join(shape.given())}: {quote(str(source))} is a whole model, its config says its shape",
            "leave the shape options out, or leave out --model for random weights",
        )
    if opened.weights.format == "gguf":
        return _gguf(opened, str(source), named, ignore_keys, dtype or np.float32)
    return _whole(opened, opened.config or {}, str(source), named, ignore_keys, dtype or np.float32)


def random_model(
    shape: Shape | None = None, *, tokenizer: str | Path | None = None, dtype: DTypeLike = np.float32
) -> Model:
    """Random attention of the given shape: 1 layer, 4 heads, d_model 64, sinusoidal positions, seed 0 unless told otherwise."""
    _checked(dtype)
    shape = shape or Shape()
    for name in ("n_layers", "n_heads", "d_model"):
        value = getattr(shape, name)
        if value is not None and not 1 <= value <= 65536:
            raise UsageError(f"--{name.replace('_', '-')} {value} is out of range", "give 1 to 65536")
    if shape.seed is not None and not 0 <= shape.seed < 2**63:
        raise UsageError(f"--seed {shape.seed} is out of range", "give 0 or more")
    from attn_cli.model.bare import random_bare

    size = 4 * (shape.n_layers or 1) * (shape.d_model or 64) ** 2 * 8
    if size > MAX_RANDOM:
        raise UsageError(
            f"--n-layers {shape.n_layers or 1} --d-model {shape.d_model or 64}: weights of {size / 2**30:.0f} GiB",
            f"random weights may take {MAX_RANDOM // 2**30} GiB",
        )
    found = _default_tokenizer() if tokenizer is None else open_tokenizer_file(Path(tokenizer))
    bare = random_bare(
        n_layers=shape.n_layers or 1,
        n_heads=shape.n_heads or 4,
        d_model=shape.d_model or 64,
        seed=shape.seed or 0,
        causal=bool(shape.causal),
        positions=shape.positions or "sinusoidal",
        vocab=found.vocab_size,
        dtype=dtype,
    )
    return _model(bare, "random weights", found, ())


def _checked(dtype: DTypeLike) -> None:
    if np.dtype(dtype) not in (np.float32, np.float64):
        raise ValueError(f"dtype is float32 or float64, not {np.dtype(dtype)}")


def _is_bare(weights: Checkpoint) -> bool:
    """Whether a file named by itself holds bare attention, so that a config beside it is some other model's."""
    from attn_cli.model.bare import META

    last = {name.rsplit(".", 1)[-1] for name in weights.tensors}
    return weights.meta.get("format") == META or bool({"W_Q", "in_proj_weight"} & last)


def _whole(
    opened: Source,
    config: Mapping[str, Any],
    name: str,
    tokenizer: Tokenizer | None,
    ignore_keys: tuple[str, ...],
    dtype: DTypeLike,
) -> Model:
    where = str(opened.config_path or "config.json")
    family, spec = read_config({**_said(opened.weights), **config}, where=quote(where), ignore=ignore_keys)
    weights = bind(spec, family, opened.weights, np.dtype(dtype))
    found = tokenizer or open_tokenizer(opened.tokenizer_files, model_type=str(config.get("model_type")))
    model = Model(spec, weights, found, Provenance(source=name, notes=(*opened.notes, *spec.notes)))
    model.config, model.tokenizer_files = config, {} if tokenizer else opened.tokenizer_files
    if spec.description:
        model.known_words = _known_words(opened.folder / "words.txt")
    return model


def _said(weights: Checkpoint) -> Mapping[str, Any]:
    """What a weight file's own metadata says of the layer to show first."""
    layer = weights.meta.get("show_layer", "")
    return {"show_layer": int(layer[:6])} if layer.isascii() and layer.isdigit() else {}


def _known_words(path: Path) -> frozenset[str] | None:
    """The words that a model of small vocabulary was made for, one a line in a file beside it."""
    try:
        with path.open("rb") as file:
            words = file.read(2**20).decode("utf-8", "replace").casefold().split()
    except OSError:
        return None
    return frozenset(words) or None


def _gguf(
    opened: Source, name: str, tokenizer: Tokenizer | None, ignore_keys: tuple[str, ...], dtype: DTypeLike
) -> Model:
    """A GGUF file, which brings its config and its tokenizer along; those beside it are of other files."""
    from attn_cli.model._gguf_tokens import read_tokenizer, tokenizer_notes
    from attn_cli.model.gguf import translate

    source = cast("Gguf", opened.weights)
    found = translate(source)
    family, spec = read_config(found.config, where=quote(str(source.path)), ignore=ignore_keys)
    weights = bind(replace(spec, **found.changes), family, found.weights, np.dtype(dtype))
    tokens = tokenizer or read_tokenizer(source) or open_tokenizer(opened.tokenizer_files)
    notes = opened.notes if tokenizer else (*opened.notes, *tokenizer_notes(source))
    model = Model(replace(spec, **found.changes), weights, tokens, Provenance(source=name, notes=notes))
    model.config = found.config
    return model


def _bare_file(opened: Source, name: str, tokenizer: Tokenizer | None, shape: Shape, dtype: DTypeLike) -> Model:
    extra = [o for o in shape.given() if o in ("--n-layers", "--d-model")]
    if extra:
        raise UsageError(f"{', '.join(extra)}: {quote(name)} says its own", "leave it out")
    from attn_cli.model.bare import read_bare

    found = tokenizer or open_tokenizer(opened.tokenizer_files) or _default_tokenizer()
    bare = read_bare(
        opened.weights,
        n_heads=shape.n_heads,
        causal=shape.causal,
        positions=shape.positions,
        seed=shape.seed or 0,
        vocab=found.vocab_size,
        dtype=dtype,
    )
    if bare is None:
        raise CheckpointError(
            f"{quote(str(opened.weights.path))}: no config.json beside it, and no attention matrices in it",
            "give the folder of a whole checkpoint, or a file with W_Q, W_K and W_V",
        )
    return _model(bare, name, found, opened.notes)


def _model(bare: Bare, name: str, tokenizer: Tokenizer, notes: tuple[str, ...]) -> Model:
    origin = Provenance(
        source=name,
        weights="random" if bare.drawn else "loaded",
        embeddings=bare.embeddings,
        seed=bare.seed,
        notes=(*notes, *bare.notes),
    )
    model = Model(bare.spec, bare.weights, tokenizer, origin)
    model.bare = bare
    return model


@cache
def _default_tokenizer() -> Tokenizer:
    """The tokenizer that comes with the package, for weights without one."""
    return open_tokenizer_file(DATA / "tokenizer.json")
