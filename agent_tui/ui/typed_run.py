"""A paste of a terminal that marks none: it comes as keys, thousands at once, and is taken for one text."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator

from textual import events

RUN_CHARS = 64
"""More characters than these in one read are no keys that a person pressed."""
BURST_S = 0.002
"""Keys nearer than this come from one read of the terminal: nobody types so fast."""
JOIN_S = 0.1
"""How long the next part of a run may take to come."""
MAX_CHARS = 1_000_000
"""A run is handed over at this length, so that a stream without an end is not gathered for ever."""

_PLAIN = re.compile(
    r"[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]*"
)  # no control characters but Tab and line breaks
_BREAK = re.compile(r"[\r\n]")
_ENTER = ("\r", "\n")
_CUT_SEQUENCE = re.compile(r"\x1b(\[[0-9;:<?]*)?\Z")
_MARK = re.compile(r"\x1b\[20([01])~")
_MARK_CHARS = 6


class TypedRun(events.Paste):
    """A text that came as keys in one piece, its line breaks as they came. Whatever takes a paste takes it.

    The first of a run comes at once and holds no text, since the rest may take a while. `ended_at` is when its last part
    was read, by the clock of an event's time.
    """

    def __init__(self, text: str, *, began_at: float, ended_at: float) -> None:
        super().__init__(text)
        self.time = began_at
        self.ended_at = ended_at


TypedRun.handler_name = events.Paste.handler_name  # Textual makes one of the class's name


class RunReader:
    """Tells runs from keys, from parts of escape sequences and from what stands between the marks of a paste.

    `more` reads what comes within so many seconds, None when there is nothing.
    """

    def __init__(
        self, more: Callable[[float], str | None], *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._more = more
        self._clock = clock
        self._tail = ""
        self._in_paste = False

    def split(self, text: str) -> Iterator[TypedRun | str]:
        """Give the run that `text` begins with, read to its end, and the keys: all of `text` when it is no run."""
        if not self._in_paste and not _CUT_SEQUENCE.search(self._tail) and _plain(text) > RUN_CHARS:
            began_at = self._clock()
            yield TypedRun("", began_at=began_at, ended_at=began_at)
            run, text, ended_at = self._whole(text, began_at)
            yield TypedRun(run, began_at=began_at, ended_at=ended_at)
        seen = self._tail + text
        for mark in _MARK.finditer(seen):
            self._in_paste = mark[1] == "0"
        cut = _CUT_SEQUENCE.search(seen)
        self._tail = seen[cut.start() :] if cut else seen[1 - _MARK_CHARS :]
        yield text

    def _whole(self, text: str, at: float) -> tuple[str, str, float]:
        """Read on while a run goes on; give it, the keys behind it, and when its last part came."""
        part: str | None = text
        while _plain(part) == len(part) and len(text) < MAX_CHARS:
            if (part := self._more(JOIN_S)) is None:
                break
            came = self._clock()
            if part in _ENTER and came - at > BURST_S and text[-1] not in _ENTER:
                follows = self._more(JOIN_S)
                if follows is None:
                    return text, part, at  # an Enter of its own: it sends what a script has typed
                part += follows
            text, at = text + part, came
        end = _plain(text)
        if end == len(text) and text[-1] in _ENTER and not _BREAK.search(text[:-1]):
            end -= 1  # the same behind one line
        return text[:end], text[end:], at


def _plain(text: str) -> int:
    """Count the characters before the first that belongs to no text."""
    found = _PLAIN.match(text)
    return found.end() if found is not None else 0
