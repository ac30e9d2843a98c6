"""Which files a path stands for, and what is said when they are not what they should be."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attn_cli.checkpoint import _folder, npz, safetensors
from attn_cli.checkpoint._folder import open_source, open_weights, read_json
from attn_cli.errors import CheckpointError, quote

ARRAYS = {"w": np.arange(6, dtype=np.float32).reshape(2, 3)}
CONFIG = {"model_type": "bert", "hidden_size": 3}
LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:0000\nsize 31337\n"


def write(folder: Path, *names: str, **contents: Any) -> Path:
    """A folder of files; each gets the content usual for its name."""
    folder.mkdir(exist_ok=True)
    for name in names:
        path = folder / name
        if name.endswith("/"):
            path.mkdir()
        elif name.endswith(".safetensors"):
            safetensors.save(path, ARRAYS, {})
        elif name.endswith(".npz"):
            npz.save(path, ARRAYS, {})
        elif name.endswith(".index.json"):
            shards = contents.get("shards", {"w": "model-00001-of-00001.safetensors"})
            path.write_text(json.dumps({"weight_map": shards}))
        else:
            path.write_text(json.dumps(CONFIG))
    return folder


def refused(path: Path, message: str) -> CheckpointError:
    with pytest.raises(CheckpointError, match=message) as caught:
        open_source(path)
    assert caught.value.message.isprintable()
    assert caught.value.hint
    return caught.value


def test_a_usual_folder(tmp_path: Path) -> None:
    folder = write(tmp_path / "mini", "config.json", "model.safetensors", "tokenizer.json", "vocab.txt", "README.md")
    source = open_source(Path(f"{folder}{os.sep}"))
    assert source.name == "mini"
    assert source.folder == folder
    assert source.config == CONFIG
    assert source.config_path == folder / "config.json"
    assert source.weights.format == "safetensors"
    assert source.weights.read("w").tolist() == ARRAYS["w"].tolist()
    assert source.tokenizer_files == {n: folder / n for n in ("tokenizer.json", "vocab.txt")}
    assert source.notes == ()


def test_the_current_folder_has_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(write(tmp_path / "mini", "config.json", "model.safetensors"))
    assert open_source(Path()).name == "mini"


@pytest.mark.parametrize(
    ("names", "used"),
    [
        (["model.safetensors", "other.safetensors", "x.npz"], "model.safetensors"),
        (["model-00001-of-00001.safetensors", "model.safetensors.index.json"], "model.safetensors.index.json"),
        (["model-00001-of-00001.safetensors", "gpt.safetensors.index.json"], "gpt.safetensors.index.json"),
        (["weights.safetensors", "x.npz", "y.npz", "adapter_model.safetensors"], "weights.safetensors"),
        (["model.safetensors/", "x.npz", "optimizer.pt", "training_args.bin"], "x.npz"),
    ],
)
def test_the_order_of_choice(tmp_path: Path, names: list[str], used: str) -> None:
    assert open_source(write(tmp_path / "m", "config.json", *names)).weights.path.name == used


def test_a_lone_file_takes_what_lies_beside_it(tmp_path: Path) -> None:
    folder = write(tmp_path / "m", "a.safetensors", "b.safetensors", "config.json", "merges.txt")
    source = open_source(folder / "b.safetensors")
    assert (source.name, source.config, list(source.tokenizer_files)) == ("b.safetensors", CONFIG, ["merges.txt"])
    bare = open_source(write(tmp_path / "n", "b.npz") / "b.npz")
    assert (bare.config, bare.config_path, bare.tokenizer_files) == (None, None, {})


def test_a_folder_of_bare_npz_needs_no_config(tmp_path: Path) -> None:
    assert open_source(write(tmp_path / "m", "w.npz")).config is None


def test_a_stale_index_is_noted(tmp_path: Path) -> None:
    folder = write(tmp_path / "m", "config.json", "model.safetensors", "model.safetensors.index.json")
    source = open_source(folder)
    assert source.weights.path.name == "model.safetensors"
    assert source.notes == ("model.safetensors is used; model.safetensors.index.json beside it is ignored",)
    write(folder, "model.safetensors.index.json", shards={"w": "model.safetensors"})
    assert open_source(folder).notes == ()
    (folder / "model.safetensors.index.json").write_text("{")
    assert len(open_source(folder).notes) == 1


def test_one_shard_of_several_and_an_adapter_are_noted(tmp_path: Path) -> None:
    shard = "model-00001-of-00001.safetensors"
    folder = write(tmp_path / "m", "config.json", shard, "model.safetensors.index.json", "adapter_config.json")
    notes = open_source(folder / shard).notes
    assert any("one part of several" in note for note in notes)
    assert any("adapter" in note for note in notes)


def test_a_missing_shard_is_named(tmp_path: Path) -> None:
    folder = write(tmp_path / "m", "config.json", "model.safetensors.index.json")
    assert "incomplete" in refused(folder, "'model-00001-of-00001.safetensors', not found").hint


def test_an_adapter_is_no_model(tmp_path: Path) -> None:
    folder = write(tmp_path / "m", "adapter_model.safetensors", "tokenizer.json")
    (folder / "adapter_config.json").write_text('{"base_model_name_or_path": "org/base\\u001b"}')
    assert "merge" in refused(folder, r"LoRA adapter for 'org/base\\x1b'").hint


def test_a_folder_without_config(tmp_path: Path) -> None:
    refused(write(tmp_path / "m", "model.safetensors"), "has no config.json")


def test_a_folder_without_weights_lists_what_it_has(tmp_path: Path) -> None:
    refused(
        write(tmp_path / "m", "config.json", "model.safetensors/"), r"no weights; it has '.*', 'model.safetensors/'"
    )
    refused(write(tmp_path / "n"), "no weights; it has nothing")
    refused(write(tmp_path / "o", *(f"{i}.txt" for i in range(20))), "and 12 more")


def test_a_folder_around_a_model_names_it(tmp_path: Path) -> None:
    around = write(tmp_path / "m", "cli.py", "model/", "notes/")
    model = write(around / "model", "config.json", "model.safetensors")
    assert refused(around, "no weights").hint == f"did you mean {quote(str(model), 1000)}?"


def test_several_weight_files_are_not_chosen_from(tmp_path: Path) -> None:
    refused(write(tmp_path / "m", "config.json", "a.safetensors", "b.safetensors"), "'a.safetensors', 'b.safetensors'")


def test_what_is_not_there(tmp_path: Path) -> None:
    refused(tmp_path / "nope", "does not exist")
    refused(write(tmp_path / "m", "w.npz") / "w.npz" / "x", "cannot be read|does not exist")
    link = tmp_path / "m" / "model.safetensors"
    write(tmp_path / "m", "config.json")
    try:
        link.symlink_to(tmp_path / "blob")
    except OSError:  # Windows without the right to make links
        return
    refused(tmp_path / "m", "link to a file that is not there")


@pytest.mark.parametrize("error", [PermissionError(13, "Permission denied"), OSError(5, "Input/output error")])
def test_what_the_system_refuses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: OSError) -> None:
    folder = write(tmp_path / "m", "config.json", "model.safetensors")

    def refuse(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(_folder.os, "scandir", refuse)
    refused(folder, "cannot be read: (permission denied|Input/output error)")
    monkeypatch.undo()
    monkeypatch.setattr(Path, "open", refuse)
    refused(folder, "cannot be read: (permission denied|Input/output error)")


def test_a_folder_in_place_of_a_file_and_a_device(tmp_path: Path) -> None:
    folder = write(tmp_path / "m", "model.safetensors/")
    with pytest.raises(CheckpointError, match="is a folder, not a file"):
        open_weights(folder / "model.safetensors")
    if os.name == "posix":
        refused(Path("/dev/null"), "is a device or pipe")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "empty file"),
        (LFS, "Git LFS pointer"),
        (b"\n<!DOCTYPE HTML><html>", "HTML page"),
        (b"<?xml version='1.0'?><Error>", "XML page"),
        (b"tjgg\3\0\0\0", "older GGML"),
        (b"lmgg\3\0\0\0", "older GGML"),
        (b"\x89HDF\r\n\x1a\n", "HDF5"),
        (b"\x1f\x8b\x08", "compressed archive"),
        (b"PK\x03\x04" + bytes(40), "zip archive that does not begin with an array|list of its arrays"),
        (b"PK\x05\x06" + bytes(18), "empty zip"),
        (b'{"a": 1}', "JSON file, not weights"),
        (b"hello", "no PyTorch file|not a weight file of a known format"),
    ],
)
@pytest.mark.parametrize("name", ["weights.bin", "weights.dat"])
def test_foreign_files(tmp_path: Path, content: bytes, message: str, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    error = refused(path, message)
    assert name in error.message


def test_formats_are_known_by_content_before_name(tmp_path: Path) -> None:
    npz.save(tmp_path / "a.dat", ARRAYS, {})
    safetensors.save(tmp_path / "b.dat", ARRAYS, {})
    assert [open_weights(tmp_path / name).format for name in ("a.dat", "b.dat")] == ["npz", "safetensors"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "empty file"),
        (LFS, "Git LFS pointer"),
        (b"<html></html>", "HTML page"),
        (b"{", "not valid JSON"),
        (b"[1]", "holds a JSON list, not an object"),
        (b'{"a": NaN}', "NaN is not a number"),
        (b'{"a": -Infinity}', "-Infinity is not a number"),
        (b'{"a": 1e999}', "1e999 is too large"),
        (b'{"a": "\xff"}', "not UTF-8"),
        ('{"a": 1}'.encode("utf-16"), "not UTF-8"),
        (b'{"a":' + b"[" * 200_000, "not valid JSON"),
        (b'{"a":' + b"9" * 5000 + b"}", "not valid JSON"),
    ],
)
def test_broken_configs(tmp_path: Path, content: bytes, message: str) -> None:
    folder = write(tmp_path / "m", "model.safetensors")
    (folder / "config.json").write_bytes(content)
    assert "config.json" in refused(folder, message).message


def test_a_config_with_a_byte_order_mark(tmp_path: Path) -> None:
    folder = write(tmp_path / "m", "model.safetensors")
    (folder / "config.json").write_bytes(b"\xef\xbb\xbf" + json.dumps(CONFIG).encode())
    assert open_source(folder).config == CONFIG


def test_a_huge_config_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "config.json").open("wb") as file:
        file.truncate(2**40)
    with pytest.raises(CheckpointError, match="larger than 16,777,216 bytes"):
        read_json(tmp_path / "config.json")


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("plain name", "'plain name'"),
        ("\x1b[0m\r\n\0", r"'\x1b[0m\x0d\x0a\x00'"),
        ("\u202e\u2066\u200b", r"'\u202e\u2066\u200b'"),
        ("\ud800\U000e0001", r"'\ud800\U000e0001'"),
        ("猫 é 🙂", "'猫 é 🙂'"),
    ],
)
def test_quote(name: str, shown: str) -> None:
    assert quote(name) == shown


def test_quote_cuts_in_the_middle() -> None:
    assert quote("a" * 300 + "b" * 300, 20) == "'" + "a" * 10 + "..." + "b" * 10 + "'"
