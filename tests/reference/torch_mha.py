"""Saves a torch.nn.MultiheadAttention state dict, an input X and torch's own weights of every head.

Makes torch_mha.safetensors and torch_mha.npz beside this file, which tests/model/test_bare.py compares.
Run with PyTorch installed: python tests/reference/torch_mha.py
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from attn_cli.checkpoint import safetensors

HERE, EMBED, HEADS, TOKENS = Path(__file__).parent, 12, 3, 7


def main() -> None:
    torch.manual_seed(4)
    attention = torch.nn.MultiheadAttention(EMBED, HEADS, batch_first=True).eval()
    torch.nn.init.normal_(attention.in_proj_bias)
    x = torch.randn(1, TOKENS, EMBED)
    mask = torch.triu(torch.ones(TOKENS, TOKENS, dtype=torch.bool), 1)
    with torch.no_grad():
        _, free = attention(x, x, x, average_attn_weights=False)
        _, causal = attention(x, x, x, attn_mask=mask, average_attn_weights=False)
    arrays = {name: tensor.numpy() for name, tensor in attention.state_dict().items()}
    safetensors.save(HERE / "torch_mha.safetensors", {**arrays, "X": x[0].numpy()}, {"n_heads": str(HEADS)})
    np.savez(HERE / "torch_mha.npz", attn=free[0].numpy(), attn_causal=causal[0].numpy())


if __name__ == "__main__":
    main()
