"""The metadata of a GGUF file as the config.json that the model would have had."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attn_cli.errors import CheckpointError, quote
from attn_cli.families._gguf import BOOKKEEPING
from attn_cli.families._gguf_parts import Architecture

if TYPE_CHECKING:
    from collections.abc import Mapping

    from attn_cli.checkpoint.gguf import Gguf

MAX_EXPERTS = 4096
_FLOAT = 7  # digits of a float32, which is what a file keeps of a setting


def read_config(source: Gguf, name: str, found: Architecture) -> dict[str, Any]:
    """The family's config; keys that nobody maps go into it under their own names, and are refused there by name."""
    given = {key.removeprefix(f"{name}."): key for key in source.fields if key.startswith(f"{name}.")}
    settings = {short: _plain(source.fields[key]) for short, key in given.items() if short not in BOOKKEEPING}
    config: dict[str, Any] = {"model_type": found.model_type, **found.fixed}
    embedding = source.tensors.get("token_embd.weight")
    if embedding is not None and embedding.shape:
        config["vocab_size"] = embedding.shape[0]
    config["tie_word_embeddings"] = found.fixed.get("tie_word_embeddings", "output.weight" not in source.tensors)
    rope = _rope(source, settings, found)
    for short, theirs in found.keys.items():
        if settings.get(short) is not None:
            config[theirs] = settings.pop(short)
    _drop_implied(settings, config)
    if "rope_theta" in found.keys.values():
        config.setdefault("rope_theta", 10000.0)  # where a file names none (llama.cpp), whatever the family's default
    experts = config.get("num_local_experts") or config.get("num_experts")
    if isinstance(experts, int) and experts > MAX_EXPERTS:  # each has names of its own
        raise CheckpointError(
            f"{quote(str(source.path))}: {experts:,} experts are out of range", "fetch the file again"
        )
    config |= {key: tensor in source.tensors for key, tensor in found.bias_flags.items()} | rope
    _special_cases(found.model_type, source, settings, config)
    return config | {f"{name}.{short}": value for short, value in settings.items() if short not in found.keys}


