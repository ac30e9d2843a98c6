"""`heads`: what kind of head each head is, as a map of layers x heads and a table of scores with their baselines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from attn_cli.collect.mean import Address, Mean, Score
from attn_cli.commands import _measures, _roles
from attn_cli.commands._notes import notes
from attn_cli.commands._reading import read
from attn_cli.commands.show import Progress, Request, addressed, describe, token_list
from attn_cli.errors import UsageError, quote
from attn_cli.model.folds import without_special
from attn_cli.report import Column, HeadMap, Note, Report, Table

if TYPE_CHECKING:
    from attn_cli.model import Model
    from attn_cli.model.block import Selections
    from attn_cli.tokens import Tokens

SCHEMA = "attn-cli.heads/1"


@dataclass(frozen=True, kw_only=True)
class HeadsRequest:
    """What was asked for, in the words of the command line."""

    base: Request = field(default_factory=Request)
    by: str = "role"  # role, a metric, or all
    sort: str | None = None  # head, role, score, baseline, queries or a metric; None: as _by_role says, or the metric
    reverse: bool = False
    top: int = 20
    repeat: int | None = None  # so many random tokens, twice
    seed: int = 0


Scores = Mapping[Address, Mapping[str, Score]]


def heads(model: Model, texts: Iterable[str], asked: HeadsRequest, progress: Progress, *, version: str = "") -> Report:
    """Runs every text, and reports each head's mean scores over all their queries."""
    found = _roles.metrics()
    if asked.by not in ("role", "all", *found):
        raise UsageError(f"--by {quote(asked.by)} is not a metric", f"known: role, all, {', '.join(found)}")
    if asked.base.measure in _measures.WITHOUT_HEADS:
        raise UsageError(
            f"--measure {asked.base.measure} has layers but no heads",
            "use it with show or find; heads takes attn or norm",
        )
    several = list(texts)
    runs = _texts(model, several, asked)
    mean = Mean(found, runs[0][1])
    selections = _selections(model, asked.base, with_target=asked.base.target is not None)
    for block in _blocks(model, runs, selections, asked.base, progress):
        mean.add(block)
    tokens, scores = runs[0][0], mean.scores()
    first = Request() if len(runs) > 1 else asked.base
    return Report(
        schema=SCHEMA,
        version=version,
        text=tokens.text if len(runs) == 1 else None,
        pair=tokens.pair if len(runs) == 1 else None,
        target=asked.base.target,
        model=describe(model),
        title=model.title,
        measure=_measures.describe(asked.base.measure),
        merge=_measures.merge_name(asked.base),
        hidden=tuple(i for i, s in enumerate(tokens.special) if s)
        if asked.base.hide_special and len(runs) == 1
        else (),
        renormalised=asked.base.hide_special,
        tokens=token_list(tokens) if len(runs) == 1 else (),
        target_tokens=None if tokens.target is None or len(runs) > 1 else token_list(tokens.target),
        tables=(*_tables(scores, found, asked, len(selections)), _definitions(found)),
        maps=tuple(_map(scores, kind, found, asked) for kind in selections),
        notes=(*_said(runs, asked), *notes(model, tokens, first, [t for t, _ in runs[1:]])),
        fields={"by": asked.by, "texts": len(runs), "queries": sum(len(t) for t, _ in runs), "repeat": asked.repeat},
    )


Run = tuple["Tokens", range | None]  # a text and the queries that count, None for all


def _texts(model: Model, texts: Sequence[str], asked: HeadsRequest) -> list[Run]:
    """The tokens of every text, or the random ones of the induction probe, of which the second half counts."""
    base = asked.base
    if asked.repeat is None:
        return [(read(model, text, base), None) for text in texts]
    from attn_cli.model.probe import repeated

    return [repeated(model, asked.repeat, asked.seed, added=base.added)]


def _selections(model: Model, base: Request, *, with_target: bool) -> Selections:
    kinds = tuple(model.kinds) if base.kind in (None, "all") else (str(base.kind),)
    if base.kind not in (None, "all", *model.kinds):
        raise UsageError(f"this model has no {base.kind} attention", f"it has {', '.join(model.kinds)}")
    if base.kind is None and not with_target:
        kinds = tuple(k for k in kinds if k != "decoder")  # one token that looks at itself
    return addressed(model, kinds, base)


def _blocks(
    model: Model, runs: Sequence[Run], selections: Selections, base: Request, progress: Progress
) -> Iterable[Any]:
    several = len(runs) > 1  # then the bar counts texts
    for number, (tokens, _) in enumerate(progress(runs, len(runs)) if several else runs):
        blocks = _measures.stream(model, tokens, selections, base, progress=None if several else progress)
        for block in without_special(blocks) if base.hide_special else blocks:
            yield replace(block, text=number) if number else block


