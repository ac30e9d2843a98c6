"""Damaged files of each format give CheckpointError or the arrays they declare: never another error, hang or blow-up.

ATTN_CLI_FUZZ sets the number of inputs for each format; all come from one seed.
"""

from __future__ import annotations

import io
import os
import random
import shutil
import struct
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from attn_cli.checkpoint import Checkpoint, gguf, npz, pytorch, safetensors
from attn_cli.errors import CheckpointError

FILES = Path(__file__).parent / "files"
COUNT = int(os.environ.get("ATTN_CLI_FUZZ", "250"))
SECONDS = 1.0  # for one input of a few thousand bytes
ALLOWANCE = 3_000_000  # bytes of Python's own objects and buffers, whatever the file's size
HOSTILE = (0, 1, 2**16, 2**31 - 1, 2**32 - 1, 2**40, 2**62, 2**63 - 1, 2**64 - 1)
WORDS = (b"-1", b"0", b"99999999999", b"1e9", b"null", b"[]", b"{}", b'"', b"<f8", b"|O", b"True", b"(,)", b"\\ud800")


def arrays() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(5)
    return {
        "layers.0.w": rng.normal(size=(12, 9)).astype(np.float32),
        "layers.0.b": rng.normal(size=7).astype(np.float16),
        "ids": rng.integers(-9, 9, size=(2, 3)),
        "mask": np.array([True, False, True]),
        "wide": rng.normal(size=(3, 2)),
        "one": np.array(1.5, np.float32),
        "none": np.zeros((0, 3), np.float32),
    }


def safetensors_file(path: Path) -> None:
    safetensors.save(path, arrays(), {"format": "pt", "text": "the cat"})


def npz_file(path: Path) -> None:
    npz.save(path, {**arrays(), "tokens": np.array(["the", "cat"])}, {"seed": "0"})


def deflated_file(path: Path) -> None:
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays(), tokens=np.array(["the", "cat"]))
    path.write_bytes(buffer.getvalue())


def npy_file(path: Path) -> None:
    buffer = io.BytesIO()
    np.save(buffer, arrays()["layers.0.w"])
    path.write_bytes(buffer.getvalue())


def gguf_file(path: Path) -> None:
    from gguf import GGMLQuantizationType, GGUFWriter, quants

    writer = GGUFWriter(path, "llama")
    writer.add_block_count(2)
    writer.add_float32("llama.rope.freq_base", 10000.0)
    writer.add_token_list(["the", "cat", "sat"])
    writer.add_token_scores([0.0, -1.0, -2.0])
    for name, array in arrays().items():
        if array.dtype.kind == "f" and array.ndim:
            writer.add_tensor(name, array)
    block = np.random.default_rng(3).normal(size=(2, 256)).astype(np.float32)
    for kind in ("BF16", "Q4_0", "Q4_1", "Q5_1", "Q8_0"):
        number = GGMLQuantizationType[kind]
        writer.add_tensor(kind, quants.quantize(block[:, :64], number), raw_dtype=number)
    for kind, size in (("Q4_K", 144), ("Q6_K", 210), ("IQ4_XS", 136)):
        packed = np.random.default_rng(4).integers(0, 256, (2, size), np.uint8)
        writer.add_tensor(kind, packed, raw_dtype=GGMLQuantizationType[kind])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def zipped_pytorch_file(path: Path) -> None:
    shutil.copyfile(FILES / "zipped.bin", path)


def old_pytorch_file(path: Path) -> None:
    shutil.copyfile(FILES / "old.pt", path)


FORMATS: dict[str, tuple[ModuleType, Callable[[Path], None], str]] = {
    "safetensors": (safetensors, safetensors_file, "a.safetensors"),
    "npz stored": (npz, npz_file, "a.npz"),
    "npz deflated": (npz, deflated_file, "a.npz"),
    "npy": (npz, npy_file, "a.npy"),
    "gguf": (gguf, gguf_file, "a.gguf"),
    "pytorch zipped": (pytorch, zipped_pytorch_file, "a.bin"),
    "pytorch old": (pytorch, old_pytorch_file, "a.pt"),
}


