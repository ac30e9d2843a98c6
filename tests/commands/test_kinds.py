"""What `show` gives of an encoder-decoder, and what `families` lists."""

from __future__ import annotations

import json

import numpy as np
import pytest

import attn_cli as api
from attn_cli.families import supported
from tests.golden.test_parity import CASES
from tests.helpers import GOLDEN, attn_cli

TEXT, TARGET = "the animal did not cross the street", "it was too tired to walk home"


def document(*args: str) -> dict[str, object]:
    """The JSON of a run that must succeed."""
    done = attn_cli("show", TEXT, "--json", *args)
    assert done.returncode == 0, done.stderr.decode()
    found: dict[str, object] = json.loads(done.stdout)
    return found


def test_json_holds_all_three_kinds_and_both_texts() -> None:
    found = document("-m", str(GOLDEN / "bart"), "--target", TARGET)
    a = api.load(GOLDEN / "bart").attend(TEXT, target=TARGET)
    assert found["target"] == TARGET
    assert [t["text"] for t in found["tokens"]] == list(a.tokens.texts)
    assert [t["text"] for t in found["target_tokens"]] == list(a.target_tokens.texts)
    assert found["target_tokens"][0]["special"] == "added"
    heads = {kind: [h for h in found["heads"] if h["kind"] == kind] for kind in a.kinds}
    assert len(found["heads"]) == sum(len(h) for h in heads.values())
    for kind, shown in heads.items():
        assert len(shown) == a[kind].shape[0] * a[kind].shape[1]
        for head in shown:
            assert np.array_equal(np.float32(head["attn"]), a.head(head["layer"], head["head"], kind))
    cross = heads["cross"][0]
    assert (len(cross["queries"]), len(cross["keys"])) == (len(a.target_tokens), len(a.tokens))
    assert found["model"]["decoder"]["n_layers"] == 1


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_one_kind_alone(kind: str) -> None:
    found = document("-m", str(GOLDEN / "t5"), "--target", TARGET, "--kind", kind)
    assert {h["kind"] for h in found["heads"]} == {kind}


def test_the_table_shows_every_kind_with_its_own_rows_and_columns() -> None:
    done = attn_cli("show", TEXT, "-m", str(GOLDEN / "mbart"), "--target", TARGET, "--words")
    text = done.stdout.decode()
    assert done.returncode == 0, done.stderr.decode()
    for kind in ("encoder", "decoder", "cross"):
        assert f"\n{kind} L" in text
    assert TARGET in text


def test_without_a_target_the_decoder_has_read_its_start_alone() -> None:
    text = attn_cli("show", TEXT, "-m", str(GOLDEN / "t5")).stdout.decode()
    assert "no --target" in text
    assert "cross L0.H0" in text
    assert "decoder L0.H0" not in text
    assert {h["kind"] for h in document("-m", str(GOLDEN / "t5"))["heads"]} == {"encoder", "decoder", "cross"}


def test_a_query_is_looked_for_where_it_may_stand() -> None:
    found = document("-m", str(GOLDEN / "bart"), "--target", TARGET, "--query", "animal")
    assert {h["kind"] for h in found["heads"]} == {"encoder"}
    found = document("-m", str(GOLDEN / "bart"), "--target", TARGET, "--query", "tired", "--key", "animal")
    assert {h["kind"] for h in found["heads"]} == {"cross"}


def test_layers_and_heads_of_the_stacks_that_have_them() -> None:
    found = document("-m", str(GOLDEN / "bart"), "--target", TARGET, "-H", "0.3")
    assert {h["kind"] for h in found["heads"]} == {"decoder", "cross"}  # the encoder has two heads


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (("-m", "bert", "--target", TARGET), 5, "no decoder"),
        (("-m", "bert", "--kind", "cross"), 2, "no cross attention"),
        (("-m", "bart", "--target", TARGET, "-l", "9"), 2, "no layer 9"),
        (("-m", "bart", "--kind", "sideways"), 2, "sideways"),
    ],
)
def test_what_a_model_has_not_is_said(args: tuple[str, ...], code: int, said: str) -> None:
    done = attn_cli("show", TEXT, *[str(GOLDEN / a) if a in CASES else a for a in args])
    assert (done.returncode, done.stdout) == (code, b"")
    assert said in done.stderr.decode()
    assert done.stderr.decode().count("\n") == 2


def test_families_lists_every_type_with_its_error() -> None:
    done = attn_cli("families", "--json")
    rows = {row["model_type"]: row for row in json.loads(done.stdout)["families"]}
    spelled = {t.replace("-", "_") for t in supported() if "-" in t}  # their modules are no types of their own
    assert rows.keys() == {t for t in supported() if t not in spelled}
    assert rows["xlm-roberta"]["family"] == "roberta"
    for row in rows.values():
        assert row["source"]
        assert row["attention"] is None or 0 < row["attention"] < 1e-5
    assert all(rows[case]["attention"] for case in CASES if case in rows)


def test_the_measured_errors_are_those_of_this_version() -> None:
    """The generated file names every family that has a reference: else run tests/reference/measure_families.py."""
    from importlib.resources import files

    from attn_cli.families import family

    measured = json.loads(files("attn_cli.data").joinpath("families.json").read_text(encoding="utf-8"))["families"]
    types = {json.loads((GOLDEN / c / "config.json").read_text(encoding="utf-8"))["model_type"] for c in CASES}
    assert {family(t).__name__.rsplit(".", 1)[-1] for t in types} == measured.keys()
