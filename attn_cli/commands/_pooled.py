"""A long text's matrix with blocks of neighbouring rows and columns as its cells."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from attn_cli.collect.blocks import Blocks
from attn_cli.report import Axis, Head, Pooled

if TYPE_CHECKING:
    from attn_cli.collect.blocks import Pooling
    from attn_cli.model.block import Block
    from attn_cli.model.views import Merged


@dataclass(frozen=True, kw_only=True)
class Chosen:
    """Rows or columns among the viewed tokens, and how many of them make one."""

    tokens: Merged
    places: Sequence[int]
    size: int

    def axis(self, *, ends: bool) -> Axis:
        """One label for each block: the position it begins at, with `ends` also the one it ends at."""
        parts = [self.places[i : i + self.size] for i in range(0, len(self.places), self.size)]
        members = [tuple(p for i in part for p in self.tokens.members[i]) for part in parts]
        return Axis(
            positions=tuple(members),
            texts=tuple(f"{m[0]}-{m[-1]}" if ends and len(m) > 1 else str(m[0]) for m in members),
            special=(None,) * len(parts),
            continues=(False,) * len(parts),
            repeated=(False,) * len(parts),
            unknown=(False,) * len(parts),
        )


def block_size(n: int, room: int, few: int) -> int:
    """How many of n rows or columns make one, so that all fit; 1 where they are few, or fit as they are."""
    return 1 if n <= max(few, room) else -(-n // max(1, room))


def heads(blocks: Iterable[Block], rows: Chosen, columns: Chosen, pooling: Pooling, *, rescaled: bool) -> list[Head]:
    """One layer's heads out of its blocks, in bounded memory."""
    found = Blocks(rows.places, columns.places, (rows.size, columns.size), pooling, rescaled=rescaled)
    seen: dict[tuple[str, int, int], None] = {}
    for block in blocks:
        found.add(block)
        seen.update(dict.fromkeys((block.kind, block.layer, head) for head in block.heads))
    queries, keys = rows.axis(ends=True), columns.axis(ends=False)
    return [
        Head(
            kind=address[0],
            layer=address[1],
            head=address[2],
            queries=queries,
            keys=keys,
            attn=found.attn(address),
            visible=found.visible(address),
            pooled=Pooled(queries=rows.size, keys=columns.size, how=pooling),
        )
        for address in seen
    ]
