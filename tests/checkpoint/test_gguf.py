from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import gguf as reference
import numpy as np
import pytest
from gguf import GGMLQuantizationType as Kind

from attn_cli.checkpoint import gguf
from attn_cli.checkpoint._blocks import PLAIN, SIZES, TYPES, decode
from attn_cli.checkpoint._folder import open_source, open_weights
from attn_cli.checkpoint.gguf import Gguf
from attn_cli.errors import CheckpointError

RNG = np.random.default_rng(0)
MATRIX = RNG.normal(size=(4, 64)).astype(np.float32)


def write(path: Path, tensors: dict[str, tuple[np.ndarray, Kind | None]], *, endian: Any = None, **meta: Any) -> Path:
    kinds = {} if endian is None else {"endianess": endian}
    writer = reference.GGUFWriter(path, "llama", **kinds)
    for key, value in meta.items():
        writer.add_key_value(key, value, *_type(value))
    for name, (array, kind) in tensors.items():
        writer.add_tensor(name, array, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _type(value: Any) -> tuple[Any, ...]:
    kind = reference.GGUFValueType
    if isinstance(value, list):
        return kind.ARRAY, kind.get_type(value[0])
    return (kind.get_type(value),)


def opened(path: Path) -> Gguf:
    found = gguf.open(path)
    assert isinstance(found, Gguf)
    return found


def refused(path: Path, match: str) -> CheckpointError:
    with pytest.raises(CheckpointError, match=match) as caught:
        gguf.open(path)
    assert path.name in caught.value.message
    assert caught.value.hint
    return caught.value


def header(*entries: bytes, version: int = 3, tensors: int = 0, keys: int = 0, magic: bytes = b"GGUF") -> bytes:
    return magic + struct.pack("<IQQ", version, tensors, keys) + b"".join(entries)


def text(value: bytes) -> bytes:
    return struct.pack("<Q", len(value)) + value


def entry(name: bytes, shape: tuple[int, ...], kind: int, start: int) -> bytes:
    sizes = struct.pack(f"<{len(shape)}Q", *shape)
    return text(name) + struct.pack("<I", len(shape)) + sizes + struct.pack("<IQ", kind, start)


def file(tmp_path: Path, content: bytes) -> Path:
    path = tmp_path / "a.gguf"
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("kind", [k for k in SIZES if k not in PLAIN and k in Kind.__members__])
def test_blocks_are_decoded_as_the_gguf_package_does(kind: str) -> None:
    elements, size = SIZES[kind]
    packed = RNG.integers(0, 256, 300 * size, dtype=np.uint8)
    number = Kind[kind]
    if number not in reference.quants._type_traits:
        with pytest.raises(NotImplementedError):
            decode(packed, kind)
        return
    with np.errstate(all="ignore"):
        wanted = reference.quants.dequantize(packed.reshape(1, -1), number).reshape(-1)
    found = decode(packed, kind)
    assert found.dtype == np.float32
    assert found.shape == (300 * elements,)
    assert np.array_equal(found, wanted, equal_nan=True)


def test_the_table_of_types_is_that_of_the_gguf_package() -> None:
    theirs = {int(kind): (kind.name, *sizes) for kind, sizes in reference.GGML_QUANT_SIZES.items()}
    both = theirs.keys() & TYPES.keys()  # either may know newer ones
    assert {number: theirs[number] for number in both} == {number: TYPES[number] for number in both}
    assert len(both) >= 30


def test_every_plain_type_and_rows(tmp_path: Path) -> None:
    arrays = {
        "f4": MATRIX, "f2": MATRIX.astype(np.float16), "f8": MATRIX.astype(np.float64), "i4": np.arange(6, dtype=np.int32),
        "cube": RNG.normal(size=(2, 3, 4)).astype(np.float32),
    }  # fmt: skip
    bf16 = (MATRIX.view(np.uint32) >> 16).astype(np.uint16)
    tensors: dict[str, tuple[np.ndarray, Kind | None]] = {name: (array, None) for name, array in arrays.items()}
    tensors["bf"] = bf16.view(np.uint8).reshape(4, 128), Kind.BF16
    found = opened(write(tmp_path / "a.gguf", tensors, **{"general.name": "it", "x.flag": True, "x.list": [1, 2, 3]}))
    for name, array in arrays.items():
        assert found.tensors[name].shape == array.shape
        assert np.array_equal(found.read(name, dtype=np.float64), array)
        assert np.array_equal(found.read(name, rows=[1, 0, 1]), array[[1, 0, 1]].astype(found.read(name).dtype))
    assert np.array_equal(found.read("bf"), (bf16.astype(np.uint32) << 16).view(np.float32))
    assert found.meta["general.name"] == "it"
    assert found.fields["x.flag"] is True
    assert found.fields["x.list"].tolist() == [1, 2, 3]
    assert "x.list" in found.fields
    assert not found.read("f4").flags.writeable
    with pytest.raises(KeyError):
        found.read("none")
    with pytest.raises(IndexError):
        found.read("f4", rows=[4])
    found.close()
    assert np.array_equal(found.read("f4"), MATRIX)


@pytest.mark.parametrize("kind", ["Q8_0", "Q4_0", "Q4_1", "Q5_0", "IQ4_NL"])
def test_quantised_rows_equal_the_rows_of_the_whole(tmp_path: Path, kind: str) -> None:
    number = Kind[kind]
    packed = (
        reference.quants.quantize(MATRIX, number) if kind != "IQ4_NL" else RNG.integers(0, 99, (4, 36)).astype(np.uint8)
    )
    found = opened(write(tmp_path / "a.gguf", {"w": (packed, number)}))
    assert found.tensors["w"].dtype == kind
    whole = found.read("w")
    assert np.array_equal(whole, reference.quants.dequantize(packed, number))
    assert np.array_equal(found.read("w", rows=[3, 0]), whole[[3, 0]])


def test_texts_that_are_no_unicode_are_read_all_the_same(tmp_path: Path) -> None:
    value = text(b"k") + struct.pack("<IIQ", 9, 8, 2) + text(b"\xff") + text(b"ok")
    assert opened(file(tmp_path, header(value, keys=1))).fields["k"] == ["\ufffd", "ok"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"GGUF", "truncated: expected at least 24 bytes, found 4"),
        (header(magic=b"FUGG"), "not a GGUF file"),
        (b'{"error": 1}', "JSON file"),
        (b"<html>", "HTML page"),
        (b"tjgg" + bytes(40), "older GGML"),
        (b"version https://git-lfs.github.com/spec/v1\n", "Git LFS pointer"),
        (b"", "empty file"),
        (header(version=1), "GGUF version 1"),
        (header(version=9), "GGUF version 9"),
        (header(version=3 << 24), "big-endian"),
        (header(tensors=2**40), "are announced"),
        (header(keys=2**63), "are announced"),
        (header(keys=1), "truncated: expected at least 32 bytes, found 24"),
        (header(text(b"k")[:8], keys=1), "truncated"),
        (header(struct.pack("<Q", 2**63), keys=1), "a name of"),
        (header(text(b"\xff"), keys=1), "not UTF-8"),
        (header(text(b"k") + struct.pack("<I", 77), keys=1), "a value of type 77"),
        (header(text(b"k") + struct.pack("<IIQ", 9, 9, 1), keys=1), "a list of type 9"),
        (header(text(b"k") + struct.pack("<IIQ", 9, 8, 2**61), keys=1), "truncated"),
        (header(text(b"k") + struct.pack("<IIQ", 9, 10, 2**61), keys=1), "truncated"),
        (header(text(b"k") + struct.pack("<IQ", 8, 2**64 - 1), keys=1), "truncated"),
        (header(*[text(b"k") + struct.pack("<II", 4, 1)] * 2, keys=2), "stands twice"),
        (header(text(b"general.alignment") + struct.pack("<II", 4, 7), keys=1), "no multiple of 8"),
        (header(text(b"general.alignment") + struct.pack("<II", 4, 0), keys=1), "no multiple of 8"),
        (header(entry(b"w", (4,), 250, 0), tensors=1), "'w' of type 250, which is not known"),
        (header(entry(b"w", (4,), 4, 0), tensors=1), "'w' of type 4, which is not known"),
        (header(entry(b"w", (4,) * 5, 0, 0), tensors=1), "5 dimensions"),
        (header(entry(b"w", (2**40, 2**40), 0, 0), tensors=1), "impossible shape"),
        (header(entry(b"w", (0, 2**63), 0, 0), tensors=1), "impossible shape"),
        (header(entry(b"w", (33,), 8, 0), tensors=1), "no whole number of Q8_0 blocks"),
        (header(entry(b"w", (4,), 0, 3), tensors=1), "not at a multiple of 32"),
        (header(entry(b"w", (4,), 0, 0), tensors=1), "truncated: expected at least 80 bytes"),
        (header(entry(b"w", (4,), 0, 2**63), tensors=1), "truncated"),
        (header(entry(b"w", (4,), 0, 0), entry(b"w", (4,), 0, 32), tensors=2), "stands twice"),
        (header(entry(b"w", (4,), 0, 0), entry(b"u", (4,), 0, 0), tensors=2) + bytes(99), "overlaps"),
    ],
)
def test_damaged_headers(tmp_path: Path, content: bytes, message: str) -> None:
    refused(file(tmp_path, content), message)


