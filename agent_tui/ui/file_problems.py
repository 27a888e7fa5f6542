"""What is wrong in the files that only the interface reads: keys and themes."""

from __future__ import annotations

from pathlib import Path

from agent_tui.protocol.errors import ConfigError
from agent_tui.ui.key_clashes import key_clashes
from agent_tui.ui.presets import Preset
from agent_tui.ui.themes import ThemeShelf


def file_problems(keymap: Path | None, shelf: ThemeShelf, *, preset: Preset) -> list[str]:
    """Give a sentence with file and line for each thing that is wrong."""
    found: list[str] = []
    if keymap is not None:
        try:
            found += [str(clash) for clash in key_clashes(keymap, preset=preset)]
        except ConfigError as error:
            found += error.problems
    return [*found, *shelf.problems()]
