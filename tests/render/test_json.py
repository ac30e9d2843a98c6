from __future__ import annotations

import io
import itertools
import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attn_cli.render import Target
from attn_cli.render import json as renderer
from attn_cli.render import jsonl as lines
from attn_cli.report import Head

from .reports import HOSTILE, SENTENCE, Stream, head, rendered, report


def strict(text: str) -> Any:
    """A JSON document, NaN and Infinity refused."""

    def refuse(word: str) -> None:
        raise ValueError(word)

    return json.loads(text, parse_constant=refuse)


def test_the_contract() -> None:
    drawn = rendered(renderer, report())
    assert drawn.endswith("]}\n")
    assert drawn.count("\n") == 1
    document = strict(drawn)
    assert list(document) == [
        "schema", "version", "text", "pair", "target", "model", "measure", "merge", "hidden", "renormalised",
        "tokens", "target_tokens", "heads",
    ]  # fmt: skip
    names = ["position", "id", "piece", "text", "start", "end", "special", "segment"]
    assert [list(token) for token in document["tokens"]] == [names] * len(SENTENCE)
    assert document["target_tokens"] is None
    first = document["heads"][0]
    assert list(first) == ["kind", "layer", "head", "queries", "keys", "attn", "top"]
    assert first["queries"] == first["keys"] == list(range(len(SENTENCE)))
    assert first["top"][1]["query"] == 1
    assert first["top"][1]["keys"][0].keys() == {"key", "text", "weight"}


def test_further_fields_stand_before_the_tokens() -> None:
    document = strict(rendered(renderer, report(fields={"ignored_keys": ["x"], "drawn": np.float32(0.1)})))
    assert list(document)[10:12] == ["ignored_keys", "drawn"]
    assert document["drawn"] == 0.1


@given(st.lists(st.floats(0, 1, width=32), min_size=4, max_size=4))
def test_weights_read_back_as_the_same_float32(weights: list[float]) -> None:
    attn = np.array(weights, dtype=np.float32).reshape(2, 2)
    drawn = rendered(renderer, report([head(("a", "b"), attn=attn)], ("a", "b")))
    made = strict(drawn)["heads"][0]
    assert np.array_equal(np.array(made["attn"], dtype=np.float32), attn)
    for top in made["top"]:
        assert [np.float32(key["weight"]) for key in top["keys"]] == [
            attn[top["query"], key["key"]] for key in top["keys"]
        ]


def test_weights_take_the_shortest_decimals() -> None:
    attn = np.array([[0.1, 0.9]], dtype=np.float32)
    made = head(("a", "b"), queries=[0], attn=np.vstack([attn, attn]))
    drawn = rendered(renderer, report([made], ("a", "b")))
    assert '"attn":[[0.1,0.9]]' in drawn
    assert '"weight":0.9}' in drawn


def test_what_is_not_a_number_is_null() -> None:
    attn = np.array([[np.nan, np.inf], [-np.inf, 1]], dtype=np.float32)
    made = head(("a", "b"), attn=attn, held=np.array([np.nan, 0.5], dtype=np.float32))
    first = strict(rendered(renderer, report([made], ("a", "b"))))["heads"][0]
    assert first["attn"] == [[None, None], [None, 1]]
    assert first["held"] == [None, 0.5]
    assert list(first)[-1] == "held"


def test_without_weights_the_key_is_left_out() -> None:
    first = strict(rendered(renderer, report([Head(**{**head().__dict__, "attn": None})])))["heads"][0]
    assert "attn" not in first
    assert len(first["top"]) == len(SENTENCE)


def test_merged_positions_are_lists() -> None:
    made = head(("a", "b"))
    merged = type(made.keys)(**{**made.keys.__dict__, "positions": (0, (1, 2))})
    first = strict(rendered(renderer, report([Head(**{**made.__dict__, "keys": merged})])))["heads"][0]
    assert first["keys"] == [0, [1, 2]]


@pytest.mark.parametrize("encoding", [None, "utf-8", "ascii", "cp1252", "shift_jis"])
@pytest.mark.parametrize("module", [renderer, lines])
def test_hostile_tokens_survive(module: Any, encoding: str | None) -> None:
    made = report([head(HOSTILE)], HOSTILE)
    drawn = rendered(module, made, stream=Stream(encoding))
    assert "\x1b" not in drawn
    document = strict(drawn)
    if module is renderer:
        assert [token["text"] for token in document["tokens"]] == list(HOSTILE)
        assert document["text"] == made.text
    else:
        assert document["tokens"] == list(HOSTILE)


def test_text_without_half_characters_is_plain_utf8() -> None:
    assert "日本 👍" in rendered(renderer, report(text="日本 👍"), stream=Stream("utf-8"))
    assert "\\u65e5\\u672c \\ud83d\\udc4d" in rendered(renderer, report(text="日本 👍"), stream=Stream("cp1252"))


def test_half_characters_do_not_change_the_numbers() -> None:
    texts = ("a", "\ud83d")
    made = head(texts)
    first = strict(rendered(renderer, report([made], texts)))["heads"][0]
    assert made.attn is not None
    for top in first["top"]:
        for key in top["keys"]:
            assert np.float32(key["weight"]) == made.attn[top["query"], key["key"]]
            assert len(str(key["weight"])) < 14


def test_large_matrices_are_written_in_parts() -> None:
    parts: list[int] = []

    class Counted(io.StringIO):
        def write(self, text: str) -> int:
            parts.append(len(text))
            return super().write(text)

    texts = tuple(str(i) for i in range(700))
    stream = Counted()
    renderer.write(report([head(texts)], texts), Target(stream))
    made = strict(stream.getvalue())
    assert np.array(made["heads"][0]["attn"]).shape == (700, 700)
    assert max(parts) < len(stream.getvalue()) / 4


def test_nothing_is_written_before_the_heads_are_there() -> None:
    def heads() -> Iterator[Head]:
        yield head()
        raise ValueError("late")

    stream = Stream()
    with pytest.raises(ValueError, match="late"):
        renderer.write(replace(report(), heads=heads()), Target(stream))
    assert stream.getvalue() == ""


def test_no_heads() -> None:
    assert strict(rendered(renderer, report([])))["heads"] == []


def test_lines_hold_one_head_each() -> None:
    drawn = rendered(lines, report([head(), Head(**{**head(name=(1, 0)).__dict__, "text": 3})]))
    made = [strict(line) for line in drawn.splitlines()]
    assert list(made[0]) == [
        "schema", "text", "kind", "layer", "head", "queries", "keys", "attn", "top", "tokens",
        "source", "weights", "embeddings",
    ]  # fmt: skip
    assert [line["schema"] for line in made] == ["attn-cli.show-head/1"] * 2
    assert [line["text"] for line in made] == [0, 3]
    assert made[1]["layer"] == 1
    assert made[0]["weights"] == "loaded"


def test_lines_are_sent_as_they_are_computed() -> None:
    stream = Stream()
    seen: list[int] = []

    def heads() -> Iterator[Head]:
        for i in itertools.count():
            seen.append(stream.getvalue().count("\n"))
            if i == 3:
                raise ValueError("late")
            yield head(name=(0, i))

    with pytest.raises(ValueError, match="late"):
        lines.write(replace(report(), heads=heads()), Target(stream))
    assert seen == [0, 1, 2, 3]
    assert stream.getvalue().endswith("}\n")
