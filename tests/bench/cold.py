"""Cold start, whole processes, side by side: `attn-cli show` against torch + transformers for the same job.

    python -m tests.bench.cold MODEL [--peer PYTHON] [--runs 5] [--whole]

MODEL is a folder, or a GGUF file, which both read as it is. Both run a sentence of 16 tokens through the model and print
one head's row. PYTHON is an interpreter with torch and transformers installed (and accelerate and gguf, for GGUF files;
default: this one). `--whole` lets attn-cli compute all heads, as the other always does. Prints medians of wall time and
peak memory and their ratios.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

SENTENCE = "The animal didn't cross the street because it was too tired."
PEER = """
import sys
from transformers import AutoModel, AutoTokenizer
folder, file, text = sys.argv[1:]
gguf = {"gguf_file": file} if file else {}
tokenizer = AutoTokenizer.from_pretrained(folder, **gguf)
model = AutoModel.from_pretrained(folder, attn_implementation="eager", **gguf).eval()
import torch
with torch.no_grad():
    out = model(**tokenizer(text, return_tensors="pt"), output_attentions=True)
print(out.attentions[3][0, 1, 8].tolist())
"""


@dataclass(frozen=True)
class Run:
    """One process: wall seconds and peak resident MiB."""

    seconds: float
    mib: float


# A process's peak counts what its parent held when it was started: a small one starts it, so that this does not matter.
LAUNCH = """
import os, subprocess, sys, time
started = time.perf_counter()
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
_, status, usage = os.wait4(process.pid, 0)
print(time.perf_counter() - started, usage.ru_maxrss)
sys.exit(os.waitstatus_to_exitcode(status))
"""


def measure(command: list[str]) -> Run:
    """Runs a command to its end; RuntimeError if it fails."""
    # a program that pip installed finds its modules compiled; so does this one, after its first run
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    launch = [sys.executable, "-S", "-c", LAUNCH, *command]
    done = subprocess.run(launch, capture_output=True, text=True, check=False, env=env)
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    seconds, peak = done.stdout.split()
    return Run(float(seconds), float(peak) / (2**20 if sys.platform == "darwin" else 2**10))


def median(runs: list[Run]) -> Run:
    """The median of each measure by itself."""
    return Run(statistics.median(r.seconds for r in runs), statistics.median(r.mib for r in runs))


def turns(commands: list[list[str]], runs: int) -> list[Run]:
    """The median of each command, run in turn so that whatever else the machine does hits all alike; warm disk cache."""
    for command in commands:
        measure(command)
    found = [[measure(command) for command in commands] for _ in range(runs)]
    return [median([turn[i] for turn in found]) for i in range(len(commands))]


def commands(model: Path, peer: str, *, whole: bool = False) -> list[list[str]]:
    """Our command and the other's for the same sentence."""
    ours = [sys.executable, "-m", "attn_cli", "show", "-m", str(model), SENTENCE, "--query", "it"]
    ours += ["-H", "all", "-l", "all"] if whole else ["-H", "3.1"]
    place = [model.parent, model.name] if model.is_file() else [model, ""]
    return [ours, [peer, "-c", PEER, *map(str, place), SENTENCE]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("--peer", default=sys.executable)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--whole", action="store_true")
    args = parser.parse_args()
    a, b = turns(commands(args.model, args.peer, whole=args.whole), args.runs)
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, median of {args.runs}")
    print(f"{'':22} {'seconds':>8} {'MiB':>6}")
    print(f"{'attn-cli show':22} {a.seconds:8.2f} {a.mib:6.0f}")
    print(f"{'torch + transformers':22} {b.seconds:8.2f} {b.mib:6.0f}")
    print(f"{'ratio':22} {b.seconds / a.seconds:7.1f}x {b.mib / a.mib:5.1f}x")


if __name__ == "__main__":
    main()
