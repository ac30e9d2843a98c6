"""Steps 4 and 5 of `explain`: from scores to weights."""
# ruff: noqa: RUF001

from __future__ import annotations

import math

import numpy as np

from attn_cli.commands._row import digits
from attn_cli.commands._teller import Teller, shape
from attn_cli.model import positions
from attn_cli.report import Column, Formula, Prose, Section, Table


def scale(tell: Teller) -> Section:
    """Step 4: all that happens to the scores before the softmax."""
    trace = tell.row.trace
    spec = trace.spec
    usual = 1 / math.sqrt(spec.d_head)
    parts: list[Prose | Formula | Table] = [
        Formula(lines=((_logit_formula(tell, usual), f"s, a: {shape(('n_keys', len(trace.scores)))}"),))
    ]
    if tell.brief:
        parts.insert(0, tell.prose(tell.say("4.one" if trace.scale == 1 else "4.brief")))
    else:
        texts = [tell.say("4.text", d_head=spec.d_head, root=math.sqrt(spec.d_head))]
        if not math.isclose(trace.scale, usual, rel_tol=1e-6):
            texts.append(tell.say("4.one" if trace.scale == 1 else "4.other", scale=trace.scale, usual=usual))
        parts.insert(0, tell.prose(*texts))
        if trace.scale != 1:
            before, after = tell.row.soft(trace.scores), tell.row.soft(trace.scaled)
            parts += [tell.prose(tell.say("4.usual", before=before.spread, after=after.spread)), _measures(tell)]
        parts += [Prose(text=line) for line in _lines(tell)]
    parts.append(_logits(tell))
    return Section(title=tell.say("4.title"), parts=tuple(parts))


def _logit_formula(tell: Teller, usual: float) -> str:
    """The logit of a key as this model computes it."""
    trace = tell.row.trace
    spec = trace.spec
    if math.isclose(trace.scale, usual, rel_tol=1e-6):
        formula = f"sⱼ / √d_head = sⱼ / {math.sqrt(spec.d_head):.4g}"
    else:
        formula = "sⱼ" if trace.scale == 1 else f"{trace.scale:.4g} sⱼ"
    if spec.softcap is not None:
        formula = f"{spec.softcap:g} · tanh({formula.split(' = ')[0]} / {spec.softcap:g})"
    if trace.biases:
        formula = formula.split(" = ")[0] + "".join(f" + {name}ⱼ" for name in trace.biases)
    return f"aⱼ = {formula}"


def _measures(tell: Teller) -> Table:
    """Spread, entropy and slope of the scores as they are, and scaled."""
    trace, seen = tell.row.trace, int(tell.row.seen.sum())
    softs = [(tell.say("4.unscaled"), tell.row.soft(trace.scores)), (tell.say("4.scaled"), tell.row.soft(trace.scaled))]
    return Table(
        name="scaling",
        columns=(
            Column(name="scores", title=tell.say("4.measures")),
            Column(name="spread", title=tell.say("4.spread"), kind="number", digits=3),
            Column(name="entropy", title=tell.say("4.entropy"), kind="number", digits=3),
            Column(name="slope", title=tell.say("4.slope"), kind="number", digits=3),
        ),
        rows=tuple((name, soft.spread, soft.entropy, soft.slope) for name, soft in softs),
        note=tell.say("4.explained", most=math.log2(max(1, seen)), n=seen),
    )


def _lines(tell: Teller) -> list[str]:
    """A line for each thing that this model does to its scores besides."""
    row, trace = tell.row, tell.row.trace
    spec, n, seen = trace.spec, len(trace.scores), int(row.seen.sum())
    lines = []
    if spec.softcap is not None:
        lines.append(tell.say("4.capped", cap=spec.softcap))
    for name, bias in trace.biases.items():
        slope = float(positions.slopes(spec.alibi, spec.n_heads)[row.head]) if spec.alibi is not None else 0.0
        if spec.alibi is not None and spec.alibi.before_scale:
            slope *= trace.scale
        lines.append(tell.say(f"4.{name}", low=bias[row.seen].min(), high=bias[row.seen].max(), slope=slope))
    window = spec.window_at(row.layer)
    if window is not None and window <= (row.query if spec.causal else max(row.query, n - 1 - row.query)):
        lines.append(tell.say("4.window", window=window, seen=seen, n=n))
    elif spec.causal:
        lines.append(tell.say("4.causal" if seen < n else "4.last", seen=seen, n=n))
    else:
        lines.append(tell.say("4.unmasked", n=n))
    if trace.sink is not None:
        lines.append(tell.say("4.sink", sink=trace.sink))
    return lines


