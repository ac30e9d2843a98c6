"""GGUF files made from checkpoint folders, the way llama.cpp's converters make them; names come from the gguf package."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gguf
import numpy as np

from attn_cli.checkpoint import safetensors

ARCHITECTURES = {
    "gemma3_text": "gemma3", "gpt_neox": "gptneox", "phi": "phi2", "cohere": "command-r", "mixtral": "llama",
    "qwen3_moe": "qwen3moe", "gpt_bigcode": "starcoder", "mistral": "llama",
}  # fmt: skip
PERMUTED = (
    "llama",
    "mixtral",
    "mistral",
    "granite",
    "smollm3",
    "olmo",
    "arcee",
)  # rotary positions in neighbouring pairs
CONV1D = ("c_attn.weight", "c_proj.weight", "c_fc.weight")
EXPERT = re.compile(r"(.*\.experts)\.(\d+)\.(\w+)\.weight")


def one_of(config: Mapping[str, Any], *names: str) -> Any:
    """The first of `names` that has a value."""
    return next((config[n] for n in names if config.get(n) is not None), None)


class Sizes:
    """What converters read from a config, whatever the family calls it."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        self.width = one_of(config, "hidden_size", "n_embd", "n_embed", "d_model")
        self.layers = one_of(config, "num_hidden_layers", "n_layer", "n_layers")
        self.heads = one_of(config, "num_attention_heads", "n_head", "n_heads")
        self.kv = one_of(config, "num_key_value_heads") or self.heads
        if config["model_type"] == "falcon":
            self.kv = config["num_kv_heads"] if config["new_decoder_architecture"] else 1
        if config["model_type"] == "gpt_bigcode":
            self.kv = 1 if config["multi_query"] else self.heads
        self.mlp = one_of(config, "ffn_hidden_size", "intermediate_size", "n_inner") or 4 * self.width
        self.context = one_of(config, "max_position_embeddings", "n_positions", "seq_length", "max_seq_len") or 64
        self.head = one_of(config, "head_dim") or self.width // self.heads


def convert(folder: Path, path: Path, *, kind: str = "F32", split: int = 1, **extra: Any) -> None:
    """Writes `path` from the config.json and model.safetensors of a folder; matrices as `kind`, the rest as float32.

    `extra`: metadata besides, by key. `split`: a number of files, which get names of parts.
    """
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    source = safetensors.open(folder / "model.safetensors")
    tensors = {name: source.read(name) for name in source.tensors}
    arch = ARCHITECTURES.get(config["model_type"], config["model_type"])
    meta = metadata(config, arch) | extra
    named = renamed(config, arch, tensors)
    names = list(named)
    for part in range(split):
        target = path if split == 1 else path.with_name(f"{path.stem}-{part + 1:05}-of-{split:05}.gguf")
        writer = gguf.GGUFWriter(target, arch)
        for key, value in meta.items() if part == 0 else ():
            add(writer, key, value)
        if split > 1:
            writer.add_uint16("split.no", part)
            writer.add_uint16("split.count", split)
            writer.add_int32("split.tensors.count", len(names))
        for name in names[part::split]:
            write_tensor(writer, name, named[name], kind)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()


def add(writer: gguf.GGUFWriter, key: str, value: Any) -> None:
    """One pair of metadata, of the type that converters give it."""
    if isinstance(value, bool):
        writer.add_bool(key, value)
    elif isinstance(value, int):
        writer.add_uint32(key, value)
    elif isinstance(value, float):
        writer.add_float32(key, value)
    elif isinstance(value, str):
        writer.add_string(key, value)
    else:
        writer.add_array(key, value)


def write_tensor(writer: gguf.GGUFWriter, name: str, array: np.ndarray, kind: str) -> None:
    """A tensor as `kind` if it is a matrix whose rows are whole blocks, else as float32."""
    number = gguf.GGMLQuantizationType[kind]
    array = np.ascontiguousarray(array, np.float32)
    if kind == "F32" or array.ndim < 2 or array.shape[-1] % gguf.GGML_QUANT_SIZES[number][0]:
        writer.add_tensor(name, array)
    else:
        writer.add_tensor(name, gguf.quants.quantize(array, number), raw_dtype=number)


def metadata(config: Mapping[str, Any], arch: str) -> dict[str, Any]:
    """The keys below the architecture's name."""
    s, family = Sizes(config), config["model_type"]
    found: dict[str, Any] = {
        "context_length": s.context, "embedding_length": s.width, "block_count": s.layers, "feed_forward_length": s.mlp,
        "attention.head_count": s.heads,
    }  # fmt: skip
    if family not in ("gpt2", "gpt_neox", "bloom", "mpt", "bert"):
        found["attention.head_count_kv"] = s.kv
    if "rms_norm_eps" in config and family not in ("stablelm", "starcoder2", "cohere"):
        found["attention.layer_norm_rms_epsilon"] = config["rms_norm_eps"]
    else:
        epsilon = one_of(config, "layer_norm_eps", "layer_norm_epsilon", "norm_epsilon", "norm_eps")
        found["attention.layer_norm_epsilon"] = epsilon or 1e-5
    if config.get("head_dim"):
        found |= {"attention.key_length": s.head, "attention.value_length": s.head}
    found |= rope(config, s)
    found |= {
        ours: config[theirs]
        for theirs, ours in {
            "sliding_window": "attention.sliding_window", "final_logit_softcapping": "final_logit_softcapping",
            "attn_logit_softcapping": "attn_logit_softcapping", "use_parallel_residual": "use_parallel_residual",
            "logit_scale": "logit_scale", "embedding_multiplier": "embedding_scale", "clip_qkv": "attention.clamp_kqv",
            "residual_multiplier": "residual_scale", "attention_multiplier": "attention.scale",
            "logits_scaling": "logit_scale", "num_experts_per_tok": "expert_used_count", "num_experts": "expert_count",
            "num_local_experts": "expert_count", "moe_intermediate_size": "expert_feed_forward_length",
        }.items()
        if config.get(theirs) is not None and (family, theirs) != ("qwen2", "sliding_window")
    }  # fmt: skip
    if family == "gemma3_text":
        found["attention.sliding_window_pattern"] = [t == "sliding_attention" for t in config["layer_types"]]
    if family == "bert":
        found |= {"attention.causal": False, "pooling_type": 1}
    if family == "mpt":
        found["attention.max_alibi_bias"] = float(config["attn_config"]["alibi_bias_max"])
    if family == "falcon":
        found["tensor_data_layout"] = "jploski"
    found["vocab_size"] = config["vocab_size"]
    return {f"{arch}.{key}": value for key, value in found.items()}


