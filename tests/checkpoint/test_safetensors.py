"""The safetensors format: types, mapping, shards, and every way in which a header can lie."""

from __future__ import annotations

import json
import mmap
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attn_cli.checkpoint import safetensors
from attn_cli.errors import CheckpointError, quote

ARRAYS = {
    "f64": np.linspace(-1, 1, 6).reshape(2, 3),
    "f32": np.arange(12, dtype=np.float32).reshape(4, 3) / 7,
    "f16": np.array([1.5, -65504, 6e-8, np.inf], np.float16),
    "i64": np.array([-(2**63), 2**63 - 1]),
    "i32": np.array([[-1]], np.int32),
    "i16": np.array([-300], np.int16),
    "i8": np.array([-128, 127], np.int8),
    "u64": np.array([2**64 - 1], np.uint64),
    "u32": np.array([2**32 - 1], np.uint32),
    "u16": np.array([65535], np.uint16),
    "u8": np.array([255, 0], np.uint8),
    "bool": np.array([True, False, True]),
    "scalar": np.array(3.25, np.float32),
    "empty": np.zeros((0, 5), np.float32),
}


def raw(header: object, data: bytes = b"", length: int | None = None) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return (len(text) if length is None else length).to_bytes(8, "little") + text + data


def put(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def tensor(dtype: str = "F32", shape: Any = (1,), span: Any = (0, 4)) -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": span}


@pytest.mark.parametrize("name", ARRAYS)
def test_each_type_comes_back_bit_for_bit(tmp_path: Path, name: str) -> None:
    safetensors.save(tmp_path / "a.safetensors", ARRAYS, {})
    checkpoint = safetensors.open(tmp_path / "a.safetensors")
    exact = ARRAYS[name].dtype if ARRAYS[name].dtype.kind == "f" else "float32"
    array = checkpoint.read(name, dtype=exact)
    assert array.dtype == ARRAYS[name].dtype
    assert array.shape == ARRAYS[name].shape == checkpoint.tensors[name].shape
    assert array.tobytes() == ARRAYS[name].tobytes()
    assert checkpoint.tensors[name].nbytes == array.nbytes
    assert not array.flags.writeable
    checkpoint.close()


def test_save_is_deterministic_and_keeps_metadata(tmp_path: Path) -> None:
    meta = {"format": "np", "show_layer": "3", "title": "naïve 猫"}
    safetensors.save(tmp_path / "a.safetensors", ARRAYS, meta)
    shuffled = {name: np.asfortranarray(ARRAYS[name]) for name in reversed(ARRAYS)}
    shuffled |= {"scalar": ARRAYS["scalar"], "f64": ARRAYS["f64"].astype(">f8")}
    safetensors.save(tmp_path / "b.safetensors", shuffled, dict(reversed(meta.items())))
    first = (tmp_path / "a.safetensors").read_bytes()
    assert first == (tmp_path / "b.safetensors").read_bytes()
    assert safetensors.open(tmp_path / "a.safetensors").meta == meta
    assert int.from_bytes(first[:8], "little") % 8 == 0


@pytest.mark.parametrize("array", [np.array(["a"]), np.array([1j]), np.array([object()])])
def test_save_refuses_types_that_the_format_lacks(tmp_path: Path, array: np.ndarray) -> None:
    with pytest.raises(CheckpointError, match="cannot hold array 'x'"):
        safetensors.save(tmp_path / "a.safetensors", {"x": array}, {})
    assert not (tmp_path / "a.safetensors").exists()


def test_half_types_are_widened_exactly(tmp_path: Path) -> None:
    bits = np.array([0x3F80, 0xC049, 0x0001, 0x7F80, 0xFF80, 0x7FC0, 0x8000], np.uint16)
    header = {"b": tensor("BF16", [7], [0, 14]), "h": tensor("F16", [2], [14, 18])}
    halves = np.array([0.1, -2.5], np.float16)
    content = raw(header, bits.tobytes() + halves.tobytes())
    checkpoint = safetensors.open(put(tmp_path / "a.safetensors", content))
    wide = checkpoint.read("b")
    assert wide.dtype == np.float32
    assert np.array_equal(wide.view(np.uint32), bits.astype(np.uint32) << 16)
    assert checkpoint.read("b", dtype=np.float64)[1] == -3.140625
    assert np.array_equal(checkpoint.read("h"), halves.astype(np.float32))
    assert np.array_equal(checkpoint.read("b", rows=[1, 1]), wide[[1, 1]])


def test_f64_asked_as_f32_is_rounded_without_a_warning(tmp_path: Path) -> None:
    safetensors.save(tmp_path / "a.safetensors", {"x": np.array([0.1, 1e300])}, {})
    assert safetensors.open(tmp_path / "a.safetensors").read("x").tolist() == [np.float32(0.1), np.inf]


def test_aligned_f32_is_a_view_of_the_map(tmp_path: Path) -> None:
    safetensors.save(tmp_path / "a.safetensors", {"x": np.ones((1000, 1000), np.float32)}, {})
    checkpoint = safetensors.open(tmp_path / "a.safetensors")
    tracemalloc.start()
    first, second = checkpoint.read("x"), checkpoint.read("x")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert isinstance(first.base, mmap.mmap)
    assert np.shares_memory(first, second)
    assert peak < 100_000
    with pytest.raises(ValueError, match="read-only"):
        first[0, 0] = 2
    with pytest.raises(ValueError, match="WRITEABLE"):
        first.setflags(write=True)
    checkpoint.close()
    assert first[999, 999] == 1  # a view outlives the checkpoint
    assert checkpoint.read("x")[0, 0] == 1  # which can be read again


def test_unaligned_tensors_are_copied(tmp_path: Path) -> None:
    header = {"a": tensor("U8", [1], [0, 1]), "b": tensor("F32", [2], [1, 9])}
    path = put(tmp_path / "a.safetensors", raw(header, b"\7" + np.array([1.5, 2], "<f4").tobytes()))
    array = safetensors.open(path).read("b")
    assert array.tolist() == [1.5, 2.0]
    assert array.flags.aligned
    assert not array.flags.writeable


def test_only_the_rows_asked_for_are_read(tmp_path: Path) -> None:
    table = np.arange(50_000 * 16, dtype=np.float16).reshape(50_000, 16)
    safetensors.save(tmp_path / "a.safetensors", {"x": table}, {})
    checkpoint = safetensors.open(tmp_path / "a.safetensors")
    tracemalloc.start()
    rows = checkpoint.read("x", rows=[49_999, 0, 7, 7])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert np.array_equal(rows, table[[49_999, 0, 7, 7]].astype(np.float32), equal_nan=True)
    assert peak < 50_000
    assert checkpoint.read("x", rows=[]).shape == (0, 16)
    for wrong in ([50_000], [-1]):
        with pytest.raises(IndexError, match="50000 rows"):
            checkpoint.read("x", rows=wrong)
    with pytest.raises(KeyError):
        checkpoint.read("y")


def test_bool_bytes_beyond_one_are_true(tmp_path: Path) -> None:
    path = put(tmp_path / "a.safetensors", raw({"x": tensor("BOOL", [3], [0, 3])}, b"\0\1\xff"))
    assert safetensors.open(path).read("x").tobytes() == b"\0\1\1"


@pytest.mark.parametrize(("dtype", "shape", "size"), [("F8_E4M3", [3], 3), ("F4", [4], 2), ("C64", [1], 8)])
def test_known_types_without_numbers_are_listed_and_refused_on_read(
    tmp_path: Path, dtype: str, shape: list[int], size: int
) -> None:
    path = put(tmp_path / "a.safetensors", raw({"x": tensor(dtype, shape, [0, size])}, bytes(size)))
    checkpoint = safetensors.open(path)
    assert checkpoint.tensors["x"].dtype == dtype
    with pytest.raises(CheckpointError, match=f"'x' of type {dtype}"):
        checkpoint.read("x")


NOTHING = b'{"dtype":"U8","shape":[0],"data_offsets":[0,0]}'
DEEP = b'{"x":' + b"[" * 100_000
LIES: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "is an empty file"),
    "lfs": (b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 3\n", "Git LFS pointer"),
    "html": (b"<!DOCTYPE html>\n<html><body>403</body></html>", "HTML page"),
    "seven bytes": (b"1234567", "truncated"),
    "length of a tebibyte": (raw({"x": tensor()}, bytes(4), 2**40), r"1,099,511,627,776 bytes.*file has"),
    "length of all ones": (raw({"x": tensor()}, bytes(4), 2**64 - 1), "is announced"),
    "cut short": (raw({"x": tensor()}, bytes(3)), r"truncated: \d+ bytes expected, \d+ found"),
    "bytes left over": (raw({"x": tensor()}, bytes(5)), "belong to no tensor"),
    "shape": (raw({"x": tensor(shape=[281, 24])}, bytes(4)), r"'x' of shape \(281, 24\).*26,976.*0 to 4"),
    "shape overflows": (raw({"x": tensor(shape=[2**62, 4])}, bytes(4)), "impossible shape"),
    "shape of zeros": (raw({"x": tensor(shape=[0, 2**62, 2], span=[0, 0])}), "impossible shape"),
    "shape negative": (raw({"x": tensor(shape=[-1])}, bytes(4)), "no sound shape"),
    "shape of floats": (raw({"x": tensor(shape=[1.0])}, bytes(4)), "no sound shape"),
    "shape of bools": (raw({"x": tensor(shape=[True])}, bytes(4)), "no sound shape"),
    "shape too long": (raw({"x": tensor(shape=[1] * 65)}, bytes(4)), "no sound shape"),
    "huge number": (raw(b'{"x":{"dtype":"F32","shape":[' + b"9" * 4500 + b"]}}"), "damaged header"),
    "no shape": (raw({"x": {"dtype": "F32"}}), "no sound shape"),
    "range backwards": (raw({"x": tensor(span=[4, 0])}, bytes(4)), "byte range 4 to 0"),
    "range of three": (raw({"x": tensor(span=[0, 4, 4])}, bytes(4)), "no sound shape"),
    "unknown type": (raw({"x": tensor("F31")}, bytes(4)), "unknown type 'F31'"),
    "type is a list": (raw({"x": {**tensor(), "dtype": ["F32"]}}, bytes(4)), "unknown type"),
    "overlap": (raw({"x": tensor(), "y": tensor(span=[0, 4])}, bytes(4)), "'y' overlaps 'x'"),
    "hole": (raw({"x": tensor(), "y": tensor(span=[5, 9])}, bytes(9)), "'y' leaves a hole of 1 bytes"),
    "hole at the start": (raw({"x": tensor(span=[4, 8])}, bytes(8)), "hole of 4 bytes after the header"),
    "same name twice": (raw(b'{"x":' + NOTHING + b',"x":{}}'), "'x' stands twice"),
    "same key twice": (raw(b'{"x":{"dtype":"U8","dtype":"U8"}}'), "key stands twice"),
    "metadata twice": (raw(b'{"__metadata__":{},"__metadata__":{}}'), "stands twice"),
    "metadata key twice": (raw(b'{"__metadata__":{"a":"1","a":"2"}}'), "'a' stands twice"),
    "metadata numbers": (raw({"__metadata__": {"a": 1}}), "damaged header"),
    "metadata list": (raw({"__metadata__": []}), "damaged header"),
    "not an object": (raw([1, 2]), "damaged header"),
    "not JSON": (raw(b"{'x': 1}"), "damaged header"),
    "not UTF-8": (raw(b'{"\xff":{}}'), "not UTF-8"),
    "half a surrogate pair": (raw(b'{"\\ud800":{}}'), "not UTF-8"),
    "text after the end": (raw(b'{} {"x":1}'), "after its end"),
    "nested": (raw(DEEP + b"]" * 100_000), "damaged header"),
    "nested entry": (raw({"x": {"dtype": {"a": 1}}}), "damaged header"),
    "deep entry": (raw(b'{"x":{"a":' + b"[" * 4000 + b"}}"), "damaged header"),
    "long entry": (raw({"x": {**tensor(), "more": "z" * 5000}}, bytes(4)), "no entry of a tensor"),
}


