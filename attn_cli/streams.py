"""Text in and reports out: arguments, files and standard input as Unicode; formats, and files that appear only when whole."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Literal

from attn_cli import registry
from attn_cli.errors import TextError, UsageError, one_line, quote

if TYPE_CHECKING:
    from attn_cli.report import Report

FOR_PROGRAMS = ("json", "jsonl", "npz", "csv")  # formats that give every head unless told otherwise
MAX_TEXT = 2**28  # bytes
DASH = "\0-"  # stands for a dash that was typed after --, which is text; no argument can hold a NUL
AS_COMPUTED = ("jsonl", "npz")  # formats that send each head when it is there
ONE_DOCUMENT = ("json", "svg", "npz", "csv")  # formats that hold one text


def argument(text: str, what: str) -> str:
    """A command-line argument as Unicode, also where the locale did not decode it; TextError if it is no UTF-8."""
    if text == DASH:
        return "-"
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        try:
            return os.fsencode(text).decode("utf-8")
        except UnicodeDecodeError as error:
            raise TextError(
                f"{what} is not valid UTF-8 at byte {error.start}",
                "set the terminal to UTF-8, or give the text in a file: --file",
            ) from None
    return text


def read_text(text: str | None, file: Path | None, command: str) -> str:
    """The text to run: the argument, or a file, or standard input where both are left out or the argument is `-`."""
    if file is not None:
        if text is not None:
            raise UsageError(f"a TEXT and --file {file}: which one?", "give one of them")
        try:
            with file.open("rb") as stream:
                return decode(stream, quote(str(file)))
        except OSError as error:
            raise UsageError(
                f"--file {file}: {error.strerror or error}", "check the path and its permissions"
            ) from None
    if text is not None and text != "-":
        return argument(text, "TEXT")
    if sys.stdin is None or sys.stdin.isatty():
        raise UsageError(
            "no text given",
            f'put it in quotes: attn-cli {command} "the cat sat", or pipe it in: echo the cat sat | attn-cli {command}',
        )
    return decode(sys.stdin.buffer, "standard input")


def decode(stream: BinaryIO, name: str) -> str:
    """All of a byte stream as text: UTF-8; a byte-order mark and one last line break dropped, CRLF read as a line break.

    Reading stops at the first bytes that are no text, however long the stream is.
    """
    import codecs

    decoder, parts, at = codecs.getincrementaldecoder("utf-8")(), [], 0
    try:
        while chunk := stream.read(2**16):
            if at > MAX_TEXT:
                raise TextError(f"{name} holds more than {MAX_TEXT // 2**20} MiB", "give a part of it")
            if at == 0 and chunk.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
                raise TextError(f"{name} is UTF-16, not UTF-8", "convert it: iconv -f UTF-16 -t UTF-8")
            pending = len(decoder.getstate()[0])
            parts.append(decoder.decode(chunk))
            at += len(chunk)
        pending = len(decoder.getstate()[0])
        parts.append(decoder.decode(b"", final=True))
    except UnicodeDecodeError as error:
        raise TextError(
            f"{name} is not valid UTF-8 at byte {at - pending + error.start}", "convert it to UTF-8 first"
        ) from None
    return "".join(parts).removeprefix("\ufeff").replace("\r\n", "\n").removesuffix("\n")


def language(environment: Mapping[str, str] = os.environ) -> str:
    """The language of the user's locale, of those we have: zh or en; en where the screen cannot show Chinese."""
    try:
        "中文".encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return "en"
    named = next((environment[n] for n in ("LC_ALL", "LC_MESSAGES", "LANG") if environment.get(n)), "")
    if not named and sys.platform == "win32":
        import locale

        named = locale.getlocale()[0] or ""
    return "zh" if named.lower().startswith(("zh", "chinese")) else "en"


def choose_format(name: str | None, json: bool, output: Path | None) -> str:
    """The one format that --format, --json and the suffix of --output agree on."""
    known = registry.names("render")
    if name is not None and name not in known:
        raise UsageError(f"--format {quote(name)} is not known", f"known: {', '.join(known)}")
    if json:
        if name not in (None, "json"):
            raise UsageError(f"--json and --format {name} contradict each other", "leave one out")
        name = "json"
    if output is None:
        return name or "table"
    suffixes = {s: f for f in known for s in registry.get("render", f).SUFFIXES}
    by_suffix = suffixes.get(output.suffix.lower())
    if name is None:
        if by_suffix is None:
            raise UsageError(
                f"--output {quote(str(output))}: no format has the suffix {quote(output.suffix) or '(none)'}",
                f"known: {', '.join(sorted(suffixes))}; or name one with --format",
            )
        return by_suffix
    if by_suffix not in (None, name):
        raise UsageError(
            f"--output {quote(str(output))} and --format {name} contradict each other", "leave --format out"
        )
    return name


