"""The samples are what their scripts make, and every line that says how to run one runs."""

from __future__ import annotations

import hashlib
import re
import shlex
import sys
from pathlib import Path

import pytest

from tests.helpers import attn_cli as run

SAMPLES = Path(__file__).parents[2] / "samples"
LINES = re.findall(r"`attn-cli (.*?)` \|$", (SAMPLES / "README.md").read_text(encoding="utf-8"), re.MULTILINE)


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_the_weights_are_made_again_byte_for_byte(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(SAMPLES))
    import make
    import two_words

    make.main(tmp_path)
    two_words.write(tmp_path)
    made = sorted(p.relative_to(tmp_path) for p in tmp_path.rglob("*") if p.is_file())
    assert len(made) == 8
    for path in made:
        assert digest(tmp_path / path) == digest(SAMPLES / path), path
    for name in ("make", "two_words"):
        sys.modules.pop(name)


@pytest.mark.parametrize("line", LINES)
def test_every_sample_runs_as_its_line_says(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(SAMPLES.parent)
    words = shlex.split(line)
    if "-o" in words:
        words[words.index("-o") + 1] = str(tmp_path / "out.svg")
    done = run(*words)
    assert done.returncode == 0, done.stderr
    if "-o" in words:
        assert digest(tmp_path / "out.svg") == digest(SAMPLES / "show.svg")


def test_every_sample_has_a_line() -> None:
    text = (SAMPLES / "README.md").read_text(encoding="utf-8")
    assert len(LINES) == 11
    for path in SAMPLES.iterdir():
        if path.suffix in (".npz", ".safetensors", ".svg"):
            assert f"| {path.name} |" in text


def test_the_same_weights_in_every_form_give_the_same_numbers() -> None:
    import json

    forms = ("small.npz", "small.safetensors", "small-sharded/model.safetensors.index.json")
    heads = [json.loads(run("show", "-w", str(SAMPLES / f), "the cat sat", "--json").stdout)["heads"] for f in forms]
    assert heads[0] == heads[1] == heads[2]
