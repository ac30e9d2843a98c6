"""One slice of attention on its way to whoever asked for it, and what else was asked to be kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from attn_cli.model.plain import Trace
    from attn_cli.tokens import Tokens

Selection = Mapping[int, tuple[int, ...]]  # layer -> heads
Selections = Mapping[str, Selection]  # kind -> layer -> heads


@dataclass(frozen=True, kw_only=True)
class Block:
    """Attention of one slice of queries: `attn` is (heads, queries, keys) after softmax, read-only.

    Columns outside `keys` are zero for all rows. `heads` are the numbers of the heads along the first axis.
    """

    text: int = 0
    kind: str = "self"
    layer: int
    heads: tuple[int, ...]
    queries: range
    keys: range
    query_tokens: Tokens
    key_tokens: Tokens
    attn: np.ndarray
    _mask: Callable[[], np.ndarray | None]
    _value_norm: Callable[[], np.ndarray]
    _trace: Callable[[int, int], Trace]

    @cached_property
    def mask(self) -> np.ndarray:
        """(queries, keys) bool: True where the query may see the key."""
        hidden = self._mask()
        return np.ones((len(self.queries), len(self.keys)), bool) if hidden is None else ~hidden

    @cached_property
    def entropy(self) -> np.ndarray:
        """(heads, queries): -sum of a log2 a over each row, whatever the row sums to; several metrics read it."""
        from attn_cli.model.ops import entropy

        return entropy(self.attn)

    def uniform(self) -> np.ndarray:
        """Equal weights over the keys each query may see: (queries, keys), the null baseline of a metric."""
        seen = self.mask.sum(-1, keepdims=True)
        return np.where(self.mask, 1 / np.maximum(seen, 1), 0.0)

    def null(self) -> Block:
        """This block as one head of equal weights: a metric's score of it is what its score of any head is held against."""
        return replace(self, heads=self.heads[:1], attn=self.uniform()[None])

    @cached_property
    def value_norm(self) -> np.ndarray:
        """(heads, keys): |v_j W_O|, what one unit of weight on a key adds (Kobayashi 2020, arXiv 2004.10102, section 3)."""
        return self._value_norm()

    def trace(self, head: int, query: int) -> Trace:
        """Every intermediate of one row, by the plain definition; `head` and `query` are numbers of the model and text."""
        return self._trace(head, query)


@dataclass
class Kept:
    """What `keep` asked for, gathered layer by layer under the names of the public API."""

    names: tuple[str, ...] = ()
    prefix: str = ""  # before every name: encoder_, decoder_, cross_
    layers: dict[str, list[np.ndarray]] = field(default_factory=dict)
    single: dict[str, np.ndarray] = field(default_factory=dict)

    def add(self, name: str, array: np.ndarray) -> None:
        """Adds one layer's array, copied, if it was asked for."""
        if name in self.names:
            self.layers.setdefault(self.prefix + name, []).append(array.copy())

    def under(self, prefix: str) -> Kept:
        """The same arrays, to which what is added comes with a prefix."""
        return Kept(self.names, prefix, self.layers, self.single)

    @property
    def whole(self) -> bool:
        """Whether the pass must run to its end."""
        return bool({"v", "hidden_states", "logits", "last_block_output"} & set(self.names))
