"""DeBERTa-v2 and v3: content and distance attend to each other separately; a convolution may join the first block."""

from __future__ import annotations

from attn_cli.config import ConfigReader
from attn_cli.errors import UnsupportedError
from attn_cli.families._parts import linear, norm
from attn_cli.spec import Conv, Disentangled, ModelSpec, stored

SOURCES = (
    "He et al. 2021 (DeBERTa), arXiv 2006.03654, section 3.1",
    "He et al. 2023 (DeBERTaV3), arXiv 2111.09543",
    "Hugging Face transformers, models/deberta_v2",
)
PREFIXES = ("deberta.", "")
IGNORED = (  # tables that a file may hold though its config does without them
    "embeddings.position_ids",
    "embeddings.position_embeddings.weight",
    "encoder.rel_embeddings.weight",
    "encoder.LayerNorm.*",
)


def spec(cfg: ConfigReader) -> ModelSpec:
    """The spec of a DeBERTa-v2 config; defaults are those of DebertaV2Config."""
    cfg.ignore("pooler_dropout", "pooler_hidden_act", "pooler_hidden_size", "legacy", "vocab_type", "padding_idx")
    d_model, n_heads = cfg.size("hidden_size", default=1536), cfg.size("num_attention_heads", default=24)
    d_head = cfg.divided("hidden_size", d_model, "num_attention_heads", n_heads)
    cfg.only("attention_head_size", d_head)
    n_ctx, d_embed = cfg.size("max_position_embeddings", default=512), cfg.size("embedding_size", default=d_model)
    terms = _terms(cfg)
    return ModelSpec(
        family="deberta-v2",
        causal=False,
        n_layers=cfg.size("num_hidden_layers", default=24),
        n_heads=n_heads,
        n_kv_heads=n_heads,
        d_model=d_model,
        d_head=d_head,
        d_mlp=cfg.size("intermediate_size", default=6144),
        d_embed=d_embed,
        embed_project="sum" if d_embed != d_model else "",
        n_ctx=n_ctx,
        n_ctx_hard=cfg.flag("position_biased_input", default=True),
        vocab_size=cfg.size("vocab_size", default=128100),
        n_segments=cfg.count("type_vocab_size", default=0),
        placement="post",
        norm_eps=cfg.number("layer_norm_eps", default=1e-7),
        embed_norm=True,
        positions="learned" if cfg.flag("position_biased_input", default=True) else "none",
        scale=(d_head * (1 + len(terms))) ** -0.5,  # one part for the content and one for each term (section 3.1)
        disentangled=_disentangled(cfg, terms, n_ctx),
        conv=_conv(cfg, d_model),
        activation=cfg.activation("hidden_act", default="gelu"),
    )


def _terms(cfg: ConfigReader) -> tuple[str, ...]:
    """c2p and p2c, those that are there, in any of their spellings: a list, or one text with bars."""
    words = cfg.words("pos_att_type", separator="|")
    unknown = [w for w in words if w not in ("c2p", "p2c")]
    if unknown:
        raise UnsupportedError(
            f"{cfg.where}: pos_att_type {', '.join(unknown)} is not supported", "this program computes c2p and p2c"
        )
    return tuple(sorted(set(words)))


def _disentangled(cfg: ConfigReader, terms: tuple[str, ...], n_ctx: int) -> Disentangled | None:
    limit = cfg.integer("max_relative_positions", default=-1)
    limit = limit if limit > 0 else n_ctx
    buckets = cfg.integer("position_buckets", default=-1)
    if buckets > 0:
        cfg.above("position_buckets", buckets, 1)
        cfg.above("max_relative_positions", limit, buckets // 2 + 1)
    shared = cfg.flag("share_att_key", default=False)
    normed = "layer_norm" in cfg.words("norm_rel_ebd", separator="|")
    if not cfg.flag("relative_attention", default=False) or not terms:
        return None
    return Disentangled(
        terms=terms,
        span=buckets if buckets > 0 else limit,
        log_up_to=limit if buckets > 0 else None,
        shared=shared,
        norm=normed,
    )


def _conv(cfg: ConfigReader, d_model: int) -> Conv | None:
    kernel = cfg.count("conv_kernel_size", default=0)
    groups, activation = cfg.size("conv_groups", default=1), cfg.activation("conv_act", default="tanh")
    if not kernel:
        return None
    if kernel % 2 == 0:
        raise UnsupportedError(f"{cfg.where}: conv_kernel_size {kernel} is even", "this program computes odd kernels")
    cfg.divided("hidden_size", d_model, "conv_groups", groups)
    return Conv(kernel=kernel, groups=groups, activation=activation)


_LAYER = "encoder.layer.{i}."
_OURS = "layers.{i}."

TENSORS = {
    "embed.token": stored("embeddings.word_embeddings.weight", "vocab", "d_embed", layout="rows"),
    "embed.position": stored(
        "embeddings.position_embeddings.weight", "positions", "d_embed", layout="rows", when="learned_positions"
    ),
    "embed.segment": stored(
        "embeddings.token_type_embeddings.weight", "segments", "d_embed", layout="rows", when="n_segments"
    ),
    "embed.project.weight": stored("embeddings.embed_proj.weight", "d_model", "d_embed", when="embed_project"),
    **norm("embed.norm", "embeddings.LayerNorm"),
    "distance.weight": stored(
        "encoder.rel_embeddings.weight", "distances", "d_model", layout="rows", when="disentangled"
    ),
    "distance.norm.weight": stored("encoder.LayerNorm.weight", "d_model", when="distance_norm"),
    "distance.norm.bias": stored("encoder.LayerNorm.bias", "d_model", when="distance_norm"),
    "conv.weight": stored("encoder.conv.conv.weight", "d_model", "conv_in", "conv_kernel", when="conv"),
    "conv.bias": stored("encoder.conv.conv.bias", "d_model", when="conv"),
    "conv.norm.weight": stored("encoder.conv.LayerNorm.weight", "d_model", when="conv"),
    "conv.norm.bias": stored("encoder.conv.LayerNorm.bias", "d_model", when="conv"),
    **linear(f"{_OURS}attn.q", f"{_LAYER}attention.self.query_proj", "q", "d_model", bias="always"),
    **linear(f"{_OURS}attn.k", f"{_LAYER}attention.self.key_proj", "q", "d_model", bias="always"),
    **linear(f"{_OURS}attn.v", f"{_LAYER}attention.self.value_proj", "q", "d_model", bias="always"),
    **{
        f"{_OURS}attn.distance_{ours}.{what}": stored(f"{_LAYER}attention.self.{theirs}.{what}", "q", *rest, when=when)
        for ours, theirs, when in (("k", "pos_key_proj", "distance_keys"), ("q", "pos_query_proj", "distance_queries"))
        for what, rest in (("weight", ("d_model",)), ("bias", ()))
    },
    **linear(f"{_OURS}attn.o", f"{_LAYER}attention.output.dense", "d_model", "q", bias="always"),
    **norm(f"{_OURS}attn.norm", f"{_LAYER}attention.output.LayerNorm"),
    **linear(f"{_OURS}mlp.up", f"{_LAYER}intermediate.dense", "d_mlp", "d_model", bias="always"),
    **linear(f"{_OURS}mlp.down", f"{_LAYER}output.dense", "d_model", "d_mlp", bias="always"),
    **norm(f"{_OURS}mlp.norm", f"{_LAYER}output.LayerNorm"),
}
