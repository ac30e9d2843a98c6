"""What many families share: tensors in one line each, sizes of heads, windows by layer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from attn_cli.config import ConfigReader
from attn_cli.errors import CheckpointError, UnsupportedError
from attn_cli.spec import Layout, Stored, stored


def norm(
    ours: str, theirs: str, size: str = "d_model", *, bias: bool = True, when: str = "", **rest: Any
) -> dict[str, Stored]:
    """A norm's gain, and its bias unless the spec says that norms have none; some old files call them gamma and beta."""
    gain, shift = (f"{theirs}.weight", f"{theirs}.gamma"), (f"{theirs}.bias", f"{theirs}.beta")
    found = {f"{ours}.weight": stored(gain, size, when=f"norm_weight {when}", **rest)}
    return found | ({f"{ours}.bias": stored(shift, size, when=f"norm_bias {when}", **rest)} if bias else {})


def linear(
    ours: str, theirs: str, out: str, in_: str, *, bias: str = "", layout: Layout | None = None, **rest: Any
) -> dict[str, Stored]:
    """A matrix, and the bias that it has when `bias` holds of the spec ("always", or a condition as in `Stored.when`)."""
    found = {f"{ours}.weight": stored(f"{theirs}.weight", out, in_, layout=layout, **rest)}
    if bias:
        when = f"{rest.pop('when', '')} {'' if bias == 'always' else bias}".strip()
        found[f"{ours}.bias"] = stored(f"{theirs}.bias", out, when=when, **rest)
    return found


def fused_qkv(theirs: str, *, bias: str = "", per: str = "", layout: Layout | None = None) -> dict[str, Stored]:
    """Queries, keys and values in one matrix; `per`: the named size of the groups that hold a share of each."""
    sizes = ("q", "kv", "kv")
    return {
        name: found
        for part, (ours, size) in enumerate(zip("qkv", sizes, strict=True))
        for name, found in linear(
            f"layers.{{i}}.attn.{ours}",
            theirs,
            size,
            "d_model",
            bias=bias,
            layout=layout,
            split=sizes,
            part=part,
            per=per,
        ).items()
    }


def expert(ours: str, theirs: str, out: str, in_: str, **rest: Any) -> dict[str, Stored]:
    """One matrix of each expert of a layer: every expert in a tensor of its own (`{n}`), or all in one."""
    return {f"layers.{{i}}.experts.{ours}.weight": stored(f"{theirs}.weight", "expert", out, in_, **rest)}


def kv_heads(cfg: ConfigReader, n_heads: int) -> int:
    """The number of key heads, which must divide that of the query heads; as many where the config names none."""
    found = cfg.size("num_key_value_heads", default=n_heads)
    cfg.divided("num_attention_heads", n_heads, "num_key_value_heads", found)
    return found


def windows(
    cfg: ConfigReader, n_layers: int, window: int | None, default: Sequence[bool] = ()
) -> tuple[int | None, ...]:
    """The window of each layer, by `layer_types`, or by `default` (is it a sliding layer?) where the config has none."""
    types = cfg.words("layer_types")
    if types:
        cfg.per_layer("layer_types", types, n_layers)
        for kind in sorted(set(types) - {"full_attention", "sliding_attention"}):
            raise UnsupportedError(
                f"{cfg.where}: layers of type {kind!r} are not supported",
                "this program computes layer_types full_attention and sliding_attention",
            )
        default = [kind == "sliding_attention" for kind in types]
        if any(default) and window is None:
            raise CheckpointError(
                f"{cfg.where}: layer_types names sliding layers, but sliding_window is missing or off",
                "compare the file with the original checkpoint's",
            )
    return tuple(window if sliding else None for sliding in default) if any(default) and window else ()


def late_windows(cfg: ConfigReader, n_layers: int) -> tuple[int | None, ...]:
    """Qwen's windows: off unless use_sliding_window, and only from layer max_window_layers on."""
    window, first = cfg.optional_size("sliding_window"), cfg.number("max_window_layers", default=28)
    on = cfg.flag("use_sliding_window", default=False)
    return windows(cfg, n_layers, window if on else None, [i >= first for i in range(n_layers)])


def every(n_layers: int, cfg: ConfigReader, *names: str, default: int) -> list[bool]:
    """Whether each layer slides, where every n-th (key `sliding_window_pattern`) sees the whole text."""
    period = cfg.size(*names, default=default)
    return [(i + 1) % period != 0 for i in range(n_layers)]
