"""Attention without the rest of a transformer: random weights, matrices of the user's own, and saved attention."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import numpy as np
import pytest

import attn_cli
from attn_cli.checkpoint import npz, safetensors
from attn_cli.errors import AttnError, CheckpointError, UsageError
from attn_cli.model import draws, plain
from attn_cli.model.given import read_given
from attn_cli.model.load import Shape, load
from tests.helpers import assert_close
from tests.helpers import attn_cli as run

RNG = np.random.default_rng(5)


def definition(x: np.ndarray, w_q: np.ndarray, w_k: np.ndarray) -> np.ndarray:
    """softmax(Q K^T / sqrt(d_k)) of one head, in plain Python."""
    q, k = x @ w_q, x @ w_k
    rows = []
    for i in range(len(x)):
        scores = [float(q[i] @ k[j]) / math.sqrt(q.shape[1]) for j in range(len(x))]
        top = max(scores)
        parts = [math.exp(s - top) for s in scores]
        rows.append([p / sum(parts) for p in parts])
    return np.array(rows)


def matrices(d_model: int = 6, d_head: int = 3, heads: int = 2, kv: int | None = None) -> dict[str, np.ndarray]:
    kv = heads if kv is None else kv
    shapes = {"W_Q": heads, "W_K": kv, "W_V": kv}
    found = {n: RNG.normal(size=(d_model, h * d_head)).astype(np.float32) for n, h in shapes.items()}
    found["W_O"] = RNG.normal(size=(heads * d_head, d_model)).astype(np.float32)
    return found


def test_the_tutorials_formula_by_hand(tmp_path: Path) -> None:
    x = np.array([[1, 0, 1, 0], [0, 2, 0, 1]], np.float32)
    w_q = np.array([[1, 0], [0, 1], [1, 0], [0, 0]], np.float32)
    w_k = np.array([[0, 1], [1, 0], [0, 0], [1, 1]], np.float32)
    # q1 = (2, 0), q2 = (0, 2); k1 = (0, 1), k2 = (3, 1); scores / sqrt(2): (0, 6/1.414), (2/1.414, 2/1.414)
    first = 1 / (1 + math.exp(6 / math.sqrt(2)))
    path = tmp_path / "two.npz"
    np.savez(path, W_Q=w_q, W_K=w_k, W_V=np.eye(4, 2, dtype=np.float32), X=x, tokens=np.array(["thinking", "machines"]))
    done = run("show", "-w", str(path), "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert [t["text"] for t in document["tokens"]] == ["thinking", "machines"]
    assert document["heads"][0]["attn"] == [
        [float(str(np.float32(first))), float(str(np.float32(1 - first)))],
        [0.5, 0.5],
    ]
    assert document["model"]["embeddings"] == "given"


def test_per_head_and_flat_matrices_agree(tmp_path: Path) -> None:
    flat = matrices()
    x = RNG.normal(size=(5, 6)).astype(np.float32)
    per_head = {n: flat[n].reshape(6, 2, 3).swapaxes(0, 1) for n in ("W_Q", "W_K", "W_V")}
    per_head["W_O"] = flat["W_O"].reshape(2, 3, 6)
    npz.save(tmp_path / "flat.npz", {**flat, "X": x}, {})
    npz.save(tmp_path / "heads.npz", {f"blocks.0.attn.{n}": a for n, a in per_head.items()} | {"X": x}, {})
    proj = {f"{p}_proj.weight": flat[f"W_{p.upper()}"].T for p in "qkv"} | {"out_proj.weight": flat["W_O"].T, "X": x}
    safetensors.save(tmp_path / "proj.safetensors", proj, {"n_heads": "2"})
    first = load(tmp_path / "flat.npz", shape=Shape(n_heads=2)).attend("")
    for name in ("heads.npz", "proj.safetensors"):
        assert_close(load(tmp_path / name).attend("").attn, first.attn, 0, name)
    for head in range(2):
        part = slice(3 * head, 3 * head + 3)
        assert_close(first.head(0, head), definition(x, flat["W_Q"][:, part], flat["W_K"][:, part]), 1e-6)


def test_layers_chain_with_the_residual(tmp_path: Path) -> None:
    first, second = matrices(), matrices()
    x = RNG.normal(size=(4, 6)).astype(np.float32)
    named = {f"layers.{i}.{n}": a for i, layer in enumerate((first, second)) for n, a in layer.items()}
    npz.save(tmp_path / "two.npz", {**named, "X": x}, {"n_heads": "2"})
    a = load(tmp_path / "two.npz").attend("")
    z = np.concatenate(
        [
            definition(x, first["W_Q"][:, p], first["W_K"][:, p]) @ (x @ first["W_V"][:, p])
            for p in (slice(0, 3), slice(3, 6))
        ],
        axis=1,
    )
    after = x + z @ first["W_O"]
    assert_close(a.head(1, 0), definition(after, second["W_Q"][:, :3], second["W_K"][:, :3]), 1e-5)


@pytest.mark.parametrize("kv", [1, 2])
def test_grouped_heads_repeat_their_keys(tmp_path: Path, kv: int) -> None:
    w = matrices(heads=4, kv=kv, d_model=12)
    x = RNG.normal(size=(3, 12)).astype(np.float32)
    npz.save(tmp_path / "g.npz", {**w, "X": x}, {"n_heads": "4"})
    a = load(tmp_path / "g.npz").attend("")
    for head in range(4):
        group = head // (4 // kv)
        want = definition(x, w["W_Q"][:, 3 * head : 3 * head + 3], w["W_K"][:, 3 * group : 3 * group + 3])
        assert_close(a.head(0, head), want, 1e-6)


def test_values_may_be_wider_than_keys(tmp_path: Path) -> None:
    w = matrices(heads=1)
    w["W_V"], w["W_O"] = RNG.normal(size=(6, 5)).astype(np.float32), RNG.normal(size=(5, 6)).astype(np.float32)
    x = RNG.normal(size=(3, 6)).astype(np.float32)
    npz.save(tmp_path / "v.npz", {**w, "X": x}, {})
    model = load(tmp_path / "v.npz")
    tokens = model.encode("")
    assert_close(model.attend("").attn, plain.attention(model, tokens), 1e-6)
    trace = next(iter(model.blocks(tokens))).trace(0, 1)
    assert_close(trace.output, (trace.weights @ (x @ w["W_V"])) @ w["W_O"], 1e-5)


def test_causal_and_positions(tmp_path: Path) -> None:
    w = matrices()
    npz.save(
        tmp_path / "w.npz", {**w, "W_pos": RNG.normal(size=(9, 6)), "X": RNG.normal(size=(4, 6))}, {"n_heads": "2"}
    )
    free = load(tmp_path / "w.npz").attend("").attn
    causal = load(tmp_path / "w.npz", shape=Shape(causal=True)).attend("").attn
    assert (np.triu(free[0, 0], 1) > 0).any()
    assert not np.triu(causal, 1).any()
    assert_close(causal.sum(-1), np.ones((1, 2, 4)), 1e-6)


def test_torch_multihead_attention() -> None:
    """A state dict of torch.nn.MultiheadAttention and torch's own weights: made by tests/reference/torch_mha.py."""
    folder = Path(__file__).parents[1] / "reference"
    with np.load(folder / "torch_mha.npz") as reference:
        model = load(folder / "torch_mha.safetensors")
        assert model.spec.n_heads == reference["attn"].shape[0]
        assert_close(model.attend("").attn[0], reference["attn"], 1e-6)
        causal = load(folder / "torch_mha.safetensors", shape=Shape(causal=True))
        assert_close(causal.attend("").attn[0], reference["attn_causal"], 1e-6)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"W_K": None}, "no W_K"),
        ({"W_K": np.ones((6, 5))}, "keys and queries must meet|W_K"),
        ({"W_O": np.ones((5, 6))}, "W_O of layer 0"),
        ({"X": np.ones((3, 7))}, "X has shape 3x7"),
        ({"tokens": np.array(["a"])}, "tokens should be 3 strings"),
        ({"linear1.weight": np.ones((6, 6))}, "no part of bare attention"),
        ({"W_Q": np.ones(6)}, "W_Q has shape 6"),
        ({"b_Q": np.ones(5)}, "b_Q"),
    ],
)
def test_misfits_are_named(tmp_path: Path, change: dict[str, np.ndarray | None], says: str) -> None:
    arrays = {**matrices(), "X": np.ones((3, 6), np.float32), **change}
    npz.save(tmp_path / "w.npz", {n: a for n, a in arrays.items() if a is not None}, {"n_heads": "2"})
    with pytest.raises(CheckpointError, match=says):
        load(tmp_path / "w.npz")


