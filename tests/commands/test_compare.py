"""`attn-cli compare`: two sentences, two models, two heads."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from attn_cli import load
from attn_cli.collect.divergence import jensen_shannon
from attn_cli.commands._align import align, by_words, gather
from tests.blocks import tokens
from tests.commands.test_find import document
from tests.commands.test_heads import ANIMAL, MINILM, SMOLLM2, below_header, given, out
from tests.helpers import GOLDEN, assert_close

BERT, GPT2, LLAMA = (str(GOLDEN / name) for name in ("bert", "gpt2", "llama"))


def test_alignment_marks_what_differs() -> None:
    pairs = align(tokens("the cat was too tired .".split()), tokens("the cat was wide .".split()))
    assert [(p.before, p.after, p.same) for p in pairs] == [
        ((0,), (0,), True), ((1,), (1,), True), ((2,), (2,), True), ((3, 4), (3,), False), ((5,), (4,), True),
    ]  # fmt: skip
    swapped = align(tokens("a b c".split()), tokens("a x c".split()))
    assert [p.same for p in swapped] == [True, False, True]
    longer = align(tokens("a c".split()), tokens("a b c".split()))
    assert [(p.before, p.after) for p in longer] == [((0,), (0,)), ((), (1,)), ((1,), (2,))]
    assert not longer[1].both


def test_gathering_sums_keys_and_averages_queries() -> None:
    attn = np.arange(16.0).reshape(1, 4, 4)
    found = gather(attn, [(0, 1), (), (3,)], [(1, 2), (3,)])
    assert found.tolist() == [[[(4 + 5 + 8 + 9) / 2, 0, (7 + 11) / 2], [12 + 13, 0, 15]]]


def test_two_heads_at_80_columns(tmp_path: Path) -> None:
    file = str(given(tmp_path, ["the", "cat", "sat"]))
    assert below_header(out("compare", "--attn", file, "--head", "0.0", "--other-head", "1.0", "--query", "1-2")) == (
        "head        bits           most in  moved  before    was   is  after  was    is\n"
        "0.0 to 1.0  0.46 ███▊      sat      yes    cat     100.0  3.3  the    0.0  93.3\n"
        "bits: Jensen-Shannon divergence of the rows, 0 the same, 1 nothing in common,\n"
        "mean over queries; per cent before, then after: attention weights after softmax\n"
        "\n"
        "row by row\n"
        "query  bits\n"
        "cat    0.03 ▎\n"
        "sat    0.89 ███████▏\n"
        "\n"
        "0.0 to 1.0  second minus first\n"
        "       t   c   s\n"
        "       h   a   a\n"
        "       e   t   t\n"
        "cat   -7  +3  +3\n"
        "sat  +93 -97  +3\n"
        "\n"
        "rows are queries (what looks), columns are keys (what is looked at)\n"
        "numbers are percentage points: second minus first   · less than half a point\n"
    )


def test_two_sentences_and_one_query_at_80_columns() -> None:
    one, two = "the dog slept", "the cat slept"
    shown = out("compare", "-m", BERT, one, two, "--query", "slept", "--key", "the", "-H", "0.0")
    found = document("compare", "-m", BERT, one, two, "--query", "slept", "--key", "the", "-H", "0.0")["heads"][0]
    assert f"against: {two}" in shown
    assert "moved: in none of 1 head the strongest key of all turns from one of the to another" in " ".join(
        shown.split()
    )
    assert f"{100 * found['the_before']:.1f}" in shown
    assert f"{100 * found['the_after']:.1f}" in shown
    assert max(map(len, shown.splitlines())) <= 80


def test_the_numbers_are_those_of_the_matrices() -> None:
    one, two = "the dog slept beside the stove", "the dog slept beside the table"
    found = document("compare", "-m", GPT2, one, two, "-l", "0-1")
    assert found["schema"] == "attn-cli.compare/1"
    a, b = (load(GOLDEN / "gpt2").attend(t) for t in (one, two))
    pairs = [(p["before"], p["after"]) for p in found["aligned"]]
    both = [p for p in pairs if p[0] and p[1]]
    for head in found["heads"]:
        rows = [x.head(head["layer"], head["head"])[None] for x in (a, b)]
        sides = [gather(r, [tuple(p[i]) for p in pairs], [tuple(p[i]) for p in both])[0] for i, r in enumerate(rows)]
        assert head["divergence"] == pytest.approx(np.nanmean(jensen_shannon(*sides)), abs=1e-5)
    order = [h["divergence"] for h in found["heads"]]
    assert order == sorted(order, reverse=True)
    # a causal model reads the same beginning the same way
    same = document("compare", "-m", GPT2, one, two, "--query", "slept")
    assert max(h["divergence"] for h in same["heads"]) == pytest.approx(0, abs=1e-6)


def test_the_difference_of_a_head() -> None:
    one, two = "the dog slept", "the cat slept"
    found = document("compare", "-m", GPT2, one, two, "-H", "1.2")
    (change,) = found["differences"]
    a, b = (load(GOLDEN / "gpt2").attend(t).head(1, 2) for t in (one, two))
    pairs = [(tuple(p["before"]), tuple(p["after"])) for p in found["aligned"]]
    both = [p for p in pairs if p[0] and p[1]]
    want = gather(b[None], [p[1] for p in pairs], [p[1] for p in both])
    want = want - gather(a[None], [p[0] for p in pairs], [p[0] for p in both])
    assert_close(np.array(change["change"]), want[0], 1e-6)


def test_the_same_text_does_not_change() -> None:
    found = document("compare", "-m", BERT, "the dog slept", "the dog slept", "-H", "0.all")
    assert {h["divergence"] for h in found["heads"]} == {0}
    assert not any(h["moved"] for h in found["heads"])
    assert all(not np.array(d["change"]).any() for d in found["differences"])


def test_two_models_of_different_tokenizers_by_words() -> None:
    text = "the cat sat on the mat"
    a, b = (load(GOLDEN / name).encode(text) for name in ("gpt2", "bert"))
    pairs = by_words(a, b)
    assert len([p for p in pairs if p.both]) == 6
    assert [p.before for p in pairs if not p.after] == []
    assert [p.after for p in pairs if not p.before] == [(0,), (len(b) - 1,)]  # [CLS] and [SEP]
    found = document("compare", "-m", GPT2, "--other-model", LLAMA, text)
    assert found["other"]["model"]["family"] == "llama"
    assert found["heads"]


@pytest.mark.parametrize(
    ("one", "two", "text", "places"),
    [
        ("tiny", "bert", "The animal didn't go.", "[CLS] The animal didn 't go . [SEP]"),  # an apostrophe alone or not
        ("gpt2", "llama", "it's  fine.", "<s> it ' s fine."),  # a point in one piece with letters; two spaces
        ("gpt2", "bert", "  a  na\u00efve\x00 caf\u00e9 ", "[CLS] a na\u00efve\x00 caf\u00e9 [SEP]"),  # what one drops
        ("gpt2", "bert", "\ufeffa cafe\u0301 it\n", "[CLS] \ufeffa cafe\u0301 it [SEP]"),
        ("gpt2", "tiny", "\u65e5\u672c \U0001f44d", "[CLS] \u65e5 \u672c \U0001f44d [SEP]"),  # parts of characters
        ("gpt2", "t5", "didn't go", "<s> didn't go </s>"),  # unknown as whole words
    ],
)
def test_any_text_is_cut_where_words_of_both_begin(one: str, two: str, text: str, places: str) -> None:
    a, b = (load(name if name == "tiny" else GOLDEN / name).encode(text) for name in (one, two))
    pairs = by_words(a, b)
    assert [i for p in pairs for i in p.before] == list(range(len(a)))
    assert [i for p in pairs for i in p.after] == list(range(len(b)))
    wanted = places.split(" ")
    assert len(pairs) == len(wanted)
    for pair, name in zip(pairs, wanted, strict=True):
        for read_by, side in ((a, pair.before), (b, pair.after)):
            spans = [span for i in side if (span := read_by.spans[i]) is not None]
            read = text[spans[0][0] : spans[-1][1]].strip() if spans else "".join(read_by.pieces[i] for i in side)
            assert not side or read.strip("\x00\ufeff\u0301") == name.strip("\x00\ufeff\u0301")


def test_a_pair_of_texts_and_the_same_special_tokens() -> None:
    a, b = load("tiny").encode("it's so"), load(GOLDEN / "bert").encode("it's so")
    assert all(pair.both and pair.same for pair in by_words(a, b))
    a, b = (load(GOLDEN / name).encode("it's", "'s so") for name in ("bert", "gpt2"))
    assert [a.segments[p.before[0]] for p in by_words(a, b) if p.both] == [0, 0, 0, 1, 1, 1]


def test_an_unknown_token_is_not_the_word() -> None:
    shown = out("compare", "-m", GPT2, "--other-model", BERT, "it \u65e5", "--query", "\u65e5", "-H", "0.0")
    assert "\u65e5/\u65e5? looks at" in shown


def test_a_text_without_a_common_place_is_named() -> None:
    text = "\u65e5\u672c\u8a9e"
    refused = out("compare", "-m", GPT2, "--other-model", str(GOLDEN / "gpt_neox"), text, code=2)
    assert f"the two models part '{text}' at no place in common" in refused
    assert document("compare", "-m", GPT2, "--other-model", BERT, "hello\n")["heads"]  # one word is no such text


@pytest.mark.real
def test_an_apostrophe_in_real_models() -> None:
    folder = Path(os.environ["ATTN_CLI_REAL_MODELS"])
    minilm, smollm = str(folder / MINILM), str(folder / SMOLLM2)
    for one, two in (("tiny", minilm), (minilm, smollm), (smollm, minilm)):
        found = document("compare", "-m", one, "--other-model", two, ANIMAL, "--query", "it", "-H", "0.0")
        assert len([p for p in found["aligned"] if p["before"] and p["after"]]) >= 13


def test_one_table_at_80_columns() -> None:
    for other in (ANIMAL.replace("tired", "wide"), "Completely different words here"):
        shown = out("compare", "-m", "tiny", ANIMAL, other)
        assert shown.count("L3.H0") == 1
        assert max(map(len, shown.splitlines())) <= 80
    assert "these texts do not align well: 0 of 9 tokens have a counterpart" in " ".join(shown.split())


def test_no_difference_is_said_in_one_line(tmp_path: Path) -> None:
    said = "no difference: all compared weights are the same\n"
    assert out("compare", "-m", BERT, "the dog", "the dog", "-H", "0.0").endswith(said)
    file = str(given(tmp_path, ["the", "cat", "sat"]))
    assert out("compare", "--attn", file, "--head", "1.0", "--other-head", "1.0").endswith(said)
    found = document("compare", "-m", BERT, "the dog", "the dog", "-H", "0.0")
    assert len(found["heads"]) == len(found["differences"]) == 1


def test_special_tokens_left_out() -> None:
    found = document("compare", "-m", BERT, "the dog slept", "the cat slept", "--hide-special", "-H", "0.0")
    (change,) = found["differences"]
    rows = np.array(change["change"])
    assert not rows[0].any()  # [CLS] neither looks
    assert not rows[:, 0].any()  # nor is looked at
    assert found["renormalised"] is True


def test_refusals(tmp_path: Path) -> None:
    file = str(given(tmp_path))
    assert "compare with what?" in out("compare", "a b", code=2)
    assert "one at a time" in out("compare", "a b", "a c", "--other-model", BERT, code=2)
    assert "one head each" in out("compare", "--attn", file, "-H", "0.all", "--other-head", "1.0", code=2)
    assert "single heads" in out("compare", "a b", "a c", "--measure", "rollout", code=2)
    assert "not in the text" in out("compare", "-m", BERT, "the dog", "the cat", "--query", "giraffe", code=2)
    assert "one of the two texts only" in out("compare", "-m", GPT2, "the", "the dog", "--query", "dog", code=2)


@pytest.mark.real
def test_no_head_of_minilm_moves_from_noun_to_noun() -> None:
    model = str(Path(os.environ["ATTN_CLI_REAL_MODELS"]) / MINILM)
    wide = ANIMAL.replace("tired", "wide")
    found = document("compare", "-m", model, ANIMAL, wide, "--query", "it", "--key", "animal,street")
    assert not any(h["moved"] for h in found["heads"])
    named = {h["name"]: h for h in found["heads"]}
    assert found["heads"][0]["name"] == "L3.H1"
    assert (named["L3.H1"]["animal_before"], named["L3.H1"]["animal_after"]) == pytest.approx((0.68, 0.28), abs=0.01)
    assert (named["L4.H0"]["street_before"], named["L4.H0"]["street_after"]) == pytest.approx((0.08, 0.19), abs=0.01)
