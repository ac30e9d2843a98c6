"""`models`: every checkpoint of a machine that the tests set up, by the name that -m takes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from attn_cli.checkpoint import _places
from tests.checkpoint.test_sources import cache, ollama, package
from tests.helpers import GOLDEN
from tests.helpers import attn_cli as run


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with nothing in it, no bundled model and no other packages."""
    for name in ("HF_HOME", "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "XDG_CACHE_HOME", "OLLAMA_MODELS"):
        monkeypatch.delenv(name, raising=False)
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.setattr(_places, "DATA", tmp_path / "data")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    everywhere = _places.packages
    monkeypatch.setattr(_places, "packages", lambda: (f for f in everywhere() if f.path.is_relative_to(tmp_path)))
    return tmp_path


def listed() -> dict[str, dict[str, Any]]:
    done = run("models", "--json")
    assert done.returncode == 0, done.stderr
    return {row["name"]: row for row in json.loads(done.stdout)["models"]}


def test_every_place(machine: Path) -> None:
    hub = machine / ".cache/huggingface/hub"
    cache(hub, "org/mini")
    damaged = cache(hub, "org/broken")
    (damaged / "model.safetensors").write_bytes(b"<html>")
    unknown = cache(hub, "org/new")
    (unknown / "config.json").write_text('{"model_type": "mystery"}')
    ollama(machine / ".ollama/models", "registry.ollama.ai", "library", "llama3.2", "1b")
    package(machine / "site", "packed", "gpt2")
    found = listed()
    assert list(found) == ["org/broken", "org/mini", "org/new", "ollama:llama3.2:1b", "py:packed"]
    mini = found["org/mini"]
    assert (mini["place"], mini["family"], mini["sizes"]["n_layers"], mini["supported"]) == (
        "hub cache",
        "bert",
        2,
        True,
    )
    assert mini["parameters"] == 30680
    assert mini["nbytes"] == sum(p.stat().st_size for p in Path(mini["path"]).iterdir())
    assert found["py:packed"]["family"] == "gpt2"
    for name, why in (("org/broken", "HTML"), ("org/new", "mystery"), ("ollama:llama3.2:1b", "truncated")):
        assert not found[name]["supported"]
        assert why in found[name]["why"], found[name]
        assert str(machine) not in found[name]["why"]
    text = run("models", env={"COLUMNS": "120"}).stdout.decode()
    row = next(line for line in text.splitlines() if line.startswith("org/mini "))
    assert row.split()[1:] == ["hub", "cache", "bert", "2", "x", "4", *row.split()[-3:]]
    assert row.endswith("yes")
    assert run("show", "-m", "org/mini", "hello").returncode == 0


def test_bundled_models(machine: Path) -> None:
    (machine / "data").mkdir()
    (machine / "data" / "small").symlink_to(GOLDEN / "gpt2")
    assert listed()["small"]["place"] == "bundled"


def test_an_empty_machine(machine: Path) -> None:
    done = run("models")
    assert done.returncode == 0
    text = done.stdout.decode()
    assert "no models found" in text
    assert str(machine / ".ollama") in text.replace("\n", "")
    assert listed() == {}
