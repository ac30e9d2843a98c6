"""Where the program begins, also as `python -m attn_cli`."""

from __future__ import annotations

import os


def main() -> None:
    """Runs the command line; Ctrl-C while it is still being loaded ends it as quietly as later on."""
    try:
        from attn_cli.cli import main
    except KeyboardInterrupt:
        os._exit(130)
    main()


if __name__ == "__main__":
    main()
