"""Writing 72 heads x 512 tokens, 19 million weights: JSON against the standard library's json, npz against numpy.savez.

python -m tests.bench.output [--runs 3]
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from attn_cli.render import Target
from attn_cli.render import json as json_format
from attn_cli.render import npz as npz_format
from attn_cli.report import Axis, Head, Report

HEADS, TOKENS = 72, 512
PART = 6  # heads that the standard module writes; its time is proportional


def report() -> Report:
    """A report with as many random weights as a MiniLM gives for 512 tokens."""
    rng = np.random.default_rng(0)
    attn = rng.random((HEADS, TOKENS, TOKENS), dtype=np.float32) ** 8
    attn /= attn.sum(-1, keepdims=True)
    none = (None,) * TOKENS
    no = (False,) * TOKENS
    axis = Axis(
        positions=tuple(range(TOKENS)), texts=("token",) * TOKENS, special=none, continues=no, repeated=no, unknown=no
    )
    heads = [
        Head(kind="self", layer=i // 12, head=i % 12, queries=axis, keys=axis, attn=attn[i], visible=None)
        for i in range(HEADS)
    ]
    return Report(schema="attn-cli.show/1", version="0", text=None, heads=heads)


def seconds(job: Callable[[], object], runs: int) -> float:
    """The median time of a job in this process."""
    found = []
    for _ in range(runs):
        started = time.perf_counter()
        job()
        found.append(time.perf_counter() - started)
    return statistics.median(found)


def compare(runs: int) -> dict[str, tuple[float, float]]:
    """Seconds of ours and of the other for JSON and npz."""
    made = report()
    arrays: dict[str, Any] = {f"L{head.layer}.H{head.head}": head.attn for head in made.heads}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)

        def ours_json() -> None:
            with (folder / "a.json").open("w", encoding="utf-8") as stream:
                json_format.write(made, Target(stream))

        def theirs_json() -> None:
            with (folder / "b.json").open("w", encoding="utf-8") as stream:
                stream.write(json.dumps([a.tolist() for a in list(arrays.values())[:PART]]))

        def ours_npz() -> None:
            with (folder / "a.npz").open("w", encoding="utf-8") as stream:
                npz_format.write(made, Target(stream))

        return {
            "json": (seconds(ours_json, runs), seconds(theirs_json, runs) * HEADS / PART),
            "npz": (seconds(ours_npz, runs), seconds(lambda: np.savez(folder / "b.npz", **arrays), runs)),
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=3)
    for name, (ours, theirs) in compare(parser.parse_args().runs).items():
        print(f"{name:6} {ours:8.2f} {theirs:8.2f} {theirs / ours:7.1f}x")


if __name__ == "__main__":
    main()
