"""`families`: which model families load, where each is described, and how near its numbers are to the reference."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from attn_cli.families import family, supported
from attn_cli.families._aliases import ALIASES
from attn_cli.report import Column, Note, Report, Table

SCHEMA = "attn-cli.families/1"
MEASURED = "families.json"  # made by tests/reference/measure_families.py

COLUMNS = (
    Column(name="model_type", title="model type"),
    Column(name="family", title="read as"),
    Column(name="kind", title="kind"),
    Column(name="attention", title="attention", kind="tiny"),
    Column(name="others", title="others", kind="tiny"),
    Column(name="source", title="described in", wraps=True),
)
NOTE = (
    "attention, others: the largest difference from the reference over the test checkpoints, in float32; others are q, k, v, "
    "hidden states and logits, relative to their largest value"
)


def families(*, version: str = "") -> Report:
    """One row for each model type that a config.json may name."""
    measured = json.loads(files("attn_cli.data").joinpath(MEASURED).read_text(encoding="utf-8"))
    named = {registry_name(t): t for t in ALIASES if "-" in t}  # the type that a module is named after
    types = [t for t in supported() if t not in named]
    rows = tuple(_row(t, measured["families"]) for t in types)
    table = Table(name="families", columns=COLUMNS, rows=rows, note=NOTE)
    reference = f"reference: transformers {measured['transformers']} with PyTorch {measured['torch']}, eager, float32"
    return Report(
        schema=SCHEMA, version=version, text=None, of_text=False, tables=(table,), notes=(Note(text=reference),)
    )


def registry_name(model_type: str) -> str:
    """A model type as the name of a module."""
    return model_type.replace("-", "_")


def _row(model_type: str, measured: Mapping[str, Mapping[str, Any]]) -> tuple[Any, ...]:
    """A type's entries; no numbers where no test checkpoint is of its family."""
    module = family(model_type)
    name = module.__name__.rsplit(".", 1)[-1]
    found = measured.get(name, {})
    read_as = None if registry_name(model_type) == name else name
    return model_type, read_as, found.get("kind"), found.get("attention"), found.get("others"), module.SOURCES[0]
