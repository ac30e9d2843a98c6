"""The command line: one short function per command, and the one place where errors become exit codes.

A command function only parses: it returns a job, and `main` runs it. So parsing errors, our own errors, a closed pipe and
Ctrl-C all meet the same boundary, and no heavy module is imported for --help.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

import typer

from attn_cli import options as opt
from attn_cli import streams
from attn_cli.errors import AttnError, TextError, UsageError, one_line

if TYPE_CHECKING:
    from pathlib import Path

    from attn_cli.model.load import Shape

Job = Callable[[], None]
T = TypeVar("T")

EXAMPLE = 'attn-cli show "The animal didn\'t cross the street because it was too tired."'
INTERRUPTED = 130

app = typer.Typer(
    name="attn-cli",
    help="See what a transformer attends to: every head of a real model, in the terminal.",
    epilog=f"Example: {EXAMPLE} --query it",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(asked: bool) -> None:
    if asked:
        from attn_cli import __version__

        typer.echo(f"attn-cli {__version__}")
        raise typer.Exit


@app.callback()
def _app(
    version: bool = typer.Option(
        False, "--version", "-V", is_eager=True, callback=_version, help="Show the version and exit."
    ),
) -> None:
    pass


@app.command(epilog=f"Example: {EXAMPLE} -m models/minilm -H 3.1 --query it")
def show(
    text: opt.Text = None,
    model: opt.ModelSource = None,
    tokenizer: opt.TokenizerFile = None,
    ignore_key: opt.IgnoreKey = None,
    file: opt.File = None,
    lines: opt.Lines = False,
    attn: opt.AttnFile = None,
    random: opt.Random = False,
    n_layers: opt.NLayers = None,
    n_heads: opt.NHeads = None,
    d_model: opt.DModel = None,
    positions: opt.PositionsOption = None,
    seed: opt.Seed = None,
    causal: opt.Causal = False,
    pair: opt.Pair = None,
    target: opt.Target = None,
    kind: opt.KindOption = None,
    literal: opt.Literal = False,
    no_added: opt.NoAdded = False,
    layer: opt.Layer = None,
    head: opt.Head = None,
    query: opt.Query = None,
    key: opt.Key = None,
    top: opt.TopK = 5,
    words: opt.Words = False,
    hide_special: opt.HideSpecial = False,
    renormalise: opt.Renormalise = False,
    view: opt.ViewOption = None,
    format: opt.Format = None,
    json: opt.Json = False,
    output: opt.Output = None,
    no_attn: opt.NoAttn = False,
) -> Job:
    """Show what every head attends to: a matrix per head and the top keys of each token.

    Rows are queries (what looks), columns are keys (what is looked at). Trained models often park weight on the first
    token or on separators: that is a habit of theirs and says little about meaning; --hide-special leaves those out.
    """

    def job() -> None:
        if top < 1:
            raise UsageError(f"--top {top} is not a count of keys", "give 1 or more")
        name = streams.choose_format(format, json, output)
        if lines and name in streams.ONE_DOCUMENT:
            raise UsageError(f"--lines makes many texts, {name} holds one", "use --format jsonl")
        shape = _shape(n_layers, n_heads, d_model, positions, seed, causal)
        source = _source(model, attn, random, shape, tokenizer, ignore_key)
        from attn_cli.commands.show import Request, show

        request = Request(
            pair=None if pair is None else streams.argument(pair, "--pair"),
            target=None if target is None else streams.argument(target, "--target"),
            kind=None if kind is None else kind.value,
            layer=layer,
            head=head,
            query=None if query is None else streams.argument(query, "--query"),
            key=None if key is None else streams.argument(key, "--key"),
            top=top,
            words=words,
            hide_special=hide_special,
            renormalise=renormalise,
            literal=literal,
            added=not no_added,
            view=None if view is None else view.value,
            everything=name in streams.FOR_PROGRAMS,
            as_computed=name == "jsonl",
            matrices=not no_attn,
        )
        texts = _texts(source, text, file, lines)
        version = _our_version() if name in streams.FOR_PROGRAMS else ""  # reading it takes a tenth of a short run
        reports = (show(source, line, request, progress, version=version, number=i) for i, line in texts)
        streams.write_reports(reports, name, output)

    return job


@app.command(epilog="Example: attn-cli save --n-heads 8 --seed 7 -o heads.npz, then attn-cli show -w heads.npz")
def save(
    model: opt.ModelSource = None,
    random: opt.Random = False,
    n_layers: opt.NLayers = None,
    n_heads: opt.NHeads = None,
    d_model: opt.DModel = None,
    positions: opt.PositionsOption = None,
    seed: opt.Seed = None,
    causal: opt.Causal = False,
    tokenizer: opt.TokenizerFile = None,
    output: opt.WeightsOutput = None,
) -> Job:
    """Save the weights in use, random or bare, to .npz or .safetensors; show -w FILE gives the same numbers again."""

    def job() -> None:
        if output is None:
            raise UsageError("no file named", "for example: attn-cli save -o heads.npz")
        if output.suffix.lower() not in (".npz", ".safetensors"):
            raise UsageError(f"--output {output}: weights are saved as .npz or .safetensors", "choose one of the two")
        shape = _shape(n_layers, n_heads, d_model, positions, seed, causal)
        source = _source(model, None, random, shape, tokenizer, None)
        from attn_cli import registry
        from attn_cli.commands.save import save

        arrays, meta = save(source)
        with streams.replacing(output) as part:
            registry.get("checkpoint", output.suffix.lower()[1:]).save(part, arrays, meta)

    return job


def progress(items: Iterable[T], total: int) -> Iterable[T]:
    """The items as they are: short work needs no bar."""
    return items


def _our_version() -> str:
    from attn_cli import __version__

    return __version__


def _shape(
    n_layers: int | None, n_heads: int | None, d_model: int | None, positions: opt.Positions | None, seed: int | None,
    causal: bool,
) -> Shape:  # fmt: skip
    from attn_cli.model.load import Shape

    return Shape(
        n_layers=n_layers,
        n_heads=n_heads,
        d_model=d_model,
        positions=None if positions is None else positions.value,
        seed=seed,
        causal=causal or None,
    )


def _source(
    model: str | None,
    attn: Path | None,
    random: bool,
    shape: Shape,
    tokenizer: Path | None,
    ignore_key: list[str] | None,
) -> Any:
    """What gives the blocks: a model on disk, random weights, or attention that was saved."""
    from attn_cli.model import load

    named = [o for o, v in (("--model", model), ("--attn", attn), ("--random", random or None)) if v is not None]
    if len(named) > 1:
        raise UsageError(f"{' and '.join(named)} contradict each other", "give one of them")
    if attn is not None:
        from attn_cli.model.given import read_given

        if shape.given() or tokenizer:
            raise UsageError("--attn is attention already: no weights, no tokenizer", "leave the other options out")
        return read_given(attn)
    if model is None:
        return load.random_model(shape, tokenizer=tokenizer, dtype="float64")
    name = streams.argument(model, "--model")
    return load.load(name, dtype=None, tokenizer=tokenizer, ignore_keys=tuple(ignore_key or ()), shape=shape)


def _texts(source: Any, text: str | None, file: Path | None, lines: bool) -> Iterable[tuple[int, str]]:
    """The texts to run, numbered; a source that brings its own input needs none."""
    if source.given is not None:
        return [(0, "")]
    whole = streams.read_text(text, file, "show")
    if not lines:
        return [(0, whole)]
    found = [(i, line) for i, line in enumerate(whole.split("\n")) if line.strip()]
    if not found:
        raise TextError("there is no line with text", "give one text a line")
    return found


def main(argv: list[str] | None = None) -> None:
    """Runs the command line and exits with the code that errors.py documents."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    sys.exit(run(sys.argv[1:] if argv is None else argv))


