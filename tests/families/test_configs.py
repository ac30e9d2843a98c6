"""Configs in the spellings that files have: what is read, what is refused, and that nothing is passed over in silence."""

from __future__ import annotations

import json
import math
from contextlib import suppress
from typing import Any

import pytest

from attn_cli.errors import AttnError, CheckpointError, UnsupportedError
from attn_cli.families import read_config, supported
from attn_cli.spec import ModelSpec
from tests.helpers import GOLDEN

CASES = sorted(p.parent.name for p in GOLDEN.glob("*/config.json"))


def spec(**config: Any) -> ModelSpec:
    return read_config(config, where="config.json")[1]


def saved(case: str) -> dict[str, Any]:
    config: dict[str, Any] = json.loads((GOLDEN / case / "config.json").read_text(encoding="utf-8"))
    return config


@pytest.mark.parametrize("case", CASES)
def test_an_unknown_setting_is_refused_by_name(case: str) -> None:
    with pytest.raises(UnsupportedError, match="frobnication"):
        spec(**saved(case), frobnication=2)
    module, read = read_config({**saved(case), "frobnication": 2}, where="c", ignore=("frobnication",))
    assert read.ignored_keys == ("frobnication",)
    assert module.TENSORS


@pytest.mark.parametrize("case", CASES)
def test_null_is_as_good_as_absent_for_an_unknown_setting(case: str) -> None:
    plain = spec(**saved(case))
    assert spec(**saved(case), frobnication=None, gears=False, springs=[]) == plain


@pytest.mark.parametrize("case", CASES)
def test_a_setting_of_the_wrong_type_is_no_crash(case: str) -> None:
    for key, value in saved(case).items():
        for wrong in ("x", -1, 1.5, [], {}, [1], {"a": 1}, True, 2**40):
            if type(wrong) is not type(value) and key != "model_type":
                with suppress(AttnError):
                    spec(**{**saved(case), key: wrong})


LLAMA = {"model_type": "llama", "hidden_size": 32, "num_attention_heads": 4, "max_position_embeddings": 128}
SCALINGS: list[dict[str, Any]] = [
    {"type": "linear", "factor": 4.0},
    {"type": "dynamic", "factor": 4.0},
    {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32, "beta_fast": 16},
    {
        "type": "llama3", "factor": 4.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
        "original_max_position_embeddings": 32,
    },
    {"type": "longrope", "short_factor": [1.0] * 4, "long_factor": [2.0] * 4, "original_max_position_embeddings": 32},
]  # fmt: skip


@pytest.mark.parametrize("scaling", SCALINGS, ids=lambda s: str(s["type"]))
def test_rotary_settings_mean_the_same_in_every_spelling(scaling: dict[str, Any]) -> None:
    renamed = {("rope_type" if key == "type" else key): value for key, value in scaling.items()}
    old = spec(**LLAMA, rope_theta=500.0, rope_scaling=scaling).rope
    assert old is not None
    assert old.scaling == scaling["type"]
    assert old.theta == 500
    assert spec(**LLAMA, rope_theta=500.0, rope_scaling=renamed).rope == old
    assert spec(**LLAMA, rope_parameters={**renamed, "rope_theta": 500.0}).rope == old
    assert (
        spec(**LLAMA, rope_parameters=None, rope_scaling={**renamed, "rope_theta": 500.0}, rope_theta=None).rope == old
    )


def test_the_length_of_turned_vectors() -> None:
    yarn = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32}

    def magnitude(**more: Any) -> float:
        rope = spec(**LLAMA, rope_scaling={**yarn, **more}).rope
        assert rope is not None
        return rope.magnitude

    assert magnitude() == pytest.approx(0.1 * math.log(4) + 1)
    assert magnitude(attention_factor=1.5) == 1.5
    assert magnitude(mscale=1.0, mscale_all_dim=1.0) == 1
    assert magnitude(factor=0.5) == 1


@pytest.mark.parametrize(
    "wrong",
    [
        {"rope_scaling": {"type": "spiral"}},
        {"rope_scaling": {"type": "linear"}},
        {"rope_scaling": {"type": "linear", "factor": 0}},
        {"rope_scaling": {"type": "linear", "factor": 2.0, "twist": 3}},
        {"rope_scaling": {"type": "longrope", "short_factor": [1.0], "long_factor": [1.0]}},
        {"rope_scaling": {"type": "llama3", "factor": 2.0, "low_freq_factor": 4.0, "high_freq_factor": 1.0}},
        {"rope_theta": 0.5},
        {"partial_rotary_factor": 0.4},
        {"partial_rotary_factor": 0.5},
        {"rope_parameters": {"rope_theta": 100.0, "partial_rotary_factor": 0.5}},
        {"rope_parameters": {"full_attention": {"rope_theta": 100.0}}},
        {"num_key_value_heads": 3},
        {"rope_interleaved": True},
    ],
    ids=str,
)
def test_settings_that_cannot_be_met_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(AttnError):
        spec(**LLAMA, **wrong)


