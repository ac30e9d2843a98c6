"""A path to its parts: which file holds the weights, and which config and tokenizer files belong to it."""

from __future__ import annotations

import json
import math
import os
import re
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

from attn_cli import registry
from attn_cli.checkpoint import Checkpoint
from attn_cli.errors import CheckpointError, quote

AGAIN = "download or save the file again"
CONFIG_LIMIT = 16 * 2**20  # bytes; real ones have a few thousand
HEAD = 4096  # bytes of a file that formats may look at to recognise it
INDEX = ".safetensors.index.json"
TOKENIZER_FILES = (
    "tokenizer.json",
    "vocab.txt",
    "vocab.json",
    "merges.txt",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
)
_NOT_WEIGHTS = ("adapter_", "training_args.", "optimizer.", "scheduler.", "rng_state", "scaler.")
_PICKLE_SUFFIXES = (".bin", ".pt", ".pth", ".ckpt", ".pkl", ".pickle")
PART = re.compile(r"(?P<stem>.*)-(?P<number>\d{5})-of-(?P<count>\d{5})\.gguf", re.DOTALL)
_ORDER: tuple[str | tuple[str, ...], ...] = (  # a name, or suffixes of which a folder may have one file
    "model.safetensors",
    "model" + INDEX,
    (INDEX,),
    (".safetensors",),
    "pytorch_model.bin",
    "pytorch_model.bin.index.json",
    (".gguf",),
    (".npz", ".npy"),
    _PICKLE_SUFFIXES,
    (".h5", ".onnx", ".msgpack"),
)
_SELF_CONTAINED = (".npz", ".npy", ".gguf")  # formats that need no config.json beside them
_PAGE = "download it again; the page may say what went wrong"
_OLD = "is an older GGML file (from before GGUF), which is not supported"
_CONVERT = "fetch the model as GGUF, or convert it: convert_llama_ggml_to_gguf.py of llama.cpp"
_MAGIC: tuple[tuple[bytes, str, str], ...] = (  # first bytes in lower case, what the file is, what to do
    (b"version https://git-lfs", "is a Git LFS pointer, not the file itself", "fetch it: git lfs pull"),
    (b"<!doctype html", "is an HTML page, not a model file", _PAGE),
    (b"<html", "is an HTML page, not a model file", _PAGE),
    (b"<?xml", "is an XML page, not a model file", _PAGE),
    (b"tjgg", _OLD, _CONVERT),
    (b"fmgg", _OLD, _CONVERT),
    (b"lmgg", _OLD, _CONVERT),
    (
        b"\x89hdf",
        "is an HDF5 file (Keras or TensorFlow), which is not supported",
        "use the model's safetensors files",
    ),
    (b"\x1f\x8b", "is a compressed archive, not weights", "unpack it and name what was in it"),
    (
        b"pk\x03\x04",
        "is a zip archive that does not begin with an array",
        "unpack it and name what was in it",
    ),
    (b"pk\x05\x06", "is an empty zip archive", AGAIN),
    (b"{", "is a JSON file, not weights", "name the weight file, or the folder that holds it"),
)


@dataclass(frozen=True, kw_only=True)
class Source:
    """What was found at a path: open weights, config (None for bare weights), tokenizer files beside them."""

    name: str
    folder: Path
    weights: Checkpoint
    config: Mapping[str, Any] | None
    config_path: Path | None
    tokenizer_files: Mapping[str, Path]
    notes: tuple[str, ...]  # what the user should know about the choice of files


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """The file, open for reading; whatever the system refuses meanwhile becomes a CheckpointError."""
    try:
        mode = path.stat().st_mode
        if not stat.S_ISREG(mode):
            what = "a folder" if stat.S_ISDIR(mode) else "a device or pipe"
            raise damaged(path, f"is {what}, not a file", "name a weight file, or the folder that holds it")
        with path.open("rb") as file:
            yield file
    except OSError as error:
        raise _refused(path, error) from error


def read_json(path: Path, limit: int = CONFIG_LIMIT) -> dict[str, Any]:
    """The JSON object in a file of at most `limit` bytes; NaN and infinity, which JSON lacks, are refused."""
    with opened(path) as file:
        size = os.fstat(file.fileno()).st_size
        data = file.read(size) if size <= limit else b""
    if size > limit:
        raise damaged(path, f"is larger than {limit:,} bytes", "is it really the file of that name?")
    try:
        value = json.loads(data.decode("utf-8-sig"), parse_constant=_no_constant, parse_float=_finite)
    except (ValueError, RecursionError) as error:
        known = foreign(data[:HEAD], path) if not data.lstrip().startswith(b"{") else None
        detail = "text that is not UTF-8" if isinstance(error, UnicodeDecodeError) else str(error)
        raise known or damaged(path, f"is not valid JSON: {detail}") from error
    if not isinstance(value, dict):
        raise damaged(path, f"holds a JSON {type(value).__name__}, not an object")
    return value


def open_weights(path: Path) -> Checkpoint:
    """The weights in one file (or an index and its shards), in the known format that its first bytes show."""
    with opened(path) as file:
        head = file.read(HEAD)
    names = registry.names("checkpoint")
    named = path.suffix[1:]  # where name and bytes agree, no other format needs importing
    whole = [(named, Path())] if named in names else []
    for name, called in (*whole, *((name, path) for name in names)):
        module = registry.get("checkpoint", name)
        if module.sniff(head, called):
            opener: Callable[[Path], Checkpoint] = module.open
            return opener(path)
    hint = f"formats that can be read: {', '.join(names)}"
    raise foreign(head, path) or damaged(path, "is not a weight file of a known format", hint)


