"""Rotary settings in any of their spellings: rope_theta with rope_scaling, or rope_parameters."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from attn_cli.config import ConfigReader
from attn_cli.errors import CheckpointError
from attn_cli.spec import Rope, RopePairs, RopeScaling

SCALINGS: dict[str, RopeScaling] = {
    "default": "none",
    "linear": "linear",
    "dynamic": "dynamic",
    "llama3": "llama3",
    "yarn": "yarn",
    "longrope": "longrope",
    "su": "longrope",
}


def rope(
    cfg: ConfigReader,
    d_head: int,
    *,
    theta: float = 10000.0,
    partial: float | None = None,
    pairs: RopePairs = "halves",
    default: Mapping[str, Any] | None = None,
) -> Rope:
    """The rotary positions of a config: `theta` and `partial` where it names none, `default` where it has no section.

    `partial` None: the family turns whole heads, and a config that asks for less is refused.
    """
    scaling, parameters = cfg.mapping("rope_scaling"), cfg.mapping("rope_parameters")
    theta = cfg.number("rope_theta", "rotary_emb_base", default=theta)
    part = cfg.number("partial_rotary_factor", "rotary_pct", default=1.0 if partial is None else partial)
    section = scaling or parameters or default or {}
    found = rope_section(cfg, section, d_head, theta=theta, partial=part, pairs=pairs)
    if partial is None and found.dims != d_head:
        cfg.refuse(
            "partial_rotary_factor", f"{found.dims} of {d_head} components", "whole heads that turn in this family"
        )
    return found


def ropes_by_type(cfg: ConfigReader, d_head: int, theta: float, local_theta: float) -> tuple[Rope, Rope]:
    """The rotary positions of whole and of sliding layers; a scaling in the older spelling means the whole ones only."""
    given, scaling = cfg.mapping("rope_parameters"), cfg.mapping("rope_scaling")
    if set(given) - {"full_attention", "sliding_attention"}:
        cfg.refuse("rope_parameters", ", ".join(sorted(map(str, given))), "rope_parameters by layer type")
    whole = {**(given.get("full_attention") or {}), **scaling}
    local = given.get("sliding_attention") or {}
    return rope_section(cfg, whole, d_head, theta=theta), rope_section(cfg, local, d_head, theta=local_theta)


def rope_section(
    cfg: ConfigReader,
    section: Mapping[str, Any],
    d_head: int,
    *,
    theta: float,
    partial: float = 1.0,
    pairs: RopePairs = "halves",
) -> Rope:
    """One section of rotary settings; every key of it that would change numbers is read or refused."""
    inner = ConfigReader(section, where=f"{cfg.where}, rope settings")
    kind = inner.word("rope_type", "type", default="default")
    if kind not in SCALINGS:
        cfg.refuse("rope_type", kind, f"rope_type {', '.join(SCALINGS)}")
    theta = inner.number("rope_theta", default=theta)
    if theta <= 1:
        raise CheckpointError(f"{cfg.where}: rope_theta {theta} should be above 1", "compare with the original's")
    dims = int(d_head * inner.number("partial_rotary_factor", default=partial))
    if dims % 2 or not 0 < dims <= d_head:
        cfg.refuse("partial_rotary_factor", f"{dims} of {d_head} components", "an even number of turned components")
    settings = _scaling(cfg, inner, kind)
    inner.finish()
    for name in ("short", "long"):
        if len(settings.get(name, ())) not in (0, dims // 2):
            raise CheckpointError(
                f"{cfg.where}: {name}_factor has {len(settings[name])} entries for {dims // 2} pairs",
                "compare the file with the original checkpoint's",
            )
    return Rope(theta=theta, dims=dims, pairs=pairs, scaling=SCALINGS[kind], **settings)


def _scaling(cfg: ConfigReader, inner: ConfigReader, kind: str) -> dict[str, Any]:
    """The fields of `Rope` that one kind of scaling sets."""
    longest = cfg.size("max_position_embeddings", default=2048)
    if kind == "default":
        inner.ignore("factor", "original_max_position_embeddings")
        return {}
    if kind == "linear":
        return {"factor": inner.positive("factor")}
    if kind == "dynamic":
        inner.ignore("original_max_position_embeddings")
        return {"factor": inner.positive("factor"), "original": longest}
    within = inner.size("original_max_position_embeddings", default=longest)
    original = cfg.size("original_max_position_embeddings", default=within)
    if kind == "llama3":
        low, high = inner.number("low_freq_factor"), inner.number("high_freq_factor")
        if low >= high:
            raise CheckpointError(
                f"{inner.where}: low_freq_factor {low} should be below high_freq_factor {high}",
                "compare the file with the original checkpoint's",
            )
        return {"factor": inner.positive("factor"), "original": original, "low": low, "high": high}
    factor = inner.number("factor", default=longest / original)
    given = inner.number("attention_factor", default=None)
    if SCALINGS[kind] == "longrope":
        magnitude = 1.0 if factor <= 1 else math.sqrt(1 + math.log(factor) / math.log(max(original, 2)))
        return {
            "original": original,
            "magnitude": magnitude if given is None else given,
            "short": _factors(inner, "short_factor"),
            "long": _factors(inner, "long_factor"),
        }
    mscale, all_dim = inner.number("mscale", default=0), inner.number("mscale_all_dim", default=0)
    magnitude = _yarn(factor, mscale) / _yarn(factor, all_dim) if mscale and all_dim else _yarn(factor, 1)
    return {
        "factor": inner.positive("factor", default=factor),
        "original": original,
        "low": inner.number("beta_slow", default=0) or 1.0,
        "high": inner.number("beta_fast", default=0) or 32.0,
        "truncate": inner.flag("truncate", default=True),
        "magnitude": magnitude if given is None else given,
    }


def _factors(inner: ConfigReader, name: str) -> tuple[float, ...]:
    found = inner.numbers(name)
    if not found or min(found) <= 0:
        raise CheckpointError(
            f"{inner.where}: {name} should be a list of numbers above 0", "compare with the original's"
        )
    return found


def _yarn(factor: float, mscale: float) -> float:
    """What cosines and sines are multiplied by (Peng 2023, arXiv 2309.00071, section 3.4)."""
    return 1.0 if factor <= 1 else 0.1 * mscale * math.log(factor) + 1.0
