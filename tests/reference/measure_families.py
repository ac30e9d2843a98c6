"""Makes attn_cli/data/families.json: the largest error of each family against its references in tests/golden.

    python tests/reference/measure_families.py

Errors are rounded up to two digits, so that another machine's last bits do not change the file.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np

import attn_cli
from attn_cli.families import family

HERE = Path(__file__).resolve().parent
GOLDEN = HERE.parent / "golden"
OUT = HERE.parents[1] / "attn_cli" / "data" / "families.json"
KEEP = ("q", "k", "v", "hidden_states", "logits", "last_block_output")


def errors(folder: Path) -> tuple[str, str, float, float]:
    """Family, kind, and the largest errors of a case: of attention, and of the others relative to their largest value."""
    meta = json.loads((folder / "reference.json").read_text(encoding="utf-8"))
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    model = attn_cli.load(folder)
    paired = {"target" if meta["kind"] == "encoder-decoder" else "pair": meta["text_pair"]}
    a = model.attend(meta["text"], **paired, keep=KEEP)
    found = {"attention" if kind == "self" else f"{kind}_attention": a[kind] for kind in a.kinds} | dict(a.kept)
    attention = others = 0.0
    with np.load(folder / "reference.npz") as reference:
        for name in reference.files:
            if name.endswith("ids"):
                continue
            off = float(np.abs(found[name] - reference[name]).max())
            if name.endswith("attention"):
                attention = max(attention, off)
            else:
                others = max(others, off / max(1.0, float(np.abs(reference[name]).max())))
    return family(config["model_type"]).__name__.rsplit(".", 1)[-1], meta["kind"], attention, others


def upwards(error: float) -> float:
    """An error with two digits, not below what it was."""
    if not error:
        return 0.0
    step = 10.0 ** (math.floor(math.log10(error)) - 1)
    return float(f"{math.ceil(error / step) * step:.1e}")


def main() -> None:
    """Measures every case."""
    rows: dict[str, dict[str, Any]] = {}
    versions: dict[str, str] = {}
    for path in sorted(GOLDEN.glob("*/reference.json")):
        name, kind, attention, others = errors(path.parent)
        versions = json.loads(path.read_text(encoding="utf-8")).get("versions", versions)
        row = rows.setdefault(name, {"kind": kind, "cases": 0, "attention": 0.0, "others": 0.0})
        row["cases"] += 1
        row["attention"] = max(row["attention"], upwards(attention))
        row["others"] = max(row["others"], upwards(others))
    document = {**{k: versions[k] for k in ("transformers", "torch")}, "families": dict(sorted(rows.items()))}
    OUT.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
