"""Model types that are refused by name, and why; and what a multimodal model's text part is where its config does not say."""

_NO_ATTENTION = "some of its layers have no attention"
_LATENT = "its keys and values are stored as one latent vector (multi-head latent attention)"
_PREFIX = "its text attends both ways over a prefix"

REFUSED: dict[str, str] = {
    **dict.fromkeys(
        """
        bailing_hybrid bamba falcon_h1 falcon_mamba fnet granitemoehybrid hymba jamba kimi_linear lfm2 lfm2_moe lfm2_vl lfm3
        mamba mamba2 minimax nemotron_h olmo_hybrid plamo2 qwen3_5 qwen3_5_moe qwen3_next recurrent_gemma rwkv xlstm zamba
        zamba2
        """.split(),
        _NO_ATTENTION,
    ),
    **dict.fromkeys(
        """
        axk1 axk2 deepseek_v2 deepseek_v3 deepseek_v32 deepseek_v4 deepseek_vl_v2 glm4_moe_lite kimi_k2 kimi_k25 longcat_flash
        minicpm3 mistral4 sarvam_mla youtu
        """.split(),
        _LATENT,
    ),
    "paligemma": _PREFIX,
    "mllama": "some of its layers attend to images alone",
}

TEXT_PARTS: dict[str, str] = {
    "aya_vision": "cohere2",
    "gemma3": "gemma3_text",
    "internvl": "qwen2",
    "llava": "llama",
    "llava_next": "llama",
    "llava_onevision": "qwen2",
    "mistral3": "mistral",
    "video_llava": "llama",
    "vipllava": "llama",
}
"""The model_type of the text part, where text_config has none."""

INSIDE = ("language_model.", "model.language_model.", "model.text_model.", "text_model.")
"""What may stand before the text part's tensors."""