def _plain(value: Any) -> Any:
    """A value as JSON would have it: floats with the digits a float32 keeps; one value for all layers in place of a list."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, list):
        first = value[0] if value else None
        return _plain(first) if value and all(v == first for v in value) else value
    return float(f"{value:.{_FLOAT}g}") if isinstance(value, float) else value


def _drop_implied(settings: dict[str, Any], config: Mapping[str, Any]) -> None:
    """Takes away what only repeats the sizes: the width of keys, of values, and of the part that turns."""
    width, heads = (config.get(k) or 0 for k in ("hidden_size", "num_attention_heads"))
    head = config.get("head_dim") or (width // heads if isinstance(width, int) and type(heads) is int and heads else 0)
    for name in ("attention.key_length", "attention.value_length", "rope.dimension_count"):
        if settings.get(name) == head:
            del settings[name]


def _rope(source: Gguf, settings: dict[str, Any], found: Architecture) -> dict[str, Any]:
    """Everything about rotary positions beyond their base; takes from `settings` what it has read."""
    width, heads = settings.get("embedding_length"), settings.get("attention.head_count")
    head = settings.get("attention.key_length") or (width // heads if isinstance(width, int) and heads else 0)
    config: dict[str, Any] = {}
    turned = settings.get("rope.dimension_count")
    if isinstance(turned, int) and isinstance(head, int) and 0 < turned < head:
        # a little more than the quotient: the family multiplies it with the head's width again, and rounds down
        config["partial_rotary_factor"] = (settings.pop("rope.dimension_count") + 0.01) / head
    scaling: dict[str, Any] = {}
    kind = settings.pop("rope.scaling.type", None)
    factor = settings.pop("rope.scaling.factor", None) or settings.pop("rope.scale_linear", None)
    short, long = (_factors(source, f"rope_{name}.weight") for name in ("factors_short", "factors_long"))
    every = _factors(source, "rope_freqs.weight")
    if short and long:
        attention = settings.pop("rope.scaling.attn_factor", None)
        original = settings.get("rope.scaling.original_context_length")
        scaling = {"rope_type": "longrope", "short_factor": short, "long_factor": long, "attention_factor": attention}
        scaling["original_max_position_embeddings"] = original
    elif every:  # Llama 3's, which a converter has worked out for each pair
        settings.pop("rope.scaling.original_context_length", None)
        scaling = {"rope_type": "longrope", "short_factor": every, "long_factor": every, "attention_factor": 1.0}
    elif kind not in (None, "none") and factor not in (None, 1.0, 0.0):
        scaling = {"rope_type": kind, "factor": factor}
        if kind == "yarn":
            scaling |= {
                "original_max_position_embeddings": settings.pop("rope.scaling.original_context_length", None),
                "beta_fast": settings.pop("rope.scaling.yarn_beta_fast", None),
                "beta_slow": settings.pop("rope.scaling.yarn_beta_slow", None),
            }
    return config | ({"rope_scaling": {k: v for k, v in scaling.items() if v is not None}} if scaling else {})


def _factors(source: Gguf, name: str) -> list[float]:
    """A tensor of one rotary factor for each pair; empty where there is none."""
    info = source.tensors.get(name)
    if info is None:
        return []
    if len(info.shape) != 1 or info.shape[0] > 2**16:
        raise CheckpointError(f"{quote(str(source.path))}: tensor {name} is no list of factors", "fetch the file again")
    return [float(v) for v in source.read(name)]


def _special_cases(model_type: str, source: Gguf, settings: dict[str, Any], config: dict[str, Any]) -> None:
    """What single families need: settings that files leave out, because llama.cpp has them by heart."""
    layers, heads, width = (config.get(k) for k in ("num_hidden_layers", "num_attention_heads", "hidden_size"))
    if model_type in ("gemma2", "gemma3_text"):
        largest = layers == {"gemma2": 46, "gemma3_text": 62}[model_type]  # of the 27B models, by their depth
        shared = width // heads if isinstance(width, int) and isinstance(heads, int) and heads > 0 else 0
        config["query_pre_attn_scalar"] = shared if largest and shared else config.get("head_dim", 256)
        for key in ("attn_logit_softcapping", "final_logit_softcapping"):
            config.setdefault(key, None)
        pattern = config.get("sliding_window_pattern")
        if isinstance(pattern, list):
            del config["sliding_window_pattern"]
            config["layer_types"] = ["sliding_attention" if slides else "full_attention" for slides in pattern]
    elif model_type == "bert":
        config["type_vocab_size"] = _rows(source, "token_types.weight")
        if settings.get("attention.causal") is False:
            del settings["attention.causal"]
    elif model_type == "falcon":
        key_heads, two = config.get("num_kv_heads", heads), "blk.0.attn_norm_2.weight" in source.tensors
        new = two or key_heads not in (1, heads)
        config |= {"new_decoder_architecture": new, "multi_query": key_heads == 1, "parallel_attn": True, "bias": False}
        config["num_ln_in_parallel_attn"] = (2 if two else 1) if new else None
    elif model_type == "mpt":
        attn = {"alibi": True, "alibi_bias_max": settings.pop("attention.max_alibi_bias", None)}
        attn["clip_qkv"] = settings.pop("attention.clamp_kqv", None)
        config["attn_config"] = {k: v for k, v in attn.items() if v is not None}
        if settings.get("feed_forward_length") == 4 * (config.get("d_model") or 0):
            del settings["feed_forward_length"]
    elif model_type == "gpt_bigcode":
        config["multi_query"] = settings.pop("attention.head_count_kv", 1) == 1
    elif model_type == "cohere2":
        if settings.get("attention.sliding_window_pattern") == 4:
            del settings["attention.sliding_window_pattern"]
    elif model_type == "olmo":
        config.pop("eps", None)


def _rows(source: Gguf, name: str) -> int | None:
    info = source.tensors.get(name)
    return info.shape[0] if info is not None and info.shape else None
