"""Shows a text outside the full screen: in the person's pager, or in the terminal's own scrollback."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agent_tui.ui.app import AgentApp

_LESS = "less -R"


def page_outside(app: AgentApp, text: str) -> None:
    """Open `text` in $PAGER, or less; say so when that fails."""
    command = os.environ.get("PAGER") or _LESS
    try:
        with app.suspend():
            subprocess.run(shlex.split(command), input=text.encode("utf-8", "replace"), check=True)
    except (OSError, ValueError, subprocess.CalledProcessError) as error:
        app.notice("error", f"The pager {command!r} did not do its work: {error}. Set PAGER to another.")
    app.redraw()


def dump_outside(app: AgentApp, text: str) -> None:
    """Write `text` on the terminal's normal screen, where it stays in the scrollback; Enter comes back."""
    with app.suspend():
        out = sys.__stdout__
        if out is not None:
            out.write(text)
            out.write("\nEnter goes back to agent-tui; this stays in the scrollback. ")
            out.flush()
        _wait_for_enter()
        if out is not None:
            out.write("\n")
            out.flush()
    app.redraw()


def _wait_for_enter() -> None:
    while (pressed := os.read(0, 1024)) and b"\n" not in pressed and b"\r" not in pressed:
        pass
