"""From the hub to its cache: the config, the tokenizer files and the weights of one model, and nothing else."""

from __future__ import annotations

import logging
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from inspect import signature
from pathlib import Path
from typing import Any

from attn_cli.checkpoint import _folder, _places
from attn_cli.errors import CheckpointError, one_line, quote

_SHARD = re.compile(r"[\w][\w.-]*\.(safetensors|bin)", re.ASCII)
_PART = re.compile(r"-\d{5}-of-(\d{5}\.gguf)$")


def fetch(name: str, inside: str = "", revision: str | None = None) -> Path:
    """The snapshot folder, or the file in it, after what the model needs was fetched; what is there already is kept.

    `inside`: one weight file of a repository that has several. A bar shows on a terminal.
    """
    with _errors(name, revision):
        from huggingface_hub import HfApi, hf_hub_download

        logging.getLogger("huggingface_hub").setLevel(logging.ERROR)  # what matters is raised
        endpoint = os.environ.get("HF_ENDPOINT") or None
        info = HfApi(endpoint=endpoint).model_info(name, revision=revision)
        known = [sibling.rfilename for sibling in info.siblings or () if "\\" not in sibling.rfilename]
        where: dict[str, Any] = {"revision": revision, "cache_dir": _places.hub_cache(), "endpoint": endpoint}
        ours = "tqdm_class" in signature(hf_hub_download).parameters  # since version 1.1

        def get(file: str) -> Path:
            bar = {"tqdm_class": _bar(file)} if ours else {}
            return Path(hf_hub_download(name, file, **where, **bar))

        weights = _weights(name, inside, known)
        folder = None
        for file in ("config.json", *_folder.TOKENIZER_FILES):
            if file in known:
                folder = get(file).parent
        path = get(weights)
        for file in _parts(path, weights, known):
            get(file)
        return path if inside else (folder or path.parent)


def _bar(file: str) -> Any:
    """The class of a file's bar on a terminal, gone when the file is there; nothing is drawn in pipes."""
    from tqdm import tqdm  # type: ignore[import-untyped]

    class Bar(tqdm):  # type: ignore[misc]
        def __init__(self, *args: Any, **options: Any) -> None:
            shown = {"desc": one_line(file), "leave": False, "disable": not sys.stderr.isatty()}
            super().__init__(*args, **options | shown)

    return Bar


def _weights(name: str, inside: str, known: list[str]) -> str:
    """The weight file to fetch, by the rules for a folder; CheckpointError where a repository leaves it open."""
    if inside:
        if inside not in known:
            near = _places.nearest(inside, known)
            raise CheckpointError(
                f"{quote(name)} has no file {quote(inside)}",
                f"nearest: {', '.join(map(quote, near))}" if near else "look at the model's page for its files",
            )
        return inside
    listing = {file: True for file in known if "/" not in file}
    parts = [file for file in listing if _PART.search(file)]
    if parts:  # a GGUF file in parts is one model
        listing = {file: True for file in listing if file not in parts or "-00001-of-" in file}
    return _folder.choose(Path(name), listing).name


def _parts(path: Path, weights: str, known: list[str]) -> list[str]:
    """The further files that belong to a weight file: the shards of an index, the parts of a split GGUF."""
    if weights.endswith(".index.json"):
        places = _folder.read_json(path, 64 * 2**20).get("weight_map")
        names = set(places.values()) if isinstance(places, dict) else set()
        return sorted(n for n in names if isinstance(n, str) and _SHARD.fullmatch(n) and n in known)
    part = _PART.search(weights)
    if part is None:
        return []
    stem = weights[: part.start()]
    return [n for n in known if n.startswith(stem) and (p := _PART.search(n)) and p[1] == part[1] and n != weights]


@contextmanager
def _errors(name: str, revision: str | None) -> Iterator[None]:
    """Whatever the hub or the network answers, as one of our errors."""
    try:
        yield
    except CheckpointError:
        raise
    except Exception as error:
        known = _said(error)
        if known is None:
            raise
        at = f" at revision {quote(revision)}" if revision else ""
        raise CheckpointError(f"{quote(name)}{at} cannot be fetched: {known[0]}", known[1]) from error


def _said(error: Exception) -> tuple[str, str] | None:
    """What went wrong and what to do; None for what is no failure of the hub or the network."""
    from huggingface_hub import errors

    kinds: tuple[tuple[type[Exception], str, str], ...] = (
        (errors.GatedRepoError, "its owner wants to be asked first", "ask on the model's page, then set HF_TOKEN"),
        (errors.RevisionNotFoundError, "there is no such branch, tag or commit", "look at the model's page for them"),
        (errors.RepositoryNotFoundError, "the hub has no such model, or it is private", "check the name; set HF_TOKEN"),
        (errors.HFValidationError, "that is no name of the hub's", "names look like org/name"),
        (errors.OfflineModeIsEnabled, "HF_HUB_OFFLINE is set", "unset it to reach the hub"),
    )
    for kind, what, hint in kinds:
        if isinstance(error, kind):
            return what, hint
    if isinstance(error, OSError) or type(error).__module__.split(".")[0] in ("httpx", "httpx2", "requests"):
        detail = str(error).splitlines()[0] if str(error) else type(error).__name__
        hint = "check the network, HF_ENDPOINT and the space on the disk; what was fetched is kept"
        return one_line(detail[:200]), hint
    return None