def _said(runs: Sequence[Run], asked: HeadsRequest) -> list[Note]:
    """What the numbers are, in a line or two."""
    n = sum(len(t) for t, _ in runs)
    said = []
    if asked.repeat is not None:
        said.append(
            Note(
                text=f"{asked.repeat} different random tokens twice (seed {asked.seed}); scores are means over the second "
                "half, where induction is the weight on the token after the earlier copy"
            )
        )
    elif len(runs) > 1:
        said.append(Note(text=f"means over {len(runs)} texts, {n} tokens"))
    if asked.base.hide_special:
        said.append(Note(text=_measures.WITHOUT_SPECIAL))
    if asked.base.measure != "attn":
        said.append(Note(text=_measures.describe(asked.base.measure)))
    return said


def _tables(scores: Scores, found: Mapping[str, ModuleType], asked: HeadsRequest, n_kinds: int) -> tuple[Table, ...]:
    """One row for each head: its role, and every metric with its baseline; a picture has those with a role."""
    candidates = _roles.roles(found)
    rows = []
    for (kind, layer, head), by_name in scores.items():
        named = _roles.role(by_name, candidates)
        main = asked.by if asked.by in found else named
        score = by_name[main] if main is not None else None
        rows.append({
            "kind": kind, "layer": layer, "head": head, "name": f"L{layer}.H{head}", "role": named,
            "role_title": found[named].TITLE if named else None,
            "score": None if score is None else np.float32(score.mean),
            "baseline": None if score is None else np.float32(score.baseline),
            "queries": None if score is None else score.queries,
            **{n: np.float32(s.mean) for n, s in by_name.items()},
            **{f"{n}_baseline": np.float32(s.baseline) for n, s in by_name.items()},
            **{f"{n}_queries": s.queries for n, s in by_name.items()},
        })  # fmt: skip
    columns = _columns(found, asked, several=n_kinds > 1)
    kept = [rows[i] for i in _order(rows, asked, candidates, scores)]
    table = Table(name="heads", title=_ordered_by(asked), columns=columns, rows=_cells(kept, columns), limit=asked.top)
    if asked.by != "role" or asked.sort is not None or asked.reverse:
        return (table,)
    named_rows = [row for row in kept if row["role"] is not None]
    listed, left_out = _without_sinks(named_rows, asked.top)
    shown = replace(
        table,
        name="",
        rows=_cells(listed, columns),
        left_out=left_out,
        pictured=bool(named_rows),
        note=f"{len(rows) - len(named_rows)} of {len(rows)} heads have no role: none that stands {_roles.THRESHOLD} or more "
        f"above its baseline, what equal weights would score, over at least {_roles.LEAST_QUERIES} queries",
    )
    return shown, replace(table, pictured=False)


def _without_sinks(rows: Sequence[Mapping[str, Any]], top: int) -> tuple[Sequence[Mapping[str, Any]], str]:
    """Where there is no room for all, the heads with other roles, and a line that says how many sinks there are."""
    sinks = [row for row in rows if row["role"] == _roles.SINK]
    if len(rows) <= top or len(sinks) in (0, len(rows)):
        return rows, ""
    rest = "head rests" if len(sinks) == 1 else "heads rest"
    most = f"{sinks[0]['name']} {sinks[0]['score']:.2f}"
    said = f"{len(sinks)} {rest} on the first token ({most}{', ...' if len(sinks) > 1 else ''}): --by {_roles.SINK} lists them"
    return [row for row in rows if row["role"] != _roles.SINK], said


def _cells(rows: Sequence[Mapping[str, Any]], columns: tuple[Column, ...]) -> tuple[tuple[Any, ...], ...]:
    return tuple(tuple(row[column.name] for column in columns) for row in rows)


def _columns(found: Mapping[str, ModuleType], asked: HeadsRequest, *, several: bool) -> tuple[Column, ...]:
    one = found.get(asked.by)
    every = asked.by == "all"
    share = one is None or one.UNIT == "share"
    title = "score" if one is None else one.TITLE + ("" if share else f", {one.UNIT}")
    columns = [
        Column(name="name", title="head"),
        Column(name="kind", title="kind", pictured=several),
        Column(name="layer", title="layer", kind="count", pictured=False),
        Column(name="head", title="head", kind="count", pictured=False),
        Column(name="role", title="role", pictured=False),
        Column(name="role_title", title="role", pictured=one is None),
        Column(name="score", title=title, kind="number", digits=2, bar=share, pictured=not every),
        Column(name="baseline", title="baseline", kind="number", digits=2, pictured=not every),
        Column(name="queries", title="queries", kind="count", pictured=not every),
    ]
    for name, metric in found.items():
        columns += [
            Column(name=name, title=metric.TITLE, kind="number", digits=2, pictured=every),
            Column(name=f"{name}_baseline", title="baseline", kind="number", digits=2, pictured=False),
            Column(name=f"{name}_queries", title="queries", kind="count", pictured=False),
        ]
    return tuple(columns)


