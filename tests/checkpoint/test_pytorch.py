from __future__ import annotations

import collections
import json
import os
import pickle
import shutil
import struct
import zipfile
from pathlib import Path

import numpy as np
import pytest

from attn_cli.checkpoint import pytorch
from attn_cli.checkpoint._folder import open_source, open_weights
from attn_cli.checkpoint._pickle import _ALLOWED, Refused, Tensor, unpickle
from attn_cli.errors import CheckpointError

FILES = Path(__file__).parent / "files"  # saved by PyTorch, see tests/reference/make_torch_files.py
with np.load(FILES / "arrays.npz") as loaded:
    ARRAYS = dict(loaded)


def refused(path: Path, match: str) -> CheckpointError:
    with pytest.raises(CheckpointError, match=match) as caught:
        pytorch.open(path)
    assert path.name in caught.value.message
    assert caught.value.hint
    return caught.value


def word(value: str) -> bytes:
    return b"X" + struct.pack("<I", len(value)) + value.encode()


def name(module: str, what: str) -> bytes:
    return f"c{module}\n{what}\n".encode()


def number(value: int) -> bytes:
    return (
        b"J" + struct.pack("<i", value)
        if abs(value) < 2**31
        else b"\x8a\x09" + value.to_bytes(9, "little", signed=True)
    )


def sizes(*values: int) -> bytes:
    return b"(" + b"".join(number(v) for v in values) + b"t"


def tensor(
    key: str = "0", offset: int = 0, shape: tuple[int, ...] = (2, 3), strides: tuple[int, ...] = (3, 1)
) -> bytes:
    storage = b"(" + word("storage") + name("torch", "FloatStorage") + word(key) + word("cpu") + number(6) + b"tQ"
    given = storage + number(offset) + sizes(*shape) + sizes(*strides) + b"\x89N"
    return name("torch._utils", "_rebuild_tensor_v2") + b"(" + given + b"tR"


def state(**values: bytes) -> bytes:
    """A pickled dict."""
    return b"\x80\x02}(" + b"".join(word(key) + value for key, value in values.items()) + b"u."


def zipped(path: Path, data: bytes, root: str = "archive/", **members: bytes) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{root}data.pkl", data)
        for key, value in {"data/0": np.arange(6, dtype="<f4").tobytes(), **members}.items():
            archive.writestr(root + key, value)
    return path


@pytest.mark.parametrize("file", ["zipped.bin", "old.pt"])
def test_what_pytorch_saved(file: str) -> None:
    found = pytorch.open(FILES / file)
    wanted = {key: array for key, array in ARRAYS.items() if not key.startswith("module.")}
    assert found.tensors.keys() == wanted.keys()
    for key, array in wanted.items():
        got = found.read(key)
        assert got.shape == found.tensors[key].shape == array.shape
        assert np.array_equal(got, array.astype(got.dtype)), key
        assert got.dtype == (np.float32 if array.dtype.kind == "f" else array.dtype)
        assert not got.flags.writeable
        if array.ndim and len(array):
            assert np.array_equal(found.read(key, rows=[len(array) - 1, 0]), got[[-1, 0]])
    assert found.tensors["bfloat"].dtype == "BF16"
    assert found.format == "pytorch"
    found.close()
    assert np.array_equal(found.read("whole"), ARRAYS["whole"])


def test_a_state_dict_of_modules_under_a_key() -> None:
    found = pytorch.open(FILES / "module.pth")
    assert sorted(found.tensors) == ["0.bias", "0.weight", "1.bias", "1.weight"]
    assert np.array_equal(found.read("0.weight"), ARRAYS["module.0.weight"])


def test_a_whole_module_is_refused_by_name() -> None:
    error = refused(FILES / "whole_module.pt", r"wants 'torch\.nn\.modules\.container\.Sequential'")
    assert "safetensors" in error.hint


class Evil:
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __reduce__(self) -> tuple[object, ...]:
        return os.mkdir, (str(self.folder),)


