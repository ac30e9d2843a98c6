"""The training objectives: what is hidden, named and pointed at, as losses of one batch."""

from __future__ import annotations

import numpy as np
import torch
from corpus import PHRASE, PRONOUN, SUBJECT, Batch
from networks import Network
from torch import Tensor
from torch.nn import functional as fn

PAD, CLS, SEP, MASK, END = range(5)
# what -> (layer, head, weight of its loss)
POINTERS = {"previous": (0, 0, 0.3), "phrase": (1, 0, 0.3), "subject": (2, 0, 0.5), "pronoun": (3, 0, 1.0)}
CAUSAL_POINTERS = {"previous": (0, 0, 0.3), "induction": (1, 0, 0.5), "decider": (3, 0, 1.0)}
KIND = {"pronoun": PRONOUN, "subject": SUBJECT, "phrase": PHRASE}


def pointed(attn: Tensor, rows: Tensor, targets: Tensor) -> Tensor:
    """The weight that chosen rows (text, row) put on their targets, -1 where there is none."""
    picked = attn[rows[:, 0], rows[:, 1]]
    weights = picked.gather(1, targets.clamp(min=0)) * (targets >= 0)
    return weights.sum(1)


def previous_rows(b: Batch, rng: np.random.Generator) -> tuple[Tensor, Tensor]:
    text, row = np.nonzero(b.real[:, 1:])
    pick = rng.random(len(text)) < 0.2
    rows = np.stack([text[pick], row[pick] + 1], 1)
    return torch.from_numpy(rows), torch.from_numpy(rows[:, 1:] - 1)


def induction_rows(b: Batch, rng: np.random.Generator) -> tuple[Tensor, Tensor]:
    """In tokens written twice: each of the second copy, and the one after its earlier self."""
    period = int(b.repeats[0])
    text, row = np.nonzero(rng.random((len(b.ids), period)) < (0.2 if period else 0))
    rows = np.stack([text, row + period], 1)
    return torch.from_numpy(rows), torch.from_numpy(row[:, None] + 1)


def mask_words(
    b: Batch, links: np.ndarray, size: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Ids with words hidden, the labels (-1 for none), and which positions changed."""
    ids, labels = b.ids.copy(), np.full(b.ids.shape, -1)
    chosen = b.real & (ids > END) & (rng.random(ids.shape) < 0.12)
    pronouns = np.zeros(ids.shape, bool)
    pronouns[links[:, 0], links[:, 2]] = True
    labels[chosen] = ids[chosen]
    roll = rng.random(ids.shape)
    hidden = chosen & ((roll < 0.8) | pronouns)
    other = chosen & ~hidden & (roll < 0.9)
    ids[hidden] = MASK
    ids[other] = rng.integers(5, size, ids.shape)[other]
    return ids, labels, chosen


def masked_step(net: Network, b: Batch, rng: np.random.Generator) -> dict[str, Tensor]:
    pronouns = b.links[b.links[:, 1] == PRONOUN]
    ids, labels, changed = mask_words(b, pronouns, net.words.num_embeddings, rng)
    text, row, decider, target = pronouns[:, 0], pronouns[:, 2], pronouns[:, 3], pronouns[:, 4]
    clear = ~changed[text, row] & ~((decider >= 0) & changed[text, decider])
    # half of them: the output layer is the dearest part of a step
    named = clear & ~changed[text, target] & (rng.random(len(text)) < 0.5)
    labels[text[named], row[named]] = b.ids[text[named], target[named]]
    x, maps = net(torch.from_numpy(ids), torch.from_numpy(b.types), torch.from_numpy(b.real))
    at = labels >= 0
    name_at = np.zeros(at.shape, bool)
    name_at[text[named], row[named]] = True
    losses = {}
    per = fn.cross_entropy(net.logits(x[torch.from_numpy(at)]), torch.from_numpy(labels[at]), reduction="none")
    is_name = torch.from_numpy(name_at[at])
    if (~is_name).any():
        losses["words"] = per[~is_name].mean()
    if is_name.any():
        losses["referent"] = per[is_name].mean()
    for what, (layer, head, weight) in POINTERS.items():
        if what == "previous":
            rows, targets = previous_rows(b, rng)
        else:
            found = pronouns[clear] if what == "pronoun" else b.links[b.links[:, 1] == KIND[what]]
            rows, targets = torch.from_numpy(found[:, [0, 2]]), torch.from_numpy(found[:, 4:])
        if len(rows):
            losses[what] = -weight * (pointed(maps[layer][:, head], rows, targets) + 1e-6).log().mean()
    return losses


def causal_step(net: Network, b: Batch, rng: np.random.Generator) -> dict[str, Tensor]:
    x, maps = net(torch.from_numpy(b.ids), torch.from_numpy(b.types), torch.from_numpy(b.real))
    at = b.real.copy()
    at[:, :-1] &= b.real[:, 1:]
    at[:, -1] = False
    period = int(b.repeats[0])
    if period:
        # the first copy is random: there is nothing to learn from it
        at[:, : period - 1] = False
    at &= rng.random(at.shape) < 0.35
    labels = np.roll(b.ids, -1, 1)
    losses = {"words": fn.cross_entropy(net.logits(x[torch.from_numpy(at)]), torch.from_numpy(labels[at]))}
    for what, (layer, head, weight) in CAUSAL_POINTERS.items():
        if what == "previous":
            rows, targets = previous_rows(b, rng)
        elif what == "induction":
            rows, targets = induction_rows(b, rng)
        else:
            found = b.links[b.links[:, 1] == PRONOUN]
            found = found[(found[:, 3] > found[:, 2]) & (found[:, 4:].max(1) < found[:, 3])]
            rows, targets = torch.from_numpy(found[:, [0, 3]]), torch.from_numpy(found[:, 4:])
        if len(rows):
            losses[what] = -weight * (pointed(maps[layer][:, head], rows, targets) + 1e-6).log().mean()
    return losses
