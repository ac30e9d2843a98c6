"""What a GGUF architecture is, as data, and the keys that most of them share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Turn = Literal["", "pairs", "transposed", "by_head"]
"""What a converter did to a tensor. pairs: the rows of each head were put in neighbouring pairs for its rotary positions;
transposed: written (out, in) where the family has (in, out); by_head: queries, keys and values, fused head by head, were
put one after the other."""


@dataclass(frozen=True, kw_only=True)
class Architecture:
    """One architecture: its family, and how names, keys and tensors become the family's own."""

    model_type: str
    tensors: Mapping[str, str]
    keys: Mapping[str, str]
    fixed: Mapping[str, Any] = field(default_factory=dict)  # of the config: what files do not say
    turns: Mapping[str, Turn] = field(default_factory=dict)  # by the tensor's name in the file, in each layer
    norms_plus_one: bool = False  # the family's 1 + weight is what stands in the file
    bias_flags: Mapping[str, str] = field(default_factory=dict)  # config key: true if this bias is in the first layer


SIZES = {
    "context_length": "max_position_embeddings",
    "embedding_length": "hidden_size",
    "block_count": "num_hidden_layers",
    "feed_forward_length": "intermediate_size",
    "attention.head_count": "num_attention_heads",
}
LAYER_NORM = {"attention.layer_norm_epsilon": "layer_norm_eps"}
