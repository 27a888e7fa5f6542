"""Reads a key for `agent-tui auth set`, without showing it."""

import sys

from agent_tui.protocol.errors import UsageError
from agent_tui.providers.kept_keys import MAX_KEY_CHARS


def read_key() -> str:
    """Read a key from the terminal without showing it, or from what is piped in. Raises UsageError."""
    if sys.stdin is None:  # pyright: ignore[reportUnnecessaryComparison]  # None when the descriptor is closed
        raise UsageError("no key on standard input")
    if sys.stdin.isatty():
        from getpass import getpass  # only at a terminal

        return getpass("Key (not shown): ")
    return sys.stdin.readline(MAX_KEY_CHARS + 2)