def _by_role(asked: HeadsRequest) -> bool:
    """Whether heads come in the order of their roles' scores less the baselines, which no column shows."""
    return asked.sort is None and asked.by in ("role", "all")


def _ordered_by(asked: HeadsRequest) -> str:
    """The order in words, where it is not that of a column."""
    if not _by_role(asked):
        return ""
    least = ", the least first" if asked.reverse else ""
    return f"heads by how far their role's score stands above its baseline{least}"


def _order(
    rows: Sequence[Mapping[str, Any]], asked: HeadsRequest, candidates: tuple[str, ...], scores: Scores
) -> list[int]:
    """The rows' order: numbers from the largest on, names by the alphabet, heads as in the model, missing ones last."""
    by = asked.sort
    every = range(len(rows))
    if _by_role(asked):
        excess = [_roles.strongest(s, candidates) for s in scores.values()]
        first = [rows[i]["role"] is None for i in every]
        found = sorted(every, key=lambda i: (first[i], -excess[i]))
        return found[::-1] if asked.reverse else found
    by = by or "score"
    if by == "head":
        return list(every)[::-1] if asked.reverse else list(every)
    if by not in rows[0] or by in ("kind", "layer", "name"):
        known = [k for k in rows[0] if k not in ("kind", "layer", "name") and "_" not in k]
        raise UsageError(f"--sort {quote(by)}: there is no such column", f"for example {', '.join(known)}")
    present = [i for i in every if rows[i][by] is not None and rows[i][by] == rows[i][by]]
    missing = [i for i in every if i not in set(present)]
    falls = not isinstance(rows[present[0]][by], str) if present else False
    return sorted(present, key=lambda i: rows[i][by], reverse=falls != asked.reverse) + missing


def _map(scores: Scores, kind: str, found: Mapping[str, ModuleType], asked: HeadsRequest) -> HeadMap:
    """The cells of one kind of attention: a metric's values, or each head's role."""
    mine = {(layer, head): s for (k, layer, head), s in scores.items() if k == kind}
    layers, numbers = (tuple(sorted({a[i] for a in mine})) for i in (0, 1))
    values = np.full((len(layers), len(numbers)), np.nan)
    title = "" if kind == "self" else f"{kind}: "
    if asked.by in found:
        metric = found[asked.by]
        for (layer, head), by_name in mine.items():
            values[layers.index(layer), numbers.index(head)] = by_name[asked.by].mean
        share = metric.UNIT == "share"
        known = values[~np.isnan(values)]
        high = 1.0 if share else float(known.max()) if len(known) else 1.0
        unit = "per cent of the weight" if share else metric.UNIT
        low = 0.0 if share else max(0.0, min(metric.RANGE[0], high))
        return HeadMap(
            title=f"{title}{metric.TITLE}, {unit}", layers=layers, heads=numbers, values=values, low=low, high=high,
            kind="percent" if share else "number",
            notes=("rows are layers, columns heads", "mean over queries", metric.SOURCE),
        )  # fmt: skip
    candidates = _roles.roles(found)
    codes = [[""] * len(numbers) for _ in layers]
    used: dict[str, None] = {}
    for (layer, head), by_name in mine.items():
        i, j = layers.index(layer), numbers.index(head)
        name = _roles.role(by_name, candidates)
        if name is not None:
            codes[i][j], values[i, j] = _roles.code(name), by_name[name].mean
            used[name] = None
    legend = tuple(
        f"{_roles.code(n)} {found[n].TITLE}{', not shaded' if n == _roles.SINK else ''}"
        for n in candidates
        if n in used
    )
    return HeadMap(
        title=f"{title}roles", layers=layers, heads=numbers, values=values, codes=tuple(tuple(c) for c in codes),
        faint=_roles.code(_roles.SINK),
        notes=("rows are layers, columns heads", *(legend or ("no head clears the threshold",))),
    )  # fmt: skip


def _definitions(found: Mapping[str, ModuleType]) -> Table:
    """What each metric is, for programs."""
    columns = tuple(Column(name=n, title=n) for n in ("name", "title", "unit", "low", "high", "source"))

    def bound(value: float) -> float | None:
        return value if np.isfinite(value) else None

    rows = tuple((n, m.TITLE, m.UNIT, bound(m.RANGE[0]), bound(m.RANGE[1]), m.SOURCE) for n, m in found.items())
    return Table(name="metrics", columns=columns, rows=rows, pictured=False)
