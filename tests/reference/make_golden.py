"""Makes tests/golden: tiny random checkpoints and what PyTorch and transformers compute from them (eager, float32, CPU).

    python tests/reference/make_golden.py                          every case of CASES, into tests/golden
    python tests/reference/make_golden.py --only 'qwen*'           some
    python tests/reference/make_golden.py --variants --out FOLDER  VARIANTS: other sizes and settings, not kept in the project

Needs torch, transformers and tokenizers; the versions are written down in each reference.json. A case is one folder with
config.json, model.safetensors, tokenizer.json, reference.json (text, text_pair, kind, notes) and reference.npz: `attention`
(layers, heads, n, n), `q k v` (layers, heads, n, d_head; after rotary and q/k norms, before the scale), `hidden_states`
(layers + 1, n, d_model; the last one after the final norm), `last_block_output`, `logits` of the last position. Those of an
encoder-decoder are called encoder_, decoder_ and cross_, `text_pair` is what its decoder reads; of an encoder, a second
sentence.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import tokenizers
import torch
import transformers

HERE = Path(__file__).resolve().parent
GOLDEN = HERE.parent / "golden"
TEXT = "the animal did not cross the street because it was too tired to walk home"
LONG = f"{TEXT} and then the street was not too long for it because the animal did walk"
WORDS = ("<unk>", "<s>", "</s>", *dict.fromkeys(LONG.split()))
PAIR = "the street did not walk home"
SMALL = {"vocab_size": len(WORDS), "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}
SIZES = {
    "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
    "max_position_embeddings": 64,
}  # fmt: skip
"""Of most decoders: two query heads share a key head."""


@dataclass(frozen=True)
class Case:
    """One checkpoint: the class that computes it, its config, and a text."""

    model: str
    config: dict[str, Any]
    text: str = TEXT
    notes: str = ""
    pair: str | None = None
    hub: dict[str, Any] = field(default_factory=dict)  # keys of config.json replaced afterwards; None: taken out
    seed: int = 0


def decoder(model: str, *, text: str = TEXT, notes: str = "", hub: dict[str, Any] | None = None, **config: Any) -> Case:
    """A decoder of the usual sizes."""
    return Case(f"{model}ForCausalLM", {**SMALL, **SIZES, **config}, text, notes, hub=hub or {})


def gpt(model: str, *, text: str = TEXT, notes: str = "", **config: Any) -> Case:
    """A decoder whose config has its own names for sizes."""
    head = "LMHeadModel" if model == "GPT2" else "ForCausalLM"
    return Case(f"{model}{head}", {**SMALL, **config}, text, notes)


def encoder(model: str, *, text: str = TEXT, pair: str | None = PAIR, notes: str = "", **config: Any) -> Case:
    """An encoder of the usual sizes, over a pair of sentences."""
    sizes = {**SIZES, "num_key_value_heads": None, "num_attention_heads": 2}
    names = {k: v for k, v in {**SMALL, **sizes, **config}.items() if v is not None}
    return Case(model, names, text, notes, pair)


def seq2seq(model: str, *, text: str = TEXT, pair: str = PAIR, notes: str = "", **config: Any) -> Case:
    """An encoder-decoder, whose decoder starts with token 2; sizes are its own."""
    return Case(f"{model}ForConditionalGeneration", {**SMALL, "decoder_start_token_id": 2, **config}, text, notes, pair)


LLAMA3 = {
    "rope_type": "llama3", "rope_theta": 500.0, "factor": 4.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
    "original_max_position_embeddings": 16,
}  # fmt: skip
YARN = {"rope_type": "yarn", "rope_theta": 100.0, "factor": 4.0, "original_max_position_embeddings": 16}
DYNAMIC = {"rope_type": "dynamic", "rope_theta": 100.0, "factor": 2.0}
LONGROPE = {
    "rope_type": "longrope", "rope_theta": 100.0, "short_factor": [1.0, 1.1], "long_factor": [1.5, 4.0],
    "original_max_position_embeddings": 8,
}  # fmt: skip
SLIDING = ["sliding_attention", "full_attention"]
DEBERTA = {
    "relative_attention": True, "position_buckets": 8, "share_att_key": True, "norm_rel_ebd": "layer_norm",
    "position_biased_input": False, "pos_att_type": ["p2c", "c2p"],
}  # fmt: skip
T5 = {"d_model": 16, "d_kv": 6, "d_ff": 24, "num_layers": 2, "num_decoder_layers": 1, "num_heads": 2}
BART = {
    "d_model": 16, "encoder_layers": 2, "decoder_layers": 1, "encoder_attention_heads": 2, "decoder_attention_heads": 4,
    "encoder_ffn_dim": 24, "decoder_ffn_dim": 20, "max_position_embeddings": 32,
}  # fmt: skip

CASES: dict[str, Case] = {
    "gpt_neo": gpt(
        "GPTNeo", hidden_size=16, num_layers=2, num_heads=4, attention_types=[[["global", "local"], 1]], window_size=4,
        max_position_embeddings=32,
    ),
    "gpt_neox": gpt(
        "GPTNeoX", hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=2,
        max_position_embeddings=32,
    ),
    "gptj": gpt("GPTJ", n_embd=16, n_layer=2, n_head=2, rotary_dim=4, n_positions=32),
    "opt": gpt(
        "OPT", hidden_size=16, ffn_dim=24, num_hidden_layers=2, num_attention_heads=4, word_embed_proj_dim=12,
        do_layer_norm_before=False, max_position_embeddings=32, notes="As OPT-350m: post-norm, smaller token vectors.",
    ),
    "bloom": gpt("Bloom", hidden_size=24, n_layer=2, n_head=6, notes="6 heads: the slopes of no power of two."),
    "mpt": gpt("Mpt", d_model=18, n_layers=2, n_heads=3, max_seq_len=32, notes="3 heads: the slopes of no power of two."),
    "llama_dynamic": decoder("Llama", rope_parameters=DYNAMIC, max_position_embeddings=8, head_dim=8),
    "llama_yarn": decoder("Llama", rope_parameters=YARN, head_dim=8),
    "llama_llama3": decoder("Llama", rope_parameters=LLAMA3, head_dim=12),
    "mistral": decoder("Mistral", sliding_window=4, num_hidden_layers=3),
    "mixtral": decoder("Mixtral", num_local_experts=3, num_experts_per_tok=2),
    "qwen2": decoder("Qwen2", use_sliding_window=True, sliding_window=5, max_window_layers=1),
    "qwen3": decoder("Qwen3", head_dim=6),
    "qwen3_moe": decoder("Qwen3Moe", head_dim=4, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=8),
    "gemma": decoder("Gemma", head_dim=6, num_key_value_heads=1),
    "gemma2": decoder(
        "Gemma2", head_dim=6, query_pre_attn_scalar=20, sliding_window=4, attn_logit_softcapping=3.0,
        final_logit_softcapping=2.0,
    ),
    "gemma3_text": decoder(
        "Gemma3", head_dim=6, query_pre_attn_scalar=20, sliding_window=4, num_hidden_layers=3,
        layer_types=["sliding_attention", "sliding_attention", "full_attention"],
    ),
    "phi": decoder("Phi", num_key_value_heads=4, partial_rotary_factor=0.5),
    "phi3": decoder("Phi3", rope_parameters=LONGROPE, original_max_position_embeddings=8),
    "gpt_oss": decoder(
        "GptOss", head_dim=6, num_local_experts=3, num_experts_per_tok=2, sliding_window=4, layer_types=SLIDING,
        rope_parameters={**YARN, "truncate": False},
    ),
    "starcoder2": decoder("Starcoder2", sliding_window=5),
    "cohere": decoder("Cohere", use_qk_norm=True),
    "cohere2": decoder("Cohere2", sliding_window=4, layer_types=SLIDING),
    "stablelm": decoder("StableLm", num_key_value_heads=2, qk_layernorm=True, use_qkv_bias=True, partial_rotary_factor=0.5),
    "olmo": decoder("Olmo", clip_qkv=1.0),
    "olmo2": decoder("Olmo2"),
    "smollm3": decoder("SmolLM3", no_rope_layers=[1, 0]),
    "codegen": gpt("CodeGen", n_embd=16, n_layer=2, n_head=4, rotary_dim=2, n_positions=32),
    "openai_gpt": Case("OpenAIGPTLMHeadModel", {**SMALL, "n_embd": 16, "n_layer": 2, "n_head": 4, "n_positions": 32}, TEXT),
    "granitemoe": decoder("GraniteMoe", num_local_experts=3, embedding_multiplier=3.0, residual_multiplier=0.3),
    "olmo3": decoder("Olmo3", sliding_window=4, layer_types=SLIDING),
    "olmoe": decoder("Olmoe", num_experts=3, num_experts_per_tok=2),
    "ministral": decoder("Ministral", head_dim=4, sliding_window=4, layer_types=SLIDING),
    "gpt_bigcode": gpt("GPTBigCode", n_embd=16, n_layer=2, n_head=4, n_positions=32),
    "nemotron": decoder("Nemotron", head_dim=8),
    "arcee": decoder("Arcee"),
    "seed_oss": decoder("SeedOss", head_dim=6),
    "helium": decoder("Helium", head_dim=4),
    "glm": decoder("Glm", head_dim=8),
    "glm4": decoder("Glm4", head_dim=8),
    "persimmon": gpt(
        "Persimmon", hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=2,
        max_position_embeddings=32,
    ),
    "granite": decoder(
        "Granite", embedding_multiplier=3.0, residual_multiplier=0.3, attention_multiplier=0.2, logits_scaling=4.0
    ),
    "roberta": encoder("RobertaModel", type_vocab_size=1),
    "distilbert": Case(
        "DistilBertModel",
        {**SMALL, "dim": 16, "n_layers": 2, "n_heads": 2, "hidden_dim": 24, "max_position_embeddings": 64},
        pair=PAIR,
    ),
    "albert": encoder("AlbertModel", num_hidden_layers=3, num_hidden_groups=2, embedding_size=12),
    "electra": encoder("ElectraModel", embedding_size=12),
    "mpnet": encoder("MPNetModel"),
    "megatron_bert": encoder("MegatronBertModel"),
    "roberta_prelayernorm": encoder("RobertaPreLayerNormModel", type_vocab_size=1),
    "xlm_roberta_xl": encoder("XLMRobertaXLModel"),
    "ernie": encoder("ErnieModel"),
    "rembert": encoder("RemBertModel", input_embedding_size=12),
    "deberta_v2": encoder("DebertaV2Model", **DEBERTA),
    "deberta_v2_conv": encoder(
        "DebertaV2Model", **{**DEBERTA, "share_att_key": False, "norm_rel_ebd": "none"}, conv_kernel_size=3,
        notes="As v2-xlarge: a convolution, projections of distances apart.",
    ),
    "modernbert": encoder("ModernBertModel", pair=None, num_hidden_layers=3, global_attn_every_n_layers=2, local_attention=6),
    "t5": seq2seq("T5", **T5),
    "mt5": seq2seq("MT5", **T5, feed_forward_proj="gated-gelu"),
    "bart": seq2seq("Bart", **BART),
    "mbart": seq2seq("MBart", **BART, scale_embedding=True),
    "umt5": seq2seq("UMT5", **T5),
    "plbart": seq2seq("PLBart", **BART),
    "blenderbot": seq2seq("Blenderbot", **BART),
    "m2m_100": seq2seq("M2M100", **BART, text=f"{TEXT} <unk> {TEXT}", notes="Token 0, which fills up, has no place."),
    "pegasus": seq2seq("Pegasus", **BART, scale_embedding=True),
    "marian": Case(
        "MarianMTModel", {**SMALL, **BART, "decoder_start_token_id": 0, "scale_embedding": True}, pair=PAIR
    ),
}  # fmt: skip

ODD = {
    "hidden_size": 30, "intermediate_size": 20, "num_hidden_layers": 3, "num_attention_heads": 5, "num_key_value_heads": 5,
    "text": LONG,
}  # fmt: skip
"""Five heads of six: neither is a power of two."""
GROUPED = {
    "hidden_size": 36, "intermediate_size": 20, "num_hidden_layers": 5, "num_attention_heads": 6, "num_key_value_heads": 3,
    "text": LONG,
}  # fmt: skip

WIDE = {
    "hidden_size": 36, "intermediate_size": 20, "num_hidden_layers": 3, "num_attention_heads": 3,
    "max_position_embeddings": 256,
}  # fmt: skip
"""Of encoders: three heads of twelve."""
T5_ODD = {"d_model": 30, "d_kv": 4, "d_ff": 20, "num_layers": 3, "num_decoder_layers": 5, "num_heads": 5}
BART_ODD = {
    "d_model": 36, "encoder_layers": 3, "decoder_layers": 5, "encoder_attention_heads": 6, "decoder_attention_heads": 3,
    "encoder_ffn_dim": 20, "decoder_ffn_dim": 28, "max_position_embeddings": 40,
}  # fmt: skip

VARIANTS: dict[str, Case] = {
    "gpt2_odd": gpt("GPT2", n_embd=30, n_layer=3, n_head=5, n_positions=40, scale_attn_weights=False, text=LONG),
    "gpt2_inverse": gpt(
        "GPT2", n_embd=21, n_layer=3, n_head=3, n_inner=10, scale_attn_by_inverse_layer_idx=True, layer_norm_epsilon=0.01,
        activation_function="relu", text=LONG,
    ),
    "gpt_neo_odd": gpt(
        "GPTNeo", hidden_size=30, num_layers=3, num_heads=5, attention_types=[[["local"], 2], [["global"], 1]], window_size=3,
        intermediate_size=20, text=LONG,
    ),
    "gpt_neox_sequential": gpt(
        "GPTNeoX", hidden_size=36, intermediate_size=20, num_hidden_layers=3, num_attention_heads=3, attention_bias=False,
        use_parallel_residual=False, rotary_pct=0.5, rotary_emb_base=500, text=LONG, layer_norm_eps=0.01,
        tie_word_embeddings=True,
    ),
    "gpt_neox_dynamic": gpt(
        "GPTNeoX", hidden_size=32, intermediate_size=20, num_hidden_layers=3, num_attention_heads=2, hidden_act="gelu_fast",
        max_position_embeddings=8, text=LONG,
        rope_parameters={"rope_type": "dynamic", "factor": 3.0, "partial_rotary_factor": 0.5, "rope_theta": 1000.0},
    ),
    "gptj_odd": gpt("GPTJ", n_embd=30, n_layer=3, n_head=3, rotary_dim=6, n_inner=20, text=LONG, layer_norm_epsilon=0.01),
    "opt_pre": gpt(
        "OPT", hidden_size=30, ffn_dim=20, num_hidden_layers=3, num_attention_heads=5, enable_bias=False,
        layer_norm_elementwise_affine=False, activation_function="gelu", text=LONG,
    ),
    "opt_untied": gpt(
        "OPT", hidden_size=30, ffn_dim=20, num_hidden_layers=3, num_attention_heads=3, word_embed_proj_dim=14,
        tie_word_embeddings=False, text=LONG,
    ),
    "bloom_11": gpt("Bloom", hidden_size=22, n_layer=3, n_head=11, layer_norm_epsilon=0.01, text=LONG),
    "mpt_clip": gpt(
        "Mpt", d_model=35, n_layers=3, n_heads=7, max_seq_len=64, text=LONG,
        attn_config={"clip_qkv": 0.8, "softmax_scale": 0.5},
    ),
    "llama_odd": decoder("Llama", **ODD, rope_theta=500.0, rms_norm_eps=0.01, tie_word_embeddings=True),
    "llama_grouped": decoder("Llama", **GROUPED, attention_bias=True, mlp_bias=True, head_dim=10, hidden_act="gelu"),
    "llama_linear": decoder("Llama", **ODD, rope_parameters={"rope_type": "linear", "factor": 3.0, "rope_theta": 100.0}),
    "llama_dynamic_short": decoder("Llama", **ODD, rope_parameters=DYNAMIC),
    "llama_dynamic_long": decoder("Llama", **GROUPED, rope_parameters={**DYNAMIC, "factor": 4.0}) ,
    "llama_yarn_factor": decoder(
        "Llama", **ODD, rope_parameters={**YARN, "attention_factor": 1.3, "beta_fast": 4.0, "beta_slow": 0.5}
    ),
    "llama_yarn_mscale": decoder(
        "Llama", **GROUPED, head_dim=16, rope_parameters={**YARN, "mscale": 0.7, "mscale_all_dim": 0.3, "truncate": False}
    ),
    "llama_longrope": decoder("Llama", **GROUPED, head_dim=4, rope_parameters=LONGROPE),
    "llama_hub_llama3": decoder(
        "Llama", **GROUPED, head_dim=12, rope_parameters=LLAMA3,
        hub={
            "rope_parameters": None, "rope_theta": 500.0, "torch_dtype": "float32", "dtype": None, "pretraining_tp": 2,
            "rope_scaling": {
                "type": "llama3", "factor": 4.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                "original_max_position_embeddings": 16,
            },
        },
    ),
    "mistral_whole": decoder("Mistral", **ODD, sliding_window=None, head_dim=8),
    "mistral_one": decoder("Mistral", **GROUPED, sliding_window=1),
    "mixtral_window": decoder("Mixtral", **GROUPED, num_local_experts=5, num_experts_per_tok=1, sliding_window=3, head_dim=8),
    "qwen2_types": decoder(
        "Qwen2", **ODD, use_sliding_window=True, sliding_window=3, layer_types=[*SLIDING, "sliding_attention"],
        tie_word_embeddings=True,
    ),
    "qwen2_yarn": decoder("Qwen2", **GROUPED, rope_parameters=YARN, sliding_window=3),
    "qwen3_bias": decoder(
        "Qwen3", **ODD, head_dim=10, attention_bias=True, use_sliding_window=True, sliding_window=4, max_window_layers=1
    ),
    "qwen3_moe_norm": decoder(
        "Qwen3Moe", **GROUPED, head_dim=8, num_experts=5, num_experts_per_tok=3, moe_intermediate_size=8,
        norm_topk_prob=True, attention_bias=True, use_sliding_window=True, sliding_window=6,
    ),
    "gemma_gelu": decoder("Gemma", **ODD, head_dim=8, attention_bias=True, hub={"hidden_act": "gelu"}),
    "gemma2_uncapped": decoder(
        "Gemma2", **ODD, head_dim=8, sliding_window=3, attn_logit_softcapping=None, final_logit_softcapping=None,
    ),
    "gemma2_types": decoder("Gemma2", **GROUPED, head_dim=4, sliding_window=6, attention_bias=True),
    "gemma3_scaled": decoder(
        "Gemma3", **GROUPED, head_dim=8, sliding_window=3, query_pre_attn_scalar=9, final_logit_softcapping=3.0,
        layer_types=["sliding_attention", "full_attention"] * 2 + ["sliding_attention"],
        rope_parameters={
            "full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 1e5},
            "sliding_attention": {"rope_type": "default", "rope_theta": 50.0},
        },
    ),
    "phi_norm": decoder("Phi", **GROUPED, partial_rotary_factor=0.67, qk_layernorm=True, layer_norm_eps=0.01),
    "phi_yarn": decoder("Phi", **ODD, rope_parameters={**YARN, "partial_rotary_factor": 0.67}),
    "phi3_window": decoder("Phi3", **GROUPED, sliding_window=4, partial_rotary_factor=0.7),
    "phi3_long_short": decoder("Phi3", **ODD, original_max_position_embeddings=40, rope_parameters={
        **LONGROPE, "short_factor": [1.0, 1.1, 1.3], "long_factor": [1.5, 4.0, 5.0], "original_max_position_embeddings": 40,
    }),
    "gpt_oss_odd": decoder(
        "GptOss", **{**ODD, "hidden_size": 40, "intermediate_size": 16}, head_dim=8, num_local_experts=4,
        num_experts_per_tok=3, sliding_window=3, swiglu_limit=0.5, swiglu_alpha=1.2, attention_bias=False,
        rope_parameters=YARN,
    ),
    "starcoder2_bare": decoder("Starcoder2", **ODD, use_bias=False, norm_epsilon=0.01),
    "starcoder2_grouped": decoder("Starcoder2", **GROUPED, sliding_window=3, tie_word_embeddings=False),
    "cohere_bias": decoder("Cohere", **ODD, attention_bias=True, logit_scale=0.3, layer_norm_eps=0.01),
    "cohere_norm": decoder("Cohere", **GROUPED, use_qk_norm=True, rope_parameters={**DYNAMIC, "rope_theta": 50.0}),
    "cohere2_grouped": decoder("Cohere2", **GROUPED, sliding_window=3, attention_bias=True),
    "stablelm_parallel": decoder("StableLm", **ODD, use_parallel_residual=True, qk_layernorm=True, partial_rotary_factor=0.4),
    "stablelm_plain": decoder("StableLm", **GROUPED, layer_norm_eps=0.01, partial_rotary_factor=0.4),
    "olmo_odd": decoder("Olmo", **ODD, attention_bias=True, tie_word_embeddings=True),
    "olmo2_grouped": decoder("Olmo2", **GROUPED, attention_bias=True, rms_norm_eps=0.01),
    "smollm3_interval": decoder(
        "SmolLM3", **GROUPED, no_rope_layer_interval=2, use_sliding_window=True, sliding_window=4, attention_bias=True,
        mlp_bias=True,
    ),
    "codegen_8": gpt("CodeGen", n_embd=48, n_layer=3, n_head=8, rotary_dim=4, n_inner=20, text=LONG),
    "granitemoe_bias": decoder("GraniteMoe", **GROUPED, attention_bias=True, num_local_experts=4, num_experts_per_tok=3),
    "olmo3_scaled": decoder(
        "Olmo3", **GROUPED, sliding_window=3, attention_bias=True, rope_parameters={
            "full_attention": YARN, "sliding_attention": {"rope_type": "default", "rope_theta": 50.0},
        },
    ),
    "olmoe_norm": decoder("Olmoe", **GROUPED, num_experts=4, num_experts_per_tok=3, norm_topk_prob=True),
    "ministral_whole": decoder("Ministral", **ODD, head_dim=8, sliding_window=3),
    "gpt_bigcode_heads": gpt("GPTBigCode", n_embd=30, n_layer=3, n_head=5, n_inner=20, multi_query=False, text=LONG),
    "nemotron_bias": decoder("Nemotron", **GROUPED, attention_bias=True, mlp_bias=True, partial_rotary_factor=0.7),
    "arcee_bias": decoder("Arcee", **ODD, attention_bias=True, mlp_bias=True, rope_parameters=YARN),
    "seed_oss_out": decoder("SeedOss", **GROUPED, head_dim=4, attention_out_bias=True, mlp_bias=True),
    "helium_bias": decoder("Helium", **GROUPED, head_dim=6, attention_bias=True, mlp_bias=True),
    "glm_plain": decoder("Glm", **GROUPED, head_dim=10, attention_bias=False, partial_rotary_factor=0.4),
    "glm4_grouped": decoder("Glm4", **GROUPED, head_dim=12),
    "persimmon_plain": gpt(
        "Persimmon", hidden_size=36, intermediate_size=20, num_hidden_layers=3, num_attention_heads=3, qk_layernorm=False,
        hidden_act="gelu", text=LONG,
    ),
    "granite_bias": decoder(
        "Granite", **GROUPED, attention_bias=True, mlp_bias=True, tie_word_embeddings=True, embedding_multiplier=12,
        attention_multiplier=0.5, logits_scaling=8, residual_multiplier=0.22,
    ),
    "bert_gelu_new": encoder("BertForMaskedLM", **WIDE, hidden_act="gelu_new", layer_norm_eps=0.01),
    "roberta_relu": encoder("RobertaForMaskedLM", **WIDE, type_vocab_size=2, hidden_act="relu"),
    "xlm_roberta": encoder("XLMRobertaModel", **WIDE, type_vocab_size=1),
    "data2vec_text": encoder("Data2VecTextForMaskedLM", **WIDE, type_vocab_size=1),
    "megatron_bert_mlm": encoder("MegatronBertForMaskedLM", **WIDE),
    "xlm_roberta_xl_mlm": encoder("XLMRobertaXLForMaskedLM", **WIDE),
    "roberta_prelayernorm_mlm": encoder("RobertaPreLayerNormForMaskedLM", **WIDE, type_vocab_size=1),
    "ernie_mlm": encoder("ErnieForMaskedLM", **WIDE),
    "rembert_mlm": encoder("RemBertForMaskedLM", **WIDE, input_embedding_size=20, output_embedding_size=10),
    "camembert": encoder("CamembertForMaskedLM", **WIDE, type_vocab_size=1),
    "albert_groups": encoder("AlbertModel", **{**WIDE, "num_hidden_layers": 5}, num_hidden_groups=2, embedding_size=20),
    "albert_own": encoder("AlbertForMaskedLM", **WIDE, num_hidden_groups=3, embedding_size=36),
    "electra_wide": encoder("ElectraForMaskedLM", **WIDE, embedding_size=36),
    "mpnet_long": encoder("MPNetForMaskedLM", **WIDE, text=f"{LONG} {LONG} {LONG} {LONG} {LONG} {LONG} {LONG}"),
    "mpnet_buckets": encoder("MPNetModel", **WIDE, relative_attention_num_buckets=40),
    "deberta_v2_xlarge": encoder(
        "DebertaV2ForMaskedLM", **WIDE, **{**DEBERTA, "share_att_key": False, "norm_rel_ebd": "none"}, conv_kernel_size=5,
        conv_groups=3, conv_act="gelu", text=f"{LONG} {LONG}",
    ),
    "deberta_v2_absolute": encoder(
        "DebertaV2Model", **WIDE, **{**DEBERTA, "position_biased_input": True, "pos_att_type": "c2p|p2c"},
        type_vocab_size=2, embedding_size=20, max_relative_positions=20,
    ),
    "deberta_v2_c2p": encoder("DebertaV2Model", **WIDE, relative_attention=True, pos_att_type=["c2p"]),
    "deberta_v2_p2c": encoder(
        "DebertaV2Model", **WIDE, relative_attention=True, pos_att_type=["p2c"], max_relative_positions=7, text=LONG
    ),
    "deberta_v2_content": encoder("DebertaV2Model", **WIDE, pos_att_type=["p2c"]),
    "modernbert_biases": encoder(
        "ModernBertForMaskedLM", **{**WIDE, "num_hidden_layers": 5}, attention_bias=True, mlp_bias=True, norm_bias=True,
        local_attention=5, text=LONG,
    ),
    "modernbert_types": encoder(
        "ModernBertModel", **WIDE, local_attention=4, hidden_activation="silu", text=LONG,
        layer_types=["sliding_attention", "full_attention", "sliding_attention"],
    ),
    "t5_v1_1": seq2seq(
        "T5", **T5_ODD, feed_forward_proj="gated-gelu", tie_word_embeddings=False, relative_attention_num_buckets=20,
        relative_attention_max_distance=50, text=f"{LONG} {LONG} {LONG} {LONG}", pair=LONG,
    ),
    "t5_silu": seq2seq("T5", **T5_ODD, feed_forward_proj="gated-silu", text=LONG, pair=f"{LONG} {LONG} {LONG}"),
    "bart_scaled": seq2seq("Bart", **BART_ODD, scale_embedding=True, activation_function="relu", text=LONG),
    "mbart_plain": seq2seq("MBart", **BART_ODD, activation_function="relu", text=LONG),
    "marian_apart": Case(
        "MarianMTModel",
        {
            **SMALL, **BART_ODD, "decoder_start_token_id": 0, "share_encoder_decoder_embeddings": False,
            "decoder_vocab_size": len(WORDS) + 3, "tie_word_embeddings": False,
        },
        LONG,
        pair=PAIR,
    ),
    "marian_odd": Case("MarianMTModel", {**SMALL, **BART_ODD, "decoder_start_token_id": 0}, LONG, pair=PAIR),
}  # fmt: skip


def tokenizer(kind: str) -> tokenizers.Tokenizer:
    """One token a word, after a beginning token; before an end token too, where the model is no decoder."""
    made = tokenizers.Tokenizer(
        tokenizers.models.WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="<unk>")
    )
    made.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    single, pair = ("<s> $A", None) if kind == "decoder" else ("<s> $A </s>", "<s> $A </s> $B:1 </s>:1")
    made.post_processor = tokenizers.processors.TemplateProcessing(
        single=single, pair=pair, special_tokens=[("<s>", 1), ("</s>", 2)]
    )
    made.add_special_tokens(["<unk>", "<s>", "</s>"])
    return made


def scatter(model: torch.nn.Module, seed: int) -> None:
    """Random weights large enough that no head is uniform, and gains and biases that are not all alike."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in (p for p in model.parameters() if p.requires_grad):  # Marian's sinusoids are not
            noise = torch.randn(parameter.shape, generator=generator)
            if parameter.ndim > 1 and not bool((parameter == 1).all()):
                parameter.copy_(noise * 1.3 / max(parameter.shape[-1], 1) ** 0.5)
            else:
                parameter.copy_((1.0 if bool((parameter == 1).all()) else 0.0) + 0.3 * noise)


