"""A scrolling pane of texts and diffs that knows whether its end was on screen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from textual import events
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.reactive import Reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.style import Style
from textual.visual import Visual
from textual.widget import Widget

from agent_tui.ui.render.rows import index_at

_CONTEXT_ROWS = 2


class Source(Protocol):
    """Lines that are laid out for a width and drawn one at a time."""

    def layout(self, width: int, *, wrap: bool) -> int:
        """Fit the lines to `width` cells and give how many rows they take."""
        ...

    def strip(self, y: int, widget: Widget, style: Style) -> Strip:
        """Draw row `y`, at least as wide as was asked for when it is not wrapped."""
        ...

    @property
    def width(self) -> int:
        """The widest row in cells."""
        ...


class TextSource:
    """Paragraphs; wrapped after blanks, within a word only where it is longer than a row, and never cut."""

    def __init__(self, lines: Sequence[Content]) -> None:
        self._lines = list(lines)
        self._rows: list[Content] = []
        self._width = 0

    @property
    def width(self) -> int:
        """The widest row in cells."""
        return max((row.cell_length for row in self._rows), default=0)

    def layout(self, width: int, *, wrap: bool) -> int:
        """Fit the lines to `width` cells."""
        self._width = width
        if wrap:
            self._rows = [row for line in self._lines for row in wrapped(line, width)]
        else:
            self._rows = self._lines
        return len(self._rows)

    def strip(self, y: int, widget: Widget, style: Style) -> Strip:
        """Draw one row."""
        row = self._rows[y]
        width = max(self._width, row.cell_length)
        strips = Visual.to_strips(widget, row, width, 1, style, pad=True)
        return strips[0] if strips else Strip.blank(width, style.rich_style)


def wrapped(line: Content, width: int) -> list[Content]:
    """Break a line into rows of at most `width` cells that together are the line, blanks and all.

    A row that goes on after a blank ends with that blank on screen, so a word that was broken, which fills its row,
    looks like no two words.
    """
    if line.cell_length <= width:
        return [line]
    text, breaks, start = line.plain, list[int](), 0
    while (end := _row_end(text, start, max(width, 2))) < len(text):
        breaks.append(end)
        start = end
    return line.divide(breaks)


def _row_end(text: str, start: int, width: int) -> int:
    """Give where the row that begins at `start` ends."""
    end = start + max(1, index_at(text[start : start + 4 * width], width))
    if end >= len(text):
        return end
    blank = text.rfind(" ", start, end)
    is_word_before = bool(text[start : blank + 1].strip())
    return blank + 1 if blank >= start and is_word_before else end


class Pane(ScrollView):
    """Shows sources one below the other. Only visible rows are drawn."""

    # Its size comes from outside, so another number of lines lays out nothing: that cost 4 ms of each key.
    virtual_size: Reactive[Size] = Reactive(Size(0, 0), layout=False)

    DEFAULT_CSS = """
    Pane { scrollbar-size-vertical: 1; scrollbar-size-horizontal: 0; overflow-x: hidden; background: transparent; }
    """

    class EndSeen(Message):
        """The last row that must be seen of `subject` is on screen."""

        def __init__(self, pane: Pane, subject: object) -> None:
            super().__init__()
            self.pane = pane
            self.subject = subject

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._sources: list[Source] = []
        self._subject: object = None
        self._starts: list[int] = []
        self._total = 0
        self._needed = 0
        self._needed_rows = 0
        self._wrap = True
        self._shift = 0

    @property
    def needed_rows(self) -> int:
        """How many rows must have been on screen."""
        return self._needed_rows

    @property
    def total(self) -> int:
        """How many rows there are at the present width."""
        return self._total

    def show(
        self,
        sources: Sequence[Source],
        *,
        needed: int = 0,
        start: int = 0,
        keep_place: bool = False,
        subject: object = None,
    ) -> None:
        """Show other lines, from source `start`. The first `needed` sources must be seen to their end.

        `EndSeen` names the `subject` they are about; for None it is never sent.
        """
        self._sources, self._needed, self._subject = list(sources), needed, subject
        if keep_place:
            self._lay_out()
            return
        self._shift = 0
        self.scroll_to(0, 0, animate=False, force=True)
        self._lay_out()
        if start:
            self.scroll_to(y=self._starts[start], animate=False, force=True)

    def bring(self, source: Source, row: int) -> None:
        """Scroll so that `row` of a source is at the top, below a row or two of what is before it where there is room."""
        if source in self._sources:
            context = min(_CONTEXT_ROWS, max(0, self.size.height - 3))
            top = self._starts[self._sources.index(source)] + row - context
            self.scroll_to(y=max(0, top), animate=False, force=True, immediate=True)

    def toggle_wrap(self) -> None:
        """Wrap long lines or let them run out to the right."""
        self._wrap, self._shift = not self._wrap, 0
        self._lay_out()

    def shift(self, step: int) -> None:
        """Scroll lines that are not wrapped sideways."""
        widest = max((source.width for source in self._sources), default=0)
        self._shift = 0 if self._wrap else min(max(0, self._shift + step), max(0, widest - self._room))
        self.refresh()

    def page(self, direction: int) -> None:
        """Scroll by a page, up (-1) or down (1)."""
        step = max(1, self.size.height - 1)
        self.scroll_to(y=self.scroll_offset.y + direction * step, animate=False, force=True)

    def to_end(self) -> None:
        """Go to the last row."""
        self.scroll_to(y=max(0, self._total - self.size.height), animate=False, force=True)

    def to_start(self) -> None:
        """Go to the first row."""
        self.scroll_to(y=0, animate=False, force=True)

    @property
    def _room(self) -> int:
        return max(1, self.size.width - 1)

    def _lay_out(self) -> None:
        self._starts, total = [], 0
        for index, source in enumerate(self._sources):
            self._starts.append(total)
            total += source.layout(self._room, wrap=self._wrap)
            if index < self._needed:
                self._needed_rows = total
        self._total = total
        self.virtual_size = Size(0, total)
        self.refresh()
        self._check_end()

    @property
    def end_is_visible(self) -> bool:
        """Whether the last row that must be seen is on screen now."""
        return self.size.height > 0 and self.scroll_offset.y + self.size.height >= self._needed_rows

    def _check_end(self) -> None:
        """Tell of the end once it was drawn; lines that made way for others before that were not seen."""
        if self._subject is not None:
            self.call_after_refresh(self._tell_end, self._subject)

    def _tell_end(self, subject: object) -> None:
        if subject is self._subject and self.end_is_visible:
            self.post_message(self.EndSeen(self, subject))

    def on_resize(self, event: events.Resize) -> None:
        """Lay the lines out anew."""
        self._lay_out()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Notice when the end comes on screen."""
        super().watch_scroll_y(old_value, new_value)
        self._check_end()

    def render_line(self, y: int) -> Strip:
        """Draw one visible row."""
        row = y + self.scroll_offset.y
        style, width = self.visual_style, self.size.width
        for start, source in zip(reversed(self._starts), reversed(self._sources), strict=True):
            if start <= row < self._total:
                strip = source.strip(row - start, self, style)
                return strip.crop(self._shift, self._shift + width).extend_cell_length(
                    width, style.rich_style
                )
        return Strip.blank(width, style.rich_style)
