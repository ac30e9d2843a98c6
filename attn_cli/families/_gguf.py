"""GGUF's architectures as data: what their tensors and keys are called in the config and weights of our families.

The names are those of llama.cpp (gguf-py, tensor_mapping.py and constants.py); how its converters turn tensors before they
write them is in convert_hf_to_gguf.py. Keys stand below the architecture's name (`llama.block_count`); `{i}` is a layer,
`{n}` an expert, and names are without their `.weight` or `.bias`.
"""

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


_SIZES = {
    "context_length": "max_position_embeddings",
    "embedding_length": "hidden_size",
    "block_count": "num_hidden_layers",
    "feed_forward_length": "intermediate_size",
    "attention.head_count": "num_attention_heads",
}
_LLAMA_KEYS = _SIZES | {
    "attention.head_count_kv": "num_key_value_heads",
    "attention.layer_norm_rms_epsilon": "rms_norm_eps",
    "attention.key_length": "head_dim",
    "rope.freq_base": "rope_theta",
}
_LAYER = "model.layers.{i}"
_LLAMA = {
    "token_embd": "model.embed_tokens",
    "output_norm": "model.norm",
    "output": "lm_head",
    "blk.{i}.attn_norm": f"{_LAYER}.input_layernorm",
    "blk.{i}.attn_q": f"{_LAYER}.self_attn.q_proj",
    "blk.{i}.attn_k": f"{_LAYER}.self_attn.k_proj",
    "blk.{i}.attn_v": f"{_LAYER}.self_attn.v_proj",
    "blk.{i}.attn_output": f"{_LAYER}.self_attn.o_proj",
    "blk.{i}.attn_q_norm": f"{_LAYER}.self_attn.q_norm",
    "blk.{i}.attn_k_norm": f"{_LAYER}.self_attn.k_norm",
    "blk.{i}.ffn_norm": f"{_LAYER}.post_attention_layernorm",
    "blk.{i}.ffn_gate": f"{_LAYER}.mlp.gate_proj",
    "blk.{i}.ffn_up": f"{_LAYER}.mlp.up_proj",
    "blk.{i}.ffn_down": f"{_LAYER}.mlp.down_proj",
}
_SANDWICH = _LLAMA | {
    "blk.{i}.post_attention_norm": f"{_LAYER}.post_attention_layernorm",
    "blk.{i}.ffn_norm": f"{_LAYER}.pre_feedforward_layernorm",
    "blk.{i}.post_ffw_norm": f"{_LAYER}.post_feedforward_layernorm",
}
_PAIRS: dict[str, Turn] = {"blk.{i}.attn_q": "pairs", "blk.{i}.attn_k": "pairs"}
_LLAMA_BIASES = {"attention_bias": "blk.0.attn_q.bias", "mlp_bias": "blk.0.ffn_up.bias"}
_GEMMA_KEYS = _LLAMA_KEYS | {
    "attention.sliding_window": "sliding_window",
    "attn_logit_softcapping": "attn_logit_softcapping",
    "final_logit_softcapping": "final_logit_softcapping",
}
_LAYER_NORM = {"attention.layer_norm_epsilon": "layer_norm_eps"}
_H = "transformer.h.{i}"


def _experts(block: str, gate: str, up: str, down: str) -> dict[str, str]:
    """A router and the matrices of all experts, which a file has stacked."""
    return {
        "blk.{i}.ffn_gate_inp": f"{_LAYER}.{block}.gate",
        "blk.{i}.ffn_gate_exps": f"{_LAYER}.{block}.experts.{{n}}.{gate}",
        "blk.{i}.ffn_up_exps": f"{_LAYER}.{block}.experts.{{n}}.{up}",
        "blk.{i}.ffn_down_exps": f"{_LAYER}.{block}.experts.{{n}}.{down}",
    }


