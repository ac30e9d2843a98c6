"""Where checkpoints lie on a machine: with this package, in the hub's cache, Ollama, LM Studio and installed packages.

Layouts are read directly: `huggingface_hub` takes longer to import than a small model to run. They are documented and
stable: huggingface.co/docs/huggingface_hub/guides/manage-cache; ollama's docs/faq ("Where are models stored") and manifests
in the form of Docker's registry. What these folders hold is untrusted: names are matched before they become paths.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from attn_cli.checkpoint._folder import damaged, read_json

DATA = Path(__file__).parents[1] / "data"
WEIGHTS = (".safetensors", ".gguf", ".bin", ".pt", ".pth", ".npz")
MANIFEST_LIMIT = 2**20  # bytes; real ones have a thousand
_COMMIT = re.compile(r"[0-9a-f]{40}")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_PART = re.compile(r"-(\d{5})-of-\d{5}\.gguf$")
_MODEL = "application/vnd.ollama.image.model"


@dataclass(frozen=True)
class Found:
    """A checkpoint on this machine: where it was found, the name that -m takes, and the folder or file it stands for."""

    place: str
    name: str
    path: Path


def bundled() -> Iterator[Found]:
    """The models that come with this package: folders of attn_cli/data."""
    for folder in _folders(DATA):
        if (folder / "config.json").is_file():
            yield Found("bundled", folder.name, folder)


def hub_cache() -> Path:
    """The hub's cache, by HF_HUB_CACHE, HF_HOME, XDG_CACHE_HOME or in the home folder."""
    env = os.environ
    home = env.get("HF_HOME") or os.path.join(env.get("XDG_CACHE_HOME") or "~/.cache", "huggingface")
    found = env.get("HF_HUB_CACHE") or env.get("HUGGINGFACE_HUB_CACHE") or os.path.join(home, "hub")
    return Path(os.path.expanduser(os.path.expandvars(found)))


def hub() -> Iterator[Found]:
    """Every model in the hub's cache, at the snapshot that `main` points at, else at each revision there is."""
    for folder in _folders(hub_cache()):
        kind, _, name = folder.name.partition("--")
        if kind != "models" or not name:
            continue
        name = name.replace("--", "/", 1)
        main = snapshot(folder, None)
        at = [(name, main)] if main else [(f"{name}@{s.name[:12]}", s) for s in _folders(folder / "snapshots")]
        for named, path in at:
            files = ggufs(path)
            if len(files) > 1:  # each of them is a model
                base, _, revision = named.partition("@")
                for file in files:
                    inside = file.relative_to(path).as_posix()
                    yield Found("hub cache", f"{base}/{inside}" + (f"@{revision}" if revision else ""), file)
            else:
                yield Found("hub cache", named, path)


def snapshot(repo: Path, revision: str | None) -> Path | None:
    """The snapshot folder of a branch, a tag or a commit (its first seven digits or more); None if it is not cached."""
    wanted = revision or "main"
    if ".." in wanted.split("/") or "\\" in wanted or ":" in wanted:
        return None
    try:
        commit = (repo / "refs" / wanted).read_bytes()[:64].decode("ascii", "replace").strip()
    except OSError:
        commit = wanted
    if not _COMMIT.fullmatch(commit):
        if revision is None or not re.fullmatch(r"[0-9a-f]{7,39}", commit):
            return None
        near = [folder for folder in _folders(repo / "snapshots") if folder.name.startswith(commit)]
        return near[0] if len(near) == 1 else None
    folder = repo / "snapshots" / commit
    return folder if folder.is_dir() else None


def ollama_folders() -> list[Path]:
    """Where Ollama keeps its models: OLLAMA_MODELS, else the home folder or that of its service."""
    named = os.environ.get("OLLAMA_MODELS")
    if named:
        return [Path(named).expanduser()]
    return [Path("~/.ollama/models").expanduser(), Path("/usr/share/ollama/.ollama/models")]


def ollama() -> Iterator[Found]:
    """Every model that Ollama has a manifest of and a GGUF file for."""
    for root in ollama_folders():
        manifests = root / "manifests"
        for manifest in sorted(manifests.glob("*/*/*/*")):
            host, owner, model, tag = manifest.relative_to(manifests).parts
            parts = [p for p in (host if host != "registry.ollama.ai" else "", owner, model) if p and p != "library"]
            name = "/".join(parts) + ("" if tag == "latest" else f":{tag}")
            yield Found("Ollama", f"ollama:{name}", manifest)


def ollama_manifest(name: str) -> Path | None:
    """The manifest of `model`, `model:tag`, `owner/model:tag` or `host/owner/model:tag`; None if there is none."""
    path, _, tag = name.partition(":")
    parts = path.split("/")
    if not all(re.fullmatch(r"(?!\.+$)[\w.-]+", part) for part in (*parts, tag or "latest")) or len(parts) > 3:
        return None
    whole = ["registry.ollama.ai", "library"][: 3 - len(parts)] + parts
    for root in ollama_folders():
        manifest = root.joinpath("manifests", *whole, tag or "latest")
        if manifest.is_file():
            return manifest
    return None


