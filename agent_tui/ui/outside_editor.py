"""Lets the person's own editor change a text."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from agent_tui.ui.outside import lend_terminal

if TYPE_CHECKING:
    from agent_tui.ui.app import AgentApp
    from agent_tui.ui.commands.registry import Level


def edit_outside(app: AgentApp, text: str, *, say: Callable[[str], None] | None = None) -> str | None:
    """Open `text` in $VISUAL or $EDITOR and give what became of it; None when there is none or it failed.

    `say` is told of that where the transcript is not seen.
    """
    with tempfile.TemporaryDirectory(prefix="agent-tui-") as folder:
        file = Path(folder) / "prompt.md"
        file.write_text(text, encoding="utf-8")
        if not open_outside(app, file, say=say):
            return None
        return file.read_text(encoding="utf-8", errors="replace").rstrip("\n")


def open_outside(app: AgentApp, file: Path, *, say: Callable[[str], None] | None = None) -> bool:
    """Open a file in $VISUAL or $EDITOR; False when there is none or it failed, which the person is told."""
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    if not editor:
        _tell(app, "warning", "Set VISUAL or EDITOR to edit a text outside.", say)
        return False
    failed = lend_terminal(app, lambda: subprocess.run([*shlex.split(editor), str(file)], check=True))
    if failed:
        _tell(app, "error", f"The editor {editor!r} did not do its work: {failed}.", say)
    return not failed


def _tell(app: AgentApp, level: Level, text: str, say: Callable[[str], None] | None) -> None:
    if say is not None:
        say(text)
    else:
        app.notice(level, text)
