"""Step 6 of `explain`: what the weights bring together, what the other heads do, and where it all goes."""
# ruff: noqa: RUF001

from __future__ import annotations

from typing import Any

import numpy as np

from attn_cli.commands._row import Row, digits
from attn_cli.commands._teller import Teller, shape
from attn_cli.report import Column, Formula, Prose, Section, Table

_HEADS = 16  # so many are listed one and all
_STRONGEST = 12  # of more
_LOOKS = 2
_PARTS = 8


def bring_out(tell: Teller) -> Section:
    """Step 6: z, the heads of the layer, the residual stream."""
    row, trace = tell.row, tell.row.trace
    d = ("d_head" if trace.spec.d_v == trace.spec.d_head else "d_value", len(trace.z))
    sizes = f"V: {shape(('n_keys', len(trace.v)), d)} · z: {shape(d)}"
    parts: list[Prose | Formula | Table] = [
        tell.prose(tell.say("6.brief" if tell.brief else "6.text")),
        Formula(lines=(("z = Σⱼ wⱼ vⱼ", sizes),)),
        _contributions(tell),
    ]
    share = 100 * float(row.head_shares[row.head])
    several = len(row.traces) > 1
    said = tell.say("6.heads", n_heads=len(row.traces), layer=row.layer, head=row.head, share=share) if several else ""
    if not several and row.whole:
        said = tell.say("6.single")
    parts.append(tell.prose(said, "" if row.whole else tell.say("6.bare")))
    if not tell.brief:
        parts.append(_output_formula(row))
        if several:
            parts.append(_heads(tell))
        if row.joined:
            parts += [tell.prose(tell.say("6.residual")), _residual(tell)]
    parts.append(tell.prose(_next(tell)))
    return Section(title=tell.say("6.title"), parts=tuple(p for p in parts if not isinstance(p, Prose) or p.text))


def _contributions(tell: Teller) -> Table:
    """What each key brings to z, the largest by length first; the rest summed, and z."""
    row, trace = tell.row, tell.row.trace
    norms = np.linalg.norm(row.weighted, axis=1)
    shown = [j for j in tell.listed() if row.seen[j]]
    shown.sort(key=lambda j: -float(norms[j]))
    if tell.depth == "usual" and len(shown) > _PARTS + 1:
        shown = shown[:_PARTS]
    rest, parts = tell.rest(shown), tell.components(len(trace.z))[: 3 if tell.depth != "full" else None]
    lengths = np.linalg.norm(trace.v, axis=1)
    made: list[tuple[Any, ...]] = []
    for j in shown:
        numbers = (float(trace.weights[j]), float(lengths[j]), float(norms[j]), float(row.shares[j]))
        made.append((row.label(j), *numbers, *(float(row.weighted[j, i]) for i in parts)))
    if rest:
        whole = row.weighted[rest].sum(0)
        summed = (float(trace.weights[rest].sum()), None, float(np.linalg.norm(whole)), float(row.shares[rest].sum()))
        made.append((tell.say("rest", n=len(rest)), *summed, *(float(whole[i]) for i in parts)))
    totals = (float(trace.weights.sum()), None, float(np.linalg.norm(trace.z)), float(row.shares.sum()))
    made.append(("z", *totals, *(float(trace.z[i]) for i in parts)))
    size = digits(trace.z[parts], row.weighted[shown][:, parts])
    columns = [
        Column(name="token", title="", kind="token"),
        Column(name="weight", title=tell.say("weight"), kind="number", digits=4),
        Column(name="value_norm", title=tell.say("length.v"), kind="number", digits=max(2, digits(lengths))),
        Column(name="norm", title=tell.say("length.wv"), kind="number", digits=max(2, digits(norms))),
        Column(name="share", title=tell.say("share.z"), kind="percent", digits=1),
    ]
    columns += [Column(name=str(i), title=f"[{i}]", kind="number", digits=size) for i in parts]
    return Table(
        name="contributions",
        title=tell.say("6.table"),
        columns=tuple(columns),
        rows=tuple(made),
        totals=1,
        note="" if tell.brief else tell.say("6.explained"),
    )


