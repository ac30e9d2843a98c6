"""What each model family is, as data. One file per `model_type`, importing no numpy; close relatives are rows in `_aliases`.

A family module has
    SOURCES   the papers and the reference implementation it follows
    PREFIXES  what may stand before every tensor name, most common first
    IGNORED   tensors (glob patterns, after the prefix) that stand among the layers but are no parameters
    spec(cfg) a ModelSpec from a ConfigReader; what it does not read and is not bookkeeping stops the load
    TENSORS   {our name: Stored}
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from attn_cli import registry
from attn_cli.config import ConfigReader
from attn_cli.errors import CheckpointError, UnsupportedError, quote
from attn_cli.families._aliases import ALIASES
from attn_cli.families._refused import INSIDE, REFUSED, TEXT_PARTS
from attn_cli.spec import ModelSpec

LISTED = "attn-cli families lists what is supported"
MAX_LAYERS = 10_000
"""Of a config that is not damaged: work and memory grow with the number before any tensor is looked for."""


def supported() -> tuple[str, ...]:
    """Every `model_type` that loads, aliases included."""
    return tuple(sorted({*registry.names("families"), *ALIASES}))


def family(model_type: str) -> ModuleType:
    """The family module of a `model_type`; UnsupportedError that names the nearest ones."""
    name = ALIASES.get(model_type, model_type)
    if model_type in REFUSED:
        raise UnsupportedError(
            f"model type {quote(model_type)} is not supported: {REFUSED[model_type]}",
            LISTED,
        )
    try:
        return registry.get("families", name)
    except KeyError:
        from difflib import get_close_matches

        near = get_close_matches(model_type, supported(), 3, 0.5)
        hint = f"nearest supported: {', '.join(near)}; {LISTED}" if near else LISTED
        raise UnsupportedError(f"model type {quote(model_type)} is not supported", hint) from None


def read_config(config: Mapping[str, Any], *, where: str, ignore: tuple[str, ...] = ()) -> tuple[ModuleType, ModelSpec]:
    """The family of a config and the spec it makes of it; of a multimodal config, those of its text part."""
    _refuse_quantised(config, where)
    whole, config = config, _text_part(config)
    model_type = config.get("model_type")
    if not isinstance(model_type, str) or not model_type:
        raise CheckpointError(
            f"{where}: model_type is {'missing' if model_type is None else f'{model_type!r:.40}, not a name'}",
            f'add it to the config, for example "bert"; {LISTED}',
        )
    module = family(model_type)
    for key, value in config.items():
        if "layer" in key and type(value) is int and value > MAX_LAYERS:
            raise CheckpointError(
                f"{where}: {quote(key)} {value} is out of range", "compare the file with the original checkpoint's"
            )
    reader = ConfigReader(config, ignore=ignore, where=where)
    spec: ModelSpec = module.spec(reader)
    ignored = reader.finish()
    if not 0 <= spec.norm_eps < 1:
        raise CheckpointError(
            f"{where}: {spec.norm_eps} is no epsilon of a norm", "compare the file with the original checkpoint's"
        )
    if config is not whole:
        from dataclasses import replace

        note = f"the text part ({model_type}) of a {quote(str(whole.get('model_type')))} model"
        spec = replace(spec, inside=INSIDE, notes=(*spec.notes, note))
    card = whole.get("attn_cli")
    card = {"show_layer": whole.get("show_layer"), **(card if isinstance(card, Mapping) else {})}
    spec = _with_card(spec, card)
    if ignored:
        from dataclasses import replace

        spec = replace(spec, ignored_keys=ignored)
    return module, spec


def _text_part(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """The config of a multimodal model's text part; any other config as it is."""
    outer, text = config.get("model_type"), config.get("text_config")
    if not isinstance(text, Mapping) or not isinstance(outer, str) or outer in supported() or outer in REFUSED:
        return config
    shared = {k: config[k] for k in ("tie_word_embeddings",) if k in config}
    return {"model_type": TEXT_PARTS.get(outer), **text, **shared}


def _refuse_quantised(config: Mapping[str, Any], where: str) -> None:
    """UnsupportedError that names the method of weights that are not stored as plain numbers."""
    for part in (config, config.get("text_config")):
        settings = part.get("quantization_config") if isinstance(part, Mapping) else None
        if not isinstance(settings, Mapping) or not settings:
            continue
        bits = next((f"bitsandbytes, {b} bits" for b in (4, 8) if settings.get(f"load_in_{b}bit") is True), "unnamed")
        method = settings.get("quant_method")
        raise UnsupportedError(
            f"{where}: quantised weights ({quote(method) if isinstance(method, str) else bits}) are not supported",
            "give the checkpoint as it was before quantisation, or a GGUF file of it",
        )


def _with_card(spec: ModelSpec, card: Mapping[str, Any]) -> ModelSpec:
    """Adds what the model's author says of it: the layer to show first, the roles of heads, a description."""
    from dataclasses import replace

    layer, roles, description = card.get("show_layer"), card.get("roles"), card.get("description")
    return replace(
        spec,
        show_layer=layer if type(layer) is int and 0 <= layer < spec.n_layers else None,
        roles={str(k): str(v) for k, v in roles.items()} if isinstance(roles, Mapping) else {},
        description=description if isinstance(description, str) else "",
    )