@contextmanager
def listening(model: torch.nn.Module) -> Iterator[list[tuple[torch.Tensor, torch.Tensor, torch.Tensor]]]:
    """Collects q, k and v of every attention of a run: (heads, n, d_head) each."""
    heard: list[tuple[torch.Tensor, torch.Tensor, torch.Tensor]] = []
    module = sys.modules[type(model).__module__]
    undo: list[tuple[Any, str, Any]] = []

    def wrap(owner: Any, name: str, after: Callable[[tuple[Any, ...], Any], Any]) -> None:
        inner = getattr(owner, name)

        def outer(*args: Any, **kwargs: Any) -> Any:
            result = inner(*args, **kwargs)
            heard.append(after(args, result))
            return result

        undo.append((owner, name, inner))
        setattr(owner, name, outer)

    kind = model.config.model_type
    if kind == "bloom":
        wrap(module.BloomAttention, "_reshape", lambda args, result: tuple(t[0] for t in result))
    elif kind == "mpt":
        heads, clip = model.config.n_heads, model.config.attn_config.clip_qkv or float("inf")
        for block in model.transformer.blocks:
            block.attn.Wqkv.register_forward_hook(
                lambda _, __, y: heard.append(
                    tuple(t.unflatten(-1, (heads, -1)).transpose(0, 1) for t in y[0].clamp(-clip, clip).chunk(3, -1))
                )
            )
    elif kind in ("mpnet", "deberta-v2", "megatron-bert", "rembert"):
        _listen_to_projections(model, heard)
    elif kind == "gpt_neo":
        wrap(module.GPTNeoSelfAttention, "_attn", lambda args, result: tuple(t[0] for t in args[1:4]))
    elif kind == "openai-gpt":  # its keys come turned on their side
        wrap(module.Attention, "_attn", lambda args, _: (args[1][0], args[2][0].transpose(-1, -2), args[3][0]))
    else:
        wrap(module, "eager_attention_forward", lambda args, result: tuple(t[0] for t in args[1:4]))
    try:
        yield heard
    finally:
        for owner, name, inner in undo:
            setattr(owner, name, inner)