def test_head_counts(tmp_path: Path) -> None:
    npz.save(tmp_path / "w.npz", {**matrices(), "X": np.ones((3, 6))}, {})
    one = load(tmp_path / "w.npz")
    assert one.spec.n_heads == 1
    assert any("--n-heads" in n for n in one.provenance.notes)
    with pytest.raises(UsageError, match="does not divide the 6 columns") as caught:
        load(tmp_path / "w.npz", shape=Shape(n_heads=4))
    assert "1, 2, 3, 6" in caught.value.hint
    fused = {"in_proj_weight": np.ones((18, 6)), "out_proj.weight": np.ones((6, 6)), "X": np.ones((3, 6))}
    npz.save(tmp_path / "f.npz", fused, {})
    with pytest.raises(UsageError, match="how many heads"):
        load(tmp_path / "f.npz")


def test_two_layers_need_an_output_projection(tmp_path: Path) -> None:
    w = {f"layers.{i}.{n}": a for i in range(2) for n, a in matrices().items() if n != "W_O"}
    npz.save(tmp_path / "w.npz", {**w, "X": np.ones((3, 6))}, {})
    with pytest.raises(CheckpointError, match="no W_O"):
        load(tmp_path / "w.npz")


def test_embeddings_are_drawn_where_the_file_has_none(tmp_path: Path) -> None:
    npz.save(tmp_path / "w.npz", matrices(), {"n_heads": "2"})
    done = run("show", "-w", str(tmp_path / "w.npz"), "the cat sat")
    assert done.returncode == 0, done.stderr
    assert b"weights loaded, embeddings random" in done.stdout
    document = json.loads(run("show", "-w", str(tmp_path / "w.npz"), "the cat sat", "--json").stdout)
    assert document["model"]["weights"] == "loaded"
    assert document["model"]["embeddings"] == "random"