def room(name: str) -> tuple[int, int]:
    """Rows and columns of a matrix that fit where a picture goes: a screen as it is, a file at its widest."""
    if name != "table":
        return 40, 60
    from attn_cli.render import Target

    target = Target.of(sys.stdout)
    lines = shutil.get_terminal_size((target.width, 48)).lines if target.tty else 48
    return max(8, min(40, lines - 8)), max(8, (target.width - 12) // 3)  # a label of a range, cells of three


def write_reports(reports: Iterable[Report], name: str, output: Path | None) -> None:
    """Reports one after another to standard output, or to a file."""
    from attn_cli.render import Target

    renderer = registry.get("render", name)
    reports = _warned(reports, name, output)
    if output is None:
        if renderer.BINARY and sys.stdout.isatty():
            raise UsageError(
                f"--format {name} is no text for a terminal", f"name a file: -o attention.{name}, or pipe it on"
            )
        target = Target.of(sys.stdout)
        for report in _apart(reports, name):
            renderer.write(report, target)
        sys.stdout.flush()
        return
    with replacing(output) as part, part.open("w", encoding="utf-8", newline="\n") as stream:
        for report in _apart(reports, name):
            renderer.write(report, Target(stream=stream))


def _warned(reports: Iterable[Report], name: str, output: Path | None) -> Iterator[Report]:
    """The reports; what may mislead goes to standard error as well, unless a picture on the same screen says it."""
    for report in reports:
        if not (name == "table" and output is None and sys.stdout.isatty()):
            for note in report.notes:
                if note.kind == "warning" and sys.stderr is not None:
                    sys.stderr.write(f"warning: {one_line(note.text)}\n")
        yield report


def _apart(reports: Iterable[Report], name: str) -> Iterator[Report]:
    """The reports, with an empty line between pictures."""
    for i, report in enumerate(reports):
        if i and name == "table":
            sys.stdout.write("\n")
        yield report


def weights_target(output: str) -> tuple[Path, Literal["safetensors", "npz"], str]:
    """Where weights go, in which format, and the name they get where that is a folder ("" where it is the file itself).

    A folder is what exists as one, ends in a slash, or has no suffix.
    """
    path, suffix = Path(output), Path(output).suffix.lower()
    if path.is_dir() or output.endswith(("/", os.sep)) or not suffix:
        return path, "safetensors", "model.safetensors"
    if suffix not in (".npz", ".safetensors"):
        hint = "choose one of the two; a folder's name may end with a slash"
        raise UsageError(f"--output {quote(output)}: weights are saved as .npz or .safetensors", hint)
    return path, "npz" if suffix == ".npz" else "safetensors", ""


def save_files(
    output: Path, weights: str, write: Callable[[Path], None], beside: Mapping[str, bytes], *, force: bool
) -> None:
    """Writes weights and the files that belong beside them, each under another name first.

    `weights`: "" where `output` is the weight file itself; else its name in the folder `output`, which is made. Files that
    are there already are kept: UsageError names them, unless `force`, or unless they hold the same.
    """
    folder, file = (output, output / weights) if weights else (output.parent, output)
    others = {folder / name: data for name, data in beside.items() if not _holds(folder / name, data)}
    kept = [path for path in (file, *others) if os.path.lexists(path)]
    if kept and not force:
        named = ", ".join(quote(str(path), 1000) for path in kept)
        verb, them = ("exists", "it") if len(kept) == 1 else ("exist", "them")
        raise UsageError(f"--output: {named} {verb} already", f"--force replaces {them}")
    made = bool(weights) and not folder.exists()
    if made:
        try:
            folder.mkdir(parents=True)
        except OSError as error:
            raise UsageError(
                f"--output {quote(str(folder))}: {error.strerror or error}", "choose another place"
            ) from None
    try:
        with replacing(file) as part:
            write(part)
            for path, data in others.items():
                with replacing(path) as other:
                    other.write_bytes(data)
    except BaseException:
        if made and folder.is_dir() and not file.exists():
            for path in others:
                path.unlink(missing_ok=True)
            folder.rmdir()
        raise


def _holds(path: Path, data: bytes) -> bool:
    try:
        return path.stat().st_size == len(data) and path.read_bytes() == data
    except OSError:
        return False


@contextmanager
def replacing(output: Path) -> Iterator[Path]:
    """A path beside `output` to write to; it takes the place of `output` when the block ends without an error.

    A link stays a link, to the new file. A device or pipe (/dev/null, /dev/stdout) is written to itself.
    """
    direct = output.exists() and not output.is_file() and not output.is_dir()
    file = output if direct or not output.is_symlink() else Path(os.path.realpath(output))
    part = output if direct else file.with_name(f".{file.name}.{os.getpid()}.part")
    try:
        yield part
        if not direct:
            with suppress(OSError):
                shutil.copymode(file, part)  # where it replaces a file, with that one's permissions
            os.replace(part, file)
    except OSError as error:
        raise UsageError(
            f"--output {quote(str(output))}: {error.strerror or error}", "check the folder and its permissions"
        ) from None
    finally:
        if not direct:
            part.unlink(missing_ok=True)