def open_source(path: Path) -> Source:
    """A model folder, or a lone weight file with what lies beside it."""
    try:
        path.lstat()
    except OSError as error:
        raise _refused(path, error) from error
    whole = os.path.isdir(path)
    folder = path if whole else path.parent
    files = _listing(folder)
    weights_path = choose(folder, files) if whole else path
    has_config = files.get("config.json", False)
    if whole and not has_config and weights_path.suffix not in _SELF_CONTAINED:
        hint = "put it beside them; for bare attention weights name the file itself"
        raise damaged(folder, "has no config.json, so the weights in it cannot be understood", hint)
    config_path = folder / "config.json" if has_config else None
    return Source(
        name=path.name if path.name not in ("", "..") else path.resolve().name,
        folder=folder,
        config=None if config_path is None else read_json(config_path),
        config_path=config_path,
        weights=open_weights(weights_path),
        tokenizer_files={name: folder / name for name in TOKENIZER_FILES if files.get(name)},
        notes=tuple(_notes(folder, files, weights_path)),
    )


def foreign(head: bytes, path: Path) -> CheckpointError | None:
    """What the first bytes show a file to be, if that is a known thing other than weights we read."""
    if not head:
        return damaged(path, "is an empty file")
    start = head[:64].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    for magic, what, hint in _MAGIC:
        if start.startswith(magic):
            return damaged(path, what, hint)
    return None


def damaged(path: Path, what: str, hint: str = AGAIN) -> CheckpointError:
    """The error that a file, named first, is or holds something wrong."""
    return CheckpointError(f"{shown(path)} {what}", hint)


def shown(path: Path) -> str:
    """A path for a message: safe to print, long enough not to be cut in practice."""
    return quote(str(path), 1000)


def _refused(path: Path, error: OSError) -> CheckpointError:
    if isinstance(error, FileNotFoundError):
        if path.is_symlink():
            return damaged(path, "is a link to a file that is not there", "the download may be incomplete")
        return damaged(path, "does not exist", "check the path of the model folder or weight file")
    if isinstance(error, PermissionError):
        return damaged(path, "cannot be read: permission denied", "check who may read it")
    return damaged(path, f"cannot be read: {error.strerror or error}", "check the path and the disk")


def _no_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a number in JSON")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text[:40]} is too large a number")
    return value


def _listing(folder: Path) -> dict[str, bool]:
    """Names in the folder; False for folders. A broken link counts as a file, to be named when opened."""
    try:
        with os.scandir(folder) as entries:
            return {
                entry.name: not os.path.isdir(entry.path) for entry in sorted(entries, key=lambda entry: entry.name)
            }
    except OSError as error:
        raise _refused(folder, error) from error


def choose(folder: Path, listing: Mapping[str, bool]) -> Path:
    """The weight file of a folder: the first of `_ORDER` that is there."""
    files = [name for name, is_file in listing.items() if is_file and not name.startswith(_NOT_WEIGHTS)]
    for wanted in _ORDER:
        exact = isinstance(wanted, str)
        found = [name for name in files if (name == wanted if exact else name.endswith(wanted))]
        if len(found) == 1 or (found and _parts_of_one(found)):
            return folder / found[0]
        if found:
            raise damaged(
                folder,
                f"holds several weight files and no index: {_some(found)}",
                "name the one to use",
            )
    if listing.get("adapter_config.json"):
        raise _adapter(folder)
    what = _some([name if is_file else f"{name}/" for name, is_file in listing.items()]) or "nothing"
    from attn_cli.checkpoint._places import checkpoints

    inside = " or ".join(quote(str(path), 1000) for path in checkpoints(folder, 1)[:3])
    hint = f"did you mean {inside}?" if inside else "name a folder with model.safetensors, or a weight file"
    raise damaged(folder, f"holds no weights; it has {what}", hint)


def _parts_of_one(names: list[str]) -> bool:
    """Whether all are parts of one GGUF file, which any of them opens."""
    found = [PART.fullmatch(name) for name in names]
    return all(found) and len({(part["stem"], part["count"]) for part in found if part}) == 1


def _adapter(folder: Path) -> CheckpointError:
    base = read_json(folder / "adapter_config.json").get("base_model_name_or_path")
    named = f" for {quote(base)}" if isinstance(base, str) and base else ""
    return damaged(
        folder,
        f"is a LoRA adapter{named}, not a whole model",
        "merge it into its base model and save that (peft: merge_and_unload), or name the base model",
    )


def _notes(folder: Path, files: Mapping[str, bool], used: Path) -> Iterator[str]:
    stale = f"model{INDEX}"
    if used.name == "model.safetensors" and files.get(stale) and not _agrees(folder / stale):
        yield f"model.safetensors is used; {stale} beside it is ignored"
    if files.get("adapter_config.json") and not used.name.startswith("adapter_"):
        yield "the LoRA adapter beside the weights is not applied"
    index = any(name.endswith((INDEX, ".bin.index.json")) for name in files)
    if index and "-of-" in used.name and used.suffix in (".safetensors", ".bin"):
        yield f"{quote(used.name)} is one part of several; name the folder to use all of them"


def _agrees(index: Path) -> bool:
    """Whether an index says no more than that everything is in model.safetensors."""
    try:
        places = read_json(index, 64 * 2**20).get("weight_map")
    except CheckpointError:
        return False
    return isinstance(places, dict) and all(place == "model.safetensors" for place in places.values())


def _some(names: list[str], limit: int = 8) -> str:
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return ", ".join(quote(name) for name in names[:limit]) + more