def test_a_big_endian_file_of_the_package_itself(tmp_path: Path) -> None:
    refused(write(tmp_path / "a.gguf", {}, endian=reference.GGUFEndian.BIG), "big-endian")


def test_version_2_has_the_same_layout(tmp_path: Path) -> None:
    path = write(tmp_path / "a.gguf", {"w": (MATRIX, None)})
    data = bytearray(path.read_bytes())
    data[4] = 2
    path.write_bytes(bytes(data))
    assert np.array_equal(gguf.open(path).read("w"), MATRIX)


def test_every_truncation_is_named(tmp_path: Path) -> None:
    whole = write(
        tmp_path / "whole.gguf", {"w": (MATRIX, None)}, **{"general.name": "it", "x.list": ["a", "b"]}
    ).read_bytes()
    for size in range(4, len(whole), 3):
        error = refused(file(tmp_path, whole[:size]), "is truncated: expected at least [0-9,]+ bytes")
        assert f"found {size}" in error.message.replace(",", "")


def test_a_type_that_nobody_decodes(tmp_path: Path) -> None:
    content = header(entry(b"w", (256,), 15, 0), tensors=1)
    path = file(tmp_path, content + bytes(-len(content) % 32 + 292))
    with pytest.raises(CheckpointError, match="'w' of type Q8_K, which cannot be decoded"):
        gguf.open(path).read("w")


