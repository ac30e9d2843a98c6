"""`attn-cli find`: every head ranked by one weight, and by what a token receives."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attn_cli import load
from tests.commands.test_heads import ANIMAL, MINILM, below_header, given, out
from tests.helpers import GOLDEN
from tests.render.reports import HOSTILE

TEXT = "the dog slept beside the stove"
BERT = str(GOLDEN / "bert")


def document(*args: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(out(*args, "--json"))
    return found


def test_query_and_key_at_80_columns(tmp_path: Path) -> None:
    file = str(given(tmp_path))
    assert below_header(out("find", "--attn", file, "--query", "cat@1", "--key", "the", "--top", "3")) == (
        "cat@1 looks at the\n"
        "head   at     per cent        rank  strongest other\n"
        "L0.H0  the@0  100.0 ████████     1  cat@1              0.0\n"
        "L1.H0  the@0   91.7 ███████▍     1  cat@1              1.7 ▏\n"
        "L0.H1  the@0   16.7 █▍           1  cat@1             16.7 █▍\n"
        "3 of 8 rows shown; more: --top, all: --json\n"
        "per cent: attention weights after softmax; of a word in pieces keys are summed,\n"
        "queries averaged\n"
    )


def test_key_alone_at_80_columns(tmp_path: Path) -> None:
    file = str(given(tmp_path))
    assert below_header(out("find", "--attn", file, "--key", "0", "--top", "2")) == (
        "who looks at the@0\n"
        "head   received        baseline  queries  looks most\n"
        "L1.H0   91.7 ███████▍      16.7        5  cat@1        91.7 ███████▍\n"
        "L0.H0   20.0 █▋            16.7        5  cat@1       100.0 ████████\n"
        "2 of 4 rows shown; more: --top, all: --json\n"
        "per cent: attention weights after softmax; received: mean over all other tokens\n"
        "that may look; baseline: the same of equal weights\n"
    )


def test_the_numbers_are_those_of_the_matrices() -> None:
    a = load(GOLDEN / "bert").attend(TEXT)
    texts = a.tokens.texts
    query, keys = texts.index("slept") if "slept" in texts else 3, None
    found = document("find", "-m", BERT, TEXT, "--query", str(query), "--key", "stove")
    assert found["schema"] == "attn-cli.find/1"
    assert len(found["heads"]) == a.attn.shape[0] * a.attn.shape[1]
    assert [h["weight"] for h in found["heads"]] == sorted((h["weight"] for h in found["heads"]), reverse=True)
    for head in found["heads"]:
        keys = head["key"] if isinstance(head["key"], list) else [head["key"]]
        row = a.head(head["layer"], head["head"])[query]
        assert "".join(texts[k] for k in keys) == "stove"
        assert head["weight"] == pytest.approx(row[keys].sum(), abs=1e-6)
        others = np.delete(row, keys)
        assert head["other_weight"] == pytest.approx(others.max(), abs=1e-6)
        assert head["rank"] == 1 + (others > row[keys].sum()).sum()


def test_words_merge_the_other_keys_too() -> None:
    a = load(GOLDEN / "bert").attend(TEXT)
    found = document("find", "-m", BERT, TEXT, "--query", "stove", "--key", "[CLS]", "--words")
    shown = json.loads(out("show", "-m", BERT, TEXT, "--query", "stove", "--words", "--json"))
    rows = {(h["layer"], h["head"]): h["attn"][0] for h in shown["heads"]}
    assert a.tokens.special[0] == "added"
    for head in found["heads"]:
        row = rows[head["layer"], head["head"]]
        assert head["weight"] == pytest.approx(row[0], abs=1e-6)
        assert head["other_weight"] == pytest.approx(max(row[1:]), abs=1e-6)


def test_several_matches_are_all_there_with_their_positions() -> None:
    found = document("find", "-m", BERT, TEXT, "--query", "slept", "--key", "the", "-H", "0.1")
    assert [h["name"] for h in found["heads"]] == ["L0.H1", "L0.H1"]
    assert {h["key_name"] for h in found["heads"]} == {f"the@{h['key']}" for h in found["heads"]}
    ranged = document("find", "-m", BERT, TEXT, "--query", "1-3", "--key", "1", "-H", "0.1")
    assert {h["query"] for h in ranged["heads"]} == {1, 2, 3}


def test_query_alone_gives_the_strongest_key_of_every_head() -> None:
    a = load(GOLDEN / "gpt2").attend(TEXT)
    found = document("find", "-m", str(GOLDEN / "gpt2"), TEXT, "--query", "-1")
    for head in found["heads"]:
        row = a.head(head["layer"], head["head"])[-1]
        assert (head["key"], head["weight"]) == (int(row.argmax()), pytest.approx(row.max(), abs=1e-6))
    hidden = document("find", "-m", BERT, TEXT, "--query", "slept", "--hide-special")
    assert not {h["key_text"] for h in hidden["heads"]} & {"[CLS]", "[SEP]"}


def test_measures_and_folds() -> None:
    rollout = document("find", "-m", BERT, TEXT, "--query", "slept", "--key", "dog", "--measure", "rollout")
    layers = load(GOLDEN / "bert").spec.n_layers
    assert sorted((h["layer"], h["head"]) for h in rollout["heads"]) == [(i, None) for i in range(layers)]
    assert {h["name"] for h in rollout["heads"]} == {f"L{i} rollout" for i in range(layers)}
    mean = document("find", "-m", BERT, TEXT, "--query", "slept", "--key", "[CLS]", "--mean", "heads,layers")
    (one,) = mean["heads"]
    a = load(GOLDEN / "bert").attend(TEXT)
    at = one["query"] if isinstance(one["query"], list) else [one["query"]]
    assert one["weight"] == pytest.approx(a.attn.mean((0, 1))[at, 0].mean(), abs=1e-6)
    flow = document("find", "-m", BERT, TEXT, "--query", "slept", "--key", "dog", "--measure", "flow")
    assert 0 < flow["heads"][0]["weight"] <= 2  # a word of two pieces may hold both flows


def test_encoder_decoders_have_their_kinds() -> None:
    args = ("find", "-m", str(GOLDEN / "bart"), "the dog", "--target", "a dog", "--query", "1", "--key", "1")
    assert {h["kind"] for h in document(*args)["heads"]} == {"encoder", "decoder", "cross"}
    assert {h["kind"] for h in document(*args, "--kind", "cross")["heads"]} == {"cross"}


def test_refusals() -> None:
    gpt2 = str(GOLDEN / "gpt2")
    assert "find what?" in out("find", "a b", code=2)
    assert "no query may look" in out("find", "-m", gpt2, TEXT, "--query", "0", "--key", "-1", code=2)
    assert "no other token may look" in out("find", "-m", gpt2, TEXT, "--key", "-1", code=2)
    assert "not in the text" in out("find", "-m", BERT, TEXT, "--query", "slept", "--key", "giraffe", code=2)


def test_hostile_tokens(tmp_path: Path) -> None:
    file = str(given(tmp_path, [t for t in HOSTILE if t and "\ud83d" not in t and "\x00" not in t]))
    shown = out("find", "--attn", file, "--query", "0", "--top", "50")
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert "[/INST]" in shown


@pytest.mark.real
def test_coreference_heads_of_minilm() -> None:
    model = str(Path(os.environ["ATTN_CLI_REAL_MODELS"]) / MINILM)
    found = document("find", "-m", model, ANIMAL, "--query", "it", "--key", "animal")
    assert [h["name"] for h in found["heads"][:2]] == ["L3.H1", "L5.H11"]
    assert found["heads"][0]["weight"] == pytest.approx(0.68, abs=0.01)
