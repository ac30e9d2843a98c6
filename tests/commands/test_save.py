"""`save`: a copy gives the same attention; nothing is overwritten unasked, nothing is left half written."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import attn_cli
from attn_cli.checkpoint import safetensors
from attn_cli.commands.save import narrowed
from attn_cli.errors import UsageError
from tests.gguf_files import convert
from tests.helpers import GOLDEN, assert_close
from tests.helpers import attn_cli as run
from tests.model.test_gguf import folder

TEXT = "The dog slept beside the stove"


def saved(*args: str) -> None:
    done = run("save", *args)
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout == done.stderr == b""


def heads(source: Path) -> object:
    done = run("show", "-m", str(source), TEXT, "--json")
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout)["heads"]


@pytest.mark.parametrize("case", ["bert", "gpt2", "llama", "t5", "bloom", "mixtral", "albert", "gemma2"])
def test_a_copy_gives_the_same_attention(tmp_path: Path, case: str) -> None:
    saved("-m", str(GOLDEN / case), "-o", str(tmp_path / "copy"))
    assert (tmp_path / "copy" / "model.safetensors").exists()
    assert heads(tmp_path / "copy") == heads(GOLDEN / case)


@pytest.mark.parametrize("case", ["bert", "gpt2", "llama"])
def test_a_copy_as_npz_file_brings_what_belongs_beside_it(tmp_path: Path, case: str) -> None:
    file = tmp_path / "out" / "copy.npz"
    file.parent.mkdir()
    saved("-m", str(GOLDEN / case), "-o", str(file), "--dtype", "float32")
    assert {p.name for p in file.parent.iterdir()} >= {"copy.npz", "config.json", "tokenizer.json"}
    assert heads(file) == heads(file.parent) == heads(GOLDEN / case)
    again = tmp_path / "again.safetensors"
    saved("-m", str(file), "-o", str(again))
    assert heads(again) == heads(GOLDEN / case)


@pytest.mark.parametrize("case", ["llama", "gemma2", "mixtral", "gpt2"])
def test_a_copy_of_a_gguf_file_has_the_names_and_numbers_of_the_family(tmp_path: Path, case: str) -> None:
    source = folder(case, tmp_path)
    convert(source, tmp_path / "a.gguf")
    options = ("--tokenizer", str(source / "tokenizer.json"))
    saved("-m", str(tmp_path / "a.gguf"), *options, "-o", str(tmp_path / "copy"))
    one, other = attn_cli.load(tmp_path / "copy"), attn_cli.load(tmp_path / "a.gguf", tokenizer=options[1])
    original = safetensors.open(source / "model.safetensors").tensors
    assert set(one.weights.checkpoint.tensors) <= set(original)
    assert not one.unused
    found, want = (m.attend(TEXT, keep=("logits",)) for m in (one, other))
    assert_close(found.attn, want.attn, 1e-6)
    assert_close(found.kept["logits"], want.kept["logits"], 1e-5)


@pytest.mark.parametrize(("dtype", "atol"), [("float16", 2e-3), ("bfloat16", 2e-2)])
def test_shorter_numbers_are_near(tmp_path: Path, dtype: str, atol: float) -> None:
    saved("-m", str(GOLDEN / "gpt2"), "-o", str(tmp_path / "copy/"), "--dtype", dtype)
    one, other = attn_cli.load(tmp_path / "copy"), attn_cli.load(GOLDEN / "gpt2")
    kinds = {info.dtype for info in one.weights.checkpoint.tensors.values()}
    assert kinds == {{"float16": "F16", "bfloat16": "BF16"}[dtype]}
    found, want = one.attend(TEXT).attn, other.attend(TEXT).attn
    assert_close(found, want, atol)
    assert not np.array_equal(found, want)
    saved("-m", str(tmp_path / "copy"), "-o", str(tmp_path / "again"))  # as stored
    assert (tmp_path / "again/model.safetensors").read_bytes() == (tmp_path / "copy/model.safetensors").read_bytes()
    saved("-m", str(tmp_path / "copy"), "-o", str(tmp_path / "wide.npz"))
    assert heads(tmp_path / "wide.npz") == heads(tmp_path / "copy")


def test_the_config_says_the_new_type(tmp_path: Path) -> None:
    original = json.loads((GOLDEN / "llama" / "config.json").read_text())
    saved("-m", str(GOLDEN / "llama"), "-o", str(tmp_path / "a"))
    assert json.loads((tmp_path / "a/config.json").read_text()) == original
    saved("-m", str(GOLDEN / "llama"), "-o", str(tmp_path / "b"), "--dtype", "float16")
    changed = json.loads((tmp_path / "b/config.json").read_text())
    keys = {"dtype", "torch_dtype"} & set(original)
    assert keys
    assert changed == original | dict.fromkeys(keys, "float16")


def test_what_exists_is_kept(tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    saved("-m", str(GOLDEN / "bert"), "-o", str(copy))
    before = {p.name: p.read_bytes() for p in copy.iterdir()}
    done = run("save", "-m", str(GOLDEN / "gpt2"), "-o", str(copy))
    assert done.returncode == 2
    assert b"model.safetensors" in done.stderr
    assert b"config.json" in done.stderr
    assert b"exist already\nhint: --force replaces them" in done.stderr
    assert {p.name: p.read_bytes() for p in copy.iterdir()} == before
    saved("-m", str(GOLDEN / "gpt2"), "-o", str(copy), "--force")
    assert heads(copy) == heads(GOLDEN / "gpt2")
    random = tmp_path / "heads.npz"
    saved("--random", "-o", str(random))
    done = run("save", "-o", str(random), "--seed", "1")
    assert done.returncode == 2
    assert b"exists already\nhint: --force replaces it\n" in done.stderr
    saved("-o", str(random), "--seed", "1", "--force")


def test_a_model_may_be_saved_over_itself(tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    saved("-m", str(GOLDEN / "bert"), "-o", str(copy))
    saved("-m", str(copy), "-o", str(copy), "--force")
    assert heads(copy) == heads(GOLDEN / "bert")


def test_beside_a_file_only_what_differs_is_in_the_way(tmp_path: Path) -> None:
    saved("-m", str(GOLDEN / "bert"), "-o", str(tmp_path / "a.safetensors"))
    saved("-m", str(GOLDEN / "bert"), "-o", str(tmp_path / "b.npz"))  # the same config and tokenizer
    done = run("save", "-m", str(GOLDEN / "gpt2"), "-o", str(tmp_path / "c.npz"))
    assert done.returncode == 2
    assert b"config.json" in done.stderr
    assert not (tmp_path / "c.npz").exists()


def test_nothing_is_left_of_what_failed(tmp_path: Path) -> None:
    model = tmp_path / "model"
    shutil.copytree(GOLDEN / "bert", model)
    checkpoint = safetensors.open(GOLDEN / "bert" / "model.safetensors")
    arrays = {name: checkpoint.read(name) for name in checkpoint.tensors}
    arrays["bert.embeddings.word_embeddings.weight"] = arrays["bert.embeddings.word_embeddings.weight"] * 1e30
    safetensors.save(model / "model.safetensors", arrays, {})
    done = run("save", "-m", str(model), "-o", str(tmp_path / "new"), "--dtype", "float16")
    assert done.returncode == 2
    assert b"word_embeddings" in done.stderr
    assert b"bfloat16" in done.stderr
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("--random", "-o", "folder"), "one file"),
        (("-m", str(GOLDEN / "bert"), "-o", "x.npz", "--dtype", "bfloat16"), "bfloat16"),
        (("-m", str(GOLDEN / "bert"), "-o", "x.bin"), "safetensors"),
        (("-m", str(GOLDEN / "bert"), "-o", "missing/x.npz"), "missing"),
        (("-m", str(GOLDEN / "bert"), "-o", "x", "--dtype", "int8"), "int8"),
        (("-m", str(GOLDEN / "bert")), "no file or folder named"),
    ],
)
def test_usage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, args: tuple[str, ...], message: str) -> None:
    monkeypatch.chdir(tmp_path)
    done = run("save", *args)
    assert done.returncode == 2
    assert message in done.stderr.decode()
    assert list(tmp_path.iterdir()) == []


def test_bfloat16_rounds_to_the_nearest() -> None:
    values = np.array([1.0, 1.00390625, 1.01171875, -1.00390625, 0.0, -0.0, 3e38, np.nan, np.inf], np.float32)
    found = narrowed(values, "bfloat16", "x")
    # halves go to the even neighbour
    assert [f"{v:04x}" for v in found] == ["3f80", "3f80", "3f82", "bf80", "0000", "8000", "7f62", "7fc0", "7f80"]
    with pytest.raises(UsageError, match="cannot hold"):
        narrowed(np.array([3.4e38], np.float32), "bfloat16", "x")
    with pytest.raises(UsageError, match="cannot hold"):
        narrowed(np.array([1e5], np.float32), "float16", "x")


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_bare_weights_in_a_shorter_type(tmp_path: Path, dtype: str) -> None:
    saved("--n-heads", "2", "--d-model", "8", "-o", str(tmp_path / "w.safetensors"), "--dtype", dtype)
    assert heads(tmp_path / "w.safetensors") != []
