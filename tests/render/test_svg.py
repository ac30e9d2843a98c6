from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from attn_cli.render import svg
from attn_cli.report import Report

from .reports import HOSTILE, Stream, head, random_report, rendered, report

SPACE = "{http://www.w3.org/2000/svg}"
REPORTS = {
    "plain": report(),
    "random": random_report(view="top"),
    "query": report([head(queries=[2])], view="query"),
    "hostile": report([head(HOSTILE)], HOSTILE, title="</title><script>alert(1)</script>"),
    "empty": report([]),
}


@pytest.mark.parametrize("name", REPORTS)
def test_is_well_formed_and_loads_nothing(name: str) -> None:
    drawn = rendered(svg, REPORTS[name])
    root = ElementTree.fromstring(drawn)
    assert root.tag == f"{SPACE}svg"
    assert "<script" not in drawn
    assert re.findall(r"https?:[^\"' ]+", drawn) == ["http://www.w3.org/2000/svg"]
    assert not re.search(r"href|url\(|@import|@font-face|<image|<use|<foreignObject", drawn)


@pytest.mark.parametrize("name", REPORTS)
def test_everything_stands_within_the_frame(name: str) -> None:
    root = ElementTree.fromstring(rendered(svg, REPORTS[name]))
    wide, high = float(root.get("width", 0)), float(root.get("height", 0))
    for text in root.iter(f"{SPACE}text"):
        assert 0 <= float(text.get("x", -1)) <= float(text.get("x", -1)) + float(text.get("textLength", 0)) <= wide
        assert 0 <= float(text.get("y", -1)) <= high
    for rect in root.iter(f"{SPACE}rect"):
        assert float(rect.get("x", -1)) + float(rect.get("width", 0)) <= wide


def test_is_the_same_every_time_and_for_every_target() -> None:
    first = rendered(svg, report())
    assert first == rendered(svg, report(), width=40, color="16", dark=False, unicode=False)


def test_shows_every_column_of_a_long_sentence() -> None:
    texts = tuple(f"t{i}" for i in range(45))
    assert "columns shown" not in rendered(svg, report([head(texts)], texts))


def test_takes_heads_from_an_iterator() -> None:
    made = Report(**{**report().__dict__, "heads": iter(tuple(report().heads))})
    assert rendered(svg, made) == rendered(svg, report())


def test_wide_characters_stand_on_their_cells() -> None:
    root = ElementTree.fromstring(rendered(svg, report([head(("日本", "cat"))], ("日本", "cat"), text="日本cat")))
    text = {(t.text, float(t.get("y", 0))): float(t.get("x", 0)) for t in root.iter(f"{SPACE}text")}
    line = min(y for content, y in text if content == "日")
    assert text["本", line] - text["日", line] == pytest.approx(16.8)
    assert text["cat", line] - text["日", line] == pytest.approx(33.6)


def test_text_from_right_to_left_is_whole_and_on_its_cells() -> None:
    arabic, hebrew = "القطة جلست، على (12) السجادة", "כלב"
    texts = ("قطة", hebrew, "cat")
    made = report([head(texts, queries=[0])], texts, text=f"a {arabic}. {hebrew} b", view="query")
    root = ElementTree.fromstring(rendered(svg, made))
    drawn = {text.text: text for text in root.iter(f"{SPACE}text")}
    whole = drawn[f"{arabic}. {hebrew}"]
    assert float(whole.get("textLength", 0)) == pytest.approx(8.4 * len(whole.text or ""))
    assert whole.get("lengthAdjust") == drawn["قطة"].get("lengthAdjust") == "spacingAndGlyphs"
    assert drawn[hebrew].get("lengthAdjust") is None
    assert float(drawn["b"].get("x", 0)) == pytest.approx(20 + 8.4 * (3 + len(whole.text or "")))
    assert not {"ق", "ה", "("} & set(drawn)


def test_a_right_to_left_name_takes_no_number_with_it() -> None:
    texts = ("قطة", "كلب", "قطة")
    root = ElementTree.fromstring(rendered(svg, report([head(texts, queries=[1])], texts, view="query")))
    drawn = [text.text for text in root.iter(f"{SPACE}text")]
    assert drawn.count("قطة") == 2
    assert any(re.fullmatch(r"\d+\.\d", text or "") for text in drawn)


def test_can_be_written_in_any_encoding() -> None:
    ElementTree.fromstring(rendered(svg, REPORTS["hostile"], stream=Stream("ascii")))