def parts(tmp_path: Path, count: int = 2, **changed: Any) -> list[Path]:
    paths = [tmp_path / f"m-{i + 1:05}-of-{count:05}.gguf" for i in range(count)]
    for i, path in enumerate(paths):
        meta = {"split.no": i, "split.count": count, "split.tensors.count": count, **changed}
        write(path, {f"w{i}": (MATRIX + i, None)}, **({"general.name": "it"} if i == 0 else {}), **meta)
    return paths


def test_parts_are_joined_whichever_is_named(tmp_path: Path) -> None:
    for path in (*parts(tmp_path), tmp_path):
        found = opened(path) if path.is_file() else open_source(path).weights
        assert list(found.tensors) == ["w0", "w1"]
        assert found.meta["general.name"] == "it"
        assert np.array_equal(found.read("w1", rows=[2]), MATRIX[[2]] + 1)
        found.close()


def test_parts_that_do_not_fit(tmp_path: Path) -> None:
    paths = parts(tmp_path, 3)
    paths[1].unlink()
    refused(paths[0], "one of 3 parts; 1 not found beside it: 'm-00002-of-00003.gguf'")
    paths[0].rename(tmp_path / "renamed.gguf")
    refused(tmp_path / "renamed.gguf", "its name does not say which")
    (tmp_path / "other").mkdir()
    both = parts(tmp_path / "other")
    both[1].write_bytes(both[0].read_bytes())
    with pytest.raises(CheckpointError, match="does not say of itself that it is part 2 of 2"):
        gguf.open(both[0])
    (tmp_path / "fewer").mkdir()
    fewer = parts(tmp_path / "fewer", **{"split.tensors.count": 7})
    refused(fewer[0], "hold 2 tensors, 7 expected")


def test_two_models_in_a_folder_are_a_choice(tmp_path: Path) -> None:
    for name in ("a.gguf", "b.gguf"):
        write(tmp_path / name, {"w": (MATRIX, None)})
    with pytest.raises(CheckpointError, match="several weight files"):
        open_source(tmp_path)


def test_known_by_content(tmp_path: Path) -> None:
    path = write(tmp_path / "sha256-0123", {"w": (MATRIX, None)})
    assert open_weights(path).format == "gguf"
