"""`python -m attn_cli`."""

from attn_cli.cli import main

main()
