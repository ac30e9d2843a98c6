"""The command line as a user meets it: streams, exit codes, two-line errors."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tests.helpers import GOLDEN, interruptible
from tests.helpers import attn_cli as run

BERT = ("show", "-m", str(GOLDEN / "bert"))
GPT2 = ("show", "-m", str(GOLDEN / "gpt2"))


def refused(code: int, *args: str, **options: object) -> tuple[str, str]:
    """The error and the hint of a command line that must fail: two lines on stderr, nothing on stdout."""
    done = run(*args, **options)  # type: ignore[arg-type]
    assert done.returncode == code, (args, done.stderr)
    assert done.stdout == b""
    lines = done.stderr.decode("utf-8", "backslashreplace").splitlines()
    assert len(lines) == 2, lines
    assert lines[0].startswith("error: ")
    assert lines[1].startswith("hint: ")
    assert "Traceback" not in lines[0]
    return lines[0], lines[1]


@pytest.mark.parametrize(
    ("args", "code", "error", "hint"),
    [
        ((*BERT, "the", "cat"), 2, "unexpected extra argument", "in quotes"),
        (("models", "x"), 2, "unexpected extra argument", "models takes no text; attn-cli models --help"),
        (("save", "x"), 2, "unexpected extra argument", "save takes no text"),
        ((*BERT, "-5 degrees"), 2, "no such option", 'attn-cli show -- "-5 degrees"'),
        ((*BERT, "x", "--layr", "1"), 2, "no such option: --layr", "--layer"),
        (("shwo", "x"), 2, "no such command 'shwo'", "'show'"),
        ((*BERT, "x", "--view", "foo"), 2, "'foo' is not one of", "--help"),
        ((*BERT, "x", "-k", "0"), 2, "--top 0", "1 or more"),
        ((*BERT, "x", "-k", "many"), 2, "--top", "--help"),
        ((*BERT, "x", "-l", "9"), 2, "no layer 9", "0 to 1"),
        ((*BERT, "x", "-l", "1", "-H", "0.1"), 2, "named twice", "leave out --layer"),
        ((*BERT, "the dog", "-q", "dogs"), 2, "'dogs' is not in the text", "nearest: 'dog'"),
        ((*BERT, "x", "-f", "yaml"), 2, "--format 'yaml'", "table"),
        ((*BERT, "x", "--json", "-f", "svg"), 2, "contradict", "one"),
        ((*BERT, "x", "-o", "x.svg", "--json"), 2, "contradict", "leave"),
        ((*BERT, "x", "-o", "x.xyz"), 2, "'.xyz'", ".json"),
        ((*BERT, "x", "-o", "/no/such/folder/x.json"), 2, "/no/such/folder", "folder"),
        ((*BERT, "x", "--lines", "--json"), 2, "--lines", "jsonl"),
        ((*BERT, "x", "--file", "y"), 2, "--file y", "one of them"),
        (("show", "--file", "/no/such"), 2, "/no/such", "path"),
        ((*BERT, "x", "--random"), 2, "contradict", "one of them"),
        ((*BERT, "x", "--n-heads", "2"), 2, "whole model", "leave"),
        ((*BERT, "x", "--hide-special", "-q", "[CLS]"), 2, "only special tokens", "--hide-special"),
        (("show", "-m", "/no/such/model", "x"), 3, "'/no/such/model'", "path"),
        (("show", "-m", str(GOLDEN), "x"), 3, "no weights", "did you mean"),
        ((*GPT2, ""), 5, "no tokens", "text"),
        ((*GPT2, "a " * 60), 5, "at most 48", "shorten"),
        (("save",), 2, "no file", "attn-cli save"),
        (("save", "-o", "w.pt"), 2, ".safetensors", "choose"),
        (("save", "-m", str(GOLDEN / "bert"), "-o", "w.npz", "--dtype", "bfloat16"), 2, "bfloat16", "safetensors"),
    ],
)
def test_errors(args: tuple[str, ...], code: int, error: str, hint: str) -> None:
    found = refused(code, *args)
    assert error in found[0]
    assert hint in found[1]


def test_a_text_is_an_argument_or_standard_input() -> None:
    first = run(*GPT2, "the cat", "--json").stdout
    assert run(*GPT2, "--json", stdin="the cat").stdout == first
    assert run(*GPT2, "--json", "-", stdin="the cat\n").stdout == first
    assert run(*GPT2, "--json", "--", "the cat").stdout == first
    assert run(*GPT2, "--json", "-", stdin=b"\xef\xbb\xbfthe cat\r\n").stdout == first


def test_text_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_text("the cat\n", encoding="utf-8")
    done = run(*GPT2, "--json", "--file", str(tmp_path / "t.txt"))
    assert done.stdout == run(*GPT2, "the cat", "--json").stdout


@pytest.mark.parametrize("name", ["tiny", "tiny-causal"])
def test_the_header_of_a_bundled_model_is_one_line_in_a_pipe(name: str) -> None:
    first = run("show", "-m", name, "the cat sat").stdout.decode().split("\n")[0]
    assert first.startswith(f"{name}: ")
    assert first.endswith("weights loaded")


def test_keys_that_were_asked_for_are_all_listed() -> None:
    def listed(*top: str) -> int:
        words = ("show", "the cat sat on the mat", "-H", "3.1", "--query", "sat", *top)
        done = run(*words, env={"COLUMNS": "60"})
        return len(re.findall(r" <?[\d.]+ [▏▎▍▌▋▊▉█]", done.stdout.decode()))

    assert listed("-k", "8") == 8
    assert listed() < 5


def test_windows_line_ends_inside_a_text() -> None:
    texts = [t["text"] for t in json.loads(run(*GPT2, "--json", stdin=b"a\r\nb\r\n").stdout)["tokens"]]
    assert texts == ["a", "\n", "b"]


@pytest.mark.parametrize(
    ("stdin", "says"),
    [(b"abc\xe9d", "byte 3"), ("abc".encode("utf-16"), "UTF-16"), (b"a" * 70000 + b"\xff", "byte 70000")],
)
def test_standard_input_that_is_no_utf8(stdin: bytes, says: str) -> None:
    assert says in refused(5, *GPT2, stdin=stdin)[0]


@pytest.mark.skipif(sys.platform == "win32", reason="arguments are Unicode there")
def test_arguments_that_the_locale_did_not_decode() -> None:
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = run(*GPT2, "caf\u00e9", "--json", env=plain)
    assert done.returncode == 0
    assert json.loads(done.stdout)["text"] == "caf\u00e9"
    command = [sys.executable.encode(), b"-m", b"attn_cli", *(a.encode() for a in GPT2), b"caf\xe9"]
    bad = subprocess.run(command, capture_output=True, check=False)
    assert bad.returncode == 5
    assert b"not valid UTF-8 at byte 3" in bad.stderr


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_consoles_that_lack_the_glyphs(encoding: str) -> None:
    done = run(*GPT2, "é👍 日本", env={"PYTHONIOENCODING": encoding})
    assert done.returncode == 0
    assert done.stderr == b""
    done.stdout.decode(encoding)
    document = run(*GPT2, "é👍", "--json", env={"PYTHONIOENCODING": encoding})
    assert json.loads(document.stdout.decode(encoding))["text"] == "é👍"
    refused(2, *GPT2, "é", "-q", "日本", env={"PYTHONIOENCODING": encoding})


@pytest.mark.parametrize(
    ("env", "coloured"),
    [({}, False), ({"FORCE_COLOR": "1"}, True), ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
     ({"FORCE_COLOR": "1", "NO_COLOR": ""}, True), ({"TERM": "dumb"}, False)],
)  # fmt: skip
def test_colour_in_a_pipe(env: dict[str, str], coloured: bool) -> None:
    done = run(*BERT, "only", env=env)
    assert (b"\x1b" in done.stdout) == coloured
    assert b"\x1b" not in run(*BERT, "only", "--json", env=env).stdout


@pytest.mark.parametrize("columns", ["20", "40", "60", "abc", "0", "-5", "500"])
def test_any_width(columns: str) -> None:
    done = run(*BERT, "the dog slept", env={"COLUMNS": columns})
    assert done.returncode == 0
    assert done.stdout.strip()


@pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX pipe")
@pytest.mark.parametrize("options", [("--json",), (), ("--format", "jsonl")])
def test_a_reader_that_leaves_early(options: tuple[str, ...]) -> None:
    command = [sys.executable, "-m", "attn_cli", *GPT2, "a b c d e f g h i j k l m n o p", *options]
    env = os.environ | {"PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env)
    process.stdout.read(1)
    process.stdout.close()
    errors = process.stderr.read()
    process.stderr.close()
    assert process.wait(30) in (0, 141, -signal.SIGPIPE)
    assert errors == b""


@pytest.mark.skipif(sys.platform == "win32", reason="signals differ")
def test_ctrl_c_while_the_command_line_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    from attn_cli import cli

    monkeypatch.setattr(cli, "app", lambda **_: 130)  # what the parser makes of it
    assert cli.run(["show"]) == 130


def test_ctrl_c() -> None:
    command = interruptible(*GPT2, "-")
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    time.sleep(2)
    process.send_signal(signal.SIGINT)
    out, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    assert out == b""
    assert b"Traceback" not in errors


def test_output_file_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    assert run(*BERT, "only", "-o", str(file)).stdout == b""
    assert file.read_bytes() == run(*BERT, "only", "--json").stdout
    file.write_text("before", encoding="utf-8")
    refused(2, *BERT, "only", "-q", "zebra", "-o", str(file))
    assert file.read_text(encoding="utf-8") == "before"
    assert [p.name for p in tmp_path.iterdir()] == ["a.json"]


def test_a_pipe_or_link_that_is_named_as_output_is_written_to_and_stays_what_it_is(tmp_path: Path) -> None:
    from attn_cli.streams import replacing

    fifo, got = tmp_path / "fifo.json", list[str]()
    os.mkfifo(fifo)
    reader = threading.Thread(target=lambda: got.append(fifo.read_text()), daemon=True)
    reader.start()
    with replacing(fifo) as part, part.open("w") as stream:
        stream.write("whole")
    assert fifo.is_fifo()
    reader.join(10)
    assert got == ["whole"]

    file, link = tmp_path / "file.json", tmp_path / "link.json"
    file.write_text("old")
    link.symlink_to(file)
    with replacing(link) as part, part.open("w") as stream:
        stream.write("new")
    assert link.is_symlink()
    assert file.read_text() == "new"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["fifo.json", "file.json", "link.json"]


def test_version_and_help() -> None:
    assert run("--version").stdout.decode().startswith("attn-cli ")
    assert run("-V").stdout == run("--version").stdout
    for args in (("-h",), ("show", "-h")):
        done = run(*args)
        assert done.returncode == 0
        assert b"attn-cli" in done.stdout


def test_json_keeps_the_contract() -> None:
    document = json.loads(run(*BERT, "Only two", "-H", "1.2", "-k", "2", "--json").stdout)
    assert list(document)[:6] == ["schema", "version", "text", "pair", "target", "model"]
    assert document["schema"] == "attn-cli.show/1"
    assert document["merge"] == "pieces"
    assert document["model"]["weights"] == "loaded"
    (head,) = document["heads"]
    assert (head["kind"], head["layer"], head["head"]) == ("self", 1, 2)
    assert head["queries"] == head["keys"] == list(range(len(document["tokens"])))
    assert all(abs(sum(row) - 1) < 1e-5 for row in head["attn"])
    assert all(len(t["keys"]) == 2 for t in head["top"])
    for token in document["tokens"]:
        assert set(token) >= {"position", "id", "piece", "text", "start", "end", "special", "segment"}
    first = head["top"][0]
    best = max(range(len(head["keys"])), key=head["attn"][0].__getitem__)
    assert first["keys"][0]["key"] == head["keys"][best]
    assert first["keys"][0]["weight"] == head["attn"][0][best]


def test_json_without_matrices() -> None:
    document = json.loads(run(*BERT, "Only two", "--json", "--no-attn").stdout)
    assert all("attn" not in h and h["top"] for h in document["heads"])


def test_json_lines_of_several_texts() -> None:
    done = run(*GPT2, "--lines", "--format", "jsonl", "-l", "0", stdin="the cat\n\nthe dog\n")
    records = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(r["text"], r["layer"], r["head"]) for r in records] == [(t, 0, h) for t in (0, 2) for h in range(4)]


def test_several_texts_as_pictures() -> None:
    done = run(*GPT2, "--lines", "-H", "0.0", stdin="cat\ndog\n")
    assert done.stdout.count(b"L0.H0") == 2


def test_words_and_hidden_specials_in_json() -> None:
    document = json.loads(run(*BERT, "Only two of", "--words", "--hide-special", "--json").stdout)
    assert document["merge"] == "words"
    assert document["hidden"] == [0, 9]
    head = document["heads"][0]
    assert head["queries"] == [[1, 2, 3], [4, 5, 6], [7, 8]]
    assert all(abs(sum(row) + held - 1) < 1e-5 for row, held in zip(head["attn"], head["held"], strict=True))
    plain = json.loads(run(*BERT, "Only two of", "--json").stdout)["heads"][0]["attn"]
    want = sum(plain[q][k] for q in (1, 2, 3) for k in (4, 5, 6)) / 3
    assert abs(head["attn"][0][1] - want) < 1e-6
    scaled = json.loads(run(*BERT, "Only two of", "--words", "--hide-special", "--renormalise", "--json").stdout)
    assert all(abs(sum(row) - 1) < 1e-5 for row in scaled["heads"][0]["attn"])


def test_an_unknown_setting_is_refused_and_can_be_passed_over(tmp_path: Path) -> None:
    import shutil

    shutil.copytree(GOLDEN / "bert", tmp_path / "m")
    config = json.loads((tmp_path / "m" / "config.json").read_text(encoding="utf-8"))
    config["foo_scaling"] = 2
    (tmp_path / "m" / "config.json").write_text(json.dumps(config), encoding="utf-8")
    assert "foo_scaling = " in refused(4, "show", "-m", str(tmp_path / "m"), "only")[0]
    done = run("show", "-m", str(tmp_path / "m"), "only", "--ignore-key", "foo_scaling")
    assert done.returncode == 0
    assert b"foo_scaling" in done.stdout
    document = json.loads(
        run("show", "-m", str(tmp_path / "m"), "only", "--ignore-key", "foo_scaling", "--json").stdout
    )
    assert document["model"]["ignored_keys"] == ["foo_scaling"]


def test_unused_tensors_are_counted() -> None:
    document = json.loads(run(*BERT, "only", "--json").stdout)
    assert document["model"]["unused_tensors"] == 5


def test_paths_with_markup_and_controls_are_safe(tmp_path: Path) -> None:
    name = "m[/]\u202e\x1b[31m"
    error, _ = refused(3, "show", "-m", str(tmp_path / name), "x")
    assert "\x1b" not in error
    assert "[/]" in error


@pytest.mark.skipif(sys.platform != "linux", reason="needs /dev/full")
@pytest.mark.parametrize("args", [(*BERT, "only"), (*BERT, "only", "--json"), ("--help",)])
def test_a_full_disk_is_two_lines(args: tuple[str, ...]) -> None:
    with open("/dev/full", "wb") as full:
        command = [sys.executable, "-m", "attn_cli", *args]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, check=False, timeout=60)
    assert done.returncode == 2
    assert done.stderr.splitlines()[0].startswith(b"error: cannot write")
    assert len(done.stderr.splitlines()) == 2


@pytest.mark.skipif(sys.platform == "win32", reason="a POSIX shell closes it")
def test_a_closed_standard_output_is_said() -> None:
    line = f"{sys.executable} -m attn_cli show only -m {GOLDEN / 'bert'} >&-"
    done = subprocess.run(["sh", "-c", line], stderr=subprocess.PIPE, check=False, timeout=60)
    assert done.returncode == 2
    assert done.stderr.splitlines()[0] == b"error: standard output is closed"


def test_no_arguments_are_a_question_for_help() -> None:
    done = run()
    assert done.returncode == 0
    assert b"Usage: attn-cli" in done.stdout
    assert done.stderr == b""


def test_warnings_reach_standard_error_beside_data(tmp_path: Path) -> None:
    import shutil

    shutil.copytree(GOLDEN / "llama", tmp_path / "m")
    config = json.loads((tmp_path / "m" / "config.json").read_text(encoding="utf-8"))
    (tmp_path / "m" / "config.json").write_text(json.dumps(config | {"max_position_embeddings": 4}), encoding="utf-8")
    done = run("show", "-m", str(tmp_path / "m"), "the dog slept here", "--json")
    assert done.returncode == 0
    assert b"the model was made for 4" in done.stderr
    json.loads(done.stdout)


def test_an_error_of_one_of_several_lines_says_which() -> None:
    found = refused_line(run(*GPT2, "--lines", "--format", "jsonl", "--no-attn", stdin="cat\n" + "a " * 90 + "\n"))
    assert "line 2: the text has" in found


def refused_line(done: object) -> str:
    assert done.returncode == 5  # type: ignore[attr-defined]
    return done.stderr.decode().splitlines()[0]  # type: ignore[attr-defined]


@pytest.mark.parametrize("text", ["", "  ", "\u200b"])
@pytest.mark.parametrize(
    "command", [["show"], ["explain"], ["heads"], ["find", "-q", "0"], ["compare", "-H", "0.0", "--other-head", "0.1"]]
)
def test_a_text_without_tokens_of_its_own_is_refused(command: list[str], text: str) -> None:
    args = (*command, "-m", str(GOLDEN / "bert"))
    for done in (refused(5, *args, text), refused(5, *args, "-", stdin=text)):
        assert done[0] == "error: the text has no tokens"


def test_the_other_text_and_the_pair_need_tokens_too() -> None:
    assert refused(5, "compare", *BERT[1:], "only", "")[0] == "error: the other text has no tokens"
    assert refused(5, *BERT, "only", "--pair", " ")[0] == "error: the pair has no tokens"
    assert refused(5, *BERT, " ", "--pair", "only")[0] == "error: the text has no tokens"


def test_white_space_is_a_text_where_it_has_tokens() -> None:
    assert run(*GPT2, " ").returncode == 0


SAMPLES = Path(__file__).parents[1] / "samples"


@pytest.mark.parametrize("source", [("-w", "bare.npz"), ("--attn", "attention.npz")])
@pytest.mark.parametrize(
    ("args", "named"),
    [
        (("show", "x y"), "the text"),
        (("show", "-"), "the text"),
        (("show", "--lines", "--file", "x.txt"), "--file and --lines"),
        (("show", "x", "--pair", "y"), "the text and --pair"),
        (("heads", "x y"), "the text"),
        (("find", "x y", "-q", "0"), "the text"),
        (("compare", "x y", "-H", "0.0", "--other-head", "0.0"), "the text"),
    ],
)
def test_a_text_is_refused_where_the_file_brings_its_own(
    source: tuple[str, str], args: tuple[str, ...], named: str
) -> None:
    error, hint = refused(2, *args, source[0], str(SAMPLES / source[1]))
    assert source[1] in error
    assert error.endswith("brings its own tokens")
    assert hint == f"hint: leave out {named}"


def test_explain_and_the_other_text_are_as_strict() -> None:
    bare, attn = str(SAMPLES / "bare.npz"), str(SAMPLES / "attention.npz")
    assert refused(2, "explain", "x y", "-w", bare)[1] == "hint: leave out the text"
    assert refused(2, "compare", "x", "y", "--attn", attn)[1] == "hint: leave out the other text"


def test_saved_attention_is_compared_with_a_model_that_reads_the_text(tmp_path: Path) -> None:
    saved = tmp_path / "a.json"
    assert run(*BERT, "only", "-o", str(saved)).returncode == 0
    done = run("compare", "only", "--attn", str(saved), "--other-model", str(GOLDEN / "bert"), "--json")
    assert {head["divergence"] for head in json.loads(done.stdout)["heads"]} == {0.0}


def test_a_text_far_too_long_is_refused_by_its_beginning() -> None:
    error, _ = refused(5, *GPT2, stdin="word " * 100_000)
    assert "more than" in error
    assert "at most 48" in error


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX permissions")
def test_a_file_that_is_replaced_keeps_its_permissions(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_text("before", encoding="utf-8")
    file.chmod(0o640)
    assert run(*BERT, "only", "-o", str(file)).returncode == 0
    assert file.stat().st_mode & 0o777 == 0o640


def test_a_dash_after_two_dashes_is_text() -> None:
    assert json.loads(run(*GPT2, "--json", "--", "-", stdin="the cat").stdout)["text"] == "-"
