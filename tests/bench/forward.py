"""All attention of a whole model, warm, side by side: this program, PyTorch eager with output_attentions=True, bare products.

    python -m tests.bench.forward [--peer PYTHON] [--runs 5] [--model FOLDER]

The shapes are GPT-2 small's (12 layers, 12 heads, d_model 768; random weights, the time is the same) at 512 and 1,024 tokens
and, with --model, a BERT on disk at 512. PYTHON is an interpreter with torch and transformers. The peer runs as a process of
its own and the two take turns, so that whatever else the machine does hits both alike. `products` is the time of the matrix
products alone, with the same threads.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

import attn_cli
from attn_cli.checkpoint import safetensors
from attn_cli.model import Model
from attn_cli.model.ops import Arrays
from attn_cli.model.pool import pool, slices
from attn_cli.tokens import Tokens

PEER = """
import sys, time, torch
from transformers import AutoModel
model = AutoModel.from_pretrained(sys.argv[1], attn_implementation="eager", dtype=torch.float32).eval()
for line in sys.stdin:
    ids = torch.arange(5, 5 + int(line))[None] % model.config.vocab_size
    started = time.perf_counter()
    with torch.no_grad():
        out = model(input_ids=ids, output_attentions=True)
    print(time.perf_counter() - started, len(out.attentions), flush=True)
"""
GPT2 = {"model_type": "gpt2", "n_embd": 768, "n_head": 12, "n_layer": 12, "n_positions": 1024, "vocab_size": 1000}


def gpt2_small(folder: Path, n_ctx: int = 1024) -> None:
    """A checkpoint of GPT-2 small's shape with random weights and a small vocabulary."""
    rng, d = np.random.default_rng(0), 768

    def draw(*shape: int) -> np.ndarray:
        return rng.normal(0, 0.02, shape).astype(np.float32)

    arrays = {
        "wte.weight": draw(1000, d),
        "wpe.weight": draw(n_ctx, d),
        "ln_f.weight": draw(d) + 1,
        "ln_f.bias": draw(d),
    }
    for i in range(12):
        for name, shape in (("attn.c_attn", (d, 3 * d)), ("attn.c_proj", (d, d)), ("mlp.c_fc", (d, 4 * d)),
                            ("mlp.c_proj", (4 * d, d))):  # fmt: skip
            arrays[f"h.{i}.{name}.weight"], arrays[f"h.{i}.{name}.bias"] = draw(*shape), draw(shape[1])
        for norm in ("ln_1", "ln_2"):
            arrays[f"h.{i}.{norm}.weight"], arrays[f"h.{i}.{norm}.bias"] = draw(d) + 1, draw(d)
    safetensors.save(folder / "model.safetensors", arrays, {"format": "pt"})
    (folder / "config.json").write_text(json.dumps(GPT2 | {"n_positions": n_ctx}), encoding="utf-8")


def counted(model: Model, n: int) -> Tokens:
    """n tokens whose ids count up."""
    size = model.spec.vocab_size or 1
    return replace(Tokens.given([str(i) for i in range(n)]), ids=tuple(i % size for i in range(5, 5 + n)))


def ours(model: Model, n: int) -> float:
    """Seconds for every block of n tokens."""
    tokens = counted(model, n)
    started, total = time.perf_counter(), 0
    for block in model.blocks(tokens, reuse=True):
        total += block.attn.shape[0]
    if total % model.spec.n_heads:
        raise RuntimeError("heads are missing")
    return time.perf_counter() - started


def products(model: Model, n: int) -> float:
    """Seconds for the matrix products that the pass needs: each layer's own weights, and of the last layer only the scores."""
    spec = model.spec
    layers = [model.weights.layer(i) for i in range(spec.n_layers)]
    x, hidden = np.ones((n, spec.d_model), np.float32), np.ones((n, spec.d_mlp), np.float32)
    q, k, v = (np.ones((spec.n_heads, n, spec.d_head), np.float32) for _ in range(3))
    started = time.perf_counter()
    with pool(n) as workers:
        for layer, w in enumerate(layers):
            last = layer == spec.n_layers - 1

            def rows(part: slice, w: Arrays = w, last: bool = last) -> None:
                for name in ("attn.q", "attn.k") if last else ("attn.q", "attn.k", "attn.v", "attn.o", "mlp.up"):
                    x[part] @ w[name + ".weight"].T
                if not last:
                    hidden[part] @ w["mlp.down.weight"].T

            def heads(job: tuple[int, slice], last: bool = last) -> None:
                i, part = job
                keys = part.stop if spec.causal else n
                scores = q[i, part] @ k[i, :keys].T
                if not last:
                    scores @ v[i, :keys]

            workers.each(rows, slices(n, min(512, -(-n // workers.threads))))
            parts = slices(n, 256 if spec.causal else 512)
            workers.each(heads, [(i, part) for part in parts for i in range(spec.n_heads)])
    return time.perf_counter() - started


@dataclass(frozen=True)
class Found:
    """Seconds for all attention of one text, medians of runs that took turns, and the medians of their ratios."""

    name: str
    tokens: int
    ours: float
    torch: float
    products: float
    over_torch: float
    over_products: float


def compare(name: str, folder: Path, lengths: list[int], peer: str, runs: int) -> Iterator[Found]:
    """A result for each length."""
    model = attn_cli.load(folder)
    process = subprocess.Popen(
        [peer, "-c", PEER, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    if process.stdin is None or process.stdout is None:
        raise RuntimeError("the peer has no pipes")
    with process:
        for n in lengths:
            times: dict[str, list[float]] = {"ours": [], "torch": [], "products": []}
            for turn in range(runs + 1):
                process.stdin.write(f"{n}\n")
                process.stdin.flush()
                found = float(process.stdout.readline().split()[0])
                if turn % 2:  # whoever comes right after the peer finds the caches full of its numbers
                    mine, bare = ours(model, n), products(model, n)
                else:
                    bare, mine = products(model, n), ours(model, n)
                if turn:  # the first turn warms up
                    for key, value in (("ours", mine), ("torch", found), ("products", bare)):
                        times[key].append(value)
            a, b, c = (statistics.median(times[k]) for k in ("ours", "torch", "products"))
            over = (
                statistics.median(x / y for x, y in zip(times["ours"], times[k], strict=True))
                for k in ("torch", "products")
            )
            yield Found(name, n, a, b, c, *over)
        process.stdin.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", type=Path)
    parser.add_argument("--peer", default=sys.executable)
    parser.add_argument("--runs", type=int, default=5)
    args = parser.parse_args()
    print(f"{'':16} {'tokens':>6} {'attn-cli':>9} {'torch':>9} {'products':>9} {'/ torch':>9} {'/ products':>10}")
    for f in everything(args.model, args.peer, args.runs):
        line = f"{f.name:16} {f.tokens:6} {f.ours:9.3f} {f.torch:9.3f} {f.products:9.3f}"
        print(f"{line} {f.over_torch:9.2f} {f.over_products:9.2f}", flush=True)


def everything(model: Path | None, peer: str, runs: int) -> Iterator[Found]:
    """The shapes and lengths that are compared."""
    if model:
        yield from compare(model.parent.name[:16], model, [512], peer, runs * 3)  # a tenth of a second each
    with tempfile.TemporaryDirectory() as name:
        gpt2_small(Path(name))
        yield from compare("GPT-2 small", Path(name), [512, 1024], peer, runs)


if __name__ == "__main__":
    main()
