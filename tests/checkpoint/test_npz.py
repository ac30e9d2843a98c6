"""The .npz format: every type, order and version that NumPy writes, and the files that promise what they lack."""

from __future__ import annotations

import io
import struct
import tracemalloc
import warnings
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pytest

from attn_cli.checkpoint import npz
from attn_cli.errors import CheckpointError

ARRAYS = {
    "f8": np.linspace(-1, 1, 6).reshape(2, 3),
    "f4": np.arange(24, dtype=np.float32).reshape(2, 3, 4) / 7,
    "f2": np.array([1.5, -65504, 6e-8, np.inf], np.float16),
    "i8": np.array([-(2**63), 2**63 - 1]),
    "i1": np.array([-128, 127], np.int8),
    "u2": np.array([[65535]], np.uint16),
    "b1": np.array([True, False]),
    "text": np.array(["the", "猫", "", "\U0001f642 ok"]),
    "word": np.array("one"),
    "bytes": np.array([b"the", "é".encode(), b"\xff"]),
    "scalar": np.array(3.25, np.float32),
    "empty": np.zeros((0, 5), np.float32),
}


def zipped(members: dict[str, bytes], method: int = zipfile.ZIP_STORED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name), data, method)
    return buffer.getvalue()


def npy(header: str | bytes, data: bytes = b"", version: int = 1) -> bytes:
    text = header if isinstance(header, bytes) else header.encode("latin-1")
    length = len(text).to_bytes(2 if version == 1 else 4, "little")
    return b"\x93NUMPY" + bytes([version, 0]) + length + text + data


def described(descr: str, shape: str, data: bytes = b"", fortran: bool = False) -> bytes:
    return npy(f"{{'descr': {descr}, 'fortran_order': {fortran}, 'shape': {shape}, }}\n", data)


