"""What headers tell: arrays and their parts counted once, names folded without claiming what is not there."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

import attn_cli
from attn_cli.model.inside import arrays, fold, look
from tests.golden.test_parity import CASES
from tests.helpers import GOLDEN


@pytest.mark.parametrize(
    ("names", "folded"),
    [
        (["l.0.q", "l.1.q", "l.2.q"], ["l.[0-2].q"]),
        (["l.0.q", "l.2.q", "l.3.q", "l.10.q"], ["l.[0,2-3,10].q"]),
        (["l.0.e.0.w", "l.0.e.1.w", "l.1.e.0.w", "l.1.e.1.w"], ["l.[0-1].e.[0-1].w"]),
        (["l.0.e.0.w", "l.0.e.1.w", "l.1.e.0.w"], ["l.0.e.0.w", "l.0.e.1.w", "l.1.e.0.w"]),
        (["l.0.e.0.w", "l.1.e.0.w"], ["l.[0-1].e.0.w"]),
        (["a.w1", "a.w2", "x.5"], ["a.w1", "a.w2", "x.5"]),
        (["l.007.q", "l.7.q"], ["l.007.q", "l.7.q"]),
        (["l.0.q", "l.0.k", "l.1.q"], ["l.[0-1].q", "l.0.k"]),
        ([], []),
    ],
)
def test_fold(names: list[str], folded: list[str]) -> None:
    found = fold(names)
    assert [spelled for spelled, _ in found] == folded
    assert sorted(i for _, members in found for i in members) == list(range(len(names)))


@pytest.mark.parametrize("case", CASES)
def test_every_parameter_is_counted_once(case: str) -> None:
    inside = look(GOLDEN / case, case)
    assert inside.error is None
    held = arrays(inside)
    assert sum(a.parameters for a in held) == inside.parameters
    assert abs(sum(a.nbytes for a in held) - inside.nbytes) <= len(held)
    assert {t for a in held for t in a.tensors} == set(inside.checkpoint.tensors)


@pytest.mark.parametrize("case", ["gpt2", "falcon", "bloom", "gpt_neox", "mixtral", "gpt_oss", "t5", "albert"])
def test_shapes_are_those_of_the_arrays_in_use(case: str) -> None:
    weights = attn_cli.load(GOLDEN / case).weights
    for array in arrays(look(GOLDEN / case, case)):
        if array.name is not None and ".experts." not in array.name:
            assert array.shape == weights.read(array.name).shape, array.name


def test_parts_of_fused_tensors() -> None:
    held = {a.name: a for a in arrays(look(GOLDEN / "gpt2", "gpt2"))}
    key = held["layers.0.attn.k.weight"]
    assert key.tensors == ("transformer.h.0.attn.c_attn.weight",)
    assert key.layout == "in_out, 32-63 of 96"
    assert (key.part, key.parameters) == ("attention", math.prod(key.shape))


def test_a_config_that_is_not_ours_leaves_the_tensors(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "mystery"}')
    (tmp_path / "model.safetensors").write_bytes((GOLDEN / "bert" / "model.safetensors").read_bytes())
    inside = look(tmp_path, "x")
    assert inside.spec is None
    assert inside.model_type == "mystery"
    assert "mystery" in str(inside.error)
    assert {a.part for a in arrays(inside)} == {"unused"}
