"""GGUF architectures with names of their own."""

from __future__ import annotations

from attn_cli.families._gguf_parts import LAYER_NORM, SIZES, Architecture

_H = "transformer.h.{i}"
_GPT2 = {
    "token_embd": "transformer.wte", "position_embd": "transformer.wpe", "output_norm": "transformer.ln_f",
    "output": "lm_head", "blk.{i}.attn_norm": f"{_H}.ln_1", "blk.{i}.attn_qkv": f"{_H}.attn.c_attn",
    "blk.{i}.attn_output": f"{_H}.attn.c_proj", "blk.{i}.ffn_norm": f"{_H}.ln_2",
    "blk.{i}.ffn_up": f"{_H}.mlp.c_fc", "blk.{i}.ffn_down": f"{_H}.mlp.c_proj",
}  # fmt: skip
_GPT2_KEYS = {
    "context_length": "n_positions", "embedding_length": "n_embd", "block_count": "n_layer",
    "feed_forward_length": "n_inner", "attention.head_count": "n_head",
    "attention.layer_norm_epsilon": "layer_norm_epsilon",
}  # fmt: skip

OTHERS: dict[str, Architecture] = {
    "gpt2": Architecture(
        model_type="gpt2",
        tensors=_GPT2,
        keys=_GPT2_KEYS,
        turns={
            "blk.{i}.attn_qkv": "transposed", "blk.{i}.attn_output": "transposed", "blk.{i}.ffn_up": "transposed",
            "blk.{i}.ffn_down": "transposed",
        },
    ),
    "starcoder": Architecture(
        model_type="gpt_bigcode", tensors=_GPT2, keys=_GPT2_KEYS,
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
        keys=SIZES
        | LAYER_NORM
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
        keys=SIZES
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
        keys=SIZES | LAYER_NORM,
    ),
}  # fmt: skip
