"""How time and memory grow with the text: whole processes over 128 to 8,192 tokens, as a table and a picture.

    python -m tests.bench.growth [--most 8192] [--peer PYTHON] [--picture FILE.svg]

The shape is GPT-2 small's, 12 layers of 12 heads, with random weights. `entropy` is the mean entropy of all 144 heads, which
keeps no matrix; `array` is the whole (layers, heads, n, n) array; `torch` is PyTorch eager with output_attentions=True.
"""

from __future__ import annotations

import argparse
import math
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.bench.cold import Run, measure
from tests.bench.forward import gpt2_small

ENTROPY = """
import sys, attn_cli
from attn_cli.collect.mean import Mean
from attn_cli.metrics import entropy
from tests.bench.forward import counted
model, mean = attn_cli.load(sys.argv[1]), Mean({"entropy": entropy})
for block in model.blocks(counted(model, int(sys.argv[2])), reuse=True):
    mean.add(block)
print(len(mean.scores()))
"""
ARRAY = """
import sys, attn_cli, numpy as np
from tests.bench.forward import counted
model, n = attn_cli.load(sys.argv[1]), int(sys.argv[2])
whole = np.zeros((model.spec.n_layers, model.spec.n_heads, n, n), np.float32)
for block in model.blocks(counted(model, n), reuse=True):
    whole[block.layer, :, block.queries.start:block.queries.stop, block.keys.start:block.keys.stop] = block.attn
print(whole.shape)
"""
TORCH = """
import sys, torch
from transformers import AutoModel
model = AutoModel.from_pretrained(sys.argv[1], attn_implementation="eager", dtype=torch.float32).eval()
with torch.no_grad():
    out = model(input_ids=torch.arange(5, 5 + int(sys.argv[2]))[None] % 1000, output_attentions=True)
print(len(out.attentions))
"""
PROGRAMS = {"entropy": ENTROPY, "array": ARRAY, "torch": TORCH}
MOST = {"entropy": 8192, "array": 2048, "torch": 1024}  # beyond, the arrays alone are gigabytes
COLOURS = {"entropy": "#1f6fb4", "array": "#5aa02c", "torch": "#c8453b"}


@dataclass(frozen=True)
class Point:
    """One process: what it did over how many tokens, and what that took."""

    program: str
    tokens: int
    run: Run


def lengths(most: int) -> list[int]:
    """128, 256 and so on."""
    return [2**i for i in range(7, int(math.log2(most)) + 1)]


def points(most: int, peer: str | None) -> Iterator[Point]:
    """Every program at every length, short ones first."""
    with tempfile.TemporaryDirectory() as name:
        gpt2_small(Path(name), 8192)
        for n in lengths(most):
            for program, code in PROGRAMS.items():
                python = peer if program == "torch" else sys.executable
                if python is not None and n <= MOST[program]:
                    yield Point(program, n, measure([python, "-c", code, name, str(n)]))


def table(found: Sequence[Point]) -> list[str]:
    """Seconds and MiB by length, a column each for every program."""
    programs = list(dict.fromkeys(p.program for p in found))
    by = {(p.program, p.tokens): p.run for p in found}
    lines = ["tokens " + "".join(f"{name + ' s':>11}{'MiB':>7}" for name in programs)]
    for n in sorted({p.tokens for p in found}):
        runs = [by.get((name, n)) for name in programs]
        cells = "".join(f"{'-':>11}{'-':>7}" if r is None else f"{r.seconds:11.2f}{r.mib:7.0f}" for r in runs)
        lines.append(f"{n:6} {cells}")
    return lines


def picture(found: Sequence[Point]) -> str:
    """Time and memory over length, both on logarithmic scales, as one SVG file that loads nothing."""
    parts = [
        '<svg xmlns="http://www.w3.org/2000/svg" width="900" height="380" viewBox="0 0 900 380">',
        "<style>text{font:13px system-ui,sans-serif;fill:#333}</style>",
        '<rect width="900" height="380" fill="#ffffff"/>',
    ]
    parts += _panel(60, "seconds", [(p.program, p.tokens, p.run.seconds) for p in found])
    parts += _panel(510, "MiB at peak", [(p.program, p.tokens, p.run.mib) for p in found])
    return "\n".join([*parts, "</svg>"]) + "\n"


def _panel(left: int, title: str, found: list[tuple[str, int, float]]) -> Iterator[str]:
    """One plot of 300 by 280 pixels, its lines named at their ends."""
    wide, high, top = 300, 280, 50
    first, last = (math.log2(f(n for _, n, _ in found)) for f in (min, max))
    low = math.floor(math.log10(min(v for _, _, v in found)))
    up = max(math.ceil(math.log10(max(v for _, _, v in found))), low + 1)

    def x(n: int) -> float:
        return left + wide * (math.log2(n) - first) / max(1.0, last - first)

    def y(value: float) -> float:
        return top + high * (1 - (math.log10(value) - low) / (up - low))

    yield f'<text x="{left}" y="{top - 20}" font-weight="bold">{title}, by tokens of the text</text>'
    for power in range(low, up + 1):
        at = y(10.0**power)
        yield f'<line x1="{left}" x2="{left + wide}" y1="{at:.1f}" y2="{at:.1f}" stroke="#ddd"/>'
        yield f'<text x="{left - 6}" y="{at + 4:.1f}" text-anchor="end">{10.0**power:g}</text>'
    for n in sorted({n for _, n, _ in found}):
        yield f'<text x="{x(n):.1f}" y="{top + high + 20}" text-anchor="middle">{n}</text>'
    for program in dict.fromkeys(p for p, _, _ in found):
        line = [(x(n), y(v)) for p, n, v in found if p == program]
        path = " ".join(f"{a:.1f},{b:.1f}" for a, b in line)
        yield f'<polyline points="{path}" fill="none" stroke="{COLOURS[program]}" stroke-width="2"/>'
        yield from (f'<circle cx="{a:.1f}" cy="{b:.1f}" r="3" fill="{COLOURS[program]}"/>' for a, b in line)
        yield f'<text x="{line[-1][0] + 8:.1f}" y="{line[-1][1] + 4:.1f}" style="fill:{COLOURS[program]}">{program}</text>'


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--most", type=int, default=8192)
    parser.add_argument("--peer")
    parser.add_argument("--picture", type=Path)
    args = parser.parse_args()
    found = list(points(args.most, args.peer if args.peer and has_torch(args.peer) else None))
    print("\n".join(table(found)))
    if args.picture:
        args.picture.write_text(picture(found), encoding="utf-8")


def has_torch(python: str) -> bool:
    """Whether an interpreter has the peers installed."""
    return not subprocess.run([python, "-c", "import torch, transformers"], capture_output=True, check=False).returncode


if __name__ == "__main__":
    main()
