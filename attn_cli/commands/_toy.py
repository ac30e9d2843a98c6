"""The worked example: two words, two heads, vectors of four numbers, and weights small enough for a pencil."""

from __future__ import annotations

import numpy as np

from attn_cli.checkpoint._memory import Memory
from attn_cli.commands._row import Row, digits
from attn_cli.commands._teller import Teller
from attn_cli.model import Model, Provenance
from attn_cli.model.bare import read_bare
from attn_cli.report import Column, Formula, Section, Table

SOURCE = "two-words"  # samples/two-words.npz holds the same
N_HEADS = 2
X = ((1, 0, 1, 0), (0, 1, 1, 1))
W_Q = ((1, 0, 0, 1), (0, 1, 1, 0), (1, 1, 0, 0), (0, 0, 1, 1))
W_K = ((0, 1, 1, 0), (1, 0, 0, 1), (1, 0, 0, 1), (0, 1, -1, -1))
W_V = ((1, 0, 0, 2), (0, 1, 0, 0), (0, 0, 1, 0), (1, 0, 2, 0))
W_O = ((1, 0, 0, 0), (0, 1, 0, 1), (1, 0, 1, 0), (0, 0, 0, 1))
NAMES = ("x_1", "x_2")


def arrays() -> dict[str, np.ndarray]:
    """The example under the names of a file of bare attention."""
    made = {"X": X, "W_Q": W_Q, "W_K": W_K, "W_V": W_V, "W_O": W_O}
    return {name: np.array(rows, np.float64) for name, rows in made.items()} | {"tokens": np.array(NAMES)}


def model() -> Model:
    """The example as a model, computed in float64."""
    given = _Named(arrays(), path=SOURCE)
    bare = read_bare(given, n_heads=N_HEADS, dtype=np.float64)
    if bare is None:
        raise ValueError("the example lacks its matrices")
    made = Model(bare.spec, bare.weights, None, Provenance(source=SOURCE, embeddings=bare.embeddings))
    made.bare = bare
    return made


class _Named(Memory):
    """Arrays of which one holds names, not numbers."""

    def read(self, name: str, *, rows: object = None, dtype: object = None) -> np.ndarray:
        """The array, as numbers or as names."""
        array = self.arrays[name]
        return array if array.dtype.kind == "U" else array.astype(np.float64)


def trap(tell: Teller) -> Section:
    """What becomes of the heads when each is given the whole q and k instead of its own columns."""
    row = tell.row
    rows = []
    for h, trace in enumerate(row.traces):
        rows.append((f"H{h}", *map(float, trace.weights), *map(float, whole(row))))
    names = [row.name(j) for j in range(len(row.key_tokens))]
    own, all_ = tell.say("trap.slices"), tell.say("trap.whole")
    size = digits([0.5])
    columns = [Column(name="head", title=tell.say("head"))]
    columns += [Column(name=f"own {n}", title=f"{own}: {n}", kind="number", digits=size) for n in names]
    columns += [Column(name=f"whole {n}", title=f"{all_}: {n}", kind="number", digits=size) for n in names]
    table = Table(name="trap", title=tell.say("trap.table"), columns=tuple(columns), rows=tuple(rows))
    formula = Formula(lines=(("wₕ = softmax(q Kᵀ / √d_model)", f"q: (d_model) = ({row.spec.d_model})"),))
    why = tell.say("trap.why", n_heads=row.spec.n_heads)
    return Section(
        title=tell.say("trap.title"), parts=(tell.prose(tell.say("trap.text")), formula, table, tell.prose(why))
    )


def whole(row: Row) -> np.ndarray:
    """(keys,) the weights of a head that reads all columns of W_Q and W_K: the same whichever head it is."""
    q = np.concatenate([trace.q for trace in row.traces])
    k = np.concatenate([trace.k for trace in row.traces], axis=1)
    exponentials = np.exp(k @ q / np.sqrt(len(q)))
    found: np.ndarray = exponentials / exponentials.sum()
    return found
