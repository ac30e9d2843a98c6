"""Which heads of a layer are worth a look, found out while they are computed: a long text runs once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from attn_cli.collect.focus import Focus

if TYPE_CHECKING:
    from attn_cli.model.block import Block, Selections
    from attn_cli.report import Head


class Ranking:
    """Ranks the heads of each kind by how focused the given rows of theirs are."""

    def __init__(self, rows: Mapping[str, Sequence[int]], few: int) -> None:
        """`rows`: positions of queries in the text; `few`: how many heads of each kind are shown."""
        self._focus = {kind: Focus(queries) for kind, queries in rows.items()}
        self._few = few

    def watch(self, blocks: Iterable[Block]) -> Iterator[Block]:
        """The same blocks."""
        for block in blocks:
            self._focus[block.kind].add(block)
            yield block

    def best(self, selections: Selections) -> Selections:
        """Of heads that were all watched, the few to show, in the order of the model."""
        found = {}
        for kind, selection in selections.items():
            ranked = [head for (_, _, head), _ in self._focus[kind].ranked()[: self._few]]
            found[kind] = {layer: tuple(sorted(ranked)) or heads[: self._few] for layer, heads in selection.items()}
        return found

    def shown(self, heads: Iterable[Head], selections: Selections) -> list[Head]:
        """The heads of a selection."""
        return [h for h in heads if h.layer is not None and h.head in selections[h.kind].get(h.layer, ())]
