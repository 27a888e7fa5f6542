"""The line of keys under a dialog; a click on a key does what the key does."""

from __future__ import annotations

from collections.abc import Sequence

from textual import events
from textual.content import Content
from textual.message import Message
from textual.widget import Widget

from agent_tui.ui.look import spans

_NARROW_CELLS = 100
_LOW_ROWS = 16


class Hints(Widget):
    """Keys with a word each, as many as fit. The first ones matter most; a narrow screen has two lines for them."""

    DEFAULT_CSS = """
    Hints { height: 1; color: $muted; }
    """

    class Clicked(Message):
        """A hint was clicked."""

        def __init__(self, action: str) -> None:
            super().__init__()
            self.action = action

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._hints: list[tuple[str, str, str]] = []

    def show(self, hints: Sequence[tuple[str, str, str]]) -> None:
        """Show (key, word, action) triples; one without a key is left out."""
        wanted = [hint for hint in hints if hint[0]]
        if wanted != self._hints:
            self._hints = wanted
            self.styles.height = self.lines
            self.refresh()

    def on_resize(self) -> None:
        """Take or leave the second line."""
        self.styles.height = self.lines

    @property
    def lines(self) -> int:
        """How many lines are wanted on a screen of this size."""
        size, cells = self.screen.size, sum(len(key) + len(word) + 3 for key, word, _ in self._hints) - 2
        return 2 if size.width - 4 < min(cells, _NARROW_CELLS) and size.height >= _LOW_ROWS else 1

    def _placed(self) -> list[tuple[int, int, int, tuple[str, str, str]]]:
        """Give (line, first cell, cell after the last, hint) of all that fit."""
        width, at, line = self.content_size.width, 0, 0
        short = sum(len(key) + len(word) + 3 for key, word, _ in self._hints) - 2 > width
        placed: list[tuple[int, int, int, tuple[str, str, str]]] = []
        for hint in self._hints:
            key, word, _ = hint
            size = len(key) + 1 + len(word)
            if at + size > width:
                if placed and line + 1 < self.content_size.height:
                    line, at = line + 1, 0
                elif placed or not short:
                    break
                size = min(size, width)
            placed.append((line, at, at + size, hint))
            at += size + 2
        return placed

    def render(self) -> Content:
        """Draw what fits."""
        placed = self._placed()
        lines = [
            Content("  ").join(
                spans((key, "bold $accent"), " ", (word, "$foreground"))
                for at, _, _, (key, word, _) in placed
                if at == line
            )
            for line in range(placed[-1][0] + 1 if placed else 0)
        ]
        return Content("\n").join(lines)

    def on_click(self, event: events.Click) -> None:
        """Do what the key under the mouse does."""
        offset = event.get_content_offset(self)
        if offset is None:
            return
        for line, start, end, (_, _, action) in self._placed():
            if line == offset.y and start <= offset.x < end:
                event.stop()
                self.post_message(self.Clicked(action))
