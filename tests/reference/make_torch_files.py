"""Makes tests/checkpoint/files: small files as PyTorch itself saves them, in both layouts, and the same arrays as .npz.

    python tests/reference/make_torch_files.py

Needs torch. The layouts do not change, so the files are made once and kept.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

FILES = Path(__file__).resolve().parents[1] / "checkpoint" / "files"


def state() -> dict[str, torch.Tensor]:
    """Every type that is read, shared storages, strides that are not plain, an offset, and sizes of 0 and 1."""
    torch.manual_seed(3)
    whole = torch.randn(6, 4)
    return {
        "whole": whole,
        "tied": whole,
        "turned": whole.t(),
        "part": whole[2:5, 1:3],
        "every_second": whole[::2],
        "parameter": torch.nn.Parameter(torch.randn(2, 2)),
        "double": torch.randn(3, dtype=torch.float64),
        "half": torch.randn(2, 3).half(),
        "bfloat": torch.randn(2, 3).bfloat16(),
        "long": torch.arange(-2, 3),
        "int": torch.arange(3, dtype=torch.int32),
        "short": torch.arange(3, dtype=torch.int16),
        "char": torch.arange(-1, 2, dtype=torch.int8),
        "byte": torch.arange(3, dtype=torch.uint8),
        "bool": torch.tensor([True, False]),
        "scalar": torch.tensor(1.5),
        "none": torch.zeros(0, 3),
    }


def main() -> None:
    FILES.mkdir(exist_ok=True)
    tensors = state()
    torch.save(tensors, FILES / "zipped.bin")
    training = {"epoch": 3, "loss": 0.5, "notes": ["a", None, (1, 2)], "state_dict": tensors}
    torch.save(training, FILES / "old.pt", _use_new_zipfile_serialization=False)
    module = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.LayerNorm(2))
    torch.save({"model": module.state_dict(), "device": torch.device("cpu")}, FILES / "module.pth")
    torch.save(module, FILES / "whole_module.pt")
    arrays = {name: tensor.detach().float().numpy() if tensor.dtype == torch.bfloat16 else tensor.detach().numpy()
              for name, tensor in tensors.items()}  # fmt: skip
    arrays |= {f"module.{name}": tensor.numpy() for name, tensor in module.state_dict().items()}
    np.savez(FILES / "arrays.npz", **arrays)


if __name__ == "__main__":
    main()
