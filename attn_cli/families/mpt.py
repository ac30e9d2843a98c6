"""MPT: ALiBi, and no bias in any matrix or norm."""

from __future__ import annotations

from attn_cli.config import ConfigReader
from attn_cli.families._parts import fused_qkv, linear, norm
from attn_cli.spec import Alibi, ModelSpec, stored

SOURCES = (
    "MosaicML 2023, Introducing MPT-7B",
    "Press et al. 2021 (ALiBi), arXiv 2108.12409",
    "Hugging Face transformers, models/mpt",
)
PREFIXES = ("transformer.", "")
IGNORED = ()


def spec(cfg: ConfigReader) -> ModelSpec:
    """The spec of an MPT config; defaults are those of MptConfig."""
    d_model, n_heads = (
        cfg.size("d_model", "hidden_size", default=2048),
        cfg.size("n_heads", "num_attention_heads", default=16),
    )
    cfg.ignore("expansion_ratio")  # the reference always makes it 4, and tensors of another size are refused
    cfg.only("no_bias", True)
    cfg.only("embedding_fraction", 1)
    cfg.only("norm_type", "low_precision_layernorm", "layernorm")
    cfg.only("logit_scale")
    cfg.ignore(
        "learned_pos_emb", "init_device", "init_config", "tokenizer_name", "verbose"
    )  # no position table with ALiBi
    attn = ConfigReader(cfg.mapping("attn_config"), where=f"{cfg.where}, attn_config")
    attn.only("attn_type", "multihead_attention")
    attn.only("alibi", True)
    for name in ("prefix_lm", "qk_ln", "attn_uses_sequence_id"):
        attn.only(name, False)
    attn.ignore("attn_impl")
    scale, clip = attn.optional_positive("softmax_scale"), attn.optional_positive("clip_qkv")
    steepest = attn.positive("alibi_bias_max", default=8)
    attn.finish()
    note = f"alibi_bias_max {steepest:g} as MPT's own code has it; transformers 5.24 computes with 8 whatever it says"
    return ModelSpec(
        family="mpt",
        causal=True,
        n_layers=cfg.size("n_layers", "num_hidden_layers", default=24),
        n_heads=n_heads,
        n_kv_heads=n_heads,
        d_model=d_model,
        d_head=cfg.divided("d_model", d_model, "n_heads", n_heads),
        d_mlp=4 * d_model,
        n_ctx=cfg.size("max_seq_len", default=2048),
        n_ctx_hard=False,
        vocab_size=cfg.size("vocab_size", default=50368),
        placement="pre",
        norm_eps=cfg.number("layer_norm_epsilon", default=1e-5),
        norm_bias=False,
        final_norm=True,
        positions="alibi",
        alibi=Alibi(max_bias=steepest),
        notes=(note,) if steepest != 8 else (),
        scale=scale,
        qkv_clip=clip,
        attn_bias=False,
        output_bias=False,
        mlp_bias=False,
        tied_output=cfg.flag("tie_word_embeddings", default=True),
        logits=True,
    )


_LAYER = "blocks.{i}."
TENSORS = {
    "embed.token": stored("wte.weight", "vocab", "d_model", layout="rows"),
    **norm("layers.{i}.attn.norm", f"{_LAYER}norm_1"),
    **fused_qkv(f"{_LAYER}attn.Wqkv"),
    **linear("layers.{i}.attn.o", f"{_LAYER}attn.out_proj", "d_model", "q"),
    **norm("layers.{i}.mlp.norm", f"{_LAYER}norm_2"),
    **linear("layers.{i}.mlp.up", f"{_LAYER}ffn.up_proj", "d_mlp", "d_model"),
    **linear("layers.{i}.mlp.down", f"{_LAYER}ffn.down_proj", "d_model", "d_mlp"),
    **norm("final_norm", "norm_f"),
    "head.weight": stored("/lm_head.weight", "vocab", "d_model", optional=True),
}
