"""The part of the transcript that paints and scrolls: rows on screen, never more."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import cast

from textual.geometry import Region
from textual.reactive import Reactive, reactive
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip

from agent_tui.ui.palette import Palette
from agent_tui.ui.transcript.document import Document
from agent_tui.ui.transcript.paint import GUTTER, MARGIN, Painter
from agent_tui.ui.transcript.selection import selected_text
from agent_tui.ui.transcript.viewport import Viewport

# The class attribute is the descriptor; Textual's annotation says it may be the value.
SCROLL_Y = ScrollView.scroll_y
SCROLL_TARGET_Y = cast("Reactive[float]", ScrollView.scroll_target_y)


class Canvas(ScrollView, can_focus=False):
    """Paints the rows of a document that are in sight and follows its end while that is in sight.

    It has no scrollbar widget and no virtual size: both cost a layout for each row that is added. What it relies
    on in Textual beyond the documented: `render_lines`, the `offset` meta of `render_line`, `max_scroll_y`.
    """

    new_messages: reactive[int] = reactive(0, repaint=False)
    """How many blocks were added below while the person was reading further up."""

    def __init__(
        self,
        palette: Palette = Palette.DARK,
        *,
        id: str | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(id=id)
        self.document = Document(palette, clock)
        self.follow = True
        self._painter = Painter(self.document)
        self._port = Viewport(self.document)

    def set_palette(self, palette: Palette) -> None:
        """Draw in other colours, open panels too."""
        self.document.set_palette(palette)
        self._painter.clear()
        self._show()

    def _grown(self) -> None:
        """Take in that the conversation has another height."""
        if self.follow:
            self._port.to_end()
        else:
            self._port.hold()
        self._show()

    def _show(self) -> None:
        """Put the scroll position where the viewport is and paint all of it."""
        self._place()
        self.refresh(self.size.region)

    def _place(self) -> None:
        self.set_reactive(SCROLL_Y, float(self._port.top))
        self.set_reactive(SCROLL_TARGET_Y, float(self._port.top))

    def _refresh_rows(self, index: int, first: int, stop: int) -> None:
        top = self.document.top(index) - self._port.top
        low, high = max(0, top + first), min(self._port.height, top + stop)
        if high > low:
            self.refresh(Region(0, low, self.size.width, high - low))

    @property
    def allow_vertical_scroll(self) -> bool:
        return True

    @property
    def max_scroll_y(self) -> int:
        return self._port.limit

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        if round(new_value) == self._port.top:
            return
        self._port.move(round(new_value))
        if self._port.top != round(new_value):
            self._place()
        self._scrolled()

    def _scrolled(self) -> None:
        self.follow = self._port.at_end
        if self.follow:
            self.new_messages = 0
        self.refresh(self.size.region)

    def scroll_rows(self, rows: int) -> None:
        """Scroll by rows, down when positive; ends at the ends."""
        self.go_to(self._port.top + rows)

    def scroll_page(self, pages: int) -> None:
        """Scroll by windows, two rows of each staying in sight."""
        self.scroll_rows(pages * max(1, self._port.height - 2))

    def go_to(self, row: int) -> None:
        """Show `row` of the conversation first."""
        self._port.move(row)
        self._show()
        self._scrolled()

    def go_home(self) -> None:
        """Show the first row."""
        self.go_to(0)

    def go_end(self) -> None:
        """Show the last row and follow what comes."""
        self.follow = True
        self.new_messages = 0
        self._port.to_end()
        self._show()

    def reveal(self, index: int, inside: int = 0) -> None:
        """Scroll so that a row of a block is in sight, in the upper third when it was not."""
        self.document.measure(index)
        row = self.document.top(index) + inside
        if not self._port.top <= row < self._port.top + self._port.height:
            self.go_to(row - self._port.height // 3)

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        text = selected_text(self.document, selection)
        return (text, "\n") if text else None

    def on_resize(self) -> None:
        self._fit()

    def _fit(self) -> None:
        """Lay out for the widget's size."""
        width, height = self.size
        if (width, height) == (self._painter.width, self._port.height):
            return
        if width != self._painter.width:
            self._painter.width = width
            self._painter.clear()
            self._port.top = self.document.set_width(max(1, width - GUTTER - MARGIN), self._port.top)
        self._port.height = height
        if self.follow:
            self._port.to_end()
        else:
            self._port.hold()
        self._show()

    def render_lines(self, crop: Region) -> list[Strip]:
        self._fit()
        self._painter.use_filters(self.get_line_filters())
        thumb = self._port.thumb()
        selection = self.text_selection
        strips: list[Strip] = []
        y = crop.y
        for index, inside in self.document.walk(self._port.top + crop.y):
            if y >= crop.bottom:
                break
            if selection is None:
                strips.append(self._painter.strip(index, inside, y in thumb))
            else:
                strips.append(self._painter.selected(selection, index, inside, y in thumb))
            y += 1
        strips += [self._painter.blank(False)] * (crop.bottom - y)
        if crop.width != self._painter.width:
            return [strip.crop(crop.x, crop.right) for strip in strips]
        return strips

    def render_line(self, y: int) -> Strip:
        place = self._at(y) or self._last_place()
        return self._painter.line(*place) if place else Strip([])

    def _last_place(self) -> tuple[int, int] | None:
        """Give the last row of all, which a pointer below it means."""
        last = len(self.document) - 1
        return (last, self.document.body(last).height - 1) if last >= 0 else None

    def _at(self, y: int) -> tuple[int, int] | None:
        """Give the block and its row on row `y` of the window."""
        return next(self.document.walk(self._port.top + y), None) if 0 <= y < self._port.height else None
