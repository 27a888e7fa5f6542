"""The line of keys under a dialog; a click on a key does what the key does."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from textual import events
from textual.content import Content
from textual.message import Message
from textual.widget import Widget

from agent_tui.ui.look import spans

_LOW_ROWS = 16


Hint = tuple[str, str, str]
"""A key, the word for what it does, and the action."""


class Hints(Widget):
    """Keys with a word each, as many as fit; where one line is too short there are two.

    The vital ones are there at any width; they lose their words only where they fill all the room. Of the others the
    first ones matter most.
    """

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
        self._hints: list[Hint] = []
        self._vital: Collection[str] = ()

    def show(self, hints: Sequence[Hint], *, vital: Collection[str] = ()) -> None:
        """Show (key, word, action) triples, `vital` actions before all others; one without a key is left out."""
        wanted = [hint for hint in hints if hint[0]]
        if (wanted, vital) != (self._hints, self._vital):
            self._hints, self._vital = wanted, vital
            self.styles.height = self.lines
            self.refresh()

    def on_resize(self) -> None:
        """Take or leave the second line."""
        self.styles.height = self.lines

    @property
    def lines(self) -> int:
        """How many lines are wanted on a screen of this size."""
        # the app's: a closed screen, whose parts have no screen any more, may still be told of a new size
        size = self.app.size  # pyright: ignore[reportUnknownMemberType] - Textual leaves its type open
        return 2 if size.width - 4 < _cells(self._hints) and size.height >= _LOW_ROWS else 1

    def _placed(self) -> list[tuple[int, int, int, Hint]]:
        """Give (line, first cell, cell after the last, hint) of all that are shown."""
        width, height = self.content_size.width, self.content_size.height
        return _place(_fitting(self._hints, self._vital, width, height), width)

    def render(self) -> Content:
        """Draw what fits."""
        placed = self._placed()
        lines = [
            Content("  ").join(
                spans((key, "bold $accent"), (f" {word}" if word else "", "$foreground"))
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


def _size(hint: Hint) -> int:
    key, word, _ = hint
    return len(key) + (len(word) + 1 if word else 0)


def _cells(hints: Sequence[Hint]) -> int:
    return sum(_size(hint) + 2 for hint in hints) - 2


def _place(hints: Sequence[Hint], width: int) -> list[tuple[int, int, int, Hint]]:
    """Give each hint its line and cells; one that is wider than a line is cut."""
    placed: list[tuple[int, int, int, Hint]] = []
    line = at = 0
    for hint in hints:
        size = min(_size(hint), width)
        if placed and at + size > width:
            line, at = line + 1, 0
        placed.append((line, at, at + size, hint))
        at += size + 2
    return placed


def _fitting(hints: Sequence[Hint], vital: Collection[str], width: int, height: int) -> list[Hint]:
    """Give what fits: hints that are not vital go from the end, whole; then the words of vital ones."""
    kept = list(hints)

    def fits() -> bool:
        return not kept or _place(kept, width)[-1][0] < height

    def change(index: int, word: str) -> None:
        key, _, action = kept[index]
        kept[index] = (key, word, action)

    for index in reversed([at for at, hint in enumerate(kept) if hint[2] not in vital]):
        if fits():
            break
        del kept[index]
    for index in reversed(range(len(kept))):
        if not fits():
            change(index, "")
    while not fits():
        kept.pop()
    return kept
