"""npz: what NumPy reads back, from a pipe as from a file."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from attn_cli.render import Target, npz
from attn_cli.report import Head, Report
from tests.helpers import GOLDEN, attn_cli

BERT = str(GOLDEN / "bert")
TEXT = "The dog slept beside the stove"


class Pipe(io.RawIOBase):
    """A stream that cannot go back."""

    def __init__(self) -> None:
        self.data = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int:
        part = bytes(data)  # type: ignore[call-overload]
        self.data += part
        return len(part)


def read(data: bytes) -> dict[str, np.ndarray]:
    return dict(np.load(io.BytesIO(data), allow_pickle=False))


def test_arrays_are_those_of_json() -> None:
    arrays = read(attn_cli("show", "-m", BERT, TEXT, "--format", "npz").stdout)
    document = json.loads(attn_cli("show", "-m", BERT, TEXT, "--json").stdout)
    about = json.loads(str(arrays["about"]))
    assert about["schema"] == "attn-cli.show/1"
    assert about["model"] == document["model"]
    assert arrays["tokens"].tolist() == [t["text"] for t in document["tokens"]]
    assert arrays["queries"].tolist() == arrays["keys"].tolist() == list(range(len(document["tokens"])))
    assert len(arrays["layers"]) == len(document["heads"])
    for kind, layer, number, head in zip(
        arrays["kinds"], arrays["layers"], arrays["heads"], document["heads"], strict=True
    ):
        assert (kind, layer, number) == (head["kind"], head["layer"], head["head"])
        array = arrays[f"L{layer}.H{number}"]
        assert array.dtype == np.float32
        assert np.array_equal(array, np.array(head["attn"], np.float32))


def test_words_have_a_row_of_positions_each() -> None:
    arrays = read(attn_cli("show", "-m", BERT, TEXT, "--words", "--format", "npz", "-H", "0.0").stdout)
    members = [[p for p in row if p >= 0] for row in arrays["keys"].reshape(len(arrays["keys"]), -1).tolist()]
    assert sorted(p for row in members for p in row) == list(range(len(arrays["tokens"])))
    assert arrays["L0.H0"].shape == (len(members), len(members))


def test_without_matrices_there_are_the_strongest_keys() -> None:
    arrays = read(attn_cli("show", "-m", BERT, TEXT, "--no-attn", "-k", "2", "--format", "npz", "-H", "0.0").stdout)
    whole = read(attn_cli("show", "-m", BERT, TEXT, "--format", "npz", "-H", "0.0").stdout)["L0.H0"]
    assert "L0.H0" not in arrays
    assert arrays["L0.H0.top_keys"].tolist() == np.argsort(-whole, axis=1)[:, :2].tolist()
    assert np.array_equal(arrays["L0.H0.top_weights"], -np.sort(-whole, axis=1)[:, :2])


def test_tables_are_columns() -> None:
    arrays = read(attn_cli("heads", "-m", BERT, TEXT, "--format", "npz").stdout)
    assert arrays["heads.layer"].dtype == np.int64
    assert arrays["heads.entropy"].dtype == np.float64
    assert len(arrays["heads.name"]) == len(arrays["heads.layer"])


def test_truth_values_are_truth_values() -> None:
    texts = TEXT, "The dog slept under the stove"
    moved = read(attn_cli("compare", "-m", BERT, *texts, "--format", "npz").stdout)["heads.moved"]
    rows = json.loads(attn_cli("compare", "-m", BERT, *texts, "--json").stdout)["heads"]
    assert moved.dtype == np.bool_
    assert moved.tolist() == [row["moved"] for row in rows]
    assert read(attn_cli("weights", BERT, "--format", "npz").stdout)["sources.supported"].tolist() == [True]


def test_an_encoder_decoder_names_its_kinds() -> None:
    done = attn_cli("show", "-m", str(GOLDEN / "t5"), TEXT, "--target", "The stove", "--format", "npz")
    arrays = read(done.stdout)
    assert {"encoder.L0.H0", "decoder.L0.H0", "cross.L0.H0", "cross.queries", "target_tokens"} <= set(arrays)
    assert arrays["cross.L0.H0"].shape == (len(arrays["target_tokens"]), len(arrays["tokens"]))


def test_it_is_read_back(tmp_path: Path) -> None:
    file = tmp_path / "a.npz"
    assert attn_cli("show", "-m", BERT, TEXT, "-o", str(file)).returncode == 0
    first = json.loads(attn_cli("show", "-m", BERT, TEXT, "--json").stdout)
    again = json.loads(attn_cli("show", "--attn", str(file), "--json").stdout)
    assert [h["attn"] for h in again["heads"]] == [h["attn"] for h in first["heads"]]
    assert [t["text"] for t in again["tokens"]] == [t["text"] for t in first["tokens"]]


@pytest.mark.parametrize("options", [["--query", "0-2"], ["--key", "1-2"], ["--words"], ["--hide-special"]])
def test_parts_of_a_matrix_are_not_read_back_as_a_whole(tmp_path: Path, options: list[str]) -> None:
    file = tmp_path / "a.npz"
    text = "unbelievable things" if "--words" in options else TEXT
    assert attn_cli("show", "-m", BERT, text, "-o", str(file), *options).returncode == 0
    done = attn_cli("show", "--attn", str(file))
    assert done.returncode == 3
    assert b"no whole matrices" in done.stderr


def test_nothing_is_kept_and_a_pipe_is_enough() -> None:
    from tests.render.reports import axis

    names = axis(["a", "b"])
    taken: list[int] = []
    pipe = Pipe()

    def heads() -> Iterator[Head]:
        for i in range(3):
            taken.append(len(pipe.data))
            yield Head(
                kind="self",
                layer=0,
                head=i,
                queries=names,
                keys=names,
                attn=np.full((2, 2), i, np.float64),
                visible=None,
            )

    report = Report(schema="attn-cli.show/1", version="", text="a b", heads=heads())
    npz.write(report, Target(io.TextIOWrapper(io.BufferedWriter(pipe, 1))))
    assert taken == sorted(set(taken)), "each head is written before the next is taken"
    arrays = read(bytes(pipe.data))
    assert arrays["L0.H2"].tolist() == [[2, 2], [2, 2]]
    assert arrays["L0.H2"].dtype == np.float64


def test_hostile_tokens_come_back() -> None:
    from tests.render.reports import HOSTILE, axis

    names = axis(HOSTILE)
    n = len(HOSTILE)
    head = Head(kind="self", layer=0, head=0, queries=names, keys=names, attn=np.eye(n, dtype=np.float32), visible=None)
    from attn_cli.report import Token

    tokens = tuple(Token(position=i, id=i, piece=t, text=t) for i, t in enumerate(HOSTILE))
    stream = io.BytesIO()
    report = replace(Report(schema="s/1", version="", text="".join(HOSTILE), heads=(head,)), tokens=tokens)
    npz.write(report, Target(stream))  # type: ignore[arg-type]
    assert read(stream.getvalue())["tokens"].tolist() == [
        t.rstrip("\x00") for t in HOSTILE
    ]  # what NumPy's texts can hold


def test_a_terminal_is_no_place_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    from attn_cli.errors import UsageError
    from attn_cli.streams import write_reports

    class Screen(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stdout", Screen())
    with pytest.raises(UsageError, match="no text for a terminal"):
        write_reports([], "npz", None)