@pytest.mark.parametrize("protocol", [0, 1, 2, 3, 4, 5])
def test_nothing_is_ever_run(tmp_path: Path, protocol: int) -> None:
    made = tmp_path / "made"
    data = pickle.dumps({"w": Evil(made)}, protocol)
    path = tmp_path / "a.bin"
    path.write_bytes(data)
    with pytest.raises(CheckpointError):
        pytorch.open(path)
    error = refused(zipped(path, data), "it was not run" if protocol else "opcode")
    assert protocol == 0 or "mkdir" in error.message
    assert not made.exists()


@pytest.mark.parametrize(
    "wanted",
    ["os system", "builtins eval", "torch load", "torch._utils _rebuild_meta_tensor_no_storage", "torch FloatStorage.x",
     "collections OrderedDict.pop", "numpy.core.multiarray _reconstruct", "torch.hub load", " ", "torch.torch Size"],
)  # fmt: skip
def test_names_that_are_not_on_the_list(wanted: str) -> None:
    module, _, what = wanted.partition(" ")
    with pytest.raises(Refused, match="it was not run"):
        unpickle(b"\x80\x02" + name(module, what) + b".")
    stacked = word(module) + word(what) + b"\x93."
    with pytest.raises(Refused, match="it was not run"):
        unpickle(b"\x80\x04" + stacked)


def test_the_list_is_short_and_closed() -> None:
    assert len(_ALLOWED) == 28
    assert {full.split()[0] for full in _ALLOWED} == {"collections", "torch", "torch._utils", "torch.storage"}


@pytest.mark.parametrize(
    "code", sorted(set(range(256)) - set(b"(NJKMGXTU])}tasequrhjcQRb.") - {*range(0x80, 0x8E), 0x93, 0x94, 0x95})
)
def test_other_opcodes_are_refused(code: int) -> None:
    with pytest.raises(Refused, match=f"opcode 0x{code:02x}"):
        unpickle(b"\x80\x02N" + bytes([code]) + bytes(20))


@pytest.mark.parametrize(
    "data",
    [b"", b"\x80", b".", b"NN.", b"t.", b"s.", b"Ns.", b"(u.", b"]N.", b"hq.", b"R.", b"NNR.", b"X\xff\xff\xff\xff.",
     b"\x8d" + b"\xff" * 8 + b".", b"}])s.", b"}(NNu.", b"}(K\1u.", b"NQ.", b"))Q.", b"Nb.", b"]b.", b"c",
     b"ca", b"ca\n",
     b"c" + b"a" * 999 + b"\nb\n", b"X\1\0\0\0\xff.", b"\x8a\xff.", b"a.", b"Na.", b"e.", b"(e.", b"Nt.",
     b"}Nu.", b"]Ne.", b"j\0\0\0\0.", b"\x94."],
)  # fmt: skip
def test_damaged_pickles(data: bytes) -> None:
    with pytest.raises((ValueError, Refused)):
        unpickle(data)


def test_keys_whose_hash_takes_for_ever_are_refused() -> None:
    deep = b"\x80\x02)" + b"q\0h\0\x86" * 200  # each level holds the last one twice
    with pytest.raises(ValueError, match="damaged"):
        unpickle(deep + b"q\0}h\0Ns.")


def test_more_steps_than_any_checkpoint_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("attn_cli.checkpoint._pickle.MAX_STEPS", 1000)
    with pytest.raises(ValueError, match="more than 1,000 steps"):
        unpickle(b"]" * 2000)


def test_what_a_pickle_builds() -> None:
    ordered = name("collections", "OrderedDict") + b")R}(" + word("a") + tensor() + b"ub"
    found, end = unpickle(b"\x80\x02" + ordered + b".")
    assert found == {}  # the state of a dict is not its contents
    assert end == len(ordered) + 3
    (value,) = unpickle(state(a=tensor(offset=1, shape=(5,), strides=(1,))))[0].values()
    assert isinstance(value, Tensor)
    assert (value.offset, value.shape, value.strides, value.storage.dtype) == (1, (5,), (1,), "F32")


