"""All families: the stream equals the plain definition at any block size, of every kind of attention there is."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import attn_cli
from attn_cli.errors import TextError, UsageError
from attn_cli.model import Model, plain
from attn_cli.tokens import Tokens
from tests.golden.test_parity import CASES
from tests.helpers import GOLDEN, assert_close
from tests.model.test_forward import Recorder

SEQ2SEQ = [c for c in CASES if json.loads((GOLDEN / c / "reference.json").read_text())["kind"] == "encoder-decoder"]
TEXT, TARGET = "the animal did not cross the street because", "it was too tired"


@cache
def opened(case: str) -> tuple[Model, Tokens, dict[str, np.ndarray]]:
    """A case's model, the tokens of its text, and all of its attention by the definition."""
    model = attn_cli.load(GOLDEN / case, dtype="float64")  # leaves almost no rounding to hide an error in
    meta = json.loads((GOLDEN / case / "reference.json").read_text(encoding="utf-8"))
    second = {"target" if case in SEQ2SEQ else "pair": meta["text_pair"]}
    tokens = model.encode(meta["text"], **second)
    return model, tokens, plain.kinds(model, tokens)


@pytest.mark.parametrize("rows", [1, 3, 7])
@pytest.mark.parametrize("case", CASES)
def test_any_block_size_gives_the_same_numbers(case: str, rows: int) -> None:
    model, tokens, defined = opened(case)
    found = {kind: np.zeros_like(array) for kind, array in defined.items()}
    for block in model.blocks(tokens, block_rows=rows):
        q, k = block.queries, block.keys
        found[block.kind][block.layer, :, q.start : q.stop, k.start : k.stop] = block.attn
        assert (block.attn[:, ~block.mask] == 0).all()
    assert found.keys() == defined.keys()
    for kind, array in found.items():
        assert_close(array, defined[kind], 1e-12, f"{case} {kind}")


@pytest.mark.parametrize("case", CASES)
def test_a_trace_ends_in_the_numbers_of_its_block(case: str) -> None:
    model, tokens, _ = opened(case)
    for block in model.blocks(tokens, block_rows=5):
        head, query = block.heads[-1], block.queries[-1]
        trace = block.trace(head, query)
        inside = slice(block.keys.start, block.keys.stop)
        assert len(trace.weights) == len(block.key_tokens)
        assert_close(trace.weights[inside], block.attn[-1, -1], 1e-12, case)
        part = "cross" if block.kind == "cross" else "attn"
        stack = model if block.kind in ("self", "encoder") else model.decoder
        w_o = stack.weights.layer(block.layer, f"{part}.o")[f"{part}.o.weight"][:, -stack.spec.d_v :]
        assert_close(block.value_norm[-1], np.linalg.norm(trace.v @ w_o.T, axis=-1)[inside], 1e-12, case)
        assert_close(trace.output, w_o @ trace.z, 1e-12, case)


@pytest.mark.parametrize("case", SEQ2SEQ)
def test_three_kinds_with_their_own_tokens_and_layers(case: str) -> None:
    model = attn_cli.load(GOLDEN / case)
    a = model.attend(TEXT, target=TARGET, keep=("q", "k"))
    n, m = len(a.tokens), len(a.target_tokens)
    layers = model.spec.n_layers, model.decoder.spec.n_layers
    assert layers[0] != layers[1]
    assert a.kinds == ("encoder", "decoder", "cross")
    assert a["encoder"].shape == (layers[0], model.spec.n_heads, n, n)
    assert a["decoder"].shape == (layers[1], model.decoder.spec.n_heads, m, m)
    assert a["cross"].shape == (layers[1], model.decoder.spec.n_heads, m, n)
    assert (np.triu(a["decoder"], 1) == 0).all()
    assert a.kept["cross_k"].shape[2] == n
    assert a.kept["cross_q"].shape[2] == m
    with pytest.raises(ValueError, match="encoder, decoder, cross"):
        _ = a.attn
    assert_close(a.head(0, 1, "cross"), a["cross"][0, 1], 0)


@pytest.mark.parametrize("case", SEQ2SEQ)
def test_the_decoder_reads_its_target_shifted_right(case: str) -> None:
    model = attn_cli.load(GOLDEN / case)
    alone, target = model.encode(TEXT).target, model.encode(TEXT, target=TARGET).target
    labels = model.tokenizer.encode(TARGET).ids
    first = labels[-1] if case in ("mbart", "plbart") else model.spec.decoder_start
    assert target.ids == (first, *labels[:-1])
    assert target.special[0] == "added"
    assert target.spans[0] is None
    assert alone.ids == (first,)


@pytest.mark.parametrize("case", SEQ2SEQ)
def test_only_what_was_asked_for_is_computed(case: str) -> None:
    model = attn_cli.load(GOLDEN / case)
    tokens = model.encode(TEXT, target=TARGET)
    whole = model.attend(TEXT, target=TARGET)
    model.weights.checkpoint = recorder = Recorder(model.weights.checkpoint)
    (block,) = model.blocks(tokens, {"encoder": {0: (1,)}})
    assert_close(block.attn[0], whole.head(0, 1, "encoder"), 1e-6)
    assert not [n for n in recorder.read_names if "decoder" in n]
    kinds = [b.kind for b in model.blocks(tokens, {"cross": {0: (0, 1)}})]
    assert kinds == ["cross"]
    assert [b.kind for b in model.blocks(tokens, "0.1")] == ["encoder", "decoder", "cross"]


def test_layers_that_only_one_stack_has() -> None:
    model = attn_cli.load(GOLDEN / "t5")
    assert set(model.selections("1")) == {"encoder"}  # two layers there, one in the decoder
    with pytest.raises(UsageError):
        model.selections("7")


def test_a_target_needs_a_decoder() -> None:
    with pytest.raises(TextError, match="no decoder"):
        attn_cli.load(GOLDEN / "bert").encode(TEXT, target=TARGET)


def test_a_pair_is_one_segment_where_the_model_knows_only_one() -> None:
    model = attn_cli.load(GOLDEN / "roberta")
    tokens = model.encode(TEXT, TARGET)
    assert set(tokens.segments) == {0, 1}
    assert tokens.spans[-2] == (len(TARGET) - len("tired"), len(TARGET))


def test_a_token_without_a_place_does_not_push_the_others(tmp_path: Path) -> None:
    from attn_cli.model import positions

    spec = attn_cli.load(GOLDEN / "roberta").spec  # padding is token 0 there, the first place row 1
    assert list(positions.rows(spec, (1, 5, 2))) == [1, 2, 3]
    assert list(positions.rows(spec, (1, 0, 5, 0, 2))) == [1, 0, 2, 0, 3]
