"""Makes the sample weights and attention beside this file again, byte for byte: python samples/make.py [FOLDER]

One small model (2 layers x 2 heads, d_model 16, random with seed 3) in every form that attn-cli reads.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

import attn_cli
from attn_cli.checkpoint import npz, safetensors
from attn_cli.model.bare import to_arrays

SENTENCE = "The cat sat on the mat because it was warm."


def main(folder: Path) -> None:
    model = attn_cli.random_model(n_layers=2, n_heads=2, d_model=16, seed=3)
    arrays, meta = to_arrays(model.bare)
    npz.save(folder / "small.npz", arrays, meta)
    safetensors.save(folder / "small.safetensors", arrays, meta)
    sharded(folder / "small-sharded", arrays, meta)
    bare = {f"W_{part}": arrays[f"layers.0.W_{part}"] for part in "QKV"}
    tokens = model.encode(SENTENCE)
    npz.save(folder / "bare.npz", {**bare, "X": model.inputs(tokens), "tokens": np.array(tokens.texts)}, {})
    a = attn_cli.random_model(n_layers=2, n_heads=2, d_model=16, seed=3, dtype="float64").attend(SENTENCE)
    attn = a.attn.round(6).astype(np.float32)  # the last digits differ from machine to machine, these do not
    npz.save(folder / "attention.npz", {"attn": attn, "tokens": np.array(a.tokens.texts)}, {})


def sharded(folder: Path, arrays: dict[str, np.ndarray], meta: dict[str, str]) -> None:
    """The same arrays as two shards and their index."""
    folder.mkdir(exist_ok=True)
    names = sorted(arrays)
    halves = names[: len(names) // 2], names[len(names) // 2 :]
    where = {}
    for i, half in enumerate(halves, 1):
        file = f"model-{i:05d}-of-00002.safetensors"
        safetensors.save(folder / file, {n: arrays[n] for n in half}, meta)
        where |= dict.fromkeys(half, file)
    size = sum(a.nbytes for a in arrays.values())
    index = {"metadata": {"total_size": size}, "weight_map": where}
    text = json.dumps(index, indent=1, sort_keys=True) + "\n"
    (folder / "model.safetensors.index.json").write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