def _output_formula(row: Row) -> Formula:
    spec, n = row.trace.spec, len(row.traces)
    d = "d_head" if spec.d_v == spec.d_head else "d_value"
    if not row.whole:
        return Formula(lines=(("concat(z₀, z₁, …)" if n > 1 else "z", shape((f"n_heads × {d}", n * spec.d_v))),))
    several = "concat(z₀, z₁, …)" if n > 1 else "z"
    formula = f"attention = {several} W_O" + (" + b_O" if row.output_bias is not None else "")
    return Formula(
        lines=((formula, f"W_O: {shape((f'n_heads × {d}', n * spec.d_v), ('d_model', len(row.attended)))}"),)
    )


def _heads(tell: Teller) -> Table:
    """Each head of the layer: the keys it looks at most, and what it writes."""
    row, n = tell.row, len(tell.row.traces)
    shown = list(range(n))
    if n > _HEADS and tell.depth != "full":
        shown = sorted({*sorted(shown, key=lambda h: -abs(float(row.head_shares[h])))[:_STRONGEST], row.head})
    norms = np.linalg.norm(row.outputs, axis=1)
    made: list[tuple[Any, ...]] = []
    for h in shown:
        name = tell.say("this", head=f"H{h}") if h == row.head else f"H{h}"
        made.append((name, _looks(row, h), float(norms[h]), *[float(row.head_shares[h])] * 2))
    rest = [h for h in range(n) if h not in set(shown)]
    if rest:
        share = float(row.head_shares[rest].sum())
        made.append((tell.say("rest", n=len(rest)), "", float(np.linalg.norm(row.outputs[rest].sum(0))), share, share))
    if row.output_bias is not None:
        made.append((tell.say("bias"), "", float(np.linalg.norm(row.output_bias)), *[row.bias_share] * 2))
    total = float(row.head_shares.sum()) + (row.bias_share or 0.0)
    made.append((tell.say("total"), "", float(np.linalg.norm(row.attended)), total, None))
    return Table(
        name="heads",
        title=tell.say("6.heads.table"),
        columns=(
            Column(name="head", title=tell.say("head")),
            Column(name="looks", title=tell.say("looks"), wraps=True),
            Column(name="norm", title=tell.say("norm"), kind="number", digits=max(2, digits(norms))),
            Column(name="share", title=tell.say("share"), kind="percent", digits=1),
            Column(name="bar", title="", kind="bar"),
        ),
        rows=tuple(made),
        totals=1,
    )


def _looks(row: Row, head: int) -> str:
    weights = row.traces[head].weights
    order = np.argsort(-weights, kind="stable")[:_LOOKS]
    return ", ".join(f"{row.name(int(j))} {100 * weights[j]:.0f}%" for j in order if weights[j] > 0)


def _residual(tell: Teller) -> Table:
    """The stream before, what attention adds, and the stream after."""
    row, joined = tell.row, dict(tell.row.joined)
    rows: list[tuple[Any, str, np.ndarray]] = [(None, tell.say("row.h"), row.trace.stream)]
    changed = joined.get("normed", joined.get("scaled"))
    added = row.attended if changed is None else changed
    name = tell.say("row.added")
    if "normed" in joined:
        name = f"{name}, {tell.norm()}"
    elif "scaled" in joined:
        name = f"{name} {tell.say('row.scaled', scale=row.spec.residual_scale)}"
    rows += [(None, name, added), (None, tell.say("row.after"), joined["sum"])]
    if "after" in joined:
        rows.append((None, f"{tell.norm()}(h)", joined["after"]))
    return tell.vectors("residual", tell.say("6.residual.table"), rows)


def _next(tell: Teller) -> str:
    """What comes after this attention."""
    row, spec = tell.row, tell.row.spec
    last = row.layer == spec.n_layers - 1
    if spec.placement == "bare":
        return "" if last else tell.say("6.bare.next", next=row.layer + 1)
    if row.kind == "decoder":
        return tell.say("6.decoder")
    if spec.placement == "parallel":
        return tell.say("6.parallel.end" if last else "6.parallel", next=row.layer + 1)
    return tell.say("6.end" if last else "6.next", next=row.layer + 1)