@pytest.mark.parametrize("case", LIES)
def test_files_that_lie_are_refused(tmp_path: Path, case: str) -> None:
    content, message = LIES[case]
    path = put(tmp_path / "model.safetensors", content)
    with pytest.raises(CheckpointError, match=message) as caught:
        safetensors.open(path)
    assert quote(str(path), 1000) in caught.value.message
    assert caught.value.hint


def test_names_in_messages_are_made_safe(tmp_path: Path) -> None:
    name = "\x1b[31m\n\u202eevil" + "x" * 500
    path = put(tmp_path / "model.safetensors", raw({name: tensor(shape=[2])}, bytes(4)))
    with pytest.raises(CheckpointError) as caught:
        safetensors.open(path)
    assert caught.value.message.isprintable()
    assert r"\x1b[31m\x0a\u202eevil" in caught.value.message
    assert len(caught.value.message) < 500 + len(str(path))


def test_padded_and_odd_headers_are_fine(tmp_path: Path) -> None:
    text = b' {\n "x" : {"shape":[1], "data_offsets":[0,4],\t"dtype":"F32", "extra":null} } \n  '
    path = put(tmp_path / "a.safetensors", raw(text, np.float32(2.5).tobytes()))
    assert safetensors.open(path).read("x").tolist() == [2.5]
    assert not safetensors.open(put(tmp_path / "b.safetensors", raw(b"{}"))).tensors


