"""Tokenizer files to tokens: readable texts, spans, words, special tokens."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

import attn_cli
from attn_cli.errors import CheckpointError, TextError
from attn_cli.tokens import Tokens, open_tokenizer, open_tokenizer_file
from tests.helpers import GOLDEN


def bert() -> attn_cli.model.Model:
    return attn_cli.load(GOLDEN / "bert")


def words(tokens: Tokens) -> list[str]:
    from attn_cli.model.views import merged, word_groups

    return list(merged(tokens, word_groups(tokens)).texts)


def test_wordpieces_read_without_their_marks() -> None:
    tokens = bert().encode("Only TWO")
    assert tokens.pieces[:4] == ("[CLS]", "on", "##l", "##y")
    assert tokens.texts[:4] == ("[CLS]", "on", "l", "y")
    assert tokens.spans[:4] == (None, (0, 2), (2, 3), (3, 4))
    assert tokens.special == ("added", *(None,) * (len(tokens) - 2), "added")
    assert words(tokens) == ["[CLS]", "Only", "TWO", "[SEP]"]


def test_spans_index_the_text_as_it_was_typed() -> None:
    text = "The CAT Élan e\u0301"
    tokens = bert().encode(text)
    spelled = [text[a:b] for span in tokens.spans if span is not None for a, b in [span]]
    assert "É" in spelled
    assert "".join(spelled).replace("\u0301", "") == text.replace(" ", "").replace("\u0301", "")


def byte_level(vocab_text: str = "") -> Tokenizer:
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    backend = Tokenizer(models.BPE({c: i for i, c in enumerate(alphabet)}, []))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    backend.add_special_tokens(["<|endoftext|>"])
    return backend


@pytest.fixture
def bytes_file(tmp_path: Path) -> Path:
    byte_level().save(str(tmp_path / "tokenizer.json"))
    return tmp_path / "tokenizer.json"


def test_a_character_over_several_pieces_is_shown_whole_with_a_part_mark(bytes_file: Path) -> None:
    tokens = open_tokenizer_file(bytes_file).encode("é👍 x")
    assert tokens.texts == ("é[1/2]", "é[2/2]", "👍[1/4]", "👍[2/4]", "👍[3/4]", "👍[4/4]", " ", "x")
    assert len(set(tokens.texts)) == 8
    assert tokens.spans[2:6] == ((1, 2),) * 4


def test_spaces_and_newlines_stay(bytes_file: Path) -> None:
    tokens = open_tokenizer_file(bytes_file).encode("a \n\tb")
    assert tokens.texts == ("a", " ", "\n", "\t", "b")


def test_typed_special_tokens_are_told_from_added_ones(bytes_file: Path) -> None:
    tokenizer = open_tokenizer_file(bytes_file)
    typed = tokenizer.encode("a<|endoftext|>b")
    assert typed.special == (None, "typed", None)
    assert typed.spans[1] == (1, 14)
    literal = tokenizer.encode("a<|endoftext|>b", literal=True)
    assert set(literal.special) == {None}
    assert "".join(literal.texts) == "a<|endoftext|>b"
    assert tokenizer.encode("a<|endoftext|>b") == typed


def unigram() -> Tokenizer:
    backend = Tokenizer(models.Unigram([("<unk>", 0.0), ("\u2581the", -1.0), ("\u2581", -2.0)], 0))
    backend.pre_tokenizer = pre_tokenizers.Metaspace()
    backend.decoder = decoders.Metaspace()
    backend.add_special_tokens(["<unk>"])
    return backend


def test_an_unknown_token_is_called_by_the_text_it_stands_for() -> None:
    tokens = bert().encode("\u5c0f\u72d7 it \U0001f600 [UNK]")
    assert tokens.pieces == ("[CLS]", "\u5c0f", "[UNK]", "it", "[UNK]", "[UNK]", "[SEP]")
    assert tokens.texts == ("[CLS]", "\u5c0f", "\u72d7", "it", "\U0001f600", "[UNK]", "[SEP]")
    assert tokens.special == ("added", *(None,) * 4, "typed", "added")
    assert tokens.unknown == (False, False, True, False, True, False, False)
    assert tokens.words == (None, 0, 1, 2, 3, None, None)


def test_an_unknown_token_of_a_pair_is_called_by_the_pair() -> None:
    tokens = bert().encode("it it it", "a \u72d7")
    assert [t for t, lacks in zip(tokens.texts, tokens.unknown, strict=True) if lacks] == ["\u72d7"]


def test_a_unigram_piece_is_its_spelling_in_the_vocabulary(tmp_path: Path) -> None:
    unigram().save(str(tmp_path / "tokenizer.json"))
    tokens = open_tokenizer_file(tmp_path / "tokenizer.json").encode("the \u72d7")
    assert tokens.pieces[-1] == "<unk>"
    assert tokens.texts[-1] == "\u72d7"
    assert tokens.special == (None,) * len(tokens)
    assert tokens.unknown == (*(False,) * (len(tokens) - 1), True)


def test_a_byte_level_vocabulary_lacks_nothing(bytes_file: Path) -> None:
    assert not any(open_tokenizer_file(bytes_file).encode("\u72d7<|endoftext|>").unknown)


def test_added_tokens_can_be_left_out() -> None:
    model = bert()
    assert model.encode("on", added=False).texts == ("on",)
    with pytest.raises(TextError, match="no tokens"):
        model.encode("", added=False)
    assert model.encode("").texts == ("[CLS]", "[SEP]")


def test_truncation_and_padding_in_the_file_are_switched_off(tmp_path: Path) -> None:
    backend = byte_level()
    backend.enable_truncation(2)
    backend.enable_padding(length=9, direction="left")
    backend.save(str(tmp_path / "tokenizer.json"))
    assert json.loads((tmp_path / "tokenizer.json").read_text(encoding="utf-8"))["padding"]
    assert open_tokenizer_file(tmp_path / "tokenizer.json").encode("abcdef").texts == tuple("abcdef")


def test_pairs_have_segments_and_their_own_spans() -> None:
    tokens = bert().encode("on", "two on")
    assert tokens.segments == (0, 0, 0, *(1,) * (len(tokens) - 3))
    assert tokens.spans[3] is not None
    assert tokens.spans[3][0] == 0


def test_vocab_txt_alone_equals_the_tokenizer_json(tmp_path: Path) -> None:
    model = bert()
    vocab = model.tokenizer.backend.get_vocab()
    lines = [t for t, _ in sorted(vocab.items(), key=lambda item: item[1])]
    (tmp_path / "vocab.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    alone = open_tokenizer({"vocab.txt": tmp_path / "vocab.txt"})
    for text in ("Only two of", "El niño dibujó 🐋", "Hello, [SEP] world"):
        assert alone.encode(text) == model.tokenizer.encode(text)
        assert alone.encode(text, "a pair") == model.tokenizer.encode(text, "a pair")


def test_chinese_characters_are_words_of_their_own(bytes_file: Path) -> None:
    tokens = open_tokenizer_file(bytes_file).encode("日本, ok")
    assert words(tokens) == ["日", "本", ",", " ", "ok"] or words(tokens) == ["日", "本", ",", "ok"]


def test_half_characters_do_not_crash(bytes_file: Path) -> None:
    tokens = open_tokenizer_file(bytes_file).encode("a\ud83db")
    assert tokens.texts[0] == "a"
    assert tokens.texts[-1] == "b"
    assert tokens.spans[-1] == (2, 3)


@pytest.mark.parametrize("content", ["", "{}", "not json", '{"model": {"type": "FromTheFuture"}}', "\x00\xff"])
def test_unreadable_tokenizer_files(tmp_path: Path, content: str) -> None:
    (tmp_path / "tokenizer.json").write_text(content, encoding="utf-8")
    with pytest.raises(CheckpointError, match=r"tokenizer\.json"):
        open_tokenizer_file(tmp_path / "tokenizer.json")


def test_unreadable_vocabularies(tmp_path: Path) -> None:
    (tmp_path / "vocab.txt").write_text("a\nb\n", encoding="utf-8")
    with pytest.raises(CheckpointError, match=r"no \[UNK\]"):
        open_tokenizer({"vocab.txt": tmp_path / "vocab.txt"})
    (tmp_path / "vocab.json").write_text('{"a": "x"}', encoding="utf-8")
    (tmp_path / "merges.txt").write_text("a b\n", encoding="utf-8")
    files = {"vocab.json": tmp_path / "vocab.json", "merges.txt": tmp_path / "merges.txt"}
    with pytest.raises(CheckpointError, match="not a map"):
        open_tokenizer(files)
    (tmp_path / "vocab.json").write_text('{"a": 0}', encoding="utf-8")
    with pytest.raises(CheckpointError, match=r"merges\.txt"):
        open_tokenizer(files)


def test_longer_than_the_positions_names_both_numbers() -> None:
    with pytest.raises(TextError, match="has 66 tokens, the model takes at most 64"):
        bert().encode("a " * 64)


def test_the_default_tokenizer_has_no_unknown_token() -> None:
    tokenizer = attn_cli.random_model().tokenizer
    for text in ("The animal didn't", "我不喜欢狗", "مرحبا", "👩‍👧 \x00\x1b", "naïve café"):
        tokens = tokenizer.encode(text)
        assert "".join(tokenizer.backend.decode(list(tokens.ids)).split()) == "".join(text.split())
    assert tokenizer.encode("The animal crossed the street").texts == ("The", "animal", "crossed", "the", "street")
    assert len(tokenizer.encode("我们不喜欢狗")) <= 6
