"""Every family against an independent implementation: tiny checkpoints with arrays from PyTorch and transformers."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import attn_cli
from attn_cli.model import Model
from tests.helpers import Perturbed, assert_close

HERE = Path(__file__).parent
CASES = sorted(p.parent.name for p in HERE.glob("*/reference.json"))
IDS = ("input_ids", "token_type_ids", "decoder_input_ids")
KEEP = ("q", "k", "v", "hidden_states", "logits", "last_block_output")


def results(model: Model, case: str) -> dict[str, np.ndarray]:
    """All that the reference has, from our side."""
    meta = json.loads((HERE / case / "reference.json").read_text(encoding="utf-8"))
    if meta["kind"] == "encoder-decoder":
        a = model.attend(meta["text"], target=meta["text_pair"], keep=KEEP)
        kinds = {f"{kind}_attention": a[kind] for kind in ("encoder", "decoder", "cross")}
        return {**kinds, "input_ids": a.tokens.ids, "decoder_input_ids": a.target_tokens.ids, **a.kept}
    a = model.attend(meta["text"], pair=meta["text_pair"], keep=KEEP)
    return {"attention": a.attn, "input_ids": a.tokens.ids, "token_type_ids": a.tokens.segments, **a.kept}


def compare(model: Model, case: str) -> None:
    """Fails unless every array of the reference agrees: attention within 1e-4, others within 1e-4 of their largest value."""
    found = results(model, case)
    with np.load(HERE / case / "reference.npz") as reference:
        for name in reference.files:
            want = reference[name]
            if name in IDS:
                assert list(found[name]) == want.tolist(), name
            else:
                scale = 1.0 if name.endswith("attention") else max(1.0, float(np.abs(want).max()))
                assert_close(found[name], want, 1e-4 * scale, f"{case} {name}")


CANCELLED = ("attention.self.pos_key_proj.bias",)  # DeBERTa's: adds the same to all keys of a row, which softmax undoes


def bound_tensors() -> list[tuple[str, str]]:
    """Every tensor that each case's model binds."""
    pairs = []
    for case in CASES:
        weights = attn_cli.load(HERE / case).weights
        bound = sorted({b.tensor for b in weights.bound.values()})
        pairs += [(case, tensor) for tensor in bound if not tensor.endswith(CANCELLED)]
    return pairs


@pytest.mark.parametrize("case", CASES)
def test_agrees_with_the_reference(case: str) -> None:
    compare(attn_cli.load(HERE / case), case)


@pytest.mark.parametrize(("case", "tensor"), bound_tensors())
def test_noise_in_any_tensor_is_noticed(case: str, tensor: str) -> None:
    model = attn_cli.load(HERE / case)
    model.weights.checkpoint = Perturbed(model.weights.checkpoint, tensor)  # type: ignore[assignment]
    with pytest.raises(AssertionError, match="off by"):
        compare(model, case)


def test_the_comparison_can_fail() -> None:
    with pytest.raises(AssertionError, match="off by"):
        assert_close(np.zeros(3), np.array([0, 0, 2e-4]), 1e-4)
    with pytest.raises(AssertionError, match="shape"):
        assert_close(np.zeros(3), np.zeros(4), 1e-4)
    with pytest.raises(AssertionError, match="off by"):
        assert_close(np.array([np.nan]), np.zeros(1), 1e-4)


def test_float64_leaves_only_the_rounding_of_the_reference() -> None:
    single, double = (attn_cli.load(HERE / "bert", dtype=d).attend("Only two of").attn for d in ("float32", "float64"))
    assert double.dtype == np.float64
    assert_close(single, double, 2e-6)
