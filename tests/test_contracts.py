"""What every plug-in must have; a new one is found by its file name and needs no edit here."""

from __future__ import annotations

import inspect
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import attn_cli
from attn_cli import registry
from attn_cli.cli import _commands, app
from attn_cli.families import family, supported
from attn_cli.spec import ModelSpec, Stored
from tests.helpers import GOLDEN
from tests.helpers import attn_cli as run

TEXT = "The dog slept beside the stove"


@pytest.mark.parametrize("name", registry.names("families"))
def test_family(name: str) -> None:
    module = registry.get("families", name)
    assert module.SOURCES
    assert all(isinstance(s, str) for s in module.SOURCES)
    assert isinstance(module.PREFIXES, tuple)
    assert isinstance(module.IGNORED, tuple)
    assert callable(module.spec)
    sizes = set(inspect.signature(ModelSpec).parameters)
    for ours, stored in module.TENSORS.items():
        assert isinstance(stored, Stored), ours
        assert stored.names, ours
        for word in stored.when.split():
            field = word.lstrip("!").split("=")[0]
            assert field in sizes or hasattr(ModelSpec, field), ours
        assert ("{i}" in ours) == ("{i}" in stored.names[0]), ours


@pytest.mark.parametrize("name", supported())
def test_family_names_resolve(name: str) -> None:
    assert family(name).TENSORS


@pytest.mark.parametrize("name", registry.names("checkpoint"))
def test_weight_format(name: str) -> None:
    module = registry.get("checkpoint", name)
    assert list(inspect.signature(module.sniff).parameters) == ["head", "path"]
    assert next(iter(inspect.signature(module.open).parameters)) == "path"
    if hasattr(module, "save"):
        assert list(inspect.signature(module.save).parameters)[:3] == ["path", "arrays", "meta"]


@pytest.mark.parametrize("name", registry.names("metrics"))
def test_metric(name: str) -> None:
    module = registry.get("metrics", name)
    for constant in ("TITLE", "UNIT", "SOURCE"):
        assert isinstance(getattr(module, constant), str), constant
    assert all(need in ("attn", "value_norm") for need in module.NEEDS)
    low, high = module.RANGE
    model = attn_cli.load(GOLDEN / "gpt2")
    for block in model.blocks(model.encode(TEXT), block_rows=5):
        before = block.attn.tobytes()
        scores = module.score(block)
        assert scores.shape == block.attn.shape[:2]
        known = scores[~np.isnan(scores)]
        assert ((known >= low - 1e-6) & (known <= high + 1e-6)).all()
        assert block.attn.tobytes() == before


@pytest.mark.parametrize("name", registry.names("render"))
def test_renderer(name: str) -> None:
    module = registry.get("render", name)
    assert module.SUFFIXES
    assert all(s.startswith(".") for s in module.SUFFIXES)
    assert isinstance(module.BINARY, bool)
    assert list(inspect.signature(module.write).parameters)[:2] == ["report", "target"]
    hostile = "[/INST] [red] \x1b[31m </script> \u202e 日本 \U0001f469\u200d\U0001f467"
    first = run("show", "-m", str(GOLDEN / "bert"), "--format", name, hostile)
    assert first.returncode == 0, first.stderr
    assert first.stdout == run("show", "-m", str(GOLDEN / "bert"), "--format", name, hostile).stdout
    assert module.BINARY or b"\x1b" not in first.stdout


def test_suffixes_belong_to_one_format() -> None:
    suffixes = [s for name in registry.names("render") for s in registry.get("render", name).SUFFIXES]
    assert len(suffixes) == len(set(suffixes))


@pytest.mark.parametrize("name", ["", *_commands()])
def test_the_examples_of_the_help_run_as_they_stand(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = run(*name.split(), "--help", env={"COLUMNS": "80"})
    assert done.returncode == 0
    _, heading, below = done.stdout.decode().partition("Example")
    lines = [line.strip() for line in below.partition(":")[2].splitlines() if line.strip()]
    assert heading
    assert 1 <= len(lines) <= 2
    monkeypatch.chdir(tmp_path)
    for line in lines:
        program, *words = shlex.split(line)
        assert program == "attn-cli"
        assert not name or words[0] == name
        ran = run(*words)
        assert ran.returncode == 0, (line, ran.stderr)


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys\nfrom attn_cli.cli import run\ncode = run(['--help'])\n"
        "heavy = sorted({m.split('.')[0] for m in sys.modules} & {'numpy', 'tokenizers', 'orjson', 'huggingface_hub'})\n"
        "sys.exit(f'{code} {heavy}' if code or heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_package_keeps_its_public_names() -> None:
    assert callable(attn_cli.load)
    assert isinstance(attn_cli.__version__, str)
    assert app.info.name == "attn-cli"