def test_the_seed_means_these_numbers_everywhere() -> None:
    assert_close(
        draws.normal(0, 0, 0, 4),
        np.array([1.5899949439435108, 0.6293272985020674, -0.8682190107127253, -1.4118899269518497]),
        1e-15,
    )
    assert_close(draws.normal(0, 0, 2, 2), draws.normal(0, 0, 0, 4)[2:], 0)
    many = draws.normal(3, 1, 0, 200_000)
    assert abs(many.mean()) < 0.01
    assert abs(many.std() - 1) < 0.01
    assert_close(draws.vectors(0, [7, 2], 3)[1], draws.vectors(0, [2], 3)[0], 0)


@pytest.mark.parametrize("suffix", [".npz", ".safetensors"])
@pytest.mark.parametrize("options", [(), ("--n-layers", "2", "--positions", "rotary", "--causal", "--seed", "9")])
def test_save_then_show_is_the_same_bit_for_bit(tmp_path: Path, suffix: str, options: tuple[str, ...]) -> None:
    file = tmp_path / f"r{suffix}"
    assert run("save", "--random", *options, "-o", str(file)).returncode == 0
    saved, direct = (
        json.loads(run("show", "the cat sat on it", "--json", *o).stdout)
        for o in (("-w", str(file)), ("--random", *options))
    )
    assert saved["heads"] == direct["heads"]
    assert saved["model"]["weights"] == "random"
    assert saved["model"]["seed"] == direct["model"]["seed"]
    again = tmp_path / f"again{suffix}"
    assert run("save", "-w", str(file), "-o", str(again)).returncode == 0
    assert again.read_bytes() == file.read_bytes()


def test_random_shapes_that_cannot_be() -> None:
    for options, says in (
        (("--d-model", "10"), "--n-heads 4 does not divide --d-model 10"),
        (("--d-model", "12", "--positions", "rotary"), "even head size"),
        (("--n-layers", "0"), "out of range"),
        (("--seed", "-1"), "out of range"),
    ):
        done = run("show", "x", "--random", *options)
        assert done.returncode == 2, options
        assert says.encode() in done.stderr


def test_given_attention(tmp_path: Path) -> None:
    attn = np.array([[[0.25, 0.75], [1.0, 0.5]]])
    np.savez(tmp_path / "a.npz", attn=attn, tokens=np.array(["a", "b"]))
    given = read_given(tmp_path / "a.npz")
    assert any("1 of 2 rows do not sum to one" in n for n in given.provenance.notes)
    document = json.loads(run("show", "--attn", str(tmp_path / "a.npz"), "--json").stdout)
    assert document["heads"][0]["attn"] == attn[0].tolist()
    assert document["model"]["weights"] == "given"


def test_given_attention_from_our_own_json(tmp_path: Path) -> None:
    first = run("show", "the cat sat", "--n-layers", "2", "--json", "-o", str(tmp_path / "a.json"))
    assert first.returncode == 0, first.stderr
    original = json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))
    again = json.loads(run("show", "--attn", str(tmp_path / "a.json"), "--json").stdout)
    assert [h["attn"] for h in again["heads"]] == [h["attn"] for h in original["heads"]]
    assert [t["text"] for t in again["tokens"]] == [t["text"] for t in original["tokens"]]


