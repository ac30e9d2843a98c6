"""One row of attention with all that `explain` tells of it: traces of every head of the layer, and what follows from them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from attn_cli.model import around, ops
from attn_cli.report import Label

if TYPE_CHECKING:
    from attn_cli.model import Model
    from attn_cli.model.plain import Trace
    from attn_cli.spec import ModelSpec
    from attn_cli.tokens import Tokens


@dataclass(frozen=True, kw_only=True)
class Row:
    """A query in a head of a layer. `traces` has one trace for each head; `inputs` the parts of the stream at layer 0."""

    model: Model
    spec: ModelSpec  # of the stack that the query stands in
    kind: str
    layer: int
    head: int
    query: int
    query_tokens: Tokens
    key_tokens: Tokens
    traces: tuple[Trace, ...]
    inputs: Mapping[str, np.ndarray] | None
    asked_key: int | None = None

    @property
    def trace(self) -> Trace:
        """The head that is told of."""
        return self.traces[self.head]

    @property
    def address(self) -> str:
        """The head's name."""
        return f"L{self.layer}.H{self.head}" if self.kind == "self" else f"{self.kind} L{self.layer}.H{self.head}"

    @cached_property
    def seen(self) -> np.ndarray:
        """(keys,) bool: what the query may look at."""
        found: np.ndarray = np.isfinite(self.trace.masked)
        return found

    @cached_property
    def strongest(self) -> list[int]:
        """The keys from the largest weight on; those that may not be looked at last."""
        order = np.lexsort((np.arange(len(self.seen)), -self.trace.weights, ~self.seen))
        return [int(j) for j in order]

    @property
    def key(self) -> int:
        """The key that is taken apart: the one asked for, or the strongest."""
        return self.strongest[0] if self.asked_key is None else self.asked_key

    @property
    def whole(self) -> bool:
        """Whether the heads' outputs are of the stream's width, so that they can join it."""
        return "attn.o.weight" in self.trace.arrays

    @cached_property
    def products(self) -> np.ndarray:
        """(d_head,) what each component adds to the score of `key`."""
        found: np.ndarray = self.trace.q * self.trace.k[self.key]
        return found

    @cached_property
    def weighted(self) -> np.ndarray:
        """(keys, d_head) weight times value: their sum is z."""
        found: np.ndarray = self.trace.weights[:, None] * self.trace.v
        return found

    @cached_property
    def shares(self) -> np.ndarray:
        """(keys,) how far each of `weighted` reaches in z's direction, as a share of z; they add up to one."""
        return _shares(self.weighted, self.trace.z)

    @cached_property
    def outputs(self) -> np.ndarray:
        """(heads, d_model) what each head writes; (heads, d_head) where there is no W_O."""
        return np.stack([trace.output for trace in self.traces])

    @property
    def output_bias(self) -> np.ndarray | None:
        """(d_model,) b_O, where the model has one."""
        return self.trace.arrays.get("attn.o.bias")

    @cached_property
    def attended(self) -> np.ndarray:
        """(d_model,) what attention gives in all; the z of all heads in a row where there is no W_O."""
        if not self.whole:
            return self.outputs.reshape(-1)
        total: np.ndarray = self.outputs.sum(0)
        return total if self.output_bias is None else total + self.output_bias

    @cached_property
    def head_shares(self) -> np.ndarray:
        """(heads,) how much of `attended` each head wrote, in its direction; with `bias_share` they add up to one."""
        if self.whole:
            return _shares(self.outputs, self.attended)
        squares = np.square(self.outputs).sum(1)
        found: np.ndarray = squares / max(float(squares.sum()), np.finfo(squares.dtype).tiny)
        return found

    @property
    def bias_share(self) -> float | None:
        """The same of b_O."""
        return None if self.output_bias is None else float(_shares(self.output_bias[None], self.attended)[0])

    @cached_property
    def joined(self) -> dict[str, np.ndarray]:
        """How that joins the residual stream; nothing where it cannot."""
        return around.rejoin(self.trace, self.attended) if self.whole else {}

    def soft(self, scores: np.ndarray) -> Soft:
        """What the softmax of these scores over the keys that may be seen is like."""
        return Soft.of(scores[self.seen])

    def label(self, position: int, *, of_query: bool = False) -> Label:
        """How a token is called, with its position where another is called the same."""
        tokens = self.query_tokens if of_query else self.key_tokens
        repeated = self._counts[of_query][tokens.texts[position].casefold()] > 1
        return Label(
            text=tokens.texts[position],
            position=position if repeated else None,
            continues=tokens.continues[position],
            unknown=tokens.unknown[position],
        )

    def name(self, position: int, *, of_query: bool = False) -> str:
        """The same in a sentence."""
        label = self.label(position, of_query=of_query)
        text = ("~" if label.continues else "") + (label.text.strip(" ") or label.text) + ("?" if label.unknown else "")
        return text if label.position is None else f"{text}@{label.position}"

    @cached_property
    def _counts(self) -> tuple[Counter[str], Counter[str]]:
        keys, queries = (Counter(t.casefold() for t in side.texts) for side in (self.key_tokens, self.query_tokens))
        return keys, queries


@dataclass(frozen=True)
class Soft:
    """What softmax makes of scores: their standard deviation, the weights' entropy in bits, and the slope, sum of p (1 - p)."""

    spread: float
    entropy: float
    slope: float

    @classmethod
    def of(cls, scores: np.ndarray) -> Soft:
        """Measures the scores (keys,)."""
        weights = ops.softmax(scores.astype(np.float64))
        return cls(float(scores.std()), float(ops.entropy(weights)), float((weights * (1 - weights)).sum()))


def _shares(parts: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """(parts,) the dot product of each part with the whole, over the whole's with itself: zero where that is zero."""
    square = float(whole @ whole)
    found: np.ndarray = parts @ whole / square if square else np.zeros(len(parts))
    return found


def digits(*arrays: np.ndarray | Sequence[float]) -> int:
    """How many decimals show numbers of this size with about four digits; none where all of them are whole."""
    numbers = np.concatenate([np.zeros(0), *(np.asarray(a, np.float64).reshape(-1) for a in arrays)])
    numbers = np.abs(numbers[np.isfinite(numbers)])
    if not len(numbers) or (numbers == np.round(numbers)).all():
        return 0
    largest = float(numbers.max())
    return next((d for d, least in ((1, 100), (2, 10), (3, 0.5), (4, 0.05)) if largest >= least), 5)
