"""A scrolling list of one-line rows with a cursor; the owner decides what keys do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from rich.segment import Segment
from textual import events
from textual.content import Content
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.style import Style
from textual.visual import Visual

from agent_tui.ui.widgets.elastic import Elastic

Line = Content | Elastic
"""A row: what is too long of it is left out at its end, or where its parts say."""


class Rows(ScrollView):
    """Shows `Content` rows, one line each, cut to the width, with a bar before the marked one.

    Only visible rows are rendered. `cursor` is the index of the marked row, -1 when there are none. Rows never
    take keys by themselves, so that a screen has one place where keys are decided. A heading stands above a row and
    is none: it has no index, and the cursor never stands on it.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {"rows--cursor", "rows--marked", "rows--bar"}
    DEFAULT_CSS = """
    Rows {
        scrollbar-size-vertical: 1;
        scrollbar-size-horizontal: 0;
        background: transparent;
        & .rows--cursor { background: $cursor-row; }
        & .rows--bar { background: $cursor-row; color: $accent; }
        & .rows--marked { background: $marked-row; }
        &:ansi .rows--cursor { text-style: bold; }
        &.-blurred .rows--cursor { background: $marked-row; }
        &.-blurred .rows--bar { background: $marked-row; color: $faint; }
    }
    """

    class Moved(Message):
        """The cursor stands on another row."""

        def __init__(self, rows: Rows, index: int) -> None:
            super().__init__()
            self.rows = rows
            self.index = index

        @property
        def control(self) -> Rows:
            """The list it happened in."""
            return self.rows

    class Chosen(Message):
        """A row was clicked."""

        def __init__(self, rows: Rows, index: int) -> None:
            super().__init__()
            self.rows = rows
            self.index = index

        @property
        def control(self) -> Rows:
            """The list it happened in."""
            return self.rows

    def __init__(self, *, id: str | None = None, classes: str | None = None, can_focus: bool = False) -> None:
        super().__init__(id=id, classes=classes)
        self.can_focus = can_focus
        self._rows: list[Line] = []
        self._headings: dict[int, Line] = {}
        self._lines: list[int] = []
        self._places: list[int] = []
        self._marked: frozenset[int] = frozenset()
        self._cursor = -1

    @property
    def cursor(self) -> int:
        """Index of the marked row, -1 when there are none."""
        return self._cursor

    @property
    def count(self) -> int:
        """How many rows there are."""
        return len(self._rows)

    @property
    def texts(self) -> list[str]:
        """The rows as plain text."""
        return [row.plain for row in self._rows]

    @property
    def headings(self) -> list[str]:
        """The headings as plain text, from the top."""
        return [self._headings[index].plain for index in sorted(self._headings)]

    def set_rows(
        self,
        rows: Sequence[Line],
        *,
        cursor: int | None = None,
        headings: Mapping[int, Line] | None = None,
    ) -> None:
        """Replace all rows; the cursor stays where it is as far as it can. Rows that look the same are not drawn.

        `headings` stand above the rows with these indexes.
        """
        old, old_cursor, old_lines = self._rows, self._cursor, self._lines
        self._rows = list(rows)
        wanted = self._cursor if cursor is None else cursor
        self._cursor = min(max(wanted, 0), len(self._rows) - 1)
        self._place(headings or {})
        if old_lines == self._lines and not headings:
            changed = [
                at for at, (was, now) in enumerate(zip(old, self._rows, strict=True)) if not _same(was, now)
            ]
            if old_cursor != self._cursor:
                changed += [old_cursor, self._cursor]
            for index in changed:
                self._refresh_row(index)
        else:
            self.virtual_size = Size(0, len(self._lines))
            self.refresh()
        self.call_after_refresh(self._show_cursor)

    def _place(self, headings: Mapping[int, Line]) -> None:
        """Give each row its line; the line of a heading holds -1 - the index of the row below it."""
        self._headings = dict(headings)
        self._lines, self._places = [], []
        for index in range(len(self._rows)):
            if index in self._headings:
                self._lines.append(-1 - index)
            self._places.append(len(self._lines))
            self._lines.append(index)

    def mark(self, indexes: Sequence[int]) -> None:
        """Give these rows the background of things that belong together."""
        changed = self._marked.symmetric_difference(indexes)
        self._marked = frozenset(indexes)
        for index in changed:
            self._refresh_row(index)

    def move_to(self, index: int) -> None:
        """Put the cursor on a row, as near as there is one."""
        target = min(max(index, 0), len(self._rows) - 1)
        if target == self._cursor or target < 0:
            return
        old, self._cursor = self._cursor, target
        self._refresh_row(old)
        self._refresh_row(target)
        self._show_cursor()
        self.post_message(self.Moved(self, target))

    def lead_with(self, index: int) -> None:
        """Put the cursor on a row and the row to the top, once the list has its size."""
        self.move_to(index)
        self.call_after_refresh(self.scroll_to, y=self._places[index], animate=False, force=True)

    def move(self, step: int, *, wrap: bool = True) -> None:
        """Move the cursor; past an end it comes in at the other one."""
        if not self._rows:
            return
        target = self._cursor + step
        self.move_to(target % len(self._rows) if wrap else target)

    def page(self, direction: int) -> None:
        """Move the cursor by a page, up (-1) or down (1)."""
        self.move(direction * max(1, self.size.height - 1), wrap=False)

    def first(self) -> None:
        """Go to the first row."""
        self.move_to(0)

    def last(self) -> None:
        """Go to the last row."""
        self.move_to(len(self._rows) - 1)

    def perform(self, action: str, *, wrap: bool = True) -> bool:
        """Move the cursor as an action of a list says; whether it was one that moves."""
        match action:
            case "up":
                self.move(-1, wrap=wrap)
            case "down":
                self.move(1, wrap=wrap)
            case "page_up":
                self.page(-1)
            case "page_down":
                self.page(1)
            case "first":
                self.first()
            case "last":
                self.last()
            case _:
                return False
        return True

    def _show_cursor(self) -> None:
        if self._cursor >= 0:
            above = 1 if self._cursor in self._headings and self.size.height > 1 else 0
            seen = Region(0, self._places[self._cursor] - above, 1, 1 + above)
            self.scroll_to_region(seen, animate=False, force=True)

    def _refresh_row(self, index: int) -> None:
        if 0 <= index < len(self._places):
            self.refresh(Region(0, self._places[index] - self.scroll_offset.y, self.size.width, 1))

    def render_line(self, y: int) -> Strip:
        """Render one visible row."""
        line = y + self.scroll_offset.y
        style = self.visual_style
        width = self.scrollable_content_region.width
        if not 0 <= line < len(self._lines):
            return Strip.blank(width, style.rich_style)
        index = self._lines[line]
        if index == self._cursor:
            style = self.get_visual_style("rows--cursor")
        elif index in self._marked:
            style = self.get_visual_style("rows--marked")
        room = max(1, width - 1)
        row = (self._headings[-1 - index] if index < 0 else self._rows[index]).truncate(room, ellipsis=True)
        strip = Visual.to_strips(self, row, room, 1, style, pad=True)[0]
        return Strip([self._bar(index == self._cursor, style), *strip])

    def _bar(self, marked: bool, style: Style) -> Segment:
        if not marked or self.has_class("-idle"):
            return Segment(" ", style.rich_style)
        return Segment("▌", self.get_visual_style("rows--bar").rich_style)

    def on_click(self, event: events.Click) -> None:
        """Mark and choose the row under the mouse."""
        line = event.y + self.scroll_offset.y
        index = self._lines[line] if 0 <= line < len(self._lines) else -1
        if index >= 0:
            event.stop()
            self.move_to(index)
            self.post_message(self.Chosen(self, index))


def _same(one: Line, other: Line) -> bool:
    """Tell whether two rows look alike; `==` compares the text alone."""
    return one.plain == other.plain and one.spans == other.spans
