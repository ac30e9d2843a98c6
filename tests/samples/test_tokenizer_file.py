"""The default tokenizer: words whole, every text covered, offsets of the given text."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest
from tokenizers import Tokenizer

ROOT = Path(__file__).resolve().parents[2]
TEXTS = (
    "The animal didn't cross the street because it was too tired.",
    'He said "the dog" (the cat) well-known\nThe end',
    "动物没有过马路，因为它太累了。",  # noqa: RUF001
    "Schrödinger naïve 🎉 한국 日本のカ \u200d\u0301",
    "x = 3; print('a\tb')",
    "O’Brien",  # noqa: RUF001
)


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.from_file(str(ROOT / "attn_cli" / "data" / "tokenizer.json"))


def test_the_script_makes_the_shipped_file(tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "samples"))
    sys.modules.pop("tokenizer", None)
    assert importlib.import_module("tokenizer").build().to_str() == tokenizer.to_str()


@pytest.mark.parametrize("text", TEXTS)
def test_every_character_lies_in_a_token(tokenizer: Tokenizer, text: str) -> None:
    covered = {i for a, b in tokenizer.encode(text).offsets for i in range(a, b)}
    assert not [c for i, c in enumerate(text) if i not in covered and not c.isspace()]


def test_all_bytes_have_a_token(tokenizer: Tokenizer) -> None:
    assert tokenizer.token_to_id("[UNK]") is None
    for code in (*range(1, 256), 0x3042, 0x10348, 0x1F600):
        assert tokenizer.encode(chr(code)).ids, code


@pytest.mark.parametrize(
    "word", ["The", "the", "animal", "Because", "street", "people", "computer", "Mary", "attention"]
)
def test_common_words_are_whole_wherever_they_stand(tokenizer: Tokenizer, word: str) -> None:
    for text in (word, f"so {word}", f'so "{word}"', f"so ({word})", f"so\n{word}"):
        e = tokenizer.encode(text)
        spelled = [text[a:b] for a, b in e.offsets]
        assert word in spelled, (text, e.tokens)


def test_common_characters_are_one_token(tokenizer: Tokenizer) -> None:
    text = "我们在学校看书他说今天很累"
    assert len(tokenizer.encode(text).ids) == len(text)


def test_nothing_is_added(tokenizer: Tokenizer) -> None:
    assert tokenizer.encode("The dog").tokens == ["ĠThe", "Ġdog"]


def test_words_survive_a_round_trip(tokenizer: Tokenizer) -> None:
    text = "The king's horses couldn't cross the bridge, so they waited."
    assert tokenizer.decode(tokenizer.encode(text).ids) == " " + text
