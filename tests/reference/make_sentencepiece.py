"""Makes tests/model/files/sentencepiece.json: a small vocabulary that SentencePiece has learnt, and how it cuts some texts.

    python tests/reference/make_sentencepiece.py

Needs the sentencepiece package, which is the reference for tokenizers of kind `llama` in GGUF files.
"""

from __future__ import annotations

import io
import json
from pathlib import Path

import sentencepiece

HERE = Path(__file__).resolve().parent
TEXTS = (
    "The animal didn't cross the street because it was too tired.",
    " two  spaces and a tab\tand\nlines",
    "Café naïve 東京 🙂 12345",
    "a",
    "",
    "unhappiness unbelievable, (really)!",
)


def main() -> None:
    lines = (HERE / "make_golden.py").read_text(encoding="utf-8").split("\n")
    words = (
        "the animal did not cross the street because it was too tired to walk home and then the street was long".split()
    )
    learnt = [*lines, *(" ".join(words[i:] + words[:i]) for i in range(len(words)))]
    found: dict[str, object] = {"texts": TEXTS}
    for name, prefix in (("prefix", True), ("plain", False)):
        model = io.BytesIO()
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(learnt), model_writer=model, vocab_size=500, model_type="bpe", byte_fallback=True,
            add_dummy_prefix=prefix, remove_extra_whitespaces=False, normalization_rule_name="identity",
            split_digits=True, character_coverage=0.99, minloglevel=2, user_defined_symbols=["<turn>"],
        )  # fmt: skip
        sp = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
        ids = range(sp.get_piece_size())
        kinds = [2 if sp.is_unknown(i) else 3 if sp.is_control(i) else 6 if sp.is_byte(i) else 1 for i in ids]
        found[name] = {
            "tokens": [sp.id_to_piece(i) for i in ids],
            "scores": [sp.get_score(i) for i in ids],
            "token_type": [4 if sp.id_to_piece(i) == "<turn>" else kinds[i] for i in ids],
            "ids": [sp.encode(text) for text in TEXTS],
        }
    target = HERE.parent / "model" / "files" / "sentencepiece.json"
    target.parent.mkdir(exist_ok=True)
    target.write_text(json.dumps(found, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
