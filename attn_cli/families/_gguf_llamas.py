"""GGUF architectures whose tensors have the names of Llama's."""

from __future__ import annotations

from attn_cli.families._gguf_parts import LAYER_NORM, SIZES, Architecture, Turn

_LLAMA_KEYS = SIZES | {
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


def _experts(block: str, gate: str, up: str, down: str) -> dict[str, str]:
    """A router and the matrices of all experts, which a file has stacked."""
    return {
        "blk.{i}.ffn_gate_inp": f"{_LAYER}.{block}.gate",
        "blk.{i}.ffn_gate_exps": f"{_LAYER}.{block}.experts.{{n}}.{gate}",
        "blk.{i}.ffn_up_exps": f"{_LAYER}.{block}.experts.{{n}}.{up}",
        "blk.{i}.ffn_down_exps": f"{_LAYER}.{block}.experts.{{n}}.{down}",
    }


LLAMAS: dict[str, Architecture] = {
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
        keys=_LLAMA_KEYS | LAYER_NORM | {"use_parallel_residual": "use_parallel_residual"},
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
        keys=_LLAMA_KEYS | LAYER_NORM | {"logit_scale": "logit_scale"},
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
        keys=_LLAMA_KEYS | LAYER_NORM,
    ),
    "cohere2": Architecture(
        model_type="cohere2", tensors=_LLAMA,
        keys=_LLAMA_KEYS | LAYER_NORM | {"logit_scale": "logit_scale", "attention.sliding_window": "sliding_window"},
    ),
    "arcee": Architecture(
        model_type="arcee", tensors={n: m for n, m in _LLAMA.items() if not n.endswith("ffn_gate")}, keys=_LLAMA_KEYS,
        turns=_PAIRS, bias_flags=_LLAMA_BIASES, fixed={"hidden_act": "relu2"},
    ),
    "nemotron": Architecture(
        model_type="nemotron", tensors={n: m for n, m in _LLAMA.items() if not n.endswith("ffn_gate")},
        keys=_LLAMA_KEYS | {"attention.layer_norm_epsilon": "norm_eps"}, norms_plus_one=True, bias_flags=_LLAMA_BIASES,
        fixed={"hidden_act": "relu2"},
    ),
    "seed_oss": Architecture(
        model_type="seed_oss", keys=_LLAMA_KEYS,
        tensors={n: m for n, m in _LLAMA.items() if not n.endswith("ffn_norm")}
        | {"blk.{i}.post_attention_norm": f"{_LAYER}.post_attention_layernorm"},
        bias_flags={"attention_bias": "blk.0.attn_q.bias", "attention_out_bias": "blk.0.attn_output.bias"},
    ),
    "olmoe": Architecture(
        model_type="olmoe", tensors=_LLAMA | _experts("mlp", "gate_proj", "up_proj", "down_proj"),
        keys=_LLAMA_KEYS | {"expert_count": "num_experts", "expert_used_count": "num_experts_per_tok"},
        fixed={"norm_topk_prob": False},
    ),
}  # fmt: skip
