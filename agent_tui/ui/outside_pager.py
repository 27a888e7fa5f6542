"""Shows a text outside the full screen: in the person's pager, or in the terminal's own scrollback."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from agent_tui.ui.outside import lend_terminal

if TYPE_CHECKING:
    from agent_tui.ui.app import AgentApp

_LESS = "less -R"


def page_outside(app: AgentApp, text: Callable[[], str]) -> None:
    """Open a text in $PAGER, or less; say so when that fails. It is made while the screen is away."""
    command = os.environ.get("PAGER") or _LESS

    def show() -> None:
        subprocess.run(shlex.split(command), input=text().encode("utf-8", "replace"), check=True)

    failed = lend_terminal(app, show)
    if failed:
        app.notice("error", f"The pager {command!r} did not do its work: {failed}. Set PAGER to another.")


def dump_outside(app: AgentApp, text: Callable[[], str]) -> None:
    """Write a text on the terminal's normal screen, where it stays in the scrollback; Enter comes back."""
    failed = lend_terminal(app, lambda: _dump(text()))
    if failed:
        app.notice("error", f"The conversation could not be written to the terminal: {failed}.")


def _dump(text: str) -> None:
    out = sys.__stdout__
    if out is None:
        raise OSError("there is no terminal")
    out.write(f"{text}\nEnter goes back to agent-tui; this stays in the scrollback. ")
    out.flush()
    while (pressed := os.read(0, 1024)) and b"\n" not in pressed and b"\r" not in pressed:
        pass
    out.write("\n")
    out.flush()
