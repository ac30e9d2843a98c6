"""`models`: the checkpoints on this machine, the name that each goes by, and whether it can be computed."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from attn_cli.checkpoint import _places as places
from attn_cli.commands.weights import describe_spec, family_and_heads, supported
from attn_cli.errors import AttnError, quote
from attn_cli.model.inside import look
from attn_cli.report import Column, Note, Report, Table

SCHEMA = "attn-cli.models/1"


def models(*, version: str = "") -> Report:
    """One row for each checkpoint of each place; headers alone are read."""
    found = [_row(place) for place in places.everything()]
    data = Table(
        name="models",
        columns=tuple(
            Column(name=name, title=name)
            for name in ("name", "place", "path", "family", "sizes", "parameters", "nbytes", "supported", "why")
        ),
        rows=tuple((*row[:4], *row[5:]) for row in found),
        pictured=False,
    )
    columns = (
        Column(name="name", title="name for -m", wraps=True),
        Column(name="place", title="where"),
        Column(name="family", title="family"),
        Column(name="heads", title="layers x heads"),
        Column(name="nbytes", title="size", kind="bytes"),
        Column(name="supported", title="supported", kind="flag"),
    )
    rows = tuple((name, place, fam, heads, size, ok) for name, place, _, fam, heads, _, _, size, ok, _ in found)
    reasons = tuple((row[0], row[9]) for row in found if row[9])
    folders = (places.hub_cache(), *places.ollama_folders(), *places.lm_studio_folders())
    looked = f"looked in this package, the packages beside it, {', '.join(quote(str(p), 1000) for p in folders)}"
    pictured = [Table(name="", columns=columns, rows=rows)] if found else []
    if reasons:
        why = (Column(name="name", title="", wraps=True), Column(name="why", title="", wraps=True))
        pictured.append(Table(name="", title="why not", columns=why, rows=reasons))
    if pictured:
        pictured[-1] = replace(pictured[-1], note=looked)
    notes = () if found else (Note(text="no models found", kind="warning"), Note(text=looked))
    return Report(schema=SCHEMA, version=version, text=None, of_text=False, tables=(*pictured, data), notes=notes)


def _row(found: places.Found) -> tuple[Any, ...]:
    """name, place, path, family, layers x heads, sizes, parameters, bytes on disk, supported, why not."""
    path, size = found.path, None
    try:
        path = places.weights_of(found)
        size = _on_disk(path)
        inside = look(path, found.name)
    except AttnError as error:
        return found.name, found.place, str(path), None, None, None, None, size, False, _why(error, path)
    family, heads = family_and_heads(inside)
    why = None if inside.error is None else _why(inside.error, path)
    why = why or (None if supported(inside) else "its config is not known")
    sizes = dict(describe_spec(inside.spec)) or None
    return (
        found.name, found.place, str(path), family, heads, sizes, inside.parameters, size, supported(inside), why
    )  # fmt: skip


def _why(error: AttnError, path: Path) -> str:
    """An error without the path of the model, which has a name here."""
    message = error.message.removeprefix(quote(str(path), 1000)).removeprefix(quote(str(path))).lstrip(": ")
    return message.replace(f"{path}{os.sep}", "")


def _on_disk(path: Path) -> int:
    """Bytes of a file, or of all files below a folder."""
    try:
        if path.is_file():
            return path.stat().st_size
        return sum(os.stat(os.path.join(at, name)).st_size for at, _, names in os.walk(path) for name in names)
    except OSError:
        return 0
