"""GGUF's architectures as data: what their tensors and keys are called in the config and weights of our families.

The names are those of llama.cpp (gguf-py, tensor_mapping.py and constants.py); how its converters turn tensors before they
write them is in convert_hf_to_gguf.py. Keys stand below the architecture's name (`llama.block_count`); `{i}` is a layer,
`{n}` an expert, and names are without their `.weight` or `.bias`.
"""

from __future__ import annotations

from attn_cli.families._gguf_llamas import LLAMAS
from attn_cli.families._gguf_others import OTHERS
from attn_cli.families._gguf_parts import Architecture

ARCHITECTURES: dict[str, Architecture] = {**LLAMAS, **OTHERS}
BOOKKEEPING = frozenset(
    """
    vocab_size pooling_type tensor_data_layout rope.scaling.finetuned attention.group_norm_epsilon
    interleave_moe_layer_step expert_weights_norm
    """.split()
)
"""Keys below the architecture's name that change no number here: what they say is seen from the tensors, or is of training."""
CONSUMED = ("rope_freqs.weight", "rope_factors_long.weight", "rope_factors_short.weight")
"""Tensors that are settings: they become part of the config."""
