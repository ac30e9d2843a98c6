"""GGML's blocks of quantised numbers to float32: the common kinds here, in plain NumPy; all others by the gguf package.

A block holds a few scales and 32 or 256 small whole numbers (github.com/ggml-org/ggml, docs/gguf.md and ggml-common.h).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Write = Callable[[np.ndarray, np.ndarray], None]  # blocks of bytes, and where their numbers go

PLAIN = {"F32": "<f4", "F16": "<f2", "F64": "<f8", "BF16": "<u2", "I8": "i1", "I16": "<i2", "I32": "<i4", "I64": "<i8"}
TYPES: dict[int, tuple[str, int, int]] = {  # number in the file: name, elements of a block, bytes of a block
    0: ("F32", 1, 4), 1: ("F16", 1, 2), 2: ("Q4_0", 32, 18), 3: ("Q4_1", 32, 20), 6: ("Q5_0", 32, 22), 7: ("Q5_1", 32, 24),
    8: ("Q8_0", 32, 34), 9: ("Q8_1", 32, 40), 10: ("Q2_K", 256, 84), 11: ("Q3_K", 256, 110), 12: ("Q4_K", 256, 144),
    13: ("Q5_K", 256, 176), 14: ("Q6_K", 256, 210), 15: ("Q8_K", 256, 292), 16: ("IQ2_XXS", 256, 66),
    17: ("IQ2_XS", 256, 74), 18: ("IQ3_XXS", 256, 98), 19: ("IQ1_S", 256, 50), 20: ("IQ4_NL", 32, 18),
    21: ("IQ3_S", 256, 110), 22: ("IQ2_S", 256, 82), 23: ("IQ4_XS", 256, 136), 24: ("I8", 1, 1), 25: ("I16", 1, 2),
    26: ("I32", 1, 4), 27: ("I64", 1, 8), 28: ("F64", 1, 8), 29: ("IQ1_M", 256, 56), 30: ("BF16", 1, 2),
    34: ("TQ1_0", 256, 54), 35: ("TQ2_0", 256, 66), 39: ("MXFP4", 32, 17), 40: ("NVFP4", 64, 36), 41: ("Q1_0", 128, 18),
}  # fmt: skip
SIZES = {name: (elements, size) for name, elements, size in TYPES.values()}
_BYTES = 2**18  # of packed data at a time, so that what is worked on stays in the processor's cache


def decode(packed: np.ndarray, kind: str) -> np.ndarray:
    """The numbers in whole blocks, a flat float32 array; NotImplementedError for a kind that nobody decodes.

    `packed`: a flat uint8 array. Damaged scales give infinities or NaN, never a warning.
    """
    elements, size = SIZES[kind]
    blocks = packed.reshape(-1, size)
    out = np.empty((len(blocks), elements), np.float32)
    step = max(1, _BYTES // size)
    write = _OWN.get(kind) or _by_package(kind)
    with np.errstate(all="ignore"):
        for at in range(0, len(blocks), step):
            write(blocks[at : at + step], out[at : at + step])
    return out.reshape(-1)


def _by_package(kind: str) -> Write:
    """A decoder that asks the gguf package, whose import takes a third of a second."""
    from gguf import GGMLQuantizationType, quants

    if kind not in GGMLQuantizationType.__members__:
        raise NotImplementedError(kind)
    number = GGMLQuantizationType[kind]

    def write(blocks: np.ndarray, out: np.ndarray) -> None:
        # as one row, because the package goes through many rows a few at a time
        out[:] = quants.dequantize(blocks.reshape(1, -1), number).reshape(out.shape)

    return write


def _half(blocks: np.ndarray, at: int) -> np.ndarray:
    """The float16 at byte `at` of each block, as a float32 column."""
    return blocks[:, at : at + 2].copy().view("<f2").astype(np.float32)


def _q8_0(blocks: np.ndarray, out: np.ndarray) -> None:
    np.copyto(out, blocks[:, 2:].view(np.int8))
    out *= _half(blocks, 0)


def _nibbles(packed: np.ndarray, out: np.ndarray) -> None:
    """The lower halves of 16 bytes, then the upper halves."""
    np.copyto(out[:, :16], packed & 15)
    np.copyto(out[:, 16:], packed >> 4)


def _q4_0(blocks: np.ndarray, out: np.ndarray) -> None:
    _nibbles(blocks[:, 2:], out)
    out -= 8
    out *= _half(blocks, 0)


def _q4_1(blocks: np.ndarray, out: np.ndarray) -> None:
    _nibbles(blocks[:, 4:], out)
    out *= _half(blocks, 0)
    out += _half(blocks, 2)


_OWN: dict[str, Write] = {"Q8_0": _q8_0, "Q4_0": _q4_0, "Q4_1": _q4_1}
