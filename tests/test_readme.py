"""The README is true: every console block is run and its output compared, every Python block is executed."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import jq
import pytest

from tests.helpers import attn_cli as run

README = Path(__file__).parents[1] / "README.md"
BLOCK = re.compile(r"(<!-- real -->\n)?^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
WIDTH = "100"
BENCH = ("--quick", "--peer", "--models", "--picture")  # of python -m tests.bench


def commands(language: str) -> list[object]:
    """(command, expected output) of each block; those that need a trained model are marked."""
    found = []
    for real, name, body in BLOCK.findall(README.read_text(encoding="utf-8")):
        if name != language:
            continue
        for part in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            marks = [pytest.mark.real] if real else []
            found.append(pytest.param(command, output, marks=marks, id=command[:60]))
    return found


def execute(command: str, folder: Path) -> str:
    """Runs one README line: attn-cli with a pipe into jq, and files of the folder."""
    line, _, after = command.partition(" | jq ")
    if line.startswith("echo "):
        said, _, line = line.partition(" | ")
        stdin = " ".join(shlex.split(said)[1:]) + "\n"
    else:
        stdin = ""
    words = shlex.split(line)
    assert words[0] == "attn-cli", command
    home = os.getcwd()
    os.chdir(folder)
    try:
        done = run(*words[1:], stdin=stdin, env={"COLUMNS": WIDTH})
    finally:
        os.chdir(home)
    assert done.returncode == 0, done.stderr.decode()
    text = done.stdout.decode()
    if after:
        *flags, program = shlex.split(after)
        documents = text.splitlines() if "jsonl" in line else [text]
        results = [r for d in documents for r in jq.compile(program).input_text(d).all()]
        return "".join((r if isinstance(r, str) and "-r" in flags else jq_text(r, flags)) + "\n" for r in results)
    return text


def jq_text(value: object, flags: list[str]) -> str:
    import json

    return (
        json.dumps(value, separators=(",", ":"), ensure_ascii=False) if "-c" in flags else json.dumps(value, indent=2)
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the README's commands find beside them, its Python examples run."""
    path = tmp_path_factory.mktemp("readme")
    prepare(path)
    return path


def prepare(path: Path) -> None:
    """Puts into the folder what the README's commands need: the models, and what its Python examples make."""
    models = os.environ.get("ATTN_CLI_REAL_MODELS")
    if models:
        (path / "models").symlink_to(models)
    for _, name, body in BLOCK.findall(README.read_text(encoding="utf-8")):
        if name == "python":
            done = subprocess.run([sys.executable, "-c", body], cwd=path, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("command", "output"), commands("console"))
def test_console_blocks(command: str, output: str, folder: Path) -> None:
    assert execute(command, folder).rstrip("\n") == output.rstrip("\n")


def test_every_command_has_a_section() -> None:
    from attn_cli.cli import _commands

    text = README.read_text(encoding="utf-8")
    for name in _commands():
        assert f"## `attn-cli {name}`" in text, name


def test_every_option_stands_in_the_help_and_no_other_in_the_readme() -> None:
    from attn_cli.cli import _commands

    known = set()
    for name in _commands():
        known |= set(re.findall(r"--[a-z][a-z-]+", run(name, "--help", env={"COLUMNS": "300"}).stdout.decode()))
    used = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", README.read_text(encoding="utf-8")))
    assert used - known <= {"--no-deps", "--target", "--version", *BENCH}