PROJECTIONS = ("q", "k", "v", "query", "key", "value", "query_proj", "key_proj", "value_proj")


def _listen_to_projections(model: torch.nn.Module, heard: list[tuple[torch.Tensor, ...]]) -> None:
    """Takes what the projections of queries, keys and values give at their first call; later ones are of distances."""
    heads, found, called = model.config.num_attention_heads, [], set()

    def take(module: torch.nn.Module, _: Any, y: torch.Tensor) -> None:
        if module not in called:
            called.add(module)
            found.append(y[0].unflatten(-1, (heads, -1)).transpose(0, 1))
            if len(found) == 3:
                heard.append(tuple(found))
                found.clear()

    for path, module in model.named_modules():
        if path.rsplit(".", 1)[-1] in PROJECTIONS:
            module.register_forward_hook(take)


def encoder_arrays(model: torch.nn.Module, encoded: tokenizers.Encoding) -> dict[str, np.ndarray]:
    """What an encoder computes of a text or a pair; token types are given where the model has them of its own."""
    typed = getattr(model.config, "type_vocab_size", 0) > 0 and "roberta" not in model.config.model_type
    typed = typed and model.config.model_type not in ("camembert", "data2vec-text")
    types = {"token_type_ids": torch.tensor([encoded.type_ids])} if typed else {}
    with torch.no_grad(), listening(model) as heard:
        ids = torch.tensor([encoded.ids])
        out = model(input_ids=ids, output_attentions=True, output_hidden_states=True, **types)
    found = {"input_ids": ids[0], "attention": torch.cat(out.attentions), "hidden_states": torch.cat(out.hidden_states)}
    found |= {name: array[0] for name, array in types.items()}
    return _stored(found | {name: torch.stack([qkv[i] for qkv in heard]) for i, name in enumerate("qkv")})


