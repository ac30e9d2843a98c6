"""The options that commands share, declared once."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_type_hints

import typer

T = TypeVar("T")


class View(StrEnum):
    """How the terminal shows the weights."""

    matrix = "matrix"
    top = "top"
    both = "both"


class Pool(StrEnum):
    """What a cell of a long text's matrix is of its block of weights."""

    mean = "mean"
    max = "max"


class Positions(StrEnum):
    """Where tokens stand, in random or bare attention."""

    none = "none"
    sinusoidal = "sinusoidal"
    rotary = "rotary"


class Dtype(StrEnum):
    """The types that weights are saved in."""

    float32 = "float32"
    float16 = "float16"
    bfloat16 = "bfloat16"


class Language(StrEnum):
    """The languages that `explain` speaks."""

    en = "en"
    zh = "zh"


class Kind(StrEnum):
    """The kinds of attention of an encoder-decoder."""

    encoder = "encoder"
    decoder = "decoder"
    cross = "cross"
    all = "all"


FEW_KEYS = 5  # in a list, where nobody says how many

_TEXT, _MODEL, _PICK, _VIEW, _OUT = "Text", "Model", "Heads and tokens", "Picture", "Output"
_RANDOM = "Random or bare weights"

Text = Annotated[
    str | None,
    typer.Argument(metavar="TEXT", help="The sentence. Left out or -: read from standard input.", show_default=False),
]
ModelSource = Annotated[
    str | None,
    typer.Option(
        "--model", "-m", "--weights", "-w", metavar="SOURCE", rich_help_panel=_MODEL, show_default=False,
        help="Folder or weight file of a saved model, org/name in the hub's cache, ollama:name, lmstudio:name or py:package.",
    ),
]  # fmt: skip
Sources = Annotated[
    list[str],
    typer.Argument(metavar="SOURCE...", help="Weight files, folders of models, or names as --model takes them."),
]
Tensors = Annotated[
    bool,
    typer.Option(
        "--tensors", rich_help_panel=_PICK, help="List every tensor, not one row for those that repeat by layer."
    ),
]
Download = Annotated[
    bool,
    typer.Option("--download", rich_help_panel=_MODEL,
                 help="Fetch org/name from the hub first where it is not in its cache."),
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
    typer.Option("--n-layers", metavar="N", rich_help_panel=_RANDOM, show_default=False,
                 help="Number of layers, by default 1."),
]  # fmt: skip
NHeads = Annotated[
    int | None,
    typer.Option("--n-heads", metavar="N", rich_help_panel=_RANDOM, show_default=False,
                 help="Heads per layer, by default 4; also says how to split bare matrices."),
]  # fmt: skip
DModel = Annotated[
    int | None,
    typer.Option("--d-model", metavar="N", rich_help_panel=_RANDOM, show_default=False,
                 help="Width of a token's vector, by default 64."),
]  # fmt: skip
PositionsOption = Annotated[
    Positions | None,
    typer.Option("--positions", rich_help_panel=_RANDOM, show_default=False,
                 help="How tokens know where they stand, by default sinusoidal; bare matrices: none."),
]  # fmt: skip
Seed = Annotated[
    int | None,
    typer.Option("--seed", metavar="N", rich_help_panel=_RANDOM, show_default=False,
                 help="The same seed gives the same numbers everywhere; by default 0."),
]  # fmt: skip
Causal = Annotated[
    bool,
    typer.Option("--causal", rich_help_panel=_RANDOM, help="Let no query look at a later key."),
]
File = Annotated[
    Path | None,
    typer.Option(
        "--file", metavar="FILE", rich_help_panel=_TEXT, show_default=False, help="Read the text from a file."
    ),
]
Lines = Annotated[
    bool,
    typer.Option("--lines", rich_help_panel=_TEXT, help="Every line of the input is a text of its own."),
]
WeightsOutput = Annotated[
    str | None,
    typer.Option("--output", "-o", metavar="FILE|FOLDER", show_default=False,
                 help="A file .safetensors or .npz, or a folder for model.safetensors and what belongs beside it."),
]  # fmt: skip
WeightsType = Annotated[
    Dtype | None,
    typer.Option("--dtype", show_default=False,
                 help="Type of the saved numbers, by default as stored; quantised ones become float32."),
]  # fmt: skip
Force = Annotated[bool, typer.Option("--force", help="Replace files that exist.")]
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
    typer.Option("--kind", metavar="KIND", rich_help_panel=_PICK, show_default=False,
                 help="Which attention of an encoder-decoder: encoder, decoder, cross or all."),
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
Brief = Annotated[bool, typer.Option("--brief", rich_help_panel=_VIEW, help="One sentence and a few numbers a step.")]
Full = Annotated[bool, typer.Option("--full", rich_help_panel=_VIEW, help="Every key and every component.")]
Step = Annotated[
    int | None,
    typer.Option(
        "--step", metavar="1-6", min=1, max=6, rich_help_panel=_VIEW, show_default=False, help="Only this step."
    ),
]
Pause = Annotated[
    bool, typer.Option("--pause", rich_help_panel=_VIEW, help="In a terminal: wait for a key between the steps.")
]
Toy = Annotated[
    bool,
    typer.Option("--toy", rich_help_panel=_TEXT,
                 help="The worked example: two words, two heads, numbers for a pencil."),
]  # fmt: skip
Lang = Annotated[
    Language | None,
    typer.Option("--lang", rich_help_panel=_VIEW, show_default=False,
                 help="English or Chinese, by default that of the locale."),
]  # fmt: skip
OneHead = Annotated[
    str | None,
    typer.Option("--head", "-H", metavar="HEAD", rich_help_panel=_PICK, show_default=False,
                 help="One head: 3.1 or L3.H1; a number alone with --layer."),
]  # fmt: skip
OneLayer = Annotated[
    str | None,
    typer.Option("--layer", "-l", metavar="LAYER", rich_help_panel=_PICK, show_default=False,
                 help="3, or -1 (the last); layers count from 0."),
]  # fmt: skip
OneQuery = Annotated[
    str | None,
    typer.Option("--query", "-q", "--from", metavar="TOKEN", rich_help_panel=_PICK, show_default=False,
                 help="The token that looks, by default the last content word, of a pronoun head the last pronoun: "
                      "a word it, it@7 one of several, a position 7 or -1."),
]  # fmt: skip
OneKey = Annotated[
    str | None,
    typer.Option("--key", "--to", metavar="TOKEN", rich_help_panel=_PICK, show_default=False,
                 help="The token whose score is taken apart, by default the strongest; written like --query."),
]  # fmt: skip
TopK = Annotated[
    int | None,
    typer.Option("--top", "-k", metavar="K", rich_help_panel=_PICK, show_default=False,
                 help="How many keys to list for each query, by default 5 or what fits in a line."),
]  # fmt: skip
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
PoolOption = Annotated[
    Pool | None,
    typer.Option("--pool", rich_help_panel=_VIEW, show_default=False,
                 help="What a cell of a long text's matrix is of its block of weights, by default the mean."),
]  # fmt: skip
Format = Annotated[
    str | None,
    typer.Option("--format", "-f", metavar="FORMAT", rich_help_panel=_OUT, show_default=False,
                 help="table, json, jsonl, csv, npz or svg; else by the suffix of --output, else table."),
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


class Measure(StrEnum):
    """What the numbers are."""

    attn = "attn"
    norm = "norm"
    rollout = "rollout"
    flow = "flow"


MeasureOption = Annotated[
    Measure,
    typer.Option("--measure", metavar="MEASURE", rich_help_panel=_PICK,
                 help="attn: weights after softmax. norm: times the norm of the value. rollout, flow: of whole layers."),
]  # fmt: skip
MeanOver = Annotated[
    str | None,
    typer.Option("--mean", metavar="OVER", rich_help_panel=_PICK, show_default=False,
                 help="Mean over heads, layers, or heads,layers."),
]  # fmt: skip
MaxOver = Annotated[
    str | None,
    typer.Option("--max", metavar="OVER", rich_help_panel=_PICK, show_default=False,
                 help="Largest over heads, layers, or heads,layers."),
]  # fmt: skip
Merge = Annotated[
    str | None,
    typer.Option("--merge", metavar="SPANS", rich_help_panel=_PICK, show_default=False,
                 help="Spans that stand as one token: \"didn't cross,the street\", or positions 3-5."),
]  # fmt: skip
By = Annotated[
    str,
    typer.Option("--by", metavar="METRIC", rich_help_panel=_PICK,
                 help="role, one metric such as entropy or previous_token, or all."),
]  # fmt: skip
Sort = Annotated[
    str | None,
    typer.Option("--sort", metavar="COLUMN", rich_help_panel=_PICK, show_default=False,
                 help="head, role, score, baseline, queries or a metric; else the most pronounced first."),
]  # fmt: skip
Reverse = Annotated[bool, typer.Option("--reverse", rich_help_panel=_PICK, help="The other way round.")]
TopHeads = Annotated[
    int,
    typer.Option("--top", "-k", metavar="K", rich_help_panel=_PICK, help="How many rows the picture lists."),
]
Repeat = Annotated[
    int | None,
    typer.Option("--repeat", metavar="N", rich_help_panel=_TEXT, show_default=False,
                 help="Instead of a text N random tokens, twice: the usual probe for induction heads."),
]  # fmt: skip
OtherText = Annotated[
    str | None,
    typer.Argument(metavar="OTHER", show_default=False, help="The sentence to compare with."),
]
OtherModel = Annotated[
    str | None,
    typer.Option("--other-model", metavar="PATH", rich_help_panel=_MODEL, show_default=False,
                 help="A second model, on the same text."),
]  # fmt: skip
OtherHead = Annotated[
    str | None,
    typer.Option("--other-head", metavar="HEAD", rich_help_panel=_PICK, show_default=False,
                 help="A second head, to be compared with --head: 4.0."),
]  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Weights:
    """Options that say which weights run: those of a model, random ones, or bare matrices."""

    model: ModelSource = None
    download: Download = False
    tokenizer: TokenizerFile = None
    ignore_key: IgnoreKey = None
    random: Random = False
    n_layers: NLayers = None
    n_heads: NHeads = None
    d_model: DModel = None
    positions: PositionsOption = None
    seed: Seed = None
    causal: Causal = False


@dataclass(frozen=True, kw_only=True)
class Reading(Weights):
    """And the options that say how a text is read."""

    file: File = None
    pair: Pair = None
    target: Target = None
    kind: KindOption = None
    literal: Literal = False
    no_added: NoAdded = False


@dataclass(frozen=True, kw_only=True)
class Inputs(Reading):
    """And attention that was saved, in place of a model."""

    attn: AttnFile = None


@dataclass(frozen=True, kw_only=True)
class Pick:
    """Options that say which heads and which numbers, for commands over all heads."""

    layer: Layer = None
    head: Head = None
    words: Words = False
    merge: Merge = None
    hide_special: HideSpecial = False
    measure: MeasureOption = Measure.attn
    mean: MeanOver = None
    max: MaxOver = None


@dataclass(frozen=True, kw_only=True)
class Written:
    """Options that say where the answer goes, and as what."""

    format: Format = None
    json: Json = False
    output: Output = None


def spread(function: Callable[..., T]) -> Callable[..., T]:
    """The function with the fields of its dataclass parameters as options of their own, for the parser to see.

    A paragraph of its docstring becomes one line: the help breaks it where its own width wants that.
    """
    hints = get_type_hints(function, include_extras=True)
    grouped = {name: hint for name, hint in hints.items() if is_dataclass(hint)}
    parameters = []
    for name, parameter in inspect.signature(function).parameters.items():
        if name in grouped:
            fields_of = get_type_hints(grouped[name], include_extras=True)
            parameters += [
                inspect.Parameter(
                    f.name, inspect.Parameter.KEYWORD_ONLY, default=f.default, annotation=fields_of[f.name]
                )
                for f in fields(grouped[name])
            ]
        else:
            kept = parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=hints[name])
            parameters.append(kept)

    @functools.wraps(function)
    def spread_out(**given: Any) -> T:
        for name, group in grouped.items():
            make: Any = group
            given[name] = make(**{f.name: given.pop(f.name) for f in fields(group)})
        return function(**given)

    setattr(spread_out, "__signature__", inspect.Signature(parameters))  # noqa: B010
    spread_out.__doc__ = "\n\n".join(" ".join(part.split()) for part in (function.__doc__ or "").split("\n\n"))
    spread_out.__annotations__ = {p.name: p.annotation for p in parameters}
    return spread_out
