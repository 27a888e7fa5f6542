"""Blocks that are still being written: rows that stay, and a tail laid out again at each flush."""

from __future__ import annotations

from typing import Protocol

from rich.segment import Segment

from agent_tui.ui.render.rows import Row, expand_tabs, wrap_runs
from agent_tui.ui.render.safe import clean
from agent_tui.ui.transcript.blocks import Block, Look


class Stream(Protocol):
    """A body that grows. `append` is cheap; `flush` lays out what came and gives the first row that changed."""

    @property
    def text(self) -> str: ...

    @property
    def height(self) -> int: ...

    def row(self, index: int) -> Row: ...

    def append(self, text: str) -> None: ...

    def flush(self) -> int: ...

    def again(self, look: Look) -> Stream: ...


def make_stream(block: Block, look: Look) -> Stream:
    """Begin the stream of a block by its kind."""
    return PlainStream(look)


class PlainStream:
    """Text in one style; finished lines are wrapped once."""

    def __init__(self, look: Look) -> None:
        self._look = look
        self._style = look.inks(look.inks.palette.thinking, attributes="i")
        self._parts: list[str] = []
        self._new: list[str] = []
        self._rows: list[Row] = []
        self._stable = 0
        self._open_line = ""

    @property
    def text(self) -> str:
        return "".join(self._parts)

    @property
    def height(self) -> int:
        return len(self._rows)

    def row(self, index: int) -> Row:
        return self._rows[index]

    def append(self, text: str) -> None:
        self._parts.append(text)
        self._new.append(text)

    def flush(self) -> int:
        lines = (self._open_line + "".join(self._new)).split("\n")
        self._new.clear()
        self._open_line = lines.pop()
        changed = self._stable
        del self._rows[changed:]
        for line in lines:
            self._rows.extend(self._wrapped(line))
        self._stable = len(self._rows)
        if self._open_line:
            self._rows.extend(self._wrapped(self._open_line))
        return changed

    def _wrapped(self, line: str) -> list[Row]:
        return wrap_runs([Segment(expand_tabs(clean(line)), self._style)], self._look.width)

    def again(self, look: Look) -> Stream:
        stream = PlainStream(look)
        stream.append(self.text)
        stream.flush()
        return stream