@pytest.mark.parametrize(
    ("made", "message"),
    [
        ({"offset": 1}, "lacks"),
        ({"shape": (3, 3)}, "lacks"),
        ({"strides": (4, 1)}, "lacks"),
        ({"offset": 2**61, "shape": ()}, "damaged"),
        ({"offset": 2**61, "shape": (), "strides": ()}, "lacks"),
        ({"shape": (2**61, 2**61), "strides": (0, 0)}, "lacks"),
        ({"shape": (7,), "strides": (0,)}, "lacks"),
        ({"shape": (0, 2**61), "strides": (0, 0)}, "lacks"),
        ({"strides": (3, -1)}, "damaged"),
        ({"shape": (2,)}, "damaged"),
        ({"key": "../../1"}, "not its storage"),
        ({"shape": (1,) * 65, "strides": (0,) * 65}, "lacks"),
    ],
)
def test_tensors_that_reach_beyond_their_storage(tmp_path: Path, made: dict[str, object], message: str) -> None:
    refused(zipped(tmp_path / "a.bin", state(w=tensor(**made))), message)  # type: ignore[arg-type]


def test_other_things_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    refused(zipped(path, b"\x80\x02}."), "no dict of tensors")
    refused(zipped(path, b"\x80\x02" + tensor() + b"."), "no dict of tensors")
    refused(zipped(path, b"\x80\x02}K\1" + tensor() + b"s."), "have no names")
    loop = b"\x80\x02}q\0(" + word("model") + b"h\0u."
    refused(zipped(path, loop), "no dict of tensors")
    refused(zipped(path, state(w=tensor()), byteorder=b"big"), "big-endian")
    refused(zipped(path, state(w=tensor()), **{"x/data.pkl": b"N."}), "no data.pkl in this zip archive, or several")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("archive/data.pkl", b"]" * 10**6)
    refused(path, "packed or encrypted")
    path.write_bytes(b"hello")
    refused(path, "is no PyTorch file")
    path.write_bytes(b"version https://git-lfs.github.com/spec/v1\n")
    refused(path, "Git LFS pointer")
    path.write_bytes(pickle.dumps({"a": 1}, 2))
    refused(path, "none of PyTorch's")


def test_names_without_the_prefix_that_parallel_training_adds(tmp_path: Path) -> None:
    path = zipped(tmp_path / "a.bin", state(**{"module.a": tensor(), "module.b": tensor()}))
    assert list(pytorch.open(path).tensors) == ["a", "b"]
    path = zipped(tmp_path / "a.bin", state(**{"module.a": tensor(), "b": tensor()}))
    assert list(pytorch.open(path).tensors) == ["module.a", "b"]


@pytest.mark.parametrize("file", ["zipped.bin", "old.pt"])
def test_every_truncation_is_refused(tmp_path: Path, file: str) -> None:
    whole = (FILES / file).read_bytes()
    path = tmp_path / file
    for size in range(0, len(whole), 23):
        path.write_bytes(whole[:size])
        with pytest.raises(CheckpointError):
            pytorch.open(path)


def test_shards(tmp_path: Path) -> None:
    for part in ("1", "2"):
        zipped(tmp_path / f"pytorch_model-0000{part}-of-00002.bin", state(**{f"w{part}": tensor()}))
    index = tmp_path / "pytorch_model.bin.index.json"
    places = {f"w{part}": f"pytorch_model-0000{part}-of-00002.bin" for part in "12"}
    index.write_text(json.dumps({"metadata": {}, "weight_map": places}))
    (tmp_path / "config.json").write_text("{}")
    found = open_source(tmp_path).weights
    assert found.format == "pytorch"
    assert np.array_equal(found.read("w2"), np.arange(6).reshape(2, 3))
    found.close()
    for evil in ("../a.bin", "/etc/passwd", "..\\a.bin", "a.safetensors", ".bin", "c:a.bin"):
        index.write_text(json.dumps({"weight_map": {"w1": evil}}))
        refused(index, "plain .bin file names")
    index.write_text(json.dumps({"weight_map": {"w1": "lost.bin"}}))
    refused(index, "'lost.bin', not found")


def test_known_by_content(tmp_path: Path) -> None:
    for file in ("zipped.bin", "old.pt"):
        shutil.copyfile(FILES / file, tmp_path / "model.dat")
        assert open_weights(tmp_path / "model.dat").format == "pytorch"


def test_ordered_dicts_of_python_itself_are_refused_politely(tmp_path: Path) -> None:
    path = tmp_path / "a.pkl"
    path.write_bytes(pickle.dumps(collections.Counter("ab"), 2))
    with pytest.raises(CheckpointError, match="Counter"):
        open_weights(path)
