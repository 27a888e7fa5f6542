"""The last lines of what a server or an extension wrote and what became of it, for the panel and for error messages."""

from collections import deque
from datetime import datetime

from agent_tui.extensions.plain import one_line

MAX_LINES = 300
MAX_LINE_CHARS = 400


class ServerLog:
    """At most 300 lines of a server; older ones go. A line is (time, kind, text); kind is stderr, log, noise or state."""

    def __init__(self) -> None:
        self._lines: deque[tuple[datetime, str, str]] = deque(maxlen=MAX_LINES)

    def add(self, kind: str, text: str) -> None:
        """Add what was said as one line."""
        line = one_line(text, limit_chars=MAX_LINE_CHARS)
        if line:
            self._lines.append((datetime.now(), kind, line))

    def lines(self) -> list[str]:
        """Give the lines, oldest first, as "12:00:01 stderr  text"."""
        return [f"{when:%H:%M:%S} {kind:6} {text}" for when, kind, text in self._lines]

    def last(self, kind: str, count: int = 3, *, since: datetime = datetime.min) -> list[str]:
        """Give the last lines of a kind, oldest first, each text once."""
        texts = dict.fromkeys(text for when, found, text in self._lines if found == kind and when >= since)
        return [*texts][-count:]
