"""Words that a vocabulary lacks: counted, shown as they were typed, found, and no special tokens."""

from __future__ import annotations

import json

from tests.helpers import GOLDEN, attn_cli

CHINESE = "\u5c0f\u72d7 it \U0001f600"
BERT = str(GOLDEN / "bert")


def test_words_that_the_vocabulary_lacks_are_counted_and_shown() -> None:
    done = attn_cli("show", "-m", BERT, CHINESE)
    said = "2 of 4 words are not in this model's vocabulary: it reads [UNK] instead"
    assert said in done.stdout.decode()
    assert done.stderr.decode() == f"warning: {said}\n"
    for address in ("[UNK]", "\u72d7"):
        shown = attn_cli("show", "-m", BERT, CHINESE, "--query", address).stdout.decode()
        assert "\u72d7?@2 looks at" in shown
        assert ("\U0001f600?@4 looks at" in shown) == (address == "[UNK]")
    assert (
        "\u72d7? looks at \U0001f600?"
        in attn_cli("find", "-m", BERT, CHINESE, "-q", "\u72d7", "--key", "\U0001f600").stdout.decode()
    )
    told = attn_cli("explain", "-m", BERT, CHINESE, "-q", "\u72d7", "--lang", "en").stdout.decode()
    assert "“\u72d7?” looks most at" in told
    assert said in told


def test_one_word_that_the_vocabulary_lacks_is_no_warning() -> None:
    done = attn_cli("show", "-m", BERT, "it it it \u72d7")
    assert "1 of 4 words is not in this model's vocabulary" in done.stdout.decode()
    assert done.stderr == b""


def test_unknown_tokens_are_no_special_tokens_in_json() -> None:
    document = json.loads(attn_cli("show", "-m", BERT, CHINESE, "--hide-special", "--json", "--no-attn").stdout)
    token = document["tokens"][2]
    assert (token["piece"], token["text"], token["special"]) == ("[UNK]", "\u72d7", None)
    assert document["hidden"] == [0, 5]
    assert [top["query"] for top in document["heads"][0]["top"]] == [1, 2, 3, 4]


def test_different_unknown_words_are_different_places() -> None:
    shown = attn_cli("compare", "-m", BERT, "it \u72d7", "it \u732b", "--json").stdout
    assert [pair["same"] for pair in json.loads(shown)["aligned"]] == [True, True, False, True]