def run(argv: list[str]) -> int:
    """Runs one command line; its exit code."""
    # the base of all that the parser raises, whatever package it comes from
    parse_error: type[Exception] = typer.BadParameter.__mro__[2]
    try:
        job = app(args=argv, prog_name="attn-cli", standalone_mode=False)
        if callable(job):
            job()
    except AttnError as error:
        return _fail(error.message, error.hint, error.exit_code)
    except parse_error as error:
        return _fail(*_usage(error, argv), UsageError.exit_code)
    except (KeyboardInterrupt, typer.Abort):
        _close_stdout()
        return INTERRUPTED
    except BrokenPipeError:
        _close_stdout()  # the reader has seen enough
        return 0
    return 0


def _fail(message: str, hint: str, code: int) -> int:
    sys.stderr.write(f"error: {one_line(message)}\n")
    if hint:
        sys.stderr.write(f"hint: {one_line(hint)}\n")
    return code


def _usage(error: Any, argv: list[str]) -> tuple[str, str]:
    """The parser's own complaint and what to type instead."""
    whole = " ".join(error.format_message().replace("Value error, ", "").split())
    message = whole.split(" Did you mean")[0].split(" (Possible")[0].rstrip(".")
    message = message[:1].lower() + message[1:]
    command = next((a for a in argv if a in _commands()), "show")
    near = [f"'{c}'" for c in getattr(error, "possibilities", None) or ()]
    near = near or ["'" + part for part in whole.partition("Did you mean '")[2].split("?")[:1] if part]
    if "no such option" in message:
        dashed = next((a for a in argv if a.startswith("-") and " " in a), None)
        if dashed is not None:
            return message, f'a text that begins with a dash goes after --: attn-cli {command} -- "{dashed}"'
    if "unexpected extra argument" in message:
        return message, f'put the text in quotes: attn-cli {command} "the cat sat"'
    if near:
        return message, f"did you mean {' or '.join(near)}? attn-cli {command} --help lists the options"
    if "no such command" in message:
        return message, f'commands: {", ".join(_commands())}; for example attn-cli show "the cat sat"'
    return message, f"attn-cli {command} --help lists the options"


def _commands() -> list[str]:
    return [str(c.name or getattr(c.callback, "__name__", "")) for c in app.registered_commands]


def _close_stdout() -> None:
    """Points stdout at nothing, so that the interpreter's last flush finds no closed pipe."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        pass
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
