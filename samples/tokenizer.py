"""Make attn_cli/data/tokenizer.json: byte-level BPE, shared by the bundled models and by weights without a tokenizer.

    python samples/tokenizer.py

All 256 bytes are in the vocabulary, so no text has an unknown token. The words of the grammar, other common English
words and common Chinese characters are whole (`ignore_merges` takes a word of the vocabulary as it is); what is left
is put together from pieces by merges learned from the same words. Words carry their leading space, as in GPT-2. A
word that has none, at the start of the text or after a quote inside it, gets one from the normalizer, so "The" and
"(the" are whole too; offsets still are those of the given text, only decoding shows the added spaces.

The file adds no special tokens. `bert_like()` gives the copy for `tiny`, which adds [CLS] and [SEP].
"""

# ruff: noqa: RUF001

from __future__ import annotations

import json
import re
from pathlib import Path

import common
import grammar
import lexicon as lx
import patterns
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

DATA = Path(__file__).resolve().parent.parent / "attn_cli" / "data"
SPECIALS = ["[PAD]", "[CLS]", "[SEP]", "[MASK]", "<|endoftext|>"]
MERGED_PIECES = 330
SPACE = "Ġ"
OPENING = '\n\t"(-/[“'
CHARACTER = r"[一-鿿，。？！、；：“”‘’（）《》…—]"


def byte_form(text: str) -> str:
    return pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False).pre_tokenize_str(text)[0][0]


def word_list() -> list[str]:
    """Whole words with their leading space: the grammar's, their capitals where sentences start, and common ones."""
    words = grammar.vocabulary()
    flat = {part for word in words for part in word.replace("n't", "n 't").split() if part != "'t"}
    flat.update(w.lower() for w in common.ENGLISH)
    starters = set(patterns.FUNCTION_WORDS.split()) | {w.lower() for w in lx.OPENERS} | set(lx.NUMBERS)
    flat.update(w.removesuffix("n't").capitalize() if w != "can't" else "Can" for w in starters)
    flat.update({"I", "Did", "Didn", "Do", "Don", "Wasn", "Isn", "OK", "English", "Hello"})
    return sorted(word for word in flat if word.isalpha())


def learned(words: list[str]) -> list[tuple[str, str]]:
    """Merges for words of other texts, learned from the spelling of these."""
    t = Tokenizer(models.BPE())
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    trainer = trainers.BpeTrainer(
        vocab_size=256 + MERGED_PIECES,
        show_progress=False,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
    )
    t.train_from_iterator(words, trainer)
    return [tuple(m) for m in json.loads(t.to_str())["model"]["merges"]]


def build() -> Tokenizer:
    words = word_list()
    merges = learned(words)
    pieces = [*SPECIALS, *sorted(pre_tokenizers.ByteLevel.alphabet()), *(a + b for a, b in merges)]
    pieces += [SPACE + word for word in words]
    pieces += [SPACE + c for c in "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ\"(-'"]
    pieces += ["'t", "'s", "'re", "'ve", "'ll", "'m", "'d", *(SPACE + str(n) for n in range(21))]
    pieces += [byte_form(c) for c in (*common.characters(), *common.PUNCTUATION)]
    vocabulary = {piece: i for i, piece in enumerate(dict.fromkeys(pieces))}
    t = Tokenizer(models.BPE(vocab=vocabulary, merges=merges, ignore_merges=True))
    t.add_special_tokens(SPECIALS)
    t.normalizer = normalizers.Sequence(
        [
            normalizers.Replace("’", "'"),
            normalizers.Prepend(" "),
            normalizers.Replace(Regex(r"^ (?!\p{Latin}|\p{Nd})"), ""),
            # not at the very start, where the offsets would take the mark into the word
            *(normalizers.Replace(Regex(rf"(?<=[\s\S]){re.escape(c)}(?=\p{{Latin}})"), c + " ") for c in OPENING),
        ]
    )
    t.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(CHARACTER), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False),
        ]
    )
    t.decoder = decoders.ByteLevel()
    t.post_processor = processors.ByteLevel(add_prefix_space=True, trim_offsets=True)
    return t


def bert_like(t: Tokenizer) -> Tokenizer:
    """The copy that frames a text as [CLS] text [SEP], and a second one as text [SEP]."""
    copy = Tokenizer.from_str(t.to_str())
    copy.post_processor = processors.Sequence(
        [
            processors.ByteLevel(add_prefix_space=True, trim_offsets=True),
            processors.TemplateProcessing(
                single="[CLS] $A [SEP]",
                pair="[CLS] $A [SEP] $B:1 [SEP]:1",
                special_tokens=[(s, t.token_to_id(s)) for s in ("[CLS]", "[SEP]")],
            ),
        ]
    )
    return copy


def write(t: Tokenizer, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(json.loads(t.to_str()), ensure_ascii=False, separators=(",", ":"))
    path.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    tokenizer = build()
    write(tokenizer, DATA / "tokenizer.json")
    print(f"{DATA / 'tokenizer.json'}: {tokenizer.get_vocab_size()} entries")
