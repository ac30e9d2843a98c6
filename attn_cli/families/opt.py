"""OPT: learned positions after two rows of no use; the 350m version is post-norm, with smaller token vectors."""

from __future__ import annotations

from attn_cli.config import ConfigReader
from attn_cli.families._parts import linear, norm
from attn_cli.spec import ModelSpec, stored

SOURCES = ("Zhang et al. 2022, arXiv 2205.01068, section 2", "Hugging Face transformers, models/opt")
PREFIXES = ("model.decoder.", "decoder.", "")
IGNORED = ()


def spec(cfg: ConfigReader) -> ModelSpec:
    """The spec of an OPT config; defaults are those of OPTConfig."""
    d_model, n_heads = cfg.size("hidden_size", default=768), cfg.size("num_attention_heads", default=12)
    d_embed = cfg.size("word_embed_proj_dim", default=d_model)
    pre, biased = cfg.flag("do_layer_norm_before", default=True), cfg.flag("enable_bias", default=True)
    normed = cfg.flag("layer_norm_elementwise_affine", default=True)
    return ModelSpec(
        family="opt",
        causal=True,
        n_layers=cfg.size("num_hidden_layers", default=12),
        n_heads=n_heads,
        n_kv_heads=n_heads,
        d_model=d_model,
        d_head=cfg.divided("hidden_size", d_model, "num_attention_heads", n_heads),
        d_mlp=cfg.size("ffn_dim", default=3072),
        n_ctx=cfg.size("max_position_embeddings", default=2048),
        vocab_size=cfg.size("vocab_size", default=50272),
        placement="pre" if pre else "post",
        norm_weight=normed,
        norm_bias=normed,
        embed_project="tokens" if d_embed != d_model else "",
        d_embed=d_embed,
        final_norm=pre and not cfg.flag("_remove_final_layer_norm", default=False),
        positions="learned",
        position_offset=2,
        activation=cfg.activation("activation_function", default="relu"),
        attn_bias=biased,
        output_bias=biased,
        mlp_bias=biased,
        tied_output=cfg.flag("tie_word_embeddings", default=True),
        logits=True,
    )


_LAYER, _ATTN = "layers.{i}.", "layers.{i}.self_attn."
TENSORS = {
    "embed.token": stored("embed_tokens.weight", "vocab", "d_embed", layout="rows"),
    "embed.project.weight": stored("project_in.weight", "d_model", "d_embed", when="embed_project"),
    "embed.position": stored("embed_positions.weight", "positions", "d_model", layout="rows"),
    **linear("layers.{i}.attn.q", f"{_ATTN}q_proj", "q", "d_model", bias="attn_bias"),
    **linear("layers.{i}.attn.k", f"{_ATTN}k_proj", "kv", "d_model", bias="attn_bias"),
    **linear("layers.{i}.attn.v", f"{_ATTN}v_proj", "kv", "d_model", bias="attn_bias"),
    **linear("layers.{i}.attn.o", f"{_ATTN}out_proj", "d_model", "q", bias="output_bias"),
    **norm("layers.{i}.attn.norm", f"{_LAYER}self_attn_layer_norm"),
    **linear("layers.{i}.mlp.up", f"{_LAYER}fc1", "d_mlp", "d_model", bias="mlp_bias"),
    **linear("layers.{i}.mlp.down", f"{_LAYER}fc2", "d_model", "d_mlp", bias="mlp_bias"),
    **norm("layers.{i}.mlp.norm", f"{_LAYER}final_layer_norm"),
    **norm("final_norm", "final_layer_norm", when="final_norm"),
    "head.project.weight": stored("project_out.weight", "d_embed", "d_model", when="embed_project"),
    "head.weight": stored("/lm_head.weight", "vocab", "d_embed", optional=True),
}
