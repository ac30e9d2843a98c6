"""What the six steps of `explain` share: words in a language, how much of a list is shown, and tables of vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from attn_cli.commands._row import Row, digits
from attn_cli.report import Column, Prose, Table

Depth = Literal["brief", "usual", "full"]
_KEYS = {"brief": 3, "usual": 8}
_ALL_KEYS = 16  # so many are shown one and all
_COMPONENTS = {"brief": 3, "usual": 5}
_ALL_COMPONENTS = 6


@dataclass(frozen=True, kw_only=True)
class Teller:
    """A row, and how it is told."""

    row: Row
    text: Mapping[str, str]
    depth: Depth = "usual"

    @property
    def brief(self) -> bool:
        """Whether each step is one sentence and a few numbers."""
        return self.depth == "brief"

    def say(self, name: str, /, **values: Any) -> str:
        """A text with its places filled; the query's name stands ready for all of them."""
        if "query" not in values:
            values["query"] = self.row.name(self.row.query, of_query=True)
        return self.text[name].format(**values)

    def prose(self, *texts: str) -> Prose:
        """Sentences as one paragraph."""
        return Prose(text=self.text["joint"].join(text for text in texts if text))

    def norm(self) -> str:
        """What the model's norm is called."""
        return "LayerNorm" if self.row.spec.norm == "layer" else "RMSNorm"

    def listed(self) -> list[int]:
        """The keys to list, in the order of the text: the strongest and the one taken apart, or all of a short text."""
        row, n = self.row, len(self.row.key_tokens)
        if self.depth == "full" or (n <= _ALL_KEYS and not self.brief):
            return list(range(n))
        return sorted({*[j for j in row.strongest[: _KEYS[self.depth]] if row.seen[j]], row.key})

    def rest(self, shown: Sequence[int]) -> list[int]:
        """The keys that may be looked at and are not listed."""
        return [int(j) for j in np.flatnonzero(self.row.seen) if j not in set(shown)]

    def components(self, width: int) -> list[int]:
        """The components of a vector that are written beside each other."""
        every = width <= _ALL_COMPONENTS or self.depth == "full"
        return list(range(width if every else _COMPONENTS[self.depth]))

    def vectors(self, name: str, title: str, rows: Sequence[tuple[Any, str, np.ndarray]], totals: int = 0) -> Table:
        """A table of named vectors, each after a token or None: their first components and their lengths.

        At full depth the components run downwards, as there may be many.
        """
        shown = [np.asarray(vector)[self.components(len(vector))] for _, _, vector in rows]
        size, lengths = digits(*shown), [float(np.linalg.norm(vector)) for _, _, vector in rows]
        if self.depth == "full" and max(len(v) for v in shown) > _ALL_COMPONENTS:
            return self._downwards(name, title, rows, size)
        tokens = any(token is not None for token, _, _ in rows)
        columns = [Column(name="token", title="", kind="token")] if tokens else []
        columns.append(Column(name="name", title=""))
        most = max(len(v) for v in shown)
        columns += [Column(name=str(i), title=f"[{i}]", kind="number", digits=size) for i in range(most)]
        columns.append(Column(name="norm", title=self.say("norm"), kind="number", digits=max(2, digits(lengths))))
        made = []
        for (token, called, _), numbers, length in zip(rows, shown, lengths, strict=True):
            padded = [float(v) for v in numbers] + [None] * (most - len(numbers))
            made.append((*([token] if tokens else []), called, *padded, length))
        return Table(name=name, title=title, columns=tuple(columns), rows=tuple(made), totals=totals)

    def _downwards(self, name: str, title: str, rows: Sequence[tuple[Any, str, np.ndarray]], size: int) -> Table:
        columns = [Column(name="component", title=self.say("component"), kind="count")]
        for i, (_, called, _) in enumerate(rows):
            columns.append(Column(name=f"v{i}", title=called, kind="number", digits=size))
        most = max(len(vector) for _, _, vector in rows)
        made = [(i, *(float(v[i]) if i < len(v) else None for _, _, v in rows)) for i in range(most)]
        lengths = tuple(float(np.linalg.norm(v)) for _, _, v in rows)
        lines, note = (*made, (None, *lengths)), self.say("norm.below")
        return Table(name=name, title=title, columns=tuple(columns), rows=lines, totals=1, note=note)


def shape(*sizes: tuple[str, int]) -> str:
    """A shape in named sizes and in numbers: (n_keys, d_head) = (14, 32)."""
    return f"({', '.join(name for name, _ in sizes)}) = ({', '.join(str(n) for _, n in sizes)})"