def seq2seq_arrays(model: torch.nn.Module, ids: list[int], labels: list[int]) -> dict[str, np.ndarray]:
    """What an encoder-decoder computes of a text and a target."""
    shift = getattr(model, "prepare_decoder_input_ids_from_labels", None)
    if shift is None:  # then the module has it
        module, config = sys.modules[type(model).__module__], model.config
        shift = lambda y: module.shift_tokens_right(y, config.pad_token_id, config.decoder_start_token_id)  # noqa: E731
    shifted = shift(torch.tensor([labels]))
    with torch.no_grad(), listening(model) as heard:
        out = model(
            input_ids=torch.tensor([ids]), decoder_input_ids=shifted, output_attentions=True, output_hidden_states=True,
            use_cache=False,
        )  # fmt: skip
    first = len(out.encoder_attentions)
    kinds = {"encoder": heard[:first], "decoder": heard[first::2], "cross": heard[first + 1 :: 2]}
    weights = (out.encoder_attentions, out.decoder_attentions, out.cross_attentions)
    found = {f"{kind}_attention": torch.cat(w) for kind, w in zip(kinds, weights, strict=True)}
    found |= {f"{kind}_{n}": torch.stack([x[i] for x in h]) for kind, h in kinds.items() for i, n in enumerate("qkv")}
    return _stored(
        found
        | {
            "input_ids": torch.tensor(ids),
            "decoder_input_ids": shifted[0],
            "encoder_hidden_states": torch.cat(out.encoder_hidden_states),
            "decoder_hidden_states": torch.cat(out.decoder_hidden_states),
            "logits": out.logits[0, -1],
        }
    )


