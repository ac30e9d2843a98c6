"""Model types whose configs and tensors are those of another family: one row each."""

ALIASES: dict[str, str] = {
    "camembert": "roberta",
    "data2vec-text": "roberta",
    "deberta-v2": "deberta_v2",
    "megatron-bert": "megatron_bert",
    "roberta-prelayernorm": "roberta_prelayernorm",
    "xlm-roberta-xl": "xlm_roberta_xl",
    "openai-gpt": "openai_gpt",
    "xlm-roberta": "roberta",
}
