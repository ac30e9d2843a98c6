"""Writes two-words.npz, the worked example of `attn-cli explain --toy`: X, W_Q, W_K, W_V and W_O small enough for a pencil."""

from __future__ import annotations

from pathlib import Path

from attn_cli.checkpoint import npz
from attn_cli.commands import _toy

HERE = Path(__file__).parent


def write(folder: Path = HERE) -> Path:
    """The file, the same bytes each time; its metadata says that the columns belong to two heads."""
    path = folder / "two-words.npz"
    npz.save(path, _toy.arrays(), {"n_heads": str(_toy.N_HEADS)})
    return path


if __name__ == "__main__":
    write()
