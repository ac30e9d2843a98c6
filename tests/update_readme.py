"""Runs every console block of the README again and writes what it prints: python -m tests.update_readme

Blocks marked real need ATTN_CLI_REAL_MODELS; without it they stay as they are.
"""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path

from tests.test_readme import BLOCK, README, execute, prepare


def main() -> None:
    text = README.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepare(folder)

        def again(match: re.Match[str]) -> str:
            real, language, body = match.groups()
            if language != "console" or (real and not os.environ.get("ATTN_CLI_REAL_MODELS")):
                return match[0]
            done = []
            for part in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
                command = part.partition("\n")[0]
                done.append(f"$ {command}\n{execute(command, folder).rstrip()}\n")
            return f"{real or ''}```console\n{''.join(done)}```"

        README.write_text(BLOCK.sub(again, text), encoding="utf-8")


if __name__ == "__main__":
    main()
