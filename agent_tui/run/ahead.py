"""Imports what the first turn needs and a start does not, for a thread once the person begins to type."""

from importlib import import_module

from agent_tui.providers.connect import warm_up

_FIRST_TURN = ("agent_tui.permissions.shell.analysis",)
"""40 ms of CPU together; whoever needs them imports them where it needs them."""


def load_ahead(provider: str) -> None:
    """Import it all, the SDK of `provider` last, which takes longest."""
    for name in _FIRST_TURN:
        import_module(name)
    warm_up(provider)
