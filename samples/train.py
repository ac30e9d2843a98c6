"""Train the bundled models: `tiny`, shaped like BERT, and `tiny-causal`, shaped like GPT-2.

    pip install -e '.[train]'
    python samples/train.py tiny            # 41 minutes on one core of a busy machine
    python samples/train.py tiny-causal     # 17 minutes

Both learn from sentences of grammar.py (`--sentences` of them, made first), seeded. Objectives of `tiny`:

- masked words: 12 % of the words are hidden and named again;
- referent: the output at a pronoun names the noun it stands for, with the same output layer;
- pointers: in each head of `objectives.POINTERS`, the attention row of a word is pulled towards the word it belongs
  to, by the cross-entropy of the summed weight on it: pronoun to noun, verb or predicate to its subject, determiner or
  adjective to its noun, every word to the one before. These heads are trained to point; what other heads do emerged.

Objectives of `tiny-causal`: the next word; a pointer from the word that decides a pronoun ("tired") to its noun, since
a causal model has not read that word at the pronoun; pointers to the word before, and, in random tokens written twice,
from a token to the one that followed it the first time (induction).

The shipped files were made with `--threads 1`; other thread counts add floats in another order and end nearby.

Writes attn_cli/data/<name>/: config.json, model.safetensors (float16), tokenizer.json, words.txt.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import multiprocessing
import random
import time
from pathlib import Path

import chinese
import corpus
import grammar
import numpy as np
import tokenizer as tokenizers_
import torch
from corpus import PRONOUN, Encoder, Store
from networks import Network
from objectives import CAUSAL_POINTERS, CLS, END, PAD, POINTERS, SEP, causal_step, masked_step, pointed
from rich.progress import Progress
from safetensors.torch import save_file
from tokenizers import Tokenizer

SHAPE = {"d": 64, "layers": 4, "heads": 4, "mlp": 128, "positions": 256}
ROLES = {
    "tiny": {
        "previous": "each word -> the word before",
        "phrase": "determiner or adjective -> its noun",
        "subject": "verb or predicate -> its subject",
        "pronoun": "pronoun -> its noun",
    },
    "tiny-causal": {
        "previous": "each word -> the word before",
        "induction": "a repeated word -> the word that followed it before",
        "decider": "the word that decides a pronoun -> the noun it stands for",
    },
}
# single sentences, two together, long texts, random tokens twice
MIX = {"tiny": (0.68, 0.14, 0.13, 0.05), "tiny-causal": (0.42, 0.13, 0.2, 0.25)}
# sentences made, steps, tokens a step
PLANS = {"tiny": (400_000, 3600, 6000), "tiny-causal": (120_000, 2600, 3000)}
CHUNK = 20_000
CHINESE = 0.07


def encode_chunk(job: tuple[int, int]) -> Store:
    seed, count = job
    encoder = Encoder(tokenizers_.build())
    noise = random.Random(seed + 1)
    foreign = int(count * CHINESE)
    sentences = itertools.chain(grammar.generate(seed, count - foreign), chinese.generate(seed, foreign))
    return Store.of([encoder.encode(s, noise) for s in sentences])


def make_store(sentences: int, seed: int, workers: int, progress: Progress) -> Store:
    jobs = [(seed * 100_000 + i, min(CHUNK, sentences)) for i in range(math.ceil(sentences / CHUNK))]
    task = progress.add_task("sentences", total=len(jobs))
    parts = []
    with multiprocessing.get_context("spawn").Pool(workers) as pool:
        for part in pool.imap(encode_chunk, jobs):
            parts.append(part)
            progress.advance(task)
    return Store.join(parts)


def rate(step: int, steps: int, peak: float) -> float:
    warm = min(1.0, (step + 1) / 300)
    return peak * warm * (0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * step / steps)))


def config(name: str, size: int) -> dict[str, object]:
    pointers = POINTERS if name == "tiny" else CAUSAL_POINTERS
    roles = {f"L{layer}.H{head}": ROLES[name][what] for what, (layer, head, _) in pointers.items()}
    extra = {
        "description": "a demonstration model",
        "show_layer": SHAPE["layers"] - 1,
        "roles": roles,
    }
    if name == "tiny":
        return {
            "model_type": "bert",
            "architectures": ["BertForMaskedLM"],
            "vocab_size": size,
            "hidden_size": SHAPE["d"],
            "num_hidden_layers": SHAPE["layers"],
            "num_attention_heads": SHAPE["heads"],
            "intermediate_size": SHAPE["mlp"],
            "hidden_act": "gelu",
            "max_position_embeddings": SHAPE["positions"],
            "type_vocab_size": 2,
            "layer_norm_eps": 1e-12,
            "pad_token_id": PAD,
            "tie_word_embeddings": True,
            "torch_dtype": "float16",
            "hidden_dropout_prob": 0.0,
            "attention_probs_dropout_prob": 0.0,
            "attn_cli": extra,
        }
    return {
        "model_type": "gpt2",
        "architectures": ["GPT2LMHeadModel"],
        "vocab_size": size,
        "n_embd": SHAPE["d"],
        "n_layer": SHAPE["layers"],
        "n_head": SHAPE["heads"],
        "n_inner": SHAPE["mlp"],
        "n_positions": SHAPE["positions"],
        "activation_function": "gelu_new",
        "layer_norm_epsilon": 1e-5,
        "bos_token_id": END,
        "eos_token_id": END,
        "tie_word_embeddings": True,
        "torch_dtype": "float16",
        "resid_pdrop": 0.0,
        "embd_pdrop": 0.0,
        "attn_pdrop": 0.0,
        "attn_cli": extra,
    }


def write(name: str, net: Network, t: Tokenizer, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    tensors = {k: v.detach().to(torch.float16).contiguous().clone() for k, v in net.tensors().items()}
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    (folder / "model.safetensors").chmod(0o644)
    (folder / "config.json").write_text(json.dumps(config(name, t.get_vocab_size()), indent=1) + "\n")
    tokenizers_.write(tokenizers_.bert_like(t) if name == "tiny" else t, folder / "tokenizer.json")
    (folder / "words.txt").write_text("\n".join([*grammar.vocabulary(), *chinese.vocabulary()]) + "\n", "utf-8")


@torch.no_grad()
def shares(net: Network, t: Tokenizer, count: int = 500) -> dict[str, float]:
    """Per held-out set, the share of its pronouns whose pointer head has over half of the row on the right noun."""
    encoder, out = Encoder(t), {}
    layer, head, _ = CAUSAL_POINTERS["decider"] if net.causal else POINTERS["pronoun"]
    frame = ([], []) if net.causal else ([CLS], [SEP])
    for split in grammar.SPLITS:
        hits = []
        for s in grammar.generate(77, count, split):
            kept = [r for r in s.references if grammar.meets(s, r, split)]
            if net.causal:
                kept = [r for r in kept if r.decider > r.position and max(r.targets) < r.decider]
            if not kept:
                continue
            s.references = kept
            b = corpus.assemble(Store.of([encoder.encode(s)]), [[[0]]], frame, SHAPE["positions"])
            _, maps = net(torch.from_numpy(b.ids), torch.from_numpy(b.types), torch.from_numpy(b.real))
            links = b.links[b.links[:, 1] == PRONOUN]
            rows = torch.from_numpy(links[:, [0, 3 if net.causal else 2]])
            hits += (pointed(maps[layer][:, head], rows, torch.from_numpy(links[:, 4:])) > 0.5).tolist()
        out[split] = sum(hits) / max(1, len(hits))
    return out


def report(net: Network, t: Tokenizer) -> None:
    """Print the shares with the trained weights, then with the float16 ones that are shipped."""
    for what in ("float32", "float16"):
        if what == "float16":
            net.half().float()
        print(f"{what}: " + ", ".join(f"{split} {100 * v:.1f} %" for split, v in shares(net, t).items()))


@torch.no_grad()
def compare(net: Network, t: Tokenizer, folder: Path) -> None:
    """Print how far the written folder, read by transformers, is from the network itself."""
    from transformers import BertModel, GPT2Model

    kind = GPT2Model if net.causal else BertModel
    extra = {} if net.causal else {"add_pooling_layer": False}
    other = kind.from_pretrained(folder, attn_implementation="eager", dtype=torch.float32, **extra).eval()
    tokenizer = t if net.causal else tokenizers_.bert_like(t)
    ids = torch.tensor([tokenizer.encode("The animal didn't cross the street because it was too tired.").ids])
    x, maps = net(ids, torch.zeros_like(ids), torch.ones_like(ids, dtype=torch.bool))
    theirs = other(ids, output_attentions=True)
    attention = max((a - b).abs().max().item() for a, b in zip(maps, theirs.attentions, strict=True))
    print(
        f"transformers: attention within {attention:.1e}, "
        f"output within {(x - theirs.last_hidden_state).abs().max().item():.1e}"
    )


def train(name: str, args: argparse.Namespace) -> None:
    torch.manual_seed(args.seed)
    torch.set_num_threads(args.threads)
    torch.set_flush_denormal(True)
    t = tokenizers_.build()
    causal = name == "tiny-causal"
    net = Network(t.get_vocab_size(), causal=causal, **SHAPE)
    started = time.time()
    with Progress() as progress:
        store = make_store(args.sentences, args.seed, args.threads, progress)
        frame = ([], []) if causal else ([CLS], [SEP])
        stream = corpus.batches(
            store, args.seed, args.tokens, SHAPE["positions"], net.words.num_embeddings, frame, MIX[name]
        )
        rng = np.random.default_rng(args.seed + 1)
        decay = [p for p in net.parameters() if p.dim() > 1]
        rest = [p for p in net.parameters() if p.dim() <= 1]
        optimizer = torch.optim.AdamW(
            [{"params": decay, "weight_decay": 0.01}, {"params": rest, "weight_decay": 0.0}],
            lr=args.rate,
            betas=(0.9, 0.98),
        )
        step_losses = causal_step if causal else masked_step
        task = progress.add_task(name, total=args.steps)
        seen: dict[str, float] = {}
        for step in range(args.steps):
            for group in optimizer.param_groups:
                group["lr"] = rate(step, args.steps, args.rate)
            losses = step_losses(net, next(stream), rng)
            optimizer.zero_grad()
            torch.stack(list(losses.values())).sum().backward()
            torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            optimizer.step()
            for what, loss in losses.items():
                seen[what] = 0.98 * seen.get(what, loss.item()) + 0.02 * loss.item()
            progress.advance(task)
            if (step + 1) % args.report == 0:
                line = "  ".join(f"{k} {v:.3f}" for k, v in seen.items())
                if args.keep:
                    write(name, net, t, args.keep / name)
                progress.console.print(f"{step + 1:6d}  {time.time() - started:5.0f}s  {line}")
    folder = args.out / name
    write(name, net, t, folder)
    report(net, t)
    compare(net, t, folder)
    print(
        f"{name}: {args.steps} steps, {(time.time() - started) / 60:.1f} minutes, "
        f"{(folder / 'model.safetensors').stat().st_size:,} bytes in {folder}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Train the bundled models.")
    parser.add_argument("names", nargs="*", default=["tiny", "tiny-causal"])
    parser.add_argument("--out", type=Path, default=tokenizers_.DATA)
    parser.add_argument("--sentences", type=int, help="how many are made, each seen about twice")
    parser.add_argument("--steps", type=int)
    parser.add_argument("--tokens", type=int, help="tokens a step")
    parser.add_argument("--rate", type=float, default=4e-3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--report", type=int, default=250, help="steps between two lines of losses")
    parser.add_argument("--keep", type=Path, help="folder for the weights so far, written at every report")
    args = parser.parse_args()
    for name in args.names:
        sentences, steps, tokens = PLANS[name]
        plan = {"sentences": args.sentences or sentences, "steps": args.steps or steps, "tokens": args.tokens or tokens}
        train(name, argparse.Namespace(**vars(args) | plan))


if __name__ == "__main__":
    main()
