"""The lines above and below the pictures: what was computed from what, and how to read it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from attn_cli.report import Report
from attn_cli.select import ranges

from . import Target
from ._glyphs import CELL, Glyphs, cell
from ._lines import Block, Line, Run, flow
from ._matrix import HELD
from ._text import fit, graphemes, visible, width

_RANDOM = "random weights"
_LEGEND = (0.0, 0.01, 0.05, 0.25, 0.5, 1.0)


def header(report: Report, target: Target, glyphs: Glyphs) -> Block:
    """Model and sizes, loudly where weights are random; the text; which heads; notes."""
    encoding = target.encoding
    parts: list[Line] = []
    if report.title and report.title != _RANDOM:  # said with its seed below
        parts.append([Run(visible(report.title, encoding), "bold")])
    sizes = _sizes(report.model, encoding, glyphs)
    if sizes:
        parts.append([Run(sizes, "dim")])
    parts.append(_weights(report.model, glyphs))
    lines = flow([part for part in parts if part], target.width)
    for text in (report.text, report.pair, report.target):
        if text is not None:
            lines += flow([[Run(_text(text, target, glyphs))]], target.width)
    if report.shown:
        lines += flow([[Run(visible(report.shown, encoding), "dim")]], target.width)
    for note in report.notes:
        warning = note.kind == "warning"
        text = (glyphs.warn + " " if warning else "") + visible(note.text, encoding)
        lines += flow([[Run(text, "warn" if warning else "dim")]], target.width, indent=2 if warning else 0)
    return lines


def _sizes(model: Mapping[str, Any], encoding: str | None, glyphs: Glyphs) -> str:
    said = []
    if model.get("family"):
        said.append(visible(str(model["family"]), encoding))
    layers, heads = model.get("n_layers"), model.get("n_heads")
    decoder = model.get("decoder")
    holds = model.get("holds")
    if holds:
        some = "layer" if len(holds["layers"]) == 1 else "layers"
        said += [f"{some} {ranges(holds['layers'])}", _count(holds["heads"], "head")]
    elif layers and heads:
        size = f"{_count(layers, 'layer')} {glyphs.times} {_count(heads, 'head')}"
        if decoder:
            second = f"{_count(decoder['n_layers'], 'layer')} {glyphs.times} {_count(decoder['n_heads'], 'head')}"
            size = f"encoder {size}, decoder {second}"
        said.append(size)
    if model.get("d_model"):
        said.append(f"d_model {model['d_model']}")
    if model.get("causal"):
        said.append("causal")
    return f" {glyphs.dot} ".join(said)


def _count(number: Any, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _weights(model: Mapping[str, Any], glyphs: Glyphs) -> Line:
    weights, embeddings, seed = model.get("weights"), model.get("embeddings"), model.get("seed")
    of_seed = "" if seed is None else f", seed {seed}"
    if weights == "random":
        return [Run(f"{glyphs.warn} {_RANDOM}{of_seed}", "warn")]
    if embeddings == "random":
        return [Run(f"{glyphs.warn} weights {weights or 'loaded'}, embeddings random{of_seed}", "warn")]
    return [Run(f"weights {weights}", "dim")] if weights else []


def _text(text: str, target: Target, glyphs: Glyphs) -> str:
    """A text of at most three lines; the middle of a longer one is left out."""
    room = 3 * target.width - 12
    if len(text) <= room:
        shown = visible(text, target.encoding)
        if width(shown) <= room:
            return shown
    half = room // 2 - 2
    start = fit(visible(text[:half], target.encoding), half, "")
    end = graphemes(visible(text[-half:], target.encoding))
    while sum(map(width, end)) > half:
        del end[0]
    return f"{start.rstrip()} {glyphs.cut} {''.join(end).lstrip()}"


def caption(said: Sequence[str], target: Target) -> Block:
    """Dim remarks one after another."""
    return flow([[Run(text, "dim")] for text in said], target.width, gap=" " * CELL)


def legend(
    report: Report,
    target: Target,
    glyphs: Glyphs,
    *,
    matrix: bool,
    masked: bool,
    held: bool,
    blocks: Sequence[str] = (),
    power: int = 0,
    roles: Sequence[str] = (),
    marks: Sequence[str] = (),
) -> Block:
    """One caption for the whole picture: what rows, columns, numbers and colours are.

    `blocks` says so where cells are blocks; their numbers were multiplied by 10 to the `power`.
    """
    said = []
    if matrix:
        said.append("rows are queries (what looks), columns are keys (what is looked at)")
    measure = visible(report.measure, target.encoding)
    said += [*blocks[:-2], f"{blocks[-2]}: {measure}", blocks[-1]] if blocks else [f"numbers are per cent: {measure}"]
    if report.merge != "pieces":
        said.append(f"pieces merged to {report.merge}: keys summed, queries averaged")
    if held:
        rescaled = ", the rest rescaled to 100" if report.renormalised else ""
        said.append(f"{HELD}: weight on the tokens left out{rescaled}")
    elif report.renormalised:
        said.append("rows rescaled to 100 without the tokens left out")
    lines = [*caption(roles, target), *caption(said, target), *caption(marks, target)]
    if not matrix:
        return lines
    swatches: Line = [cell(weight, True, glyphs, target.color is not None) for weight in _LEGEND]
    scale: list[Line] = [[*swatches, Run(" 100" if glyphs.full != "100" else "", "dim")]]
    scale.append(
        [Run(f"{'colour' if target.color else 'shade'} by square root, one scale from 0 to {10**-power:g}", "dim")]
    )
    if masked:
        scale.append([Run(f"{glyphs.masked} masked, may not be looked at", "dim")])
    return lines + flow(scale, target.width, gap=" " * CELL)