def test_a_window_that_is_null_is_none_and_one_that_is_absent_is_the_default() -> None:
    mistral = {**LLAMA, "model_type": "mistral", "num_key_value_heads": 4, "num_hidden_layers": 2}
    assert spec(**mistral).windows == (4096, 4096)
    assert spec(**mistral, sliding_window=None).windows == ()
    assert spec(**mistral, sliding_window=7).windows == (7, 7)


def test_windows_by_layer() -> None:
    qwen = {**LLAMA, "model_type": "qwen2", "num_key_value_heads": 4, "num_hidden_layers": 3, "sliding_window": 5}
    assert spec(**qwen, use_sliding_window=False, max_window_layers=1).windows == ()
    assert spec(**qwen, use_sliding_window=True, max_window_layers=0).windows == (5, 5, 5)
    assert spec(**qwen, use_sliding_window=True, max_window_layers=2).windows == (None, None, 5)
    types = ["sliding_attention", "full_attention", "sliding_attention"]
    assert spec(**qwen, use_sliding_window=True, layer_types=types).windows == (5, None, 5)
    with pytest.raises(CheckpointError, match="3 layers"):
        spec(**qwen, use_sliding_window=True, layer_types=types[:2])
    with pytest.raises(UnsupportedError, match="linear_attention"):
        spec(**qwen, use_sliding_window=True, layer_types=["linear_attention", *types[:2]])


def test_multimodal_configs_give_their_text_part() -> None:
    text = {
        "hidden_size": 32,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 8,
        "num_hidden_layers": 2,
    }
    read = spec(model_type="gemma3", text_config=text, vision_config={"hidden_size": 8}, image_token_index=5)
    assert read.family == "gemma3_text"
    assert read.inside
    assert any("gemma3" in note for note in read.notes)
    named = spec(model_type="anything", text_config={**text, "model_type": "qwen3"})
    assert named.family == "qwen3"
    with pytest.raises(UnsupportedError, match="frobnication"):
        spec(model_type="gemma3", text_config={**text, "frobnication": 3})


@pytest.mark.parametrize("method", ["gptq", "awq", "fp8", "mxfp4", "bitsandbytes", "compressed-tensors"])
def test_quantised_weights_are_refused_by_method(method: str) -> None:
    for config in (LLAMA, {"model_type": "llava", "text_config": LLAMA}):
        with pytest.raises(UnsupportedError, match=method):
            spec(**config, quantization_config={"quant_method": method})
    with pytest.raises(UnsupportedError, match=method):
        spec(model_type="llava", text_config={**LLAMA, "quantization_config": {"quant_method": method}})
    assert spec(**LLAMA, quantization_config=None) == spec(**LLAMA)


@pytest.mark.parametrize(
    ("model_type", "reason"),
    [("jamba", "no attention"), ("qwen3_next", "no attention"), ("deepseek_v3", "latent"), ("paligemma", "both ways")],
)
def test_what_is_refused_by_name_says_why(model_type: str, reason: str) -> None:
    assert model_type not in supported()
    with pytest.raises(UnsupportedError, match=reason):
        spec(model_type=model_type, text_config={})


def test_a_number_of_layers_beyond_reason_is_no_work() -> None:
    with pytest.raises(CheckpointError, match="num_hidden_layers"):
        spec(**LLAMA, num_hidden_layers=2**30)


