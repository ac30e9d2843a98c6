"""Steps 1 to 3 of `explain`: the input, queries, keys and values, and the scores."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from attn_cli.commands._row import digits
from attn_cli.commands._teller import Teller, shape
from attn_cli.model import around
from attn_cli.report import Column, Formula, Prose, Section, Table

_PRODUCTS = {"brief": 3, "usual": 6}
_ALL_PRODUCTS = 8
_LATER = ("relative", "alibi", "disentangled")


def take_in(tell: Teller) -> Section:
    """Step 1: where the vector x comes from."""
    row = tell.row
    stream = row.trace.stream
    size = shape(("d_model", len(row.trace.x)))
    parts = {} if row.inputs is None else {name: stage[row.query] for name, stage in row.inputs.items()}
    normed = row.trace.x is not stream and not np.array_equal(row.trace.x, stream)
    rows: list[tuple[Any, str, np.ndarray]] = []
    if parts:
        added = [name for name in ("token", "position", "segment") if name in parts]
        for name, vector in parts.items():
            if name != "sum" or len(added) > 1:
                given = name == "token" and row.model.provenance.embeddings == "given"
                rows.append((None, tell.say("row.given" if given else f"row.{name}", norm=tell.norm()), vector))
        start = " + ".join(called.lstrip("+ ") for _, called, _ in rows[: len(added)])
        for name in list(parts)[list(parts).index("sum") + 1 :]:
            start = f"{tell.norm() if name == 'normed' else 'W'}({start})"
        lines = [(f"h = {start}", f"h: {size}")]
    else:
        rows.append((None, tell.say("row.stream"), stream))
        lines = []
    if normed:
        rows.append((None, tell.say("row.x", norm=tell.norm()), row.trace.x))
        lines.append((f"x = {tell.norm()}(h)", f"x: {size}"))
    else:
        called = rows[-1][1]
        rows[-1] = (None, "= x" if called == tell.say("row.sum") else f"{called} = x", rows[-1][2])
        lines = [(lines[0][0].replace("h =", "x =", 1), f"x: {size}")] if lines else [("x = h", f"x: {size}")]
    texts = [tell.say("1.brief", d_model=len(stream))] if tell.brief else _told_of_input(tell, parts, normed)
    table = tell.vectors("input", "", rows)
    return Section(title=tell.say("1.title"), parts=(tell.prose(*texts), Formula(lines=tuple(lines)), table))


def _told_of_input(tell: Teller, parts: Mapping[str, np.ndarray], normed: bool) -> list[str]:
    row, spec = tell.row, tell.row.spec
    n, d_model = len(row.query_tokens), len(row.trace.stream)
    texts = [tell.say("1.text" if n > 1 else "1.one", n=n, d_model=d_model)]
    if row.kind == "cross":
        texts.append(tell.say("1.cross", n=len(row.key_tokens)))
    added = [name for name in ("token", "position", "segment") if name in parts]
    if len(added) > 1:
        named = [tell.say(f"1.part.{name}") for name in added]
        listed = tell.say("1.joined").join(named[:-1]) + tell.say("1.and") + named[-1]
        texts.append(tell.say("1.sum", parts=listed))
    elif added:
        kind = {"given": "1.given", "random": "1.drawn"}.get(row.model.provenance.embeddings, "1.lookup")
        texts.append(tell.say(kind))
    if added and spec.embed_scale != 1:
        texts.append(tell.say("1.scaled", scale=spec.embed_scale))
    texts += [tell.say(f"1.{name}", norm=tell.norm()) for name in parts if name in ("projected", "normed")]
    if not parts:
        before = "cross" if row.kind == "cross" else "one" if row.layer == 1 else "many"
        said = tell.say(f"1.before.{before}", last=row.layer - 1)
        texts.append(tell.say("1.deep", layer=row.layer, before=said))
    if normed:
        texts.append(tell.say("1.pre", norm=tell.norm()))
    if row.kind != "cross" and not {"position"} & set(parts):
        if row.trace.spec.rope_at(row.layer) is not None:
            texts.append(tell.say("1.rotary"))
        elif any(getattr(spec, name) is not None for name in _LATER):
            texts.append(tell.say("1.bias"))
        elif spec.positions == "none" and not spec.causal:
            texts.append(tell.say("1.nowhere"))
    return texts


def project(tell: Teller) -> Section:
    """Step 2: q, k and v."""
    row, trace = tell.row, tell.row.trace
    own, spec = around.matrices(trace), trace.spec
    key = row.name(row.key)
    sizes = {"q": spec.d_head, "k": spec.d_head, "v": spec.d_v}
    stages = {
        "q": dict(trace.q_stages),
        "k": {name: y[row.key] for name, y in trace.k_stages.items()},
        "v": {name: y[row.key] for name, y in trace.v_stages.items()},
    }
    lines, rows = [], []
    for name, made in stages.items():
        x, called = ("x", "q") if name == "q" else ("xⱼ", f"{name}ⱼ")
        w, b = f"W_{name.upper()}", f"b_{name.upper()}"
        formula = f"{x} {w}" + (f" + {b}" if "biased" in made else "")
        for stage, how in (("clipped", "clip"), ("normed", tell.norm()), ("turned", "rotate")):
            formula = f"{how}({formula})" if stage in made else formula
        d = "d_head" if name != "v" or spec.d_v == spec.d_head else "d_value"
        w_shape, out = shape(("d_model", own[w].shape[0]), (d, sizes[name])), shape((d, sizes[name]))
        lines.append((f"{called} = {formula}", f"{w}: {w_shape} · {called}: {out}"))
        token = row.label(row.query, of_query=True) if name == "q" else row.label(row.key)
        steps = _stages(tell, made, own, name, x)
        rows += [(None if i else token, *line) for i, line in enumerate(steps)]
    table = tell.vectors("projections", tell.say("2.table", key=key), rows)
    texts = [tell.say("2.brief", d_head=spec.d_head)] if tell.brief else _told_of_projections(tell)
    return Section(title=tell.say("2.title"), parts=(tell.prose(*texts), Formula(lines=tuple(lines)), table))


def _stages(
    tell: Teller, made: Mapping[str, np.ndarray], own: Mapping[str, np.ndarray], name: str, x: str
) -> list[tuple[str, np.ndarray]]:
    """The lines of one vector: what it begins as, what is added, what it becomes."""
    w, b = f"W_{name.upper()}", f"b_{name.upper()}"
    lines = []
    for stage, vector in made.items():
        called = tell.say(f"row.{stage}", x=x, w=w, b=b, norm=tell.norm())
        lines.append((called, own[b] if stage == "biased" else vector))
    result = name if name == "q" else f"{name}ⱼ"
    equals = tell.say("row.result", name=result)
    if list(made)[-1] == "biased":
        lines.append((equals, made["biased"]))
    else:
        lines[-1] = (f"{lines[-1][0]} {equals}", lines[-1][1])
    return lines


def _told_of_projections(tell: Teller) -> list[str]:
    row, trace = tell.row, tell.row.trace
    spec, head = trace.spec, tell.row.head
    group, width = spec.n_heads // spec.n_kv_heads, spec.n_heads * spec.d_head
    texts = [tell.say("2.text")]
    if row.kind == "cross":
        texts.append(tell.say("2.cross"))
    if spec.n_heads > 1:
        first = head * spec.d_head
        texts.append(
            tell.say(
                "2.slice", n_heads=spec.n_heads, head=head, d_head=spec.d_head, width=width, first=first,
                last=first + spec.d_head - 1,
            )
        )  # fmt: skip
    else:
        texts.append(tell.say("2.only", width=width))
    if group > 1:
        others = [h for h in range(trace.kv_head * group, (trace.kv_head + 1) * group) if h != head]
        listed = tell.say(
            "2.groups.heads" if len(others) > 1 else "2.groups.head", list=tell.say("1.joined").join(map(str, others))
        )
        texts.append(
            tell.say(
                "2.groups", n_heads=spec.n_heads, n_kv_heads=spec.n_kv_heads, head=head, kv_head=trace.kv_head,
                others=listed,
            )
        )  # fmt: skip
    if spec.qkv_clip is not None:
        texts.append(tell.say("2.clipped", limit=spec.qkv_clip))
    if spec.qk_norm != "none":
        texts.append(tell.say("2.normed"))
    rope = spec.rope_at(row.layer)
    if rope is not None:
        texts.append(tell.say("2.turned", query_at=row.query, key_at=row.key, key=row.name(row.key)))
        if rope.dims < spec.d_head:
            texts.append(tell.say("2.turned.part", dims=rope.dims, d_head=spec.d_head))
        if rope.magnitude != 1:
            texts.append(tell.say("2.turned.magnitude", magnitude=rope.magnitude))
    return texts


def score(tell: Teller) -> Section:
    """Step 3: q . k of every key, and one of them taken apart."""
    row, trace = tell.row, tell.row.trace
    shown = tell.listed()
    size = digits(trace.scores[shown])
    n_keys = ("n_keys", len(trace.scores))
    sizes = f"q: {shape(('d_head', len(trace.q)))} · K: {shape(n_keys, ('d_head', len(trace.q)))} · s: {shape(n_keys)}"
    table = Table(
        name="scores",
        title=tell.say("3.table"),
        columns=(
            Column(name="token", title="", kind="token"),
            Column(name="score", title=tell.say("score"), kind="number", digits=size),
            Column(name="bar", title="", kind="bar"),
        ),
        rows=tuple((row.label(j), *[float(trace.scores[j])] * 2) for j in shown),
        note=_left_out(tell, shown, size),
    )
    parts: list[Prose | Formula | Table] = [
        tell.prose(tell.say("3.brief" if tell.brief else "3.text")),
        Formula(lines=(("sⱼ = q · kⱼ = Σᵢ qᵢ kⱼᵢ", sizes),)),
        table,
    ]
    if not tell.brief:
        parts += [tell.prose(tell.say("3.apart", key=row.name(row.key))), _products(tell)]
    return Section(title=tell.say("3.title"), parts=tuple(parts))


def _left_out(tell: Teller, shown: list[int], size: int) -> str:
    """What there is to say of the keys that are not listed."""
    row, rest = tell.row, tell.rest(shown)
    said = []
    if rest:
        scores = row.trace.scores[rest]
        said.append(tell.say("3.rest", n=len(rest), low=scores.min(), high=scores.max(), digits=size))
    hidden = int((~row.seen).sum()) - sum(not row.seen[j] for j in shown)
    if hidden:
        said.append(tell.say("3.masked", n=hidden))
    return tell.say("joint").join(said)


def _products(tell: Teller) -> Table:
    """The components of one score, the largest products first; what the others come to, and the sum of all."""
    row, trace = tell.row, tell.row.trace
    products, key = row.products, row.trace.k[row.key]
    order = [int(i) for i in np.argsort(-np.abs(products), kind="stable")]
    if tell.depth == "full" or len(order) <= _ALL_PRODUCTS:
        order, rest = sorted(order), []
    else:
        order, rest = order[: _PRODUCTS[tell.depth]], order[_PRODUCTS[tell.depth] :]
    size = max(digits(products, [trace.scores[row.key]]), digits(trace.scores[[row.key]]))
    rows: list[tuple[Any, ...]] = [(str(i), float(trace.q[i]), float(key[i]), *[float(products[i])] * 2) for i in order]
    if rest:
        rows.append((tell.say("rest", n=len(rest)), None, None, *[float(products[rest].sum())] * 2))
    rows.append((tell.say("sum"), None, None, float(trace.scores[row.key]), None))
    fine = digits(trace.q[order], key[order])
    return Table(
        name="products",
        columns=(
            Column(name="component", title=tell.say("component") + " i"),
            Column(name="q", title="qᵢ", kind="number", digits=fine),
            Column(name="k", title="kⱼᵢ", kind="number", digits=fine),
            Column(name="product", title=tell.say("product"), kind="number", digits=size),
            Column(name="bar", title="", kind="bar"),
        ),
        rows=tuple(rows),
        totals=1,
    )
