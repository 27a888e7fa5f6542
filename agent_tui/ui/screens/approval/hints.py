"""The line of keys under a dialog; a click on a key does what the key does."""

from __future__ import annotations

from collections.abc import Sequence

from textual import events
from textual.content import Content
from textual.message import Message
from textual.widget import Widget

from agent_tui.ui.look import spans


class Hints(Widget):
    """Keys with a word each, as many as fit. The first ones matter most."""

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
            self.refresh()

    def _placed(self) -> list[tuple[int, int, tuple[str, str, str]]]:
        width, at = self.content_size.width, 0
        short = sum(len(key) + len(word) + 3 for key, word, _ in self._hints) - 2 > width
        placed: list[tuple[int, int, tuple[str, str, str]]] = []
        for hint in self._hints:
            key, word, _ = hint
            size = len(key) + 1 + len(word)
            if at + size > width:
                if placed or not short:
                    break
                size = width
            placed.append((at, at + size, hint))
            at += size + 2
        return placed

    def render(self) -> Content:
        """Draw what fits."""
        parts = [
            spans((key, "bold $accent"), " ", (word, "$foreground"))
            for _, _, (key, word, _) in self._placed()
        ]
        return Content("  ").join(parts)

    def on_click(self, event: events.Click) -> None:
        """Do what the key under the mouse does."""
        offset = event.get_content_offset(self)
        if offset is None:
            return
        for start, end, (_, _, action) in self._placed():
            if start <= offset.x < end:
                event.stop()
                self.post_message(self.Clicked(action))