HUB: dict[str, dict[str, Any]] = {
    "smollm2": {
        "model_type": "llama", "attention_bias": False, "hidden_act": "silu", "hidden_size": 576, "is_llama_config": True,
        "intermediate_size": 1536, "num_attention_heads": 9, "num_hidden_layers": 30, "num_key_value_heads": 3,
        "pretraining_tp": 1, "rope_interleaved": False, "rope_scaling": None, "rope_theta": 100000, "vocab_size": 49152,
        "transformers.js_config": {"kv_cache_dtype": {"q4f16": "float16"}}, "tie_word_embeddings": True,
    },
    "gemma2": {
        "model_type": "gemma2", "attention_bias": False, "attn_logit_softcapping": 50.0, "cache_implementation": "hybrid",
        "final_logit_softcapping": 30.0, "head_dim": 256, "hidden_act": "gelu_pytorch_tanh", "sliding_window_size": 4096,
        "hidden_activation": "gelu_pytorch_tanh", "query_pre_attn_scalar": 224, "sliding_window": 4096,
    },
    "cohere2": {
        "model_type": "cohere2", "head_dim": 128, "hidden_size": 4096, "layer_switch": 4, "num_attention_heads": 32,
        "order_of_interleaved_layers": "local_attn_first", "position_embedding_type": "rope_gptj", "rotary_pct": 1.0,
        "use_embedding_sharing": True, "use_gated_activation": True, "use_parallel_block": True, "logit_scale": 0.25,
        "num_key_value_heads": 8, "cache_implementation": "hybrid", "use_parallel_embedding": False, "rope_theta": 50000,
    },
    "starcoder2": {
        "model_type": "starcoder2", "activation_function": "gelu", "attention_softmax_in_fp32": True, "norm_epsilon": 1e-5,
        "mlp_type": "default", "norm_type": "layer_norm", "scale_attention_softmax_in_fp32": True, "use_bias": True,
        "scale_attn_weights": True, "sliding_window": 4096, "rope_theta": 999999.4420358813,
    },
    "bloom": {
        "model_type": "bloom", "n_embed": 1024, "n_layer": 24, "num_attention_heads": 16, "masked_softmax_fusion": True,
        "offset_alibi": 100, "seq_length": 2048, "skip_bias_add": True, "skip_bias_add_qkv": False, "unk_token_id": 0,
        "attention_softmax_in_fp32": True, "bias_dropout_fusion": True, "pretraining_tp": 1, "slow_but_exact": False,
    },
    "mpt": {
        "model_type": "mpt", "d_model": 4096, "n_heads": 32, "n_layers": 32, "expansion_ratio": 4, "max_seq_len": 2048,
        "attn_config": {
            "alibi": True, "alibi_bias_max": 8, "attn_impl": "torch", "attn_pdrop": 0, "attn_type": "multihead_attention",
            "attn_uses_sequence_id": False, "clip_qkv": None, "prefix_lm": False, "qk_ln": False, "softmax_scale": None,
        },
        "init_config": {"name": "kaiming_normal_"}, "init_device": "cpu", "learned_pos_emb": True, "no_bias": True,
        "norm_type": "low_precision_layernorm", "tokenizer_name": "EleutherAI/gpt-neox-20b", "verbose": 0,
    },
    "gptj": {
        "model_type": "gptj", "rotary": True, "rotary_dim": 64, "scale_attn_weights": True, "n_inner": None,
        "summary_type": "cls_index", "task_specific_params": {"text-generation": {"do_sample": True}},
    },
    "phi3": {
        "model_type": "phi3", "auto_map": {"AutoConfig": "x"}, "embd_pdrop": 0.0, "sliding_window": 262144,
        "original_max_position_embeddings": 4096, "max_position_embeddings": 131072, "attention_bias": False,
        "rope_scaling": {"long_factor": [2.0] * 48, "short_factor": [1.0] * 48, "type": "su"},
    },
    "smollm3": {
        "model_type": "smollm3", "max_window_layers": 28, "no_rope_layer_interval": 4, "num_hidden_layers": 4,
        "no_rope_layers": [1, 1, 1, 0], "layer_types": ["full_attention"] * 4, "sliding_window": None, "rope_theta": 5e6,
    },
}  # fmt: skip
"""Configs as published checkpoints have them, shortened by keys at their defaults."""


@pytest.mark.parametrize("name", sorted(HUB))
def test_configs_of_published_checkpoints_are_understood(name: str) -> None:
    assert spec(**HUB[name]).ignored_keys == ()


def test_a_negative_epsilon_is_refused() -> None:
    config = json.loads((GOLDEN / "bert" / "config.json").read_text(encoding="utf-8"))
    with pytest.raises(CheckpointError, match="epsilon"):
        read_config({**config, "layer_norm_eps": -1}, where="config.json")


def test_the_layer_to_show_may_be_named_in_the_config() -> None:
    config = json.loads((GOLDEN / "bert" / "config.json").read_text(encoding="utf-8"))
    assert read_config({**config, "show_layer": 1}, where="config.json")[1].show_layer == 1
    assert read_config({**config, "show_layer": 99}, where="config.json")[1].show_layer is None