@pytest.mark.parametrize("suffix", ["npz", "json"])
@pytest.mark.parametrize(
    ("saved", "chosen", "header", "shown", "heads"),
    [
        (("-l", "2"), (), "layer 2 · 9 heads", "the most focused 4 of 9 heads of layer 2; others: -l 2 -H all", 4),
        (("-l", "2"), ("-l", "2", "-H", "all"), "layer 2 · 9 heads", "all 9 heads", 9),
        (("-l", "2"), ("-H", "3"), "layer 2 · 9 heads", "1 of 9 heads of layer 2; others: -l 2 -H all", 1),
        (("-H", "0.3,2.1"), ("-H", "1"), "layers 0,2 · 2 heads", "layer 2, its only head; others: -l 0,2 -H all", 1),
        (("-H", "1.3"), (), "layer 1 · 1 head", "", 1),
        (
            ("-l", "all"),
            (),
            "3 layers \u00d7 9 heads",
            "the most focused 4 of 9 heads of layer 2; others: -l 0-2 -H all",
            4,
        ),
    ],
)
def test_a_file_of_some_heads_says_which(
    tmp_path: Path, suffix: str, saved: tuple[str, ...], chosen: tuple[str, ...], header: str, shown: str, heads: int
) -> None:
    file = str(tmp_path / f"a.{suffix}")
    shape = ("--n-layers", "3", "--n-heads", "9", "--d-model", "18")
    assert run("show", "the cat", *shape, *saved, "-o", file).returncode == 0
    text = run("show", "--attn", file, *chosen, env={"COLUMNS": "200"}).stdout.decode()
    first, second = text.splitlines()[:2]
    assert first.endswith(f"given attention · {header}  weights given")
    assert second == shown
    assert len(re.findall(r"L\d\.H\d", text)) == heads


def test_rollout_needs_the_layers_below(tmp_path: Path) -> None:
    file = str(tmp_path / "a.npz")
    assert run("show", "the cat", "--n-layers", "2", "-l", "1", "-o", file).returncode == 0
    done = run("show", "--attn", file, "--measure", "rollout")
    assert done.returncode == 5
    assert b"holds no head L0.H0\nhint: --measure rollout and flow need every head from layer 0 on" in done.stderr


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"{}", "not a document"),
        (b"[1", "not JSON"),
        (b"\xff\xfe", "not JSON"),
        (b'{"tokens": [], "heads": []}', "no whole matrices"),
    ],
)
def test_damaged_json(tmp_path: Path, content: bytes, says: str) -> None:
    (tmp_path / "a.json").write_bytes(content)
    with pytest.raises(AttnError, match=says):
        read_given(tmp_path / "a.json")


@pytest.mark.parametrize("shape", [(3,), (2, 3), (1, 1, 1, 2, 2), (0, 0)])
def test_given_arrays_must_be_square(tmp_path: Path, shape: tuple[int, ...]) -> None:
    np.savez(tmp_path / "a.npz", attn=np.ones(shape))
    with pytest.raises(CheckpointError, match="has shape"):
        read_given(tmp_path / "a.npz")


def test_random_model_from_python() -> None:
    a = attn_cli.random_model(n_layers=2, n_heads=2, d_model=8, causal=True).attend("one two three")
    assert a.attn.shape == (2, 2, 3, 3)
    assert not np.triu(a.attn, 1).any()


def test_bare_weights_are_theirs_whatever_config_lies_beside_them(tmp_path: Path) -> None:
    import shutil

    from tests.helpers import GOLDEN

    shutil.copy(GOLDEN / "bert" / "config.json", tmp_path)
    npz.save(tmp_path / "w.npz", {**matrices(), "X": np.ones((3, 6))}, {"n_heads": "2"})
    assert load(tmp_path / "w.npz").spec.family == "attention only"


@pytest.mark.parametrize("dtype", ["int32", "bool", "float16", "complex64"])
def test_only_single_and_double_precision_are_computed(dtype: str) -> None:
    with pytest.raises(ValueError, match="float32 or float64"):
        attn_cli.random_model(dtype=dtype)


def test_random_weights_beyond_any_memory_are_refused() -> None:
    done = run("show", "x", "--d-model", "65536")
    assert done.returncode == 2
    assert b"128 GiB" in done.stderr


def test_infinite_weights_are_named_without_a_warning(tmp_path: Path) -> None:
    npz.save(tmp_path / "w.npz", {**matrices(), "W_Q": np.full((6, 6), 1e308), "X": np.ones((3, 6))}, {"n_heads": "2"})
    done = run("show", "-w", str(tmp_path / "w.npz"))
    assert done.returncode == 3
    assert b"do not sum to one" in done.stderr
    assert b"Warning" not in done.stderr
