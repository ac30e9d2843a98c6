"""Which heads of how many are shown, in words, and how to see the others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from attn_cli.commands import _measures
from attn_cli.select import ranges

if TYPE_CHECKING:
    from attn_cli.commands.show import Request
    from attn_cli.model import Model
    from attn_cli.model.block import Selection, Selections


def count(selection: Selection) -> int:
    """How many heads these are."""
    return sum(map(len, selection.values()))


def holds(model: Model) -> Mapping[str, Any]:
    """The layers and the number of heads of attention saved elsewhere, where it is not every head from L0.H0 on."""
    there = model.selections(None).get("self")
    if there in (None, {layer: tuple(range(model.spec.n_heads)) for layer in range(model.spec.n_layers)}):
        return {}
    return {"holds": {"layers": list(there), "heads": count(there)}}


def shown(model: Model, selections: Selections, request: Request, ranked: bool) -> str:
    """Which heads of how many, and how to see the others."""
    if request.measure in _measures.WITHOUT_HEADS or request.folding is not None:
        return ""  # their names say it
    there = model.selections(None)
    if len(selections) == 1 and len(model.kinds) == 1:
        ((kind, selection),) = selections.items()
        return _shown_of(there[kind], selection, ranked)
    parts = []
    for kind, selection in selections.items():
        n, total = count(selection), count(there[kind])
        where = f" in layer {next(iter(selection))}" if len(selection) == 1 < len(there[kind]) else ""
        parts.append(f"{kind}: {'all ' if n == total else ''}{n} of {total} heads{where}")
    others = "; others: -l all, --kind encoder, decoder or cross" if ranked else ""
    return ", ".join(parts).replace("all 1 of 1 heads", "1 head") + others


def _shown_of(there: Selection, selection: Selection, ranked: bool) -> str:
    n, total = count(selection), count(there)
    if n == total:
        return f"all {total} heads" if total > 1 else ""
    if len(selection) == 1:
        layer = next(iter(selection))
        which = "the most focused " if ranked else ""
        where = f"{which}{n} of {len(there[layer])} heads of layer {layer}"
        if n == len(there[layer]):
            where = f"layer {layer}, " + (f"all {n} heads" if n > 1 else "its only head")
    else:
        where = f"{n} of {total} heads"
    return f"{where}; others: -l {ranges(list(there))} -H all"
