"""What is wrong in the files that only the interface reads: keys and themes."""

from __future__ import annotations

from pathlib import Path

from agent_tui.protocol.errors import ConfigError
from agent_tui.ui.keymap import read_overrides
from agent_tui.ui.themes import ThemeShelf


def file_problems(keymap: Path | None, shelf: ThemeShelf) -> list[str]:
    """Give a sentence with file and line for each thing that is wrong."""
    found: list[str] = []
    if keymap is not None:
        try:
            read_overrides(keymap)
        except ConfigError as error:
            found += error.problems
    for name in shelf.names():
        try:
            shelf.load(name)
        except ConfigError as error:
            found += error.problems
    return found
