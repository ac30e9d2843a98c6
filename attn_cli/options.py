"""The options that commands share, declared once."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class View(StrEnum):
    """How the terminal shows the weights."""

    matrix = "matrix"
    top = "top"
    both = "both"


class Positions(StrEnum):
    """Where tokens stand, in random or bare attention."""

    none = "none"
    sinusoidal = "sinusoidal"
    rotary = "rotary"


class Kind(StrEnum):
    """The kinds of attention of an encoder-decoder."""

    encoder = "encoder"
    decoder = "decoder"
    cross = "cross"
    all = "all"


_TEXT, _MODEL, _PICK, _VIEW, _OUT = "Text", "Model", "Heads and tokens", "Picture", "Output"
_RANDOM = "Random or bare weights"

Text = Annotated[
    str | None,
    typer.Argument(metavar="TEXT", help="The sentence. Left out or -: read from standard input.", show_default=False),
]
ModelSource = Annotated[
    str | None,
    typer.Option(
        "--model", "-m", "--weights", "-w", metavar="PATH", rich_help_panel=_MODEL, show_default=False,
        help="Folder or weight file of a saved model.",
    ),
]  # fmt: skip
TokenizerFile = Annotated[
    Path | None,
    typer.Option("--tokenizer", metavar="FILE", rich_help_panel=_MODEL, show_default=False,
                 help="tokenizer.json or vocab.txt, for weights that come without one."),
]  # fmt: skip
IgnoreKey = Annotated[
    list[str] | None,
    typer.Option("--ignore-key", metavar="NAME", rich_help_panel=_MODEL, show_default=False,
                 help="Go on although this config key is not understood; the output says so."),
]  # fmt: skip
AttnFile = Annotated[
    Path | None,
    typer.Option("--attn", metavar="FILE", rich_help_panel=_MODEL, show_default=False,
                 help="Show attention saved elsewhere: .npz, .safetensors, or our JSON."),
]  # fmt: skip
Random = Annotated[bool, typer.Option("--random", rich_help_panel=_RANDOM, help="Use random weights.")]
NLayers = Annotated[
    int | None,
    typer.Option("--n-layers", metavar="N", rich_help_panel=_RANDOM, show_default="1", help="Number of layers."),
]
NHeads = Annotated[
    int | None,
    typer.Option("--n-heads", metavar="N", rich_help_panel=_RANDOM, show_default="4",
                 help="Heads per layer; also says how to split bare matrices."),
]  # fmt: skip
DModel = Annotated[
    int | None,
    typer.Option("--d-model", metavar="N", rich_help_panel=_RANDOM, show_default="64", help="Width of a token's vector."),
]
PositionsOption = Annotated[
    Positions | None,
    typer.Option("--positions", rich_help_panel=_RANDOM, show_default="sinusoidal",
                 help="How tokens know where they stand; bare matrices: none."),
]  # fmt: skip
Seed = Annotated[
    int | None,
    typer.Option("--seed", metavar="N", rich_help_panel=_RANDOM, show_default="0",
                 help="The same seed gives the same numbers everywhere."),
]  # fmt: skip
Causal = Annotated[
    bool,
    typer.Option("--causal", rich_help_panel=_RANDOM, help="Let no query look at a later key."),
]
File = Annotated[
    Path | None,
    typer.Option("--file", metavar="FILE", rich_help_panel=_TEXT, show_default=False, help="Read the text from a file."),
]
Lines = Annotated[
    bool,
    typer.Option("--lines", rich_help_panel=_TEXT, help="Every line of the input is a text of its own."),
]
WeightsOutput = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="FILE", show_default=False, help="Where to save: .npz or .safetensors."),
]
Pair = Annotated[
    str | None,
    typer.Option("--pair", metavar="TEXT", rich_help_panel=_TEXT, show_default=False,
                 help="Second sentence, for models that read pairs."),
]  # fmt: skip
Target = Annotated[
    str | None,
    typer.Option("--target", metavar="TEXT", rich_help_panel=_TEXT, show_default=False,
                 help="What the decoder reads, for encoder-decoders such as T5 and BART."),
]  # fmt: skip
KindOption = Annotated[
    Kind | None,
    typer.Option("--kind", rich_help_panel=_PICK, show_default=False,
                 help="Which attention of an encoder-decoder."),
]  # fmt: skip
Literal = Annotated[
    bool,
    typer.Option("--literal", rich_help_panel=_TEXT,
                 help="Take the spelling of a special token in the text as plain text."),
]  # fmt: skip
NoAdded = Annotated[
    bool,
    typer.Option("--no-added", rich_help_panel=_TEXT, help="Add no [CLS], <s> and the like."),
]
Layer = Annotated[
    str | None,
    typer.Option("--layer", "-l", metavar="LAYERS", rich_help_panel=_PICK, show_default=False,
                 help="all, 3, 0-2,5 or -1 (the last); layers count from 0."),
]  # fmt: skip
Head = Annotated[
    str | None,
    typer.Option("--head", "-H", metavar="HEADS", rich_help_panel=_PICK, show_default=False,
                 help="all, 3, 0-2,5 or -1; with the layer 3.1, L3.H1, all.1 or 3.all."),
]  # fmt: skip
Query = Annotated[
    str | None,
    typer.Option("--query", "-q", "--from", metavar="TOKENS", rich_help_panel=_PICK, show_default=False,
                 help="Rows, what looks: a word it, it@7 one of several, a position 7, -1 or 2-5, text:7."),
]  # fmt: skip
Key = Annotated[
    str | None,
    typer.Option("--key", "--to", metavar="TOKENS", rich_help_panel=_PICK, show_default=False,
                 help="Columns, what is looked at: written like --query."),
]  # fmt: skip
TopK = Annotated[
    int,
    typer.Option("--top", "-k", metavar="K", rich_help_panel=_PICK, help="How many keys to list for each query."),
]
Words = Annotated[
    bool,
    typer.Option("--words", rich_help_panel=_PICK,
                 help="Merge pieces to words: keys are summed, queries averaged."),
]  # fmt: skip
HideSpecial = Annotated[
    bool,
    typer.Option("--hide-special", rich_help_panel=_PICK,
                 help="Leave out [CLS], <s> and the like; a column says how much they held."),
]  # fmt: skip
Renormalise = Annotated[
    bool,
    typer.Option("--renormalise", "--renormalize", rich_help_panel=_PICK,
                 help="Scale what is shown of each row to 100 %."),
]  # fmt: skip
ViewOption = Annotated[
    View | None,
    typer.Option("--view", rich_help_panel=_VIEW, show_default=False,
                 help="Matrices, lists of top keys, or both."),
]  # fmt: skip
Format = Annotated[
    str | None,
    typer.Option("--format", "-f", metavar="FORMAT", rich_help_panel=_OUT, show_default=False,
                 help="table, json, jsonl or svg; else by the suffix of --output, else table."),
]  # fmt: skip
Json = Annotated[bool, typer.Option("--json", rich_help_panel=_OUT, help="The same as --format json.")]
Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="FILE", rich_help_panel=_OUT, show_default=False,
                 help="Write to a file; its suffix chooses the format."),
]  # fmt: skip
NoAttn = Annotated[
    bool,
    typer.Option("--no-attn", rich_help_panel=_OUT, help="Data formats: leave the matrices out, keep the top keys."),
]