def rope(config: Mapping[str, Any], s: Sizes) -> dict[str, Any]:
    """Rotary settings; Llama 3's and Phi-3's factors are tensors, see `factors`."""
    given = config.get("rope_parameters") or {}
    given = given.get("full_attention", given)
    if not given:
        return {}
    partial = given.get("partial_rotary_factor") or 1.0
    found: dict[str, Any] = {"rope.freq_base": given["rope_theta"], "rope.dimension_count": int(s.head * partial)}
    if given["rope_type"] in ("linear", "yarn"):
        found |= {"rope.scaling.type": given["rope_type"], "rope.scaling.factor": given["factor"]}
    if "original_max_position_embeddings" in given and given["rope_type"] != "llama3":
        found["rope.scaling.original_context_length"] = given["original_max_position_embeddings"]
    if given["rope_type"] == "longrope":
        ratio = s.context / given["original_max_position_embeddings"]
        original = math.log(given["original_max_position_embeddings"])
        found["rope.scaling.attn_factor"] = math.sqrt(1 + math.log(ratio) / original)
    return found


def factors(config: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """Tensors by which each pair's angle is divided."""
    given = config.get("rope_parameters") or {}
    if given.get("rope_type") == "longrope":
        return {f"rope_factors_{n}.weight": np.array(given[f"{n}_factor"], np.float32) for n in ("long", "short")}
    if given.get("rope_type") != "llama3":
        return {}
    s, original = Sizes(config), given["original_max_position_embeddings"]
    low, high = original / given["low_freq_factor"], original / given["high_freq_factor"]
    found = []
    for i in range(0, s.head, 2):
        wave = 2 * math.pi * given["rope_theta"] ** (i / s.head)
        smooth = (original / wave - given["low_freq_factor"]) / (given["high_freq_factor"] - given["low_freq_factor"])
        between = 1 / ((1 - smooth) / given["factor"] + smooth)
        found.append(1.0 if wave < high else given["factor"] if wave > low else between)
    return {"rope_freqs.weight": np.array(found, np.float32)}


def renamed(config: Mapping[str, Any], arch: str, tensors: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """All tensors under llama.cpp's names, turned as its converters turn them."""
    number = next(n for n, name in gguf.MODEL_ARCH_NAMES.items() if name == arch)
    names = gguf.get_tensor_name_map(number, Sizes(config).layers)
    stacks: dict[str, dict[int, np.ndarray]] = {}
    found = {}
    for name, array in tensors.items():
        if config["model_type"] == "bert":
            name = name.removeprefix("bert.")
            if name.startswith(("pooler.", "cls.")):
                continue
        expert = EXPERT.fullmatch(name)
        name = name.removeprefix("transformer.") if config["model_type"] == "bloom" else name
        if expert:
            stacks.setdefault(f"{expert[1]}.{expert[3]}.weight", {})[int(expert[2])] = array
            continue
        theirs = names.get_name(name, try_suffixes=(".weight", ".bias"))
        if theirs is None:
            raise ValueError(f"{name} has no name in {arch}")
        found[theirs] = turned(config, name, array)
    for name, stack in stacks.items():
        theirs = names.get_name(name, try_suffixes=(".weight",))
        if theirs is None:
            raise ValueError(f"{name} has no name in {arch}")
        found[theirs] = np.stack([stack[i] for i in range(len(stack))])
    return found | factors(config)


def turned(config: Mapping[str, Any], name: str, array: np.ndarray) -> np.ndarray:
    """What the converter of a family does to a tensor."""
    family, s = config["model_type"], Sizes(config)
    if family in PERMUTED and ".q_proj." in name:
        return in_pairs(array, s.heads)
    if family in PERMUTED and ".k_proj." in name:
        return in_pairs(array, s.kv)
    if (family.startswith("gemma") or family == "nemotron") and name.endswith("norm.weight"):
        return array + 1
    if family == "gpt2" and name.endswith(CONV1D):
        return array.T
    if family in ("gpt_neox", "bloom") and "query_key_value" in name:
        heads = array.reshape(s.heads, 3, -1, *array.shape[1:])
        return np.concatenate([heads[:, i].reshape(-1, *array.shape[1:]) for i in range(3)])
    if family == "falcon" and "query_key_value" in name:
        groups = array.reshape(s.kv, s.heads // s.kv + 2, -1, *array.shape[1:])
        parts = groups[:, :-2], groups[:, -2], groups[:, -1]
        return np.concatenate([part.reshape(-1, *array.shape[1:]) for part in parts])
    return array


def in_pairs(array: np.ndarray, heads: int) -> np.ndarray:
    """Each head's rows from halves to neighbouring pairs."""
    return array.reshape(heads, 2, -1, *array.shape[1:]).swapaxes(1, 2).reshape(array.shape)