def test_a_file_that_changed_since_is_refused(tmp_path: Path) -> None:
    path = put(tmp_path / "a.safetensors", raw({"x": tensor()}, bytes(4)))
    checkpoint = safetensors.open(path)
    put(path, raw({"x": tensor()}, bytes(2)))
    with pytest.raises(CheckpointError, match="has changed"):
        checkpoint.read("x")


def shards(folder: Path, places: dict[str, Any], metadata: object = None) -> Path:
    for i, name in enumerate(("a", "b"), 1):
        arrays = {name: np.full((3, 2), i, np.float32)}
        safetensors.save(folder / f"model-0000{i}-of-00002.safetensors", arrays, {"format": "pt"})
    index = json.dumps({"metadata": metadata, "weight_map": places}).encode()
    return put(folder / "model.safetensors.index.json", index)


ONE, TWO = "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"


def test_shards_are_one_checkpoint(tmp_path: Path) -> None:
    checkpoint = safetensors.open(shards(tmp_path, {"a": ONE, "b": TWO}, {"total_size": 48, "x": [1]}))
    assert list(checkpoint.tensors) == ["a", "b"]
    assert checkpoint.read("b").tolist() == [[2, 2]] * 3
    assert checkpoint.read("a", rows=[2]).tolist() == [[1, 1]]
    assert checkpoint.meta == {"format": "pt", "total_size": "48"}
    checkpoint.close()


