"""Lends the terminal to something else for a while and takes it back whatever happens there."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from typing import TYPE_CHECKING

from textual.app import SuspendNotSupported

if TYPE_CHECKING:
    from agent_tui.ui.app import AgentApp


def lend_terminal(app: AgentApp, work: Callable[[], object]) -> str:
    """Do `work` on the terminal's normal screen; give "" or what went wrong."""
    failed = ""
    try:
        with app.suspend():
            try:
                work()
            except (OSError, ValueError, subprocess.CalledProcessError) as error:
                failed = str(
                    error
                )  # an error that leaves the block would leave the terminal as it is in there
    except SuspendNotSupported:
        return "a page in a browser has no terminal to lend"
    app.redraw()
    return failed