def _stored(found: dict[str, torch.Tensor]) -> dict[str, np.ndarray]:
    return {
        name: array.numpy().astype(np.int64 if name.endswith("ids") else np.float32) for name, array in found.items()
    }


def blocks(model: torch.nn.Module) -> torch.nn.ModuleList:
    """The list of a decoder's blocks."""
    base = model.base_model
    base = getattr(base, "decoder", base)
    return next(found for name in ("layers", "h", "blocks") if (found := getattr(base, name, None)) is not None)


def _normed(model: torch.nn.Module, x: torch.Tensor) -> torch.Tensor:
    norm = model.base_model.decoder.final_layer_norm
    with torch.no_grad():
        return x if norm is None else norm(x)


def arrays(model: torch.nn.Module, ids: list[int]) -> dict[str, np.ndarray]:
    """What a decoder computes of a text."""
    ends: list[torch.Tensor] = []
    hook = blocks(model)[-1].register_forward_hook(
        lambda _, __, y: ends.append(y[0] if isinstance(y, tuple | list) else y)
    )
    with torch.no_grad(), listening(model) as heard:
        out = model(input_ids=torch.tensor([ids]), output_attentions=True, output_hidden_states=True, use_cache=False)
    hook.remove()
    states = list(out.hidden_states)
    projected = {}
    if (
        states[-1].shape != states[0].shape
    ):  # OPT with smaller token vectors gives its projected output as the last state
        projected = {"projected_out": states[-1][0]}
        states[-1] = torch.stack([_normed(model, ends[0].reshape(states[0].shape[1:]))])
    found = projected | {
        "input_ids": torch.tensor(ids),
        "attention": torch.cat(out.attentions),
        "hidden_states": torch.cat(states),
        "last_block_output": ends[0].reshape(len(ids), -1),
        "logits": out.logits[0, -1],
    }
    found |= {name: torch.stack([qkv[i] for qkv in heard]) for i, name in enumerate("qkv")}
    if model.config.model_type == "opt":  # scales its queries before it hands them on
        found["q"] *= found["q"].shape[-1] ** 0.5
    return {
        name: array.numpy().astype(np.int64 if name == "input_ids" else np.float32) for name, array in found.items()
    }


