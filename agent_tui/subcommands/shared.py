"""What the options of several subcommands share."""

from pathlib import Path

import click

DIRECTORY = click.option("-C", "--cd", "--cwd", "directory", type=click.Path(path_type=Path), default=None)

MODE_NAMES = (
    "default",
    "accept-edits",
    "acceptEdits",
    "plan",
    "auto",
    "dont-ask",
    "dontAsk",
    "bypass",
    "bypassPermissions",
)