ARCHITECTURES: dict[str, Architecture] = {
    "llama": Architecture(
        model_type="llama", tensors=_LLAMA, keys=_LLAMA_KEYS, turns=_PAIRS, bias_flags=_LLAMA_BIASES
    ),
    # a llama file with experts; no file calls itself so
    "llama, experts": Architecture(
        model_type="mixtral",
        tensors=_LLAMA | _experts("block_sparse_moe", "w1", "w3", "w2"),
        keys=_LLAMA_KEYS | {"expert_count": "num_local_experts", "expert_used_count": "num_experts_per_tok"},
        turns=_PAIRS,
    ),
    "qwen2": Architecture(model_type="qwen2", tensors=_LLAMA, keys=_LLAMA_KEYS, fixed={"use_sliding_window": False}),
    "qwen3": Architecture(model_type="qwen3", tensors=_LLAMA, keys=_LLAMA_KEYS, fixed={"use_sliding_window": False}),
    "qwen3moe": Architecture(
        model_type="qwen3_moe",
        tensors=_LLAMA | _experts("mlp", "gate_proj", "up_proj", "down_proj"),
        keys=_LLAMA_KEYS
        | {
            "expert_count": "num_experts",
            "expert_used_count": "num_experts_per_tok",
            "expert_feed_forward_length": "moe_intermediate_size",
        },
        fixed={"norm_topk_prob": True, "sliding_window": None},
    ),
    "gemma": Architecture(
        model_type="gemma", tensors=_LLAMA, keys=_GEMMA_KEYS, norms_plus_one=True, fixed={"tie_word_embeddings": True}
    ),
    "gemma2": Architecture(
        model_type="gemma2", tensors=_SANDWICH, keys=_GEMMA_KEYS, norms_plus_one=True,
        fixed={"tie_word_embeddings": True},
    ),
    "gemma3": Architecture(
        model_type="gemma3_text", tensors=_SANDWICH, norms_plus_one=True,
        keys=_GEMMA_KEYS
        | {"rope.freq_base_swa": "rope_local_base_freq", "attention.sliding_window_pattern": "sliding_window_pattern"},
        fixed={"tie_word_embeddings": True},
    ),
    "phi3": Architecture(
        model_type="phi3",
        tensors={n: m for n, m in _LLAMA.items() if n.split(".")[-1] not in ("attn_q", "attn_k", "attn_v", "ffn_gate")}
        | {"blk.{i}.attn_qkv": f"{_LAYER}.self_attn.qkv_proj", "blk.{i}.ffn_up": f"{_LAYER}.mlp.gate_up_proj"},
        keys=_LLAMA_KEYS
        | {
            "attention.sliding_window": "sliding_window",
            "rope.scaling.original_context_length": "original_max_position_embeddings",
        },
    ),
    "granite": Architecture(
        model_type="granite", tensors=_LLAMA, turns=_PAIRS, bias_flags=_LLAMA_BIASES,
        keys=_LLAMA_KEYS
        | {
            "attention.scale": "attention_multiplier",
            "embedding_scale": "embedding_multiplier",
            "residual_scale": "residual_multiplier",
            "logit_scale": "logits_scaling",
        },
    ),
    "smollm3": Architecture(model_type="smollm3", tensors=_LLAMA, keys=_LLAMA_KEYS, turns=_PAIRS),
    "olmo": Architecture(
        model_type="olmo", tensors=_LLAMA, turns=_PAIRS,
        keys=_LLAMA_KEYS | {"attention.clamp_kqv": "clip_qkv", "attention.layer_norm_epsilon": "eps"},
    ),
    "olmo2": Architecture(
        model_type="olmo2",
        tensors={n: m for n, m in _SANDWICH.items() if n not in ("blk.{i}.attn_norm", "blk.{i}.ffn_norm")},
        keys=_LLAMA_KEYS,
    ),
    "stablelm": Architecture(
        model_type="stablelm", tensors=_LLAMA, bias_flags={"use_qkv_bias": "blk.0.attn_q.bias"},
        keys=_LLAMA_KEYS | _LAYER_NORM | {"use_parallel_residual": "use_parallel_residual"},
    ),
    "starcoder2": Architecture(
        model_type="starcoder2",
        tensors={n: m for n, m in _LLAMA.items() if not n.endswith("ffn_gate")}
        | {"blk.{i}.ffn_up": f"{_LAYER}.mlp.c_fc", "blk.{i}.ffn_down": f"{_LAYER}.mlp.c_proj"},
        keys=_LLAMA_KEYS | {"attention.layer_norm_epsilon": "norm_epsilon"},
        bias_flags={"use_bias": "blk.0.attn_q.bias"},
    ),
    "command-r": Architecture(
        model_type="cohere", tensors=_LLAMA, bias_flags={"use_qk_norm": "blk.0.attn_q_norm.weight"},
        keys=_LLAMA_KEYS | _LAYER_NORM | {"logit_scale": "logit_scale"},
    ),
    "phi2": Architecture(
        model_type="phi",
        tensors={n: m for n, m in _LLAMA.items() if not n.endswith("ffn_gate")}
        | {
            "output_norm": "model.final_layernorm",
            "blk.{i}.attn_output": f"{_LAYER}.self_attn.dense",
            "blk.{i}.ffn_up": f"{_LAYER}.mlp.fc1",
            "blk.{i}.ffn_down": f"{_LAYER}.mlp.fc2",
        },
        keys=_LLAMA_KEYS | _LAYER_NORM,
    ),
    "gpt2": Architecture(
        model_type="gpt2",
        tensors={
            "token_embd": "transformer.wte", "position_embd": "transformer.wpe", "output_norm": "transformer.ln_f",
            "output": "lm_head", "blk.{i}.attn_norm": f"{_H}.ln_1", "blk.{i}.attn_qkv": f"{_H}.attn.c_attn",
            "blk.{i}.attn_output": f"{_H}.attn.c_proj", "blk.{i}.ffn_norm": f"{_H}.ln_2",
            "blk.{i}.ffn_up": f"{_H}.mlp.c_fc", "blk.{i}.ffn_down": f"{_H}.mlp.c_proj",
        },
        keys={
            "context_length": "n_positions", "embedding_length": "n_embd", "block_count": "n_layer",
            "feed_forward_length": "n_inner", "attention.head_count": "n_head",
            "attention.layer_norm_epsilon": "layer_norm_epsilon",
        },
        turns={
            "blk.{i}.attn_qkv": "transposed", "blk.{i}.attn_output": "transposed", "blk.{i}.ffn_up": "transposed",
            "blk.{i}.ffn_down": "transposed",
        },
    ),
    "gptneox": Architecture(
        model_type="gpt_neox",
        tensors={
            "token_embd": "gpt_neox.embed_in", "output_norm": "gpt_neox.final_layer_norm", "output": "embed_out",
            "blk.{i}.attn_norm": "gpt_neox.layers.{i}.input_layernorm",
            "blk.{i}.attn_qkv": "gpt_neox.layers.{i}.attention.query_key_value",
            "blk.{i}.attn_output": "gpt_neox.layers.{i}.attention.dense",
            "blk.{i}.ffn_norm": "gpt_neox.layers.{i}.post_attention_layernorm",
            "blk.{i}.ffn_up": "gpt_neox.layers.{i}.mlp.dense_h_to_4h",
            "blk.{i}.ffn_down": "gpt_neox.layers.{i}.mlp.dense_4h_to_h",
        },
        keys=_SIZES
        | _LAYER_NORM
        | {"use_parallel_residual": "use_parallel_residual", "rope.freq_base": "rope_theta"},
        turns={"blk.{i}.attn_qkv": "by_head"},
    ),
    "falcon": Architecture(
        model_type="falcon",
        tensors={
            "token_embd": "transformer.word_embeddings", "output_norm": "transformer.ln_f", "output": "lm_head",
            "blk.{i}.attn_norm": f"{_H}.input_layernorm",
            "blk.{i}.attn_qkv": f"{_H}.self_attention.query_key_value",
            "blk.{i}.attn_output": f"{_H}.self_attention.dense",
            "blk.{i}.ffn_up": f"{_H}.mlp.dense_h_to_4h", "blk.{i}.ffn_down": f"{_H}.mlp.dense_4h_to_h",
        },
        keys=_SIZES
        | {
            "feed_forward_length": "ffn_hidden_size",
            "attention.head_count_kv": "num_kv_heads",
            "attention.layer_norm_epsilon": "layer_norm_epsilon",
            "rope.freq_base": "rope_theta",
        },
        turns={"blk.{i}.attn_qkv": "by_head"},
    ),
    "mpt": Architecture(
        model_type="mpt",
        tensors={
            "token_embd": "transformer.wte", "output_norm": "transformer.norm_f", "output": "lm_head",
            "blk.{i}.attn_norm": "transformer.blocks.{i}.norm_1", "blk.{i}.ffn_norm": "transformer.blocks.{i}.norm_2",
            "blk.{i}.attn_qkv": "transformer.blocks.{i}.attn.Wqkv",
            "blk.{i}.attn_output": "transformer.blocks.{i}.attn.out_proj",
            "blk.{i}.ffn_up": "transformer.blocks.{i}.ffn.up_proj",
            "blk.{i}.ffn_down": "transformer.blocks.{i}.ffn.down_proj",
        },
        keys={
            "context_length": "max_seq_len", "embedding_length": "d_model", "block_count": "n_layers",
            "attention.head_count": "n_heads", "attention.layer_norm_epsilon": "layer_norm_epsilon",
        },
    ),
    "bloom": Architecture(
        model_type="bloom",
        tensors={
            "token_embd": "transformer.word_embeddings", "token_embd_norm": "transformer.word_embeddings_layernorm",
            "output_norm": "transformer.ln_f", "output": "lm_head", "blk.{i}.attn_norm": f"{_H}.input_layernorm",
            "blk.{i}.attn_qkv": f"{_H}.self_attention.query_key_value",
            "blk.{i}.attn_output": f"{_H}.self_attention.dense",
            "blk.{i}.ffn_norm": f"{_H}.post_attention_layernorm",
            "blk.{i}.ffn_up": f"{_H}.mlp.dense_h_to_4h", "blk.{i}.ffn_down": f"{_H}.mlp.dense_4h_to_h",
        },
        keys={
            "context_length": "seq_length", "embedding_length": "hidden_size", "block_count": "n_layer",
            "feed_forward_length": "n_inner", "attention.head_count": "n_head",
            "attention.layer_norm_epsilon": "layer_norm_epsilon",
        },
        turns={"blk.{i}.attn_qkv": "by_head"},
    ),
    "bert": Architecture(
        model_type="bert",
        tensors={
            "token_embd": "bert.embeddings.word_embeddings", "position_embd": "bert.embeddings.position_embeddings",
            "token_types": "bert.embeddings.token_type_embeddings", "token_embd_norm": "bert.embeddings.LayerNorm",
            "blk.{i}.attn_q": "bert.encoder.layer.{i}.attention.self.query",
            "blk.{i}.attn_k": "bert.encoder.layer.{i}.attention.self.key",
            "blk.{i}.attn_v": "bert.encoder.layer.{i}.attention.self.value",
            "blk.{i}.attn_output": "bert.encoder.layer.{i}.attention.output.dense",
            "blk.{i}.attn_output_norm": "bert.encoder.layer.{i}.attention.output.LayerNorm",
            "blk.{i}.ffn_up": "bert.encoder.layer.{i}.intermediate.dense",
            "blk.{i}.ffn_down": "bert.encoder.layer.{i}.output.dense",
            "blk.{i}.layer_output_norm": "bert.encoder.layer.{i}.output.LayerNorm",
        },
        keys=_SIZES | _LAYER_NORM,
    ),
}  # fmt: skip

BOOKKEEPING = frozenset(
    """
    vocab_size pooling_type tensor_data_layout rope.scaling.finetuned attention.group_norm_epsilon
    interleave_moe_layer_step expert_weights_norm
    """.split()
)
"""Keys below the architecture's name that change no number here: what they say is seen from the tensors, or is of training."""
CONSUMED = ("rope_freqs.weight", "rope_factors_long.weight", "rope_factors_short.weight")
"""Tensors that are settings: they become part of the config."""