def _logits(tell: Teller) -> Table:
    """Score, each thing done to it, and the logit, key by key."""
    row, trace = tell.row, tell.row.trace
    shown = tell.listed()
    stages: list[tuple[str, str, np.ndarray]] = [("score", tell.say("score"), trace.scores)]
    if trace.scale != 1:
        stages.append(("scaled", tell.say("scaled"), trace.scaled))
    if trace.spec.softcap is not None:
        stages.append(("capped", tell.say("capped"), trace.capped))
    stages += [(name, tell.say(f"bias.{name}"), bias) for name, bias in trace.biases.items()]
    masked = any(not row.seen[j] for j in shown)
    if masked or trace.biases:
        stages.append(("logit", tell.say("logit"), trace.masked))
    else:
        name, title, numbers = stages.pop()
        stages.append((name, f"{title} = a" if name != "score" else tell.say("logit"), numbers))
    later = digits(*(numbers[shown] for name, _, numbers in stages if name != "score"))  # these add up in a line
    columns = [
        Column(name=name, title=title, kind="number", digits=digits(numbers[shown]) if name == "score" else later)
        for name, title, numbers in stages
    ]
    rows = tuple((row.label(j), *(float(numbers[j]) for _, _, numbers in stages)) for j in shown)
    title = "" if tell.brief else tell.say("4.table")
    token = Column(name="token", title="", kind="token")
    return Table(name="logits", title=title, columns=(token, *columns), rows=rows, note=_count(tell, shown))


def _count(tell: Teller, shown: list[int]) -> str:
    rest = tell.rest(shown)
    return tell.say("4.rest", n=len(rest)) if rest else ""


def soften(tell: Teller) -> Section:
    """Step 5: exponentials, their sum, the weights."""
    row, trace = tell.row, tell.row.trace
    shown = tell.listed()
    size = digits(trace.masked[shown])
    top = tell.say("5.text", top=trace.top, digits=size)
    sink = " + exp(sink − max a)" if trace.sink is not None else ""
    lines = ((f"wⱼ = exp(aⱼ − max a) / (Σⱼ exp(aⱼ − max a){sink})", f"a, w: {shape(('n_keys', len(trace.weights)))}"),)
    rows: list[tuple[object, ...]] = []
    for j in shown:
        exponential, weight = float(trace.exponentials[j]), float(trace.weights[j])
        rows.append((row.label(j), float(trace.masked[j]), exponential, weight, weight))
    rest = tell.rest(shown)
    if rest:
        exponential, weight = float(trace.exponentials[rest].sum()), float(trace.weights[rest].sum())
        rows.append((tell.say("rest", n=len(rest)), None, exponential, weight, None))
    if trace.sink is not None:
        exponential = math.exp(trace.sink - trace.top)
        rows.append((tell.say("sink"), trace.sink, exponential, exponential / trace.total, None))
    left = 0.0 if trace.sink is None else math.exp(trace.sink - trace.top) / trace.total
    rows.append((tell.say("total"), None, trace.total, float(trace.weights.sum()) + left, None))
    table = Table(
        name="weights",
        title=tell.say("5.table"),
        columns=(
            Column(name="token", title="", kind="token"),
            Column(name="logit", title="a", kind="number", digits=size),
            Column(name="exponential", title="exp(a − max a)", kind="number", digits=4),
            Column(name="weight", title=tell.say("weight"), kind="number", digits=4),
            Column(name="bar", title="", kind="bar"),
        ),
        rows=tuple(rows),
        totals=1,
    )
    return Section(
        title=tell.say("5.title"),
        parts=(tell.prose(tell.say("5.brief") if tell.brief else top), Formula(lines=lines), table),
    )
