"""What kind of head a head is: the role whose score stands highest above what equal weights would give."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import ModuleType

from attn_cli import registry
from attn_cli.collect.mean import Score

THRESHOLD = 0.3  # a role is named from this much above its baseline on
SINK = "first_token"  # the role of most heads of a trained causal model, to be told from what they are for
LEAST_QUERIES = 3  # a score over fewer queries names no role: one repeated word makes no induction head


def metrics() -> Mapping[str, ModuleType]:
    """All metrics there are, by name."""
    return {name: registry.get("metrics", name) for name in registry.names("metrics")}


def roles(found: Mapping[str, ModuleType]) -> tuple[str, ...]:
    """The metrics that can be a role: those that measure a share of the weight."""
    return tuple(name for name, metric in found.items() if metric.UNIT == "share")


def role(scores: Mapping[str, Score], candidates: tuple[str, ...]) -> str | None:
    """The name of the role that clears the threshold by most; None where none does."""
    excess, name = _best(scores, candidates)
    return name if excess >= THRESHOLD else None


def strongest(scores: Mapping[str, Score], candidates: tuple[str, ...]) -> float:
    """How far the best score stands above its baseline, for the order of heads; minus infinity where none counts."""
    return _best(scores, candidates)[0]


def _best(scores: Mapping[str, Score], candidates: tuple[str, ...]) -> tuple[float, str | None]:
    """The largest excess over enough queries, and whose it is."""
    counted = [(scores[name].excess, name) for name in candidates if scores[name].queries >= LEAST_QUERIES]
    return max(((e, name) for e, name in counted if not math.isnan(e)), default=(-math.inf, None))


def code(name: str) -> str:
    """Two letters for a role: the initials of its name, or the first two."""
    parts = name.split("_")
    return "".join(part[0] for part in parts)[:2] if len(parts) > 1 else name[:2]
