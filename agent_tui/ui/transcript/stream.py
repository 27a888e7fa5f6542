"""Blocks that are still being written: rows that stay, and a tail laid out again at each flush."""

from __future__ import annotations

from typing import Protocol

from rich.segment import Segment

from agent_tui.ui.render.rows import Body, Row, RowList, expand_tabs, wrap_runs
from agent_tui.ui.render.safe import clean
from agent_tui.ui.transcript.blocks import LIVE_ROWS, Block, Look
from agent_tui.ui.transcript.compose import compose
from agent_tui.ui.transcript.panel import BORDER, border_of, thinking_head

ALL = 1 << 60


class Stream(Protocol):
    """A body that grows.

    `append` is cheap. `flush` lays out what came, at most so many characters of it, and gives the first row
    that changed; `is_behind` says that more waits. `finished` gives the rows once nothing more will come.
    """

    @property
    def text(self) -> str: ...

    @property
    def height(self) -> int: ...

    def row(self, index: int) -> Row: ...

    @property
    def is_behind(self) -> bool: ...

    def append(self, text: str) -> None: ...

    def flush(self, limit_chars: int = ...) -> int: ...

    def finished(self) -> Body: ...

    def again(self, look: Look) -> Stream: ...


def make_stream(block: Block, look: Look) -> Stream:
    """Begin the stream of a block by its kind."""
    return MarkdownBody(look) if block.data.kind == "assistant" else ThinkingStream(block, look)


class MarkdownBody:
    """A reply being written."""

    def __init__(self, look: Look) -> None:
        from agent_tui.ui.render.markdown_stream import MarkdownStream  # markdown-it: 15 ms, on first use

        self._stream = MarkdownStream(look.inks, look.width)

    @property
    def text(self) -> str:
        return self._stream.text

    @property
    def height(self) -> int:
        return len(self._stream.rows)

    def row(self, index: int) -> Row:
        return self._stream.rows[index]

    def append(self, text: str) -> None:
        self._stream.append(text)

    @property
    def is_behind(self) -> bool:
        return self._stream.is_behind

    def flush(self, limit_chars: int = ALL) -> int:
        return self._stream.flush(limit_chars)

    def finished(self) -> Body:
        return RowList(self._stream.rows)

    def again(self, look: Look) -> Stream:
        stream = MarkdownBody(look)
        stream.append(self.text)
        stream.flush()
        return stream


class ThinkingStream:
    """Reasoning being written: a head, and below it the last rows, or all of them when the block is open."""

    def __init__(self, block: Block, look: Look) -> None:
        self._block = block
        self._look = look
        self._head = thinking_head(look, "Thinking", "", is_open=True)
        self._style = look.inks(look.inks.palette.thinking, attributes="i")
        self._border = border_of(look)
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
        return 1 + len(self._rows) - self._hidden

    @property
    def _hidden(self) -> int:
        return 0 if self._block.open else max(0, len(self._rows) - LIVE_ROWS)

    def row(self, index: int) -> Row:
        return self._rows[index - 1 + self._hidden] if index else self._head

    def append(self, text: str) -> None:
        self._parts.append(text)
        self._new.append(text)

    @property
    def is_behind(self) -> bool:
        return bool(self._new)

    def finished(self) -> Body:
        return compose(self._block, self._look)

    def flush(self, limit_chars: int = ALL) -> int:
        waiting = "".join(self._new)
        self._new = [waiting[limit_chars:]] if len(waiting) > limit_chars else []
        lines = (self._open_line + waiting[:limit_chars]).split("\n")
        self._open_line = lines.pop()
        changed = self._stable
        del self._rows[changed:]
        for line in lines:
            self._rows += self._wrapped(line)
        self._stable = len(self._rows)
        if self._open_line:
            self._rows += self._wrapped(self._open_line)
        return 1 if not self._block.open else 1 + changed

    def _wrapped(self, line: str) -> list[Row]:
        runs = [Segment(expand_tabs(clean(line.removesuffix("\r"))), self._style)]
        rows = wrap_runs(runs, max(1, self._look.width - len(BORDER)))
        return [row._replace(runs=[self._border, *row.runs], start=len(BORDER)) for row in rows]

    def again(self, look: Look) -> Stream:
        stream = ThinkingStream(self._block, look)
        stream.append(self.text)
        stream.flush()
        return stream