def test_a_shard_may_be_a_link(tmp_path: Path) -> None:
    path = shards(tmp_path, {"a": ONE, "b": TWO})
    blobs = tmp_path / "blobs"
    blobs.mkdir()
    (tmp_path / TWO).rename(blobs / "0123abcd")
    try:
        (tmp_path / TWO).symlink_to(blobs / "0123abcd")
    except OSError:  # Windows without the right to make links
        (blobs / "0123abcd").rename(tmp_path / TWO)
    assert safetensors.open(path).read("b")[0, 0] == 2


@pytest.mark.parametrize("shard", ["../x.safetensors", "/x.safetensors", "a/b.safetensors", "..", "", "c:x", "a.bin"])
def test_shards_outside_the_folder_are_refused(tmp_path: Path, shard: str) -> None:
    with pytest.raises(CheckpointError, match="must be plain"):
        safetensors.open(shards(tmp_path, {"a": ONE, "b": shard}))


@pytest.mark.parametrize(
    ("places", "message"),
    [
        ({"a": ONE, "b": ONE}, "places tensor 'b'"),
        ({"a": ONE, "c": TWO}, "places tensor 'c'"),
        ({"a": 1}, "no weight_map"),
        ([], "no weight_map"),
        ({"a": "\udc00.safetensors", "b": "x" * 5000 + ".safetensors"}, "2 of 2 missing"),
    ],
)
def test_an_index_that_lies_is_refused(tmp_path: Path, places: Any, message: str) -> None:
    with pytest.raises(CheckpointError, match=message):
        safetensors.open(shards(tmp_path, places))


def test_a_damaged_shard_is_found_when_opened(tmp_path: Path) -> None:
    path = shards(tmp_path, {"a": ONE, "b": TWO})
    (tmp_path / TWO).write_bytes((tmp_path / TWO).read_bytes()[:-1])
    with pytest.raises(CheckpointError, match=f"{TWO}' is truncated"):
        safetensors.open(path)
