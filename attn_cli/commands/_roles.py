"""What kind of head a head is: the role whose score stands highest above what equal weights would give."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import ModuleType

from attn_cli import registry
from attn_cli.collect.mean import Score

THRESHOLD = 0.3  # a role is named from this much above its baseline on
LEAST_QUERIES = 3  # a score over fewer queries names no role: one repeated word makes no induction head


def metrics() -> Mapping[str, ModuleType]:
    """All metrics there are, by name."""
    return {name: registry.get("metrics", name) for name in registry.names("metrics")}


def roles(found: Mapping[str, ModuleType]) -> tuple[str, ...]:
    """The metrics that can be a role: those that measure a share of the weight."""
    return tuple(name for name, metric in found.items() if metric.UNIT == "share")


def role(scores: Mapping[str, Score], candidates: tuple[str, ...]) -> str | None:
    """The name of the role that clears the threshold by most; None where none does."""
    clear = [
        (scores[name].excess, name)
        for name in candidates
        if scores[name].queries >= LEAST_QUERIES and scores[name].excess >= THRESHOLD
    ]
    return max(clear)[1] if clear else None


def strongest(scores: Mapping[str, Score], candidates: tuple[str, ...]) -> float:
    """The largest excess of any role, for the order of heads; minus infinity where nothing applied."""
    return max((s.excess for s in (scores[n] for n in candidates) if not math.isnan(s.excess)), default=-math.inf)


def code(name: str) -> str:
    """Two letters for a role: the initials of its name, or the first two."""
    parts = name.split("_")
    return "".join(part[0] for part in parts)[:2] if len(parts) > 1 else name[:2]