def write(name: str, case: Case, folder: Path) -> None:
    """One case's folder."""
    torch.manual_seed(case.seed)
    cls = getattr(transformers, case.model)
    model = cls(cls.config_class(**case.config, attn_implementation="eager")).float().eval()
    kind = "decoder" if case.model.endswith(("ForCausalLM", "LMHeadModel")) else "encoder"
    kind = "encoder-decoder" if model.config.is_encoder_decoder else kind
    scatter(model, case.seed)
    folder.mkdir(parents=True, exist_ok=True)
    model.save_pretrained(folder)
    (folder / "generation_config.json").unlink(missing_ok=True)
    split = tokenizer(kind)
    split.save(str(folder / "tokenizer.json"), pretty=False)
    if case.hub:
        path = folder / "config.json"
        config = {**json.loads(path.read_text(encoding="utf-8")), **case.hub}
        config = {key: value for key, value in config.items() if key not in case.hub or value is not None}
        path.write_text(json.dumps(config, indent=1), encoding="utf-8")
    encoded = split.encode(case.text, case.pair if kind == "encoder" else None)
    if kind == "decoder":
        found = arrays(model, encoded.ids)
    elif kind == "encoder":
        found = encoder_arrays(model, encoded)
    else:
        found = seq2seq_arrays(model, encoded.ids, split.encode(case.pair or "").ids)
    np.savez_compressed(folder / "reference.npz", **found)
    meta = {
        "kind": kind, "text": case.text, "text_pair": case.pair, "tokens": encoded.tokens, "notes": case.notes,
        "versions": {"torch": torch.__version__, "transformers": transformers.__version__},
    }  # fmt: skip
    (folder / "reference.json").write_text(json.dumps(meta, indent=1, ensure_ascii=False), encoding="utf-8")
    size = sum(path.stat().st_size for path in folder.iterdir())
    print(f"{name:24} {size / 1024:6.0f} kB", flush=True)


def main() -> None:
    """Writes the cases that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", default="*", help="glob over case names; several separated by commas")
    parser.add_argument("--variants", action="store_true", help="VARIANTS instead of CASES")
    parser.add_argument("--out", type=Path, default=GOLDEN)
    options = parser.parse_args()
    torch.set_num_threads(1)
    transformers.utils.logging.disable_progress_bar()
    for name, case in (VARIANTS if options.variants else CASES).items():
        if any(fnmatch.fnmatch(name, pattern) for pattern in options.only.split(",")):
            write(name, case, options.out / name)


if __name__ == "__main__":
    main()
