"""Model types whose configs and tensors are those of another family: one row each."""

ALIASES: dict[str, str] = {
    "camembert": "roberta",
    "deberta-v2": "deberta_v2",
    "xlm-roberta": "roberta",
}
