"""The stream of blocks against the plain definition, and what it does not do."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import attn_cli
from attn_cli.model import Model, plain
from tests.golden.test_parity import CASES
from tests.helpers import GOLDEN, assert_close

TEXT = "The dog slept beside the stove"


def square(model: Model, text: str, rows: int | None) -> np.ndarray:
    tokens = model.encode(text)
    n = len(tokens)
    found = np.zeros((model.spec.n_layers, model.spec.n_heads, n, n), model.weights.dtype)
    for block in model.blocks(tokens, block_rows=rows):
        q, k = block.queries, block.keys
        found[block.layer, :, q.start : q.stop, k.start : k.stop] = block.attn
    return found


@pytest.mark.parametrize("case", ["bert", "gpt2", "llama"])
@pytest.mark.parametrize("rows", [1, 2, 3, 7, 1000])
def test_any_block_size_equals_the_definition(case: str, rows: int) -> None:
    model = attn_cli.load(GOLDEN / case)
    assert_close(square(model, TEXT, rows), plain.attention(model, model.encode(TEXT)), 1e-6, f"{case}, {rows} rows")


@pytest.mark.parametrize("case", ["bert", "gpt2", "llama"])
def test_a_block_carries_what_the_design_promises(case: str) -> None:
    model = attn_cli.load(GOLDEN / case)
    for block in model.blocks(model.encode(TEXT), block_rows=4):
        assert block.attn.shape == (model.spec.n_heads, len(block.queries), len(block.keys))
        assert not block.attn.flags.writeable
        assert_close(block.attn.sum(-1), np.ones(block.attn.shape[:2]), 1e-5)
        assert (block.attn[:, ~block.mask] == 0).all()
        assert_close(block.uniform().sum(-1), np.ones(len(block.queries)), 1e-12)
        head, query = block.heads[-1], block.queries[-1]
        trace = block.trace(head, query)
        assert_close(trace.weights[: len(block.keys)], block.attn[-1, -1], 1e-6)
        outward = np.linalg.norm(
            trace.v @ model.weights.read(f"layers.{block.layer}.attn.o.weight")[:, -model.spec.d_head :].T, axis=-1
        )
        assert_close(block.value_norm[-1], outward[: len(block.keys)], 1e-5)
        assert_close(trace.z, trace.weights @ trace.v, 1e-6)


def test_causal_blocks_compute_no_key_beyond_the_last_query() -> None:
    model = attn_cli.load(GOLDEN / "gpt2")
    for block in model.blocks(model.encode(TEXT), block_rows=3):
        assert block.keys.stop == block.queries.stop


class Recorder:
    """Passes reads on and remembers the names."""

    def __init__(self, inner: object) -> None:
        self.inner, self.read_names = inner, []

    def __getattr__(self, name: str) -> object:
        return getattr(self.inner, name)

    def read(self, name: str, **options: object) -> np.ndarray:
        self.read_names.append(name)
        return self.inner.read(name, **options)


def test_work_stops_after_the_last_wanted_layer() -> None:
    model = attn_cli.load(GOLDEN / "bert")
    model.weights.checkpoint = recorder = Recorder(model.weights.checkpoint)
    first = model.attend(TEXT, select="0").attn
    assert not [n for n in recorder.read_names if ".layer.1." in n]
    assert not [n for n in recorder.read_names if "intermediate" in n or "value" in n]
    assert_close(first[0], model.attend(TEXT).attn[0], 0)


def test_one_head_is_the_same_number_alone() -> None:
    for case in ("bert", "gpt2", "llama"):
        model = attn_cli.load(GOLDEN / case)
        alone = model.attend(TEXT, select="1.2")
        assert_close(alone.head(1, 2), model.attend(TEXT).head(1, 2), 1e-6)
        with pytest.raises(KeyError):
            alone.head(0, 0)


def test_only_rows_of_the_embedding_in_the_text_are_read(tmp_path: Path) -> None:
    model = attn_cli.load(GOLDEN / "bert")
    rows: list[int] = []
    inner = model.weights.checkpoint

    class Spy(Recorder):
        def read(self, name: str, **options: object) -> np.ndarray:
            if name.endswith("word_embeddings.weight"):
                rows.extend(options["rows"])
            return inner.read(name, **options)

    model.weights.checkpoint = Spy(inner)
    tokens = model.attend(TEXT).tokens
    assert sorted(rows) == sorted(set(tokens.ids))


def test_results_are_read_only_and_ragged_selections_say_so() -> None:
    a = attn_cli.load(GOLDEN / "bert").attend(TEXT, select="0,1.2", keep=("q",))
    with pytest.raises(ValueError, match="ragged"):
        _ = a.attn
    with pytest.raises(ValueError, match="read-only"):
        a.head(1, 2)[0, 0] = 1
    with pytest.raises(ValueError, match="read-only"):
        a.kept["q"][0] = 1


def test_every_case_is_in_the_parity_list() -> None:
    assert {"bert", "gpt2", "llama"} <= set(CASES)
