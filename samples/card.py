"""Measure the bundled models again and write samples/MODEL_CARD.md.

    python samples/card.py

Every figure of the card comes from the shipped files: the output layer of `tiny` that names a pronoun's noun is in its
model.safetensors. Held-out sentences are drawn with seeds that training does not use.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import chinese
import grammar
import measure
import numpy as np
from measure import Tally
from tokenizer import DATA

HERE = Path(__file__).resolve().parent
EXAMPLES = (
    "The animal didn't cross the street because it was too tired.",
    "The animal didn't cross the street because it was too wide.",
)
SETS = {
    "fillers": "unseen fillers: the right noun and another noun of the sentence never meet in training",
    "pairs": "unseen pairs: the right noun and the adjective that decides never stand together in training",
    "patterns": "unseen patterns: "
    + "passive with a reason, report around a sentence, two joined verbs with a reason, "
    'if clauses, "the reason why"',
    "train": "fresh sentences of the training patterns, for comparison",
}


def percent(part: float, whole: int) -> str:
    return f"{100 * part / max(1, whole):.1f} %"


def head_name(values: np.ndarray) -> str:
    layer, head = np.unravel_index(int(values.argmax()), values.shape)
    return f"L{layer}.H{head}"


def row(name: str, t: Tally, head: tuple[int, int]) -> str:
    cells = [
        name,
        str(t.count),
        percent(t.named, t.count),
        percent(t.pointed[head], t.count),
        f"{t.weight[head] / max(1, t.count):.3f}",
        percent(t.contested_pointed[head], t.contested) + f" of {t.contested}",
        percent(t.nearest, t.count),
        percent(t.first, t.count),
        percent(t.nearest_agreeing, t.count),
        percent(t.first_agreeing, t.count),
    ]
    return "| " + " | ".join(cells) + " |"


COLUMNS = (
    "set",
    "pronouns",
    "named by the output layer",
    "{head} > 0.5 on the right noun",
    "its mean weight",
    "the same where two nouns agree",
    "nearest noun",
    "first noun",
    "nearest that agrees",
    "first that agrees",
)
HEADER = f"| {' | '.join(COLUMNS)} |\n{'|---' * len(COLUMNS)}|"


def head_of(roles: dict[str, str], what: str) -> tuple[int, int]:
    """The head that the config says does this."""
    layer, head = next(h for h, role in roles.items() if role.startswith(what))[1:].split(".H")
    return int(layer), int(head)


def example_rows(folder: Path, head: tuple[int, int]) -> list[str]:
    lines = []
    for text in EXAMPLES:
        ran = measure.run(folder, text)
        nouns = [(text.index(n), text.index(n) + len(n)) for n in ("animal", "street")]
        query = measure.tokens_in(ran.tokens, (text.index(" it ") + 1, text.index(" it ") + 3))[0]
        weights = [ran.attn[head][query, measure.tokens_in(ran.tokens, span)].sum() for span in nouns]
        lines.append(f"| {text} | {weights[0]:.3f} | {weights[1]:.3f} |")
    return lines


def parameters(folder: Path) -> str:
    size = (folder / "model.safetensors").stat().st_size
    c = json.loads((folder / "config.json").read_text())
    layers, heads = (
        c.get("num_hidden_layers", c.get("n_layer")),
        c.get("num_attention_heads", c.get("n_head")),
    )
    width, n_ctx = (
        c.get("hidden_size", c.get("n_embd")),
        c.get("max_position_embeddings", c.get("n_positions")),
    )
    return (
        f"{layers} layers of {heads} heads, width {width}, {c['vocab_size']} tokens, {n_ctx} positions, "
        f"{size:,} bytes in float16"
    )


def previous_lines(folder: Path, count: int) -> list[str]:
    texts = [list(measure.run(folder, s.text).tokens.ids) for s in measure.held_out("train", count, 31)]
    values = measure.previous_token(folder, texts)
    noise = measure.previous_token(folder, measure.random_texts(folder, 20, 100, 5))
    return [
        f"- best previous-token head: {head_name(values)}, mean weight {values.max():.3f} in sentences; "
        f"{head_name(noise)}, {noise.max():.3f} on 100 random tokens (trained to point)"
    ]


def tiny(folder: Path, count: int) -> list[str]:
    roles = json.loads((folder / "config.json").read_text())["attn_cli"]["roles"]
    tallies = {}
    for split in SETS:
        sentences = measure.held_out(split, count, 9001)
        tallies[split] = measure.pronouns(folder, sentences, lambda s, r, split=split: grammar.meets(s, r, split))
    everything = np.sum([tallies[s].pointed for s in ("fillers", "pairs", "patterns")], 0)
    head = head_of(roles, "pronoun")
    name = f"L{head[0]}.H{head[1]}"
    lines = ["## tiny", "", f"Shaped like BERT: {parameters(folder)}.", "", HEADER.format(head=name)]
    lines += [row(split, tallies[split], head) for split in SETS]
    lines += ["", *(f"- `{split}`: {text}" for split, text in SETS.items()), ""]
    lines.append(
        f"{name} is the same head in every row. A noun of several pieces counts with the sum of its pieces, a list "
        '("the king and the queen ... they") with the sum of its members.'
    )
    parts = {
        p: [s for s in measure.held_out("patterns", count, 9001) if s.pattern == p]
        for p in ("held_passive", "held_report", "held_joined", "held_if", "held_reason")
    }
    lines += [
        "",
        "Unseen patterns one by one: "
        + ", ".join(
            f"{p.removeprefix('held_')} {percent(t.pointed[head], t.count)} of {t.count}"
            for p, part in parts.items()
            for t in [measure.pronouns(folder, part, lambda s, r: True)]
        )
        + ".",
    ]
    tally, missed = measure.by_hand(folder, HERE / "probe.txt")
    lines += [
        "",
        f"Sentences written by hand, not by the grammar (probe.txt): {name} has more than half on the right noun for "
        f"{int(tally.pointed[head])} of {tally.count} pronouns, mean weight {tally.weight[head] / tally.count:.3f}; "
        f"the output layer names {tally.named}.",
    ]
    lines += [f"- missed: {line}" for line in missed]
    for split in ("train", "pairs"):
        t = measure.pronouns(folder, chinese.generate(9001, count // 2, split), lambda s, r: True)
        what = "fresh sentences" if split == "train" else "unseen noun-adjective pairs"
        lines += [
            "",
            f"Chinese, {what}: named {percent(t.named, t.count)}, {name} > 0.5 {percent(t.pointed[head], t.count)} of "
            f"{t.count} (nearest noun {percent(t.nearest, t.count)}, first noun {percent(t.first, t.count)}).",
        ]
    lines += [
        "",
        f'| what {name} gives at "it" | animal | street |',
        "|---|---|---|",
        *example_rows(folder, head),
        "",
    ]
    lines += ["Heads trained to point:", "", *(f"- {h}: {role}" for h, role in roles.items())]
    others = everything.astype(float) / sum(tallies[s].count for s in ("fillers", "pairs", "patterns"))
    others[head] = 0
    lines += [
        "",
        "Emerged, not trained for it: the best other pronoun head is "
        f"{head_name(others)}, with more than half on the right noun for {100 * others.max():.1f} % of the held-out "
        "pronouns.",
        "",
        *previous_lines(folder, count // 4),
        "",
    ]
    return lines


def tiny_causal(folder: Path, count: int) -> list[str]:
    roles = json.loads((folder / "config.json").read_text())["attn_cli"]["roles"]
    lines = [
        "## tiny-causal",
        "",
        f"Shaped like GPT-2: {parameters(folder)}.",
        "",
        'At a pronoun a causal model has not read "tired" yet, so the row measured is that of the word that decides. '
        "Its output there is the next word, so it names no noun.",
        "",
        HEADER.format(head="the decider's head"),
    ]
    tallies = {
        split: measure.pronouns(
            folder,
            measure.held_out(split, count, 9001),
            lambda s, r, split=split: grammar.meets(s, r, split),
            causal=True,
        )
        for split in SETS
    }
    head = head_of(roles, "the word that decides")
    for split in SETS:
        cells = row(split, tallies[split], head).split(" | ")
        cells[2] = "-"
        lines.append(" | ".join(cells))
    values = measure.induction(folder)
    lines += [
        "",
        f"The head is L{head[0]}.H{head[1]}.",
        "",
        *previous_lines(folder, count // 4),
        f"- best induction head: {head_name(values)}, mean weight {values.max():.3f} on 50 random tokens written twice "
        "(rows of the second copy, weight on the token after the earlier one; trained to point)",
        "- all heads on that measure: "
        + ", ".join(f"L{i}.H{j} {v:.2f}" for (i, j), v in np.ndenumerate(values) if v > 0.2),
        "",
        "Heads trained to point:",
        "",
        *(f"- {h}: {role}" for h, role in roles.items()),
        "",
    ]
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure the bundled models and write the model card.")
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--out", type=Path, default=HERE / "MODEL_CARD.md")
    parser.add_argument("--count", type=int, default=1000, help="sentences per set")
    args = parser.parse_args()
    lines = [
        "# Model card: tiny and tiny-causal",
        "",
        "Demonstration models of attn-cli, trained from nothing by samples/train.py on English sentences generated by "
        f"samples/grammar.py ({len(grammar.vocabulary())} words), and a few Chinese ones. They know that grammar and "
        "nothing else: no facts, no real text. Written by samples/card.py from the shipped files; do not edit.",
        "",
    ]
    if (args.data / "tiny").exists():
        lines += tiny(args.data / "tiny", args.count)
    if (args.data / "tiny-causal").exists():
        lines += tiny_causal(args.data / "tiny-causal", args.count)
    lines += (HERE / "CARD_NOTES.md").read_text().splitlines()
    args.out.write_text("\n".join(lines) + "\n")
    print(args.out.read_text())


if __name__ == "__main__":
    main()
