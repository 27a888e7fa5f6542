"""What the options of several subcommands share."""

from pathlib import Path

import click

from agent_tui.protocol.near_names import did_you_mean

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


class Word(click.Choice[str]):
    """One of some words; a refusal says which may be meant."""

    def get_invalid_choice_message(self, value: object, ctx: click.Context | None) -> str:
        """Say what is wrong with `value`."""
        return f"there is no {str(value)!r}{did_you_mean(str(value), self.choices, end='.')}"