def put(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def as_expected(array: np.ndarray) -> np.ndarray:
    return np.char.decode(array, "utf-8", "replace") if array.dtype.kind == "S" else array


@pytest.mark.parametrize("how", ["savez", "savez_compressed", "save"])
def test_all_that_numpy_writes_comes_back(tmp_path: Path, how: str) -> None:
    path = tmp_path / "a.npz"
    if how == "save":
        npz.save(path, ARRAYS, {})
    else:
        getattr(np, how)(path, **ARRAYS)
    checkpoint = npz.open(path)
    assert set(checkpoint.tensors) == set(ARRAYS)
    for name, array in ARRAYS.items():
        exact = array.dtype if array.dtype.kind == "f" else "float32"
        got, want = checkpoint.read(name, dtype=exact), as_expected(array)
        assert got.dtype == want.dtype
        assert got.shape == want.shape == checkpoint.tensors[name].shape
        assert got.tobytes() == want.tobytes()
        assert checkpoint.tensors[name].nbytes == array.nbytes
        assert not got.flags.writeable
    assert checkpoint.tensors["text"].dtype == "U4"
    assert checkpoint.tensors["f2"].dtype == "float16"
    assert checkpoint.read("f2").dtype == np.float32


def test_numpy_reads_what_save_writes(tmp_path: Path) -> None:
    npz.save(tmp_path / "a.npz", ARRAYS, {"seed": "0"})
    with np.load(tmp_path / "a.npz", allow_pickle=False) as loaded:
        assert all(np.array_equal(loaded[name], ARRAYS[name]) for name in ARRAYS)


def test_save_is_deterministic_and_keeps_metadata(tmp_path: Path) -> None:
    meta = {"weights": "random", "title": "naïve 猫"}
    npz.save(tmp_path / "a.npz", ARRAYS, meta)
    shuffled = {name: ARRAYS[name] for name in reversed(ARRAYS)}
    shuffled |= {"f8": np.asfortranarray(ARRAYS["f8"]), "f4": ARRAYS["f4"].astype(">f4")}
    npz.save(tmp_path / "b.npz", shuffled, dict(reversed(meta.items())))
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()
    checkpoint = npz.open(tmp_path / "a.npz")
    assert checkpoint.meta == meta
    assert "__metadata__" not in checkpoint.tensors


@pytest.mark.parametrize("name", ["x", "__metadata__"])
def test_save_refuses_what_cannot_come_back(tmp_path: Path, name: str) -> None:
    array = np.array([object()]) if name == "x" else np.ones(1)
    with pytest.raises(CheckpointError, match="cannot hold array"):
        npz.save(tmp_path / "a.npz", {name: array}, {})
    assert not (tmp_path / "a.npz").exists()


@pytest.mark.parametrize("descr", [">f4", ">f8", ">f2", ">i4", ">U3", "<f4"])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
def test_byte_order_and_fortran_order(tmp_path: Path, descr: str, order: str, version: tuple[int, int]) -> None:
    plain = np.arange(12).reshape(3, 4).astype(descr)
    buffer = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NumPy warns that old versions cannot read versions 2 and 3
        np.lib.format.write_array(buffer, np.asarray(plain, order=order), version=version)  # type: ignore[call-overload]
    checkpoint = npz.open(put(tmp_path / "a.npy", buffer.getvalue()))
    got = checkpoint.read("arr_0", dtype=plain.dtype.newbyteorder("=") if "f" in descr else "float32")
    assert got.dtype.isnative
    assert np.array_equal(got, plain)
    assert np.array_equal(checkpoint.read("arr_0", rows=[2, 0, 2]), plain[[2, 0, 2]])
    with pytest.raises(IndexError):
        checkpoint.read("arr_0", rows=[3])


def test_headers_of_other_writers(tmp_path: Path) -> None:
    data = np.array([1.5, 2.5], "<f4").tobytes()
    for header in (
        "{'shape': (2L,), 'descr': '<f4', 'fortran_order': False}",
        '{"descr":"<f4","fortran_order":False,"shape":(2)}',
        " {  'fortran_order':True,'shape' : ( 2 , ),'descr':'<f4' , } \n",
    ):
        assert npz.open(put(tmp_path / "a.npy", npy(header, data))).read("arr_0").tolist() == [1.5, 2.5]


def test_types_without_numbers_are_listed_and_refused_on_read(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", x=np.ones(2), z=np.array([1j]), t=np.array(["2020-01-01"], "M8[D]"))
    checkpoint = npz.open(tmp_path / "a.npz")
    assert checkpoint.read("x").tolist() == [1, 1]
    for name, dtype in (("z", "c16"), ("t", "M8")):
        assert checkpoint.tensors[name].dtype == dtype
        with pytest.raises(CheckpointError, match=f"'{name}' of type {dtype}"):
            checkpoint.read(name)


class Bomb:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return pytest.fail, ("the pickle was opened",)


def test_object_arrays_are_refused_by_name(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", w=np.ones(2), evil=np.array([Bomb()]), allow_pickle=True)
    with pytest.raises(CheckpointError, match=r"array 'evil' of Python objects"):
        npz.open(tmp_path / "a.npz")
    record = np.zeros(2, [("a", "f4"), ("b", "O")])
    np.save(tmp_path / "b.npy", record, allow_pickle=True)
    with pytest.raises(CheckpointError, match=r"array 'arr_0' of .* records"):
        npz.open(tmp_path / "b.npy")


def test_text_beyond_unicode_is_refused(tmp_path: Path) -> None:
    path = put(tmp_path / "a.npy", described("'<U1'", "(1,)", b"\xff\xff\xff\x7f"))
    with pytest.raises(CheckpointError, match="damaged"):
        npz.open(path).read("arr_0")


F4 = described("'<f4'", "(2,)", bytes(8))
ZEROS = described("'<f4'", "(250000000,)")
LIES: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "empty file"),
    "html": (b"<html>403</html>", "HTML page"),
    "not a zip": (b"hello", "no zip archive"),
    "not quite npy": (b"\x93NUMPY but not really", "damaged header"),
    "half": (zipped({"a.npy": F4, "b.npy": F4})[:200], "cut short"),
    "no arrays": (zipped({"a.txt": b"hello"}), "no arrays"),
    "empty zip": (zipped({}), "no arrays"),
    "bzip2": (zipped({"a.npy": F4}, zipfile.ZIP_BZIP2), "another way than deflate"),
    "cut npy": (F4[:-1], r"truncated or too long: \d+ bytes expected"),
    "long npy": (F4 + b"x", "truncated or too long"),
    "terabyte": (zipped({"a.npy": described("'<f4'", "(250000000000,)", bytes(8))}), "1,000,000,000,0"),
    "shape overflows": (described("'<f4'", f"({2**62}, 8)"), "impossible"),
    "shape of zeros": (described("'<f4'", f"(0, {2**62}, 8)"), "impossible"),
    "shape too large": (described("'<f4'", f"({2**64},)"), "damaged header"),
    "shape too long": (described("'<f4'", "(" + "1," * 65 + ")", bytes(4)), "damaged header"),
    "huge number": (described("'<f4'", "(" + "9" * 5000 + ",)"), "damaged header"),
    "negative": (described("'<f4'", "(-1,)"), "damaged header"),
    "call in the header": (described("'<f4'", "(print(1),)"), "damaged header"),
    "deep header": (npy("(" * 9000), "damaged header"),
    "long header": (npy("{'descr': '<f4', " + " " * 20_000, version=2), "damaged header"),
    "header of 4 GiB": (b"\x93NUMPY\2\0\xff\xff\xff\xff", "damaged header"),
    "version 4": (npy("{}", version=4), "damaged header"),
    "no shape": (npy("{'descr': '<f4', 'fortran_order': False}"), "damaged header"),
    "descr is a tuple": (described("()", "(1,)"), "damaged header"),
    "itemsize 0": (described("'<U0'", "(1000000000000,)"), "damaged header"),
    "itemsize huge": (described("'<U99999999'", "(0,)"), "impossible"),
    "type unknown": (described("'<q'", "(1,)"), "damaged header"),
    "metadata": (zipped({"__metadata__.npy": described("'<U1'", "()", b"{\0\0\0")}), "not JSON"),
    "metadata list": (zipped({"__metadata__.npy": described("'<U1'", "()", b"0\0\0\0")}), "not JSON"),
}


@pytest.mark.parametrize("case", LIES)
def test_files_that_lie_are_refused(tmp_path: Path, case: str) -> None:
    content, message = LIES[case]
    with pytest.raises(CheckpointError, match=message) as caught:
        npz.open(put(tmp_path / "a.npz", content))
    assert "a.npz" in caught.value.message
    assert caught.value.hint


def test_two_arrays_of_one_name_are_refused(tmp_path: Path) -> None:
    content = zipped({"a.npy": F4, "b.npy": F4}).replace(b"b.npy", b"a.npy")
    with pytest.raises(CheckpointError, match="'a' twice"):
        npz.open(put(tmp_path / "a.npz", content))


def test_a_changed_byte_fails_the_checksum(tmp_path: Path) -> None:
    content = bytearray(zipped({"a.npy": F4}))
    content[content.index(F4) + len(F4) - 1] ^= 1
    checkpoint = npz.open(put(tmp_path / "a.npz", bytes(content)))
    with pytest.raises(CheckpointError, match="'a', whose bytes are damaged"):
        checkpoint.read("a")


def lying_member(packed: bytes, size: int, *, method: int = 8, offset: int = 0) -> bytes:
    """A zip of one member whose directory claims what it is told to."""
    common = struct.pack("<HHHHHIIIHH", 20, 0, method, 0, 33, 0, len(packed), size, 5, 0)
    local = b"PK\x03\x04" + common + b"a.npy" + packed
    entry = b"PK\x01\x02" + struct.pack("<H", 20) + common + struct.pack("<HHHII", 0, 0, 0, 0, offset) + b"a.npy"
    return local + entry + b"PK\x05\x06" + struct.pack("<HHHHIIH", 0, 0, 1, 1, len(entry), len(local), 0)


def deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return packer.compress(data) + packer.flush()


@pytest.mark.parametrize(
    "content",
    [
        lying_member(deflate(ZEROS), len(ZEROS) + 10**9),  # more than deflate can give
        lying_member(ZEROS, len(ZEROS) + 10**9, method=0),  # stored, but larger than it lies there
        lying_member(deflate(F4), len(F4), offset=10**9),
        lying_member(deflate(F4), len(F4), offset=7),
        lying_member(deflate(F4)[:9], len(F4)),
        lying_member(b"\xff" * 30, len(F4)),
    ],
)
def test_lying_zips_take_no_memory(tmp_path: Path, content: bytes) -> None:
    path = put(tmp_path / "a.npz", content)
    tracemalloc.start()
    with pytest.raises(CheckpointError):
        npz.open(path).read("a")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3_000_000


def test_a_bomb_is_inflated_only_as_far_as_its_array_reaches(tmp_path: Path) -> None:
    path = put(tmp_path / "a.npz", lying_member(deflate(F4 + bytes(50_000_000)), len(F4)))
    tracemalloc.start()
    with pytest.raises(CheckpointError, match="damaged"):  # the checksum is of another content
        npz.open(path).read("a")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3_000_000


def test_more_than_the_bound_is_refused(tmp_path: Path) -> None:
    part = described("'|u1'", "(600000000,)")
    body = part + bytes(2_000_000)
    content = lying_member(deflate(body), len(body))
    with pytest.raises(CheckpointError, match="truncated or too long"):
        npz.open(put(tmp_path / "a.npz", content))


def test_a_directory_longer_than_any_honest_one_is_refused(tmp_path: Path) -> None:
    content = zipped({f"{'x' * 200}{i}": b"" for i in range(20_000)} | {"a.npy": F4})
    with pytest.raises(CheckpointError, match="cannot be read"):
        npz.open(put(tmp_path / "a.npz", content))
