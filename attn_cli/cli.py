"""The command line: one short function per command, and the one place where errors become exit codes.

A command function only parses: it returns a job, and `main` runs it. So parsing errors, our own errors, a closed pipe and
Ctrl-C all meet the same boundary, and no heavy module is imported for --help.
"""

from __future__ import annotations

import contextlib
import inspect
import os
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import typer

from attn_cli import asked, streams
from attn_cli import options as opt
from attn_cli.errors import AttnError, UsageError, one_line
from attn_cli.progress import progress

Job = Callable[[], None]

CAT = '"The cat ate the food because it was hungry."'
INTERRUPTED = 130


def _examples(*lines: str) -> str:
    """What stands below a command's help: lines to paste, for the bundled model, short enough to stay whole at 80 columns."""
    return "\n\n".join(("Examples:" if len(lines) > 1 else "Example:", *(f"attn-cli {line}" for line in lines)))


app = typer.Typer(
    name="attn-cli",
    help="See what a transformer attends to: every head of a real model, in the terminal.",
    epilog=_examples(f"show {CAT} --query it", f"explain {CAT}"),
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


@app.command(epilog=_examples(f"show {CAT} --query it", f"show {CAT} -m tiny -H 3.0"))
@opt.spread
def show(
    inputs: opt.Inputs,
    pick: opt.Pick,
    written: opt.Written,
    text: opt.Text = None,
    lines: opt.Lines = False,
    query: opt.Query = None,
    key: opt.Key = None,
    top: opt.TopK = None,
    renormalise: opt.Renormalise = False,
    view: opt.ViewOption = None,
    pool: opt.PoolOption = None,
    no_attn: opt.NoAttn = False,
) -> Job:
    """Show what every head attends to: a matrix per head and the top keys of each token.

    Rows are queries (what looks), columns are keys (what is looked at). Trained models often park weight on the first
    token or on separators: that is a habit of theirs and says little about meaning; --hide-special leaves those out.
    """

    def job() -> None:
        from dataclasses import replace

        from attn_cli.commands.show import show

        name = streams.choose_format(written.format, written.json, written.output)
        if lines and name in streams.ONE_DOCUMENT:
            raise UsageError(f"--lines makes many texts, {name} holds one", "use --format jsonl")
        request = replace(
            asked.request(inputs, pick, name, opt.FEW_KEYS if top is None else top, query=query, key=key),
            every_key=top is not None,
            renormalise=renormalise,
            view=view.value if view is not None else "matrix" if pool is not None else None,
            pooling=opt.Pool.mean.value if pool is None else pool.value,
            room=streams.room(name),
            as_computed=name in streams.AS_COMPUTED,
            matrices=not no_attn,
        )
        source = asked.source(inputs, inputs.attn)
        texts = asked.texts(source, text, inputs, lines, "show")
        version = _our_version() if name in streams.FOR_PROGRAMS else ""  # reading it takes a tenth of a short run
        watch = partial(progress, quiet=sys.stdout.isatty() and name == "jsonl")
        reports = asked.each(
            texts, lambda i, line: show(source, line, request, watch, version=version, number=i), lines=lines
        )
        streams.write_reports(reports, name, written.output)

    return job


@app.command(epilog=_examples(f"explain {CAT} --query it", "explain --toy"))
@opt.spread
def explain(
    inputs: opt.Reading,
    written: opt.Written,
    text: opt.Text = None,
    toy: opt.Toy = False,
    layer: opt.OneLayer = None,
    head: opt.OneHead = None,
    query: opt.OneQuery = None,
    key: opt.OneKey = None,
    brief: opt.Brief = False,
    full: opt.Full = False,
    step: opt.Step = None,
    pause: opt.Pause = False,
    lang: opt.Lang = None,
) -> Job:
    """Walk through one token's attention in six steps, with every number: input, q k v, scores, scaling, softmax, output."""

    def job() -> None:
        if brief and full:
            raise UsageError("--brief and --full contradict each other", "leave one out")
        name = streams.choose_format(written.format, written.json, written.output)
        source = asked.toy(inputs, text) if toy else asked.source(inputs)
        from attn_cli.commands.explain import Request, explain

        request = Request(
            **asked.reading(inputs),
            layer=layer,
            head=head,
            query=asked.argument(query, "--query"),
            key=asked.argument(key, "--key"),
            depth="full" if full else "brief" if brief else "usual",
            step=step,
            language=streams.language() if lang is None else lang.value,
            pause=pause,
            toy=toy,
        )
        ((_, words),) = asked.texts(source, text, inputs, False, "explain")
        version = _our_version() if name in streams.FOR_PROGRAMS else ""
        streams.write_reports([explain(source, words, request, version=version)], name, written.output)

    return job


@app.command(epilog=_examples(f"heads {CAT}", "heads --repeat 50 -m tiny-causal"))
@opt.spread
def heads(
    inputs: opt.Inputs,
    pick: opt.Pick,
    written: opt.Written,
    text: opt.Text = None,
    lines: opt.Lines = False,
    repeat: opt.Repeat = None,
    by: opt.By = "role",
    sort: opt.Sort = None,
    reverse: opt.Reverse = False,
    top: opt.TopHeads = 20,
) -> Job:
    """Say what kind of head each head is: a map of layers and heads, and a table of scores with their baselines.

    Scores are means over the queries they apply to; a baseline is what equal weights under the same mask would score.
    A role is named only where its score clears the baseline. With --lines means over all the texts.
    """

    def job() -> None:
        from dataclasses import replace

        from attn_cli.commands.heads import HeadsRequest, heads

        if repeat is not None and (text is not None or inputs.file is not None):
            raise UsageError("--repeat makes its own tokens", "leave out the text")
        of_tokens = repeat is not None and inputs.model is not None  # then --seed draws those, not the weights
        name = streams.choose_format(written.format, written.json, written.output)
        base = asked.request(inputs, pick, name, top)
        source = asked.source(replace(inputs, seed=None) if of_tokens else inputs, inputs.attn)
        wanted = HeadsRequest(
            base=base, by=by, sort=sort, reverse=reverse, top=top, repeat=repeat, seed=inputs.seed or 0
        )
        texts = [""] if repeat is not None else [t for _, t in asked.texts(source, text, inputs, lines, "heads")]
        report = heads(source, texts, wanted, progress, version=_our_version())
        streams.write_reports([report], name, written.output)

    return job


@app.command(epilog=_examples(f"find {CAT} -q it --key cat", f"find {CAT} --key cat"))
@opt.spread
def find(
    inputs: opt.Inputs,
    pick: opt.Pick,
    written: opt.Written,
    text: opt.Text = None,
    query: opt.Query = None,
    key: opt.Key = None,
    top: opt.TopHeads = 10,
) -> Job:
    """Rank all heads by how much one token looks at another: which head resolves "it"?

    With --key alone: who looks at it. With --query alone: what it looks at most, head by head.
    """

    def job() -> None:
        from attn_cli.commands.find import find

        name = streams.choose_format(written.format, written.json, written.output)
        request = asked.request(inputs, pick, name, top, query=query, key=key)
        source = asked.source(inputs, inputs.attn)
        ((_, whole),) = asked.texts(source, text, inputs, False, "find")
        report = find(source, whole, request, progress, version=_our_version())
        streams.write_reports([report], name, written.output)

    return job


@app.command(
    epilog=_examples(
        'compare "The cat saw the dog." "The dog saw the cat."', 'compare "The cat slept." -H 3.0 --other-head 2.0'
    )
)
@opt.spread
def compare(
    inputs: opt.Inputs,
    pick: opt.Pick,
    written: opt.Written,
    text: opt.Text = None,
    other: opt.OtherText = None,
    other_model: opt.OtherModel = None,
    other_head: opt.OtherHead = None,
    query: opt.Query = None,
    key: opt.Key = None,
    top: opt.TopHeads = 10,
) -> Job:
    """Compare two sentences, two models or two heads: which heads changed, and where to.

    Tokens are aligned, rows compared by Jensen-Shannon divergence, the most changed heads first. With --head the signed
    difference of its weights is drawn as well.
    """

    def job() -> None:
        from attn_cli.commands.compare import CompareRequest, compare

        named = (("OTHER", other), ("--other-model", other_model), ("--other-head", other_head))
        given = [option for option, value in named if value is not None]
        if len(given) != 1:
            what = "compare with what?" if not given else f"{' and '.join(given)}: one at a time"
            raise UsageError(what, "give a second sentence, --other-model PATH, or --head 3.1 --other-head 4.0")
        name = streams.choose_format(written.format, written.json, written.output)
        base = asked.request(inputs, pick, name, top, query=query, key=key)
        source = asked.source(inputs, inputs.attn)
        wanted = CompareRequest(
            base=base,
            other_text=asked.argument(other, "OTHER"),
            other_head=other_head,
            everything=base.everything,
        )
        second = source
        if other_model is not None:
            second = asked.other(inputs, other_model)
        if source.given is not None:
            asked.needless(source, {"the other text": other})
        reads = source if source.given is None else second
        ((_, whole),) = asked.texts(reads, text, inputs, False, "compare")
        report = compare(source, second, whole, wanted, progress, version=_our_version())
        streams.write_reports([report], name, written.output)

    return job


@app.command(epilog=_examples("families", "families --json"))
def families(format: opt.Format = None, json: opt.Json = False, output: opt.Output = None) -> Job:
    """List the model families that load, where each is described, and how near its numbers are to the reference."""

    def job() -> None:
        from attn_cli.commands.families import families

        name = streams.choose_format(format, json, output)
        streams.write_reports([families(version=_our_version())], name, output)

    return job


@app.command(epilog=_examples("models", "models --json"))
def models(format: opt.Format = None, json: opt.Json = False, output: opt.Output = None) -> Job:
    """List the models on this machine: bundled, in the hub's cache, of Ollama, LM Studio and installed packages."""

    def job() -> None:
        from attn_cli.commands.models import models

        name = streams.choose_format(format, json, output)
        streams.write_reports([models(version=_our_version())], name, output)

    return job


@app.command(epilog=_examples("weights tiny", "weights tiny tiny-causal"))
def weights(
    sources: opt.Sources,
    tensors: opt.Tensors = False,
    download: opt.Download = False,
    ignore_key: opt.IgnoreKey = None,
    format: opt.Format = None,
    json: opt.Json = False,
    output: opt.Output = None,
) -> Job:
    """Show what is inside weight files, from headers alone: sizes, types, parameters by part, tensors, what is missing."""

    def job() -> None:
        from attn_cli.checkpoint._sources import find
        from attn_cli.commands.weights import weights
        from attn_cli.model.inside import look

        name = streams.choose_format(format, json, output)
        named = [streams.argument(source, "SOURCE") for source in sources]
        found = [look(find(source, download=download), source, tuple(ignore_key or ())) for source in named]
        streams.write_reports([weights(found, tensors=tensors, version=_our_version())], name, output)

    return job


@app.command(epilog=_examples("save -m tiny -o copy --dtype float16", "save --random --n-heads 2 -o heads.npz"))
@opt.spread
def save(
    weights: opt.Weights,
    output: opt.WeightsOutput = None,
    dtype: opt.WeightsType = None,
    force: opt.Force = False,
) -> Job:
    """Save the weights in use as safetensors or npz: show -m gives the same numbers again.

    Of a whole model, config and tokenizer go beside the weights: into the folder named, or into that of the file named,
    where show -m FILE finds them. Random and bare weights are one file.
    """

    def job() -> None:
        if output is None:
            raise UsageError("no file or folder named", "for example: attn-cli save -m tiny -o copy")
        path, form, whole = streams.weights_target(output)
        source = asked.source(weights)
        if whole and source.bare is not None:
            raise UsageError(
                f"--output {output} is a folder, random and bare weights are one file", "name it heads.npz"
            )
        from attn_cli import registry
        from attn_cli.commands.save import save

        copy, writer = save(source, form, None if dtype is None else dtype.value), registry.get("checkpoint", form)
        more = {"types": copy.types} if form == "safetensors" else {}
        streams.save_files(
            path, whole, lambda p: writer.save(p, copy.arrays, copy.meta, **more), copy.beside, force=force
        )

    return job


def _our_version() -> str:
    from attn_cli import __version__

    return __version__


def main(argv: list[str] | None = None) -> None:
    """Runs the command line and exits with the code that errors.py documents."""
    # Rows of a long text are shared out among our own threads (model/pool.py). A short one has too little work for two, and
    # OpenBLAS's would wait for each other in a loop: several times slower where the machine has anything else to do.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if sys.stdout is None:
        sys.exit(_fail("standard output is closed", "open it, or give /dev/null", UsageError.exit_code))
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    sys.exit(run(sys.argv[1:] if argv is None else argv))


def run(argv: list[str]) -> int:
    """Runs one command line; its exit code."""
    argv = argv or ["--help"]
    if "--" in argv:
        at = argv.index("--")
        argv = [*argv[:at], *(streams.DASH if a == "-" else a for a in argv[at:])]
    # the base of all that the parser raises, whatever package it comes from
    parse_error: type[Exception] = typer.BadParameter.__mro__[2]
    try:
        job = app(args=argv, prog_name="attn-cli", standalone_mode=False)
        if callable(job):
            job()
        if sys.stdout is not None:
            sys.stdout.flush()  # here, where a full disk or a closed pipe is met
        if isinstance(job, int):  # what the parser ended with: 0 after --help, 130 where it was interrupted
            return job
    except AttnError as error:
        return _fail(error.message, error.hint, error.exit_code)
    except parse_error as error:
        return _fail(*_usage(error, argv), UsageError.exit_code)
    except (KeyboardInterrupt, typer.Abort):
        _close_stdout()
        return INTERRUPTED
    except BrokenPipeError:
        _close_stdout()  # the reader has seen enough
    except MemoryError as error:
        return _fail(
            f"not enough memory: {error}".rstrip(": "), "a shorter text, fewer heads (-H), or a smaller model", 2
        )
    except OSError as error:
        _close_stdout()
        named = f"{error.filename}: " if error.filename else "cannot write: "
        return _fail(f"{named}{error.strerror or error}", "check the disk, the path and its permissions", 2)
    return 0


def _fail(message: str, hint: str, code: int) -> int:
    if sys.stderr is None:
        return code
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
    if "unexpected extra argument" in message and not _takes_text(command):
        return message, f"{command} takes no text; attn-cli {command} --help lists what it takes"
    if "unexpected extra argument" in message:
        return message, f'put the text in quotes: attn-cli {command} "the cat sat"'
    if near:
        return message, f"did you mean {' or '.join(near)}? attn-cli {command} --help lists the options"
    if "no such command" in message:
        return message, f'commands: {", ".join(_commands())}; for example attn-cli show "the cat sat"'
    return message, f"attn-cli {command} --help lists the options"


def _commands() -> list[str]:
    return [str(c.name or getattr(c.callback, "__name__", "")) for c in app.registered_commands]


def _takes_text(name: str) -> bool:
    callbacks = dict(zip(_commands(), (c.callback for c in app.registered_commands), strict=True))
    return "text" in inspect.signature(callbacks[name] or _app).parameters


def _close_stdout() -> None:
    """Points stdout at nothing, so that the interpreter's last flush finds no closed pipe."""
    if sys.stdout is None:
        return
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush()
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
