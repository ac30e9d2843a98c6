"""See what a transformer attends to.

    >>> import attn_cli
    >>> model = attn_cli.load("path/to/checkpoint")
    >>> a = model.attend("The animal didn't cross the street because it was too tired.")
    >>> a.tokens.texts, a.attn.shape, a.head(3, 1)

Everything here imports NumPy only when it is called.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import DTypeLike

    from attn_cli.model import Model

__all__ = ["__version__", "load", "random_model"]


def load(source: str | Path, dtype: DTypeLike = "float32", **options: Any) -> Model:
    """The model that a source names, computing in `dtype` (float32 or float64).

    A source is a folder or weight file, "org/name" in the hub's cache, "ollama:name", "lmstudio:name" or "py:package";
    `download=True` fetches "org/name" where it is not there yet.
    """
    from attn_cli.model import load

    return load.load(source, dtype=dtype, **options)


def random_model(
    n_layers: int = 1,
    n_heads: int = 4,
    d_model: int = 64,
    seed: int = 0,
    causal: bool = False,
    positions: Literal["none", "sinusoidal", "rotary"] = "sinusoidal",
    dtype: DTypeLike = "float32",
) -> Model:
    """Random attention of that shape, the same numbers for the same seed everywhere."""
    from attn_cli.model import load

    shape = load.Shape(
        n_layers=n_layers, n_heads=n_heads, d_model=d_model, seed=seed, causal=causal, positions=positions
    )
    return load.random_model(shape, dtype=dtype)


def __getattr__(name: str) -> str:
    if name == "__version__":
        from importlib.metadata import PackageNotFoundError, version

        try:
            return version("attn-cli")
        except PackageNotFoundError:  # run from a checkout that was never installed
            return "0+unknown"
    raise AttributeError(f"module 'attn_cli' has no attribute {name!r}")