def ollama_blob(manifest: Path) -> Path:
    """The weight file that one of Ollama's manifests names."""
    layers = read_json(manifest, MANIFEST_LIMIT).get("layers")
    entries = [e for e in layers if isinstance(e, dict)] if isinstance(layers, list) else []
    digests = [str(e.get("digest")) for e in entries if e.get("mediaType") == _MODEL]
    if not digests or not _DIGEST.fullmatch(digests[0]):
        raise damaged(
            manifest, "names no GGUF file", "pull the model again; only models made of a GGUF file can be read"
        )
    blob = manifest.parents[4] / "blobs" / digests[0].replace(":", "-")
    if not blob.is_file():
        raise damaged(blob, "is missing, though Ollama's manifest names it", "pull the model again: ollama pull")
    return blob


def lm_studio_folders() -> list[Path]:
    """Where LM Studio keeps its models, now and in earlier versions."""
    return [Path("~/.lmstudio/models").expanduser(), Path("~/.cache/lm-studio/models").expanduser()]


def lm_studio() -> Iterator[Found]:
    """Every model that LM Studio has downloaded: owner/model folders, or the GGUF files in one that has several."""
    for root in lm_studio_folders():
        for folder in (model for owner in _folders(root) for model in _folders(owner)):
            files = ggufs(folder) or ([folder] if (folder / "config.json").is_file() else [])
            for path in files:
                named = path if len(files) > 1 else folder
                yield Found("LM Studio", f"lmstudio:{named.relative_to(root).as_posix()}", path)


def packages() -> Iterator[Found]:
    """Every installed Python package that brings weights, by the lists of files that installers leave behind."""
    seen = set()
    for entry in dict.fromkeys(sys.path):
        for info in _folders(Path(entry or ".")):
            if not info.name.endswith(".dist-info"):
                continue
            for name in dict.fromkeys(_recorded(info / "RECORD")):
                if name not in seen and name != "attn_cli":
                    seen.add(name)
                    yield from in_package(name)


def in_package(name: str) -> Iterator[Found]:
    """The checkpoints inside one installed package, which is looked up but not imported."""
    found = [path for root in package_folders(name) for path in checkpoints(root)]
    for root in package_folders(name):
        for path in found:
            inside = path.relative_to(root).as_posix() if path.is_relative_to(root) else ""
            yield Found("package", f"py:{name}/{inside}" if len(found) > 1 else f"py:{name}", path)


def package_folders(name: str) -> list[Path]:
    """The folders of an installed top-level package; none where there is no such package."""
    from importlib.util import find_spec

    if not name.isidentifier():
        return []
    try:
        spec = find_spec(name)  # of a top-level package: nothing is imported
    except (ImportError, ValueError):
        return []
    return [Path(p) for p in (spec.submodule_search_locations or ())] if spec else []


def checkpoints(root: Path, depth: int = 4) -> list[Path]:
    """The folders with a config and weights, and the GGUF files elsewhere, at most `depth` folders down."""
    try:
        names = sorted(entry.name for entry in os.scandir(root))
    except OSError:
        return []
    if "config.json" in names and any(name.endswith(WEIGHTS) or name.endswith(".index.json") for name in names):
        return [root]
    found = ggufs(root)
    if depth:
        found += [
            p for folder in _folders(root) if folder.name != "__pycache__" for p in checkpoints(folder, depth - 1)
        ]
    return found


def ggufs(folder: Path) -> list[Path]:
    """The GGUF files of a folder, of one in parts the first."""
    parts = ((path, _PART.search(path.name)) for path in _files(folder) if path.name.endswith(".gguf"))
    return [path for path, part in parts if part is None or part[1] == "00001"]


def _recorded(record: Path) -> Iterator[str]:
    """The top-level packages that hold a weight file, by one installer's list of files."""
    import csv

    try:
        text = record.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return
    if not any(f"{suffix}," in text for suffix in WEIGHTS):
        return
    lines = (line for line in text.splitlines() if any(f"{suffix}," in line for suffix in WEIGHTS))
    try:
        named = [row[0].replace("\\", "/").partition("/") for row in csv.reader(lines) if row]
    except csv.Error:
        return
    yield from (first for first, _, rest in named if rest and first.isidentifier())


def _folders(path: Path) -> list[Path]:
    return _entries(path, folders=True)


def _files(path: Path) -> list[Path]:
    return _entries(path, folders=False)


def _entries(path: Path, *, folders: bool) -> list[Path]:
    """The folders or the other entries of a folder, sorted; none where it cannot be read."""
    try:
        with os.scandir(path) as entries:
            return sorted(path / entry.name for entry in entries if entry.is_dir() == folders)
    except OSError:
        return []


def everything() -> Iterator[Found]:
    """All checkpoints of all places, in the order in which a name is looked up."""
    for place in (bundled, hub, ollama, lm_studio, packages):
        yield from place()


def weights_of(found: Found) -> Path:
    """The folder or file to open: what a manifest stands for, else the path itself."""
    return ollama_blob(found.path) if found.place == "Ollama" else found.path


def nearest(name: str, among: Iterable[str]) -> list[str]:
    """Up to three names like the given one, in any case and by their last part too."""
    from difflib import get_close_matches

    known = {n.lower(): n for n in among}
    tails = {n.rpartition("/")[2]: n for n in known}
    near = get_close_matches(name.lower(), known, 3, 0.6)
    near += [tails[t] for t in get_close_matches(name.lower().rpartition("/")[2], tails, 3, 0.6)]
    return [known[n] for n in dict.fromkeys(near)][:3]
