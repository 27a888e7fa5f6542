"""Imports what the first answer and its questions need, for a thread once the person begins to type."""

from __future__ import annotations

from importlib import import_module

from agent_tui.ui.render.warm import warm

_DIALOGS = (
    "agent_tui.ui.outside_pager",
    "agent_tui.ui.screens.approval.screen",
    "agent_tui.ui.screens.question",
    "agent_tui.ui.screens.changes",
    "agent_tui.ui.screens.confirm",
    "agent_tui.ui.screens.earlier",
    "agent_tui.ui.screens.help",
    "agent_tui.ui.screens.mcp.panel",
    "agent_tui.ui.screens.reader.screen",
    "agent_tui.ui.screens.rules",
    "agent_tui.ui.screens.sessions",
    "agent_tui.ui.screens.viewer",
    "agent_tui.ui.settings_open",
)
"""60 ms of CPU together; whoever opens them imports them then."""


def load_ahead() -> None:
    """Import the parsers of a reply, then the dialogs that an answer or a command may open."""
    warm()
    for name in _DIALOGS:
        import_module(name)
