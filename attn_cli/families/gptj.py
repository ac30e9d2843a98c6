"""GPT-J: one norm feeds attention and MLP side by side; the first components of each head turn in neighbouring pairs."""

from __future__ import annotations

from attn_cli.config import ConfigReader
from attn_cli.families._parts import linear, norm
from attn_cli.spec import ModelSpec, Rope, stored

SOURCES = (
    "Wang and Komatsuzaki 2021, GPT-J-6B, github.com/kingoflolz/mesh-transformer-jax",
    "Hugging Face transformers, models/gptj",
)
PREFIXES = ("transformer.", "")
IGNORED = ("h.*.attn.bias", "h.*.attn.masked_bias", "h.*.attn.embed_positions")  # buffers of early files


def spec(cfg: ConfigReader) -> ModelSpec:
    """The spec of a GPT-J config; defaults are those of GPTJConfig."""
    d_model, n_heads = (
        cfg.size("n_embd", "hidden_size", default=4096),
        cfg.size("n_head", "num_attention_heads", default=16),
    )
    d_head = cfg.divided("n_embd", d_model, "n_head", n_heads)
    dims = cfg.size("rotary_dim", default=64)
    if dims % 2 or dims > d_head:
        cfg.refuse("rotary_dim", dims, f"an even number up to the {d_head} components of a head")
    cfg.only("rotary", True)
    cfg.only("scale_attn_weights", True)
    return ModelSpec(
        family="gptj",
        causal=True,
        n_layers=cfg.size("n_layer", "num_hidden_layers", default=28),
        n_heads=n_heads,
        n_kv_heads=n_heads,
        d_model=d_model,
        d_head=d_head,
        d_mlp=cfg.size("n_inner", default=4 * d_model),
        n_ctx=cfg.size("n_positions", "max_position_embeddings", default=2048),
        vocab_size=cfg.size("vocab_size", default=50400),
        placement="parallel",
        norm_eps=cfg.number("layer_norm_epsilon", default=1e-5),
        mlp_norm=False,
        final_norm=True,
        positions="rotary",
        rope=Rope(dims=dims, pairs="interleaved"),
        activation=cfg.activation("activation_function", default="gelu_new"),
        attn_bias=False,
        output_bias=False,
        tied_output=cfg.flag("tie_word_embeddings", default=False),
        head_bias=True,
        logits=True,
    )


_LAYER = "h.{i}."
TENSORS = {
    "embed.token": stored("wte.weight", "vocab", "d_model", layout="rows"),
    **norm("layers.{i}.attn.norm", f"{_LAYER}ln_1"),
    **linear("layers.{i}.attn.q", f"{_LAYER}attn.q_proj", "q", "d_model"),
    **linear("layers.{i}.attn.k", f"{_LAYER}attn.k_proj", "kv", "d_model"),
    **linear("layers.{i}.attn.v", f"{_LAYER}attn.v_proj", "kv", "d_model"),
    **linear("layers.{i}.attn.o", f"{_LAYER}attn.out_proj", "d_model", "q"),
    **linear("layers.{i}.mlp.up", f"{_LAYER}mlp.fc_in", "d_mlp", "d_model", bias="always"),
    **linear("layers.{i}.mlp.down", f"{_LAYER}mlp.fc_out", "d_model", "d_mlp", bias="always"),
    **norm("final_norm", "ln_f"),
    **linear("head", "/lm_head", "vocab", "d_model", bias="always", optional=True),
}
