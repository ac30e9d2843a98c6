"""ModernBERT: a pre-norm encoder with rotary positions, global and local layers, fused projections and GeGLU."""

from __future__ import annotations

from attn_cli.config import ConfigReader
from attn_cli.families._parts import fused_qkv, linear, norm
from attn_cli.families._rope import rope_section
from attn_cli.spec import ModelSpec, Rope, stored

SOURCES = ("Warner et al. 2024, arXiv 2412.13663, section 2.1", "Hugging Face transformers, models/modernbert")
PREFIXES = ("model.", "")
IGNORED = ("layers.*.attn.rotary_emb.inv_freq",)

_KINDS = ("full_attention", "sliding_attention")


def spec(cfg: ConfigReader) -> ModelSpec:
    """The spec of a ModernBERT config; defaults are those of ModernBertConfig."""
    cfg.ignore(
        "classifier_activation", "classifier_bias", "classifier_pooling", "decoder_bias", "deterministic_flash_attn"
    )
    cfg.ignore("initializer_cutoff_factor", "mlp_dropout", "sparse_prediction", "sparse_pred_ignore_index")
    cfg.ignore("reference_compile", "repad_logits_with_grad")
    cfg.ignore("layer_norm_eps", "position_embedding_type")  # the first configs have them; norm_eps and rotary count
    d_model, n_heads = cfg.size("hidden_size", default=768), cfg.size("num_attention_heads", default=12)
    d_head = cfg.divided("hidden_size", d_model, "num_attention_heads", n_heads)
    n_layers = cfg.size("num_hidden_layers", default=22)
    local = _local(cfg, n_layers)
    window = cfg.size("local_attention", default=128) // 2 + 1  # so many keys on each side, the query's own included
    ropes = _ropes(cfg, d_head)
    bias = cfg.flag("attention_bias", default=False)
    return ModelSpec(
        family="modernbert",
        causal=False,
        n_layers=n_layers,
        n_heads=n_heads,
        n_kv_heads=n_heads,
        d_model=d_model,
        d_head=d_head,
        d_mlp=cfg.size("intermediate_size", default=1152),
        n_ctx=cfg.size("max_position_embeddings", default=8192),
        n_ctx_hard=False,
        vocab_size=cfg.size("vocab_size", default=50368),
        placement="pre",
        norm_eps=cfg.number("norm_eps", default=1e-5),
        norm_bias=cfg.flag("norm_bias", default=False),
        embed_norm=True,
        final_norm=True,
        positions="rotary",
        layer_ropes=tuple(ropes[is_local] for is_local in local),
        windows=tuple(window if is_local else None for is_local in local),
        activation=cfg.activation("hidden_activation", default="gelu"),
        gated_mlp=True,
        attn_bias=bias,
        output_bias=bias,
        mlp_bias=cfg.flag("mlp_bias", default=False),
    )


def _local(cfg: ConfigReader, n_layers: int) -> list[bool]:
    """Whether each layer is local: by name, or every layer but each n-th."""
    every, names = cfg.size("global_attn_every_n_layers", default=3), cfg.words("layer_types")
    if not names:
        return [i % every != 0 for i in range(n_layers)]
    cfg.per_layer("layer_types", names, n_layers)
    for name in set(names) - set(_KINDS):
        cfg.refuse("layer_types", name, " and ".join(_KINDS))
    return [name == "sliding_attention" for name in names]


def _ropes(cfg: ConfigReader, d_head: int) -> tuple[Rope, Rope]:
    """Rotary positions of global layers and of local ones."""
    sections, scaling = cfg.mapping("rope_parameters"), dict(cfg.mapping("rope_scaling"))
    thetas = cfg.number("global_rope_theta", default=160000.0), cfg.number("local_rope_theta", default=10000.0)
    full, sliding = (
        rope_section(cfg, {**(sections.get(kind) or {}), **scaling}, d_head, theta=theta)
        for kind, theta in zip(_KINDS, thetas, strict=True)
    )
    return full, sliding


_OURS = _LAYER = "layers.{i}."
_HALVES = ("d_mlp", "d_mlp")  # the activation is applied to the first

TENSORS = {
    "embed.token": stored("embeddings.tok_embeddings.weight", "vocab", "d_model", layout="rows"),
    **norm("embed.norm", "embeddings.norm"),
    **norm(f"{_OURS}attn.norm", f"{_LAYER}attn_norm", skip_first=True),
    **fused_qkv(f"{_LAYER}attn.Wqkv", bias="attn_bias"),
    **linear(f"{_OURS}attn.o", f"{_LAYER}attn.Wo", "d_model", "q", bias="output_bias"),
    **norm(f"{_OURS}mlp.norm", f"{_LAYER}mlp_norm"),
    **linear(f"{_OURS}mlp.gate", f"{_LAYER}mlp.Wi", "d_mlp", "d_model", bias="mlp_bias", split=_HALVES, part=0),
    **linear(f"{_OURS}mlp.up", f"{_LAYER}mlp.Wi", "d_mlp", "d_model", bias="mlp_bias", split=_HALVES, part=1),
    **linear(f"{_OURS}mlp.down", f"{_LAYER}mlp.Wo", "d_model", "d_mlp", bias="mlp_bias"),
    **norm("final_norm", "final_norm"),
}
