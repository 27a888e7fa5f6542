"""Imports what the first turn needs and a start does not, for a thread once the person begins to type."""

import logging
from collections.abc import Callable
from importlib import import_module

from agent_tui.protocol.errors import ToolLoadError
from agent_tui.providers.connect import warm_up

_FIRST_TURN = (
    "agent_tui.conversation.changes",
    "agent_tui.conversation.clipboard",
    "agent_tui.conversation.pictures",
    "agent_tui.permissions.shell.analysis",
    "agent_tui.sandbox.proxied",
    "agent_tui.toolkit.web",
)
"""50 ms of CPU together; whoever needs them imports them where it needs them."""
_LOG = logging.getLogger(__name__)


def load_ahead(provider: str, load_tools: Callable[[], None]) -> None:
    """Load it all: the tools first, the SDK of `provider` last, which takes longest."""

    def first() -> None:
        try:
            load_tools()
        except ToolLoadError:  # the turn that needs them says it to the person
            _LOG.exception("the bundled tools cannot be loaded")
        for name in _FIRST_TURN:
            import_module(name)

    warm_up(provider, first=first)