def damaged(whole: bytes, number: int, rng: random.Random) -> bytes:
    """One of: cut at a sixteenth, cut anywhere, bits flipped, a hostile length, a hostile word, bytes moved."""
    if number < 16:
        return whole[: len(whole) * number // 16]
    data = bytearray(whole)
    # Headers are where lies are told; half of the damage goes to the first and last parts of the file.
    at = rng.choice([rng.randrange(len(data)), rng.randrange(min(600, len(data))), -rng.randrange(1, len(data) // 4)])
    at %= len(data)
    kind = number % 5
    if kind == 0:
        for _ in range(rng.choice([1, 1, 2, 8, 64])):
            data[(at + rng.randrange(200)) % len(data)] ^= 1 << rng.randrange(8)
    elif kind == 1:
        form = rng.choice(["<H", "<I", "<Q"])
        value = rng.choice(HOSTILE) & (2 ** (8 * struct.calcsize(form)) - 1)
        data[at : at + struct.calcsize(form)] = struct.pack(form, value)
    elif kind == 2:
        word = rng.choice(WORDS)
        data[at : at + rng.choice([0, 1, len(word)])] = word
    elif kind == 3:
        digits = [i for i, byte in enumerate(data) if 48 <= byte <= 57]
        data[rng.choice(digits)] = rng.randrange(48, 58)
    else:
        other = rng.randrange(len(data))
        data[at:at] = data[other : other + rng.randrange(64)]
        del data[rng.randrange(len(data)) :][: rng.choice([0, 0, 40])]
    return bytes(data)


def check_message(error: CheckpointError) -> None:
    assert error.message.isprintable()
    assert any(suffix in error.message for _, _, suffix in FORMATS.values())
    assert error.hint


def check(checkpoint: Checkpoint) -> int:
    """The bytes of all arrays, each of which must be as declared, or refused."""
    total = 0
    for name, info in checkpoint.tensors.items():
        try:
            array = checkpoint.read(name)
        except CheckpointError as error:
            check_message(error)
            continue
        assert array.shape == info.shape
        assert array.dtype.kind in "fiubU"
        assert array.dtype.kind != "f" or array.dtype == np.float32
        array.tolist()
        total += max(array.nbytes, info.nbytes)
        if info.shape and info.shape[0]:
            assert np.array_equal(checkpoint.read(name, rows=[0])[0], array[0], equal_nan=array.dtype.kind == "f")
    checkpoint.close()
    return total


@pytest.mark.parametrize("name", FORMATS)
def test_damage_is_refused_or_harmless(tmp_path: Path, name: str) -> None:
    module, make, suffix = FORMATS[name]
    make(tmp_path / suffix)
    whole = (tmp_path / suffix).read_bytes()
    assert check(module.open(tmp_path / suffix)) > 0
    rng = random.Random(name)
    refused = 0
    for number in range(COUNT):
        content = damaged(whole, number, rng)
        path = tmp_path / f"{number % 2}{suffix}"
        path.write_bytes(content)
        began = time.perf_counter()
        tracemalloc.start()
        try:
            check(module.open(path))
        except CheckpointError as error:
            refused += 1
            check_message(error)
        finally:
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
        assert peak < 2 * len(content) + ALLOWANCE, (number, peak)
        assert time.perf_counter() - began < SECONDS, number
    assert refused >= COUNT // 5


@pytest.mark.parametrize("name", FORMATS)
def test_noise_is_refused(tmp_path: Path, name: str) -> None:
    module, make, suffix = FORMATS[name]
    make(tmp_path / suffix)
    start = (tmp_path / suffix).read_bytes()[:8]
    rng = random.Random(7)
    for number in range(COUNT // 5):
        path = tmp_path / suffix
        path.write_bytes((start if number % 2 else b"") + rng.randbytes(rng.randrange(400)))
        with pytest.raises(CheckpointError):
            check(module.open(path))
