"""The conversation as one scrolling widget (Line API): no widget per message, no work outside the viewport."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import cast

from rich.segment import Segment
from textual import events
from textual.geometry import Offset, Region
from textual.message import Message
from textual.reactive import Reactive, reactive
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip
from textual.timer import Timer

from agent_tui.protocol.replay import BlockKind, ReplayBlock
from agent_tui.ui.palette import Palette
from agent_tui.ui.transcript.document import Document
from agent_tui.ui.transcript.paint import GUTTER, MARGIN, Painter, link_at
from agent_tui.ui.transcript.search import Match, find_all, row_of
from agent_tui.ui.transcript.selection import selected_text
from agent_tui.ui.transcript.stream import ALL
from agent_tui.ui.transcript.viewport import Viewport

WHEEL_ROWS = 3
# The class attribute is the descriptor; Textual's annotation says it may be the value.
SCROLL_Y = ScrollView.scroll_y
SCROLL_TARGET_Y = cast("Reactive[float]", ScrollView.scroll_target_y)
SPIN_S = 0.125
FRAME_S = 1 / 25
LIVE_LIMIT_CHARS = 64_000
# About 6 ms of layout; a reply that comes all at once is laid out over several frames.
FRAME_CHARS = 4_000
# A frame may take a third of the time at most, so that keys are never behind a queue of frames.
REST = 3.0


class Transcript(ScrollView, can_focus=False):
    """Draws blocks, follows the newest one while it is at the end, and streams into its last blocks.

    All methods must be called from the app's own task; none awaits. Indexes are those `add` and `stream_start`
    gave; they stay valid until `clear` or `load`.
    """

    DEFAULT_CSS = """
    Transcript { scrollbar-size: 0 0; overflow: hidden hidden; }
    """

    new_messages: reactive[int] = reactive(0, repaint=False)
    """How many blocks were added below while the person was reading further up."""

    class OpenFull(Message):
        """The person wants to see the whole result of a call whose display was cut."""

        def __init__(self, transcript: Transcript, call_id: str) -> None:
            super().__init__()
            self.transcript = transcript
            self.call_id = call_id

        @property
        def control(self) -> Transcript:
            return self.transcript

    class LinkClicked(Message):
        """The person clicked a link. `url` passed `safe_url`."""

        def __init__(self, url: str) -> None:
            super().__init__()
            self.url = url

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
        self.cursor: int | None = None
        self.needle = ""
        self.matches: list[Match] = []
        self.match = -1
        self._painter = Painter(self.document)
        self._port = Viewport(self.document)
        self._flush_timer: Timer | None = None
        self._spin_timer: Timer | None = None
        self._flush_cost_s = 0.0
        self._flushed_s = 0.0
        self._mouse_down: Offset | None = None
        self._grip: int | None = None

    # -- blocks

    def load(self, blocks: Sequence[ReplayBlock]) -> None:
        """Show `blocks` instead of everything, from the end."""
        self.document.load(blocks)
        self._painter.clear()
        self.cursor = self._painter.cursor = None
        self.matches, self.match = [], -1
        self.screen.clear_selection() if self.is_attached else None
        self._spin()
        self.go_end()

    def clear(self) -> None:
        """Show nothing."""
        self.load(())

    def add(self, block: ReplayBlock) -> int:
        """Put a block at the end and give its index."""
        index = self.document.add(block)
        self._appeared(index)
        return index

    def _appeared(self, index: int) -> None:
        self._spin()
        if not self.follow:
            self.new_messages += 1
        self._grown()

    def update_block(self, index: int, **fields: object) -> None:
        """Change fields of a block (names of ReplayBlock)."""
        block = self.document.blocks[index]
        block.data = replace(block.data, **fields)  # type: ignore[arg-type]  # replace checks the names
        if not block.chosen:
            block.open = block.data.kind == "tool" and block.data.state == "error"
        if block.data.state != "running" and block.data.text:
            block.live = ""
        self._changed(index)
        self._spin()

    def update_tool(self, call_id: str, **fields: object) -> None:
        """Change fields of the panel of a call; an unknown id does nothing."""
        index = self.document.call(call_id)
        if index is not None:
            self.update_block(index, **fields)

    def append_output(self, call_id: str, text: str) -> None:
        """Add live output to the panel of a running call; only its last 64,000 characters are kept."""
        index = self.document.call(call_id)
        if index is None:
            return
        block = self.document.blocks[index]
        block.live = (block.live + text)[-LIVE_LIMIT_CHARS:]
        self.document.dirty.add(index)
        self._schedule_flush()

    # -- streaming

    def stream_start(self, kind: BlockKind = "assistant") -> int:
        """Begin a block that is written bit by bit."""
        index = self.document.start_stream(kind)
        self._appeared(index)
        return index

    def stream_append(self, index: int, text: str) -> None:
        """Add text; it is drawn with the next frame. Unknown or ended blocks ignore it."""
        stream = self.document.streams.get(index)
        if stream is not None:
            stream.append(text)
            self.document.dirty.add(index)
            self._schedule_flush()

    def stream_end(self, index: int) -> None:
        """End a streamed block. What waits is drawn with the next frames, then its text is final."""
        if index in self.document.streams:
            self.document.ending.add(index)
            self.document.dirty.add(index)
            self._frame()

    def _schedule_flush(self) -> None:
        if self._flush_timer is None and self.is_attached:
            wait = max(FRAME_S, self._flush_cost_s * REST) - (time.perf_counter() - self._flushed_s)
            self._flush_timer = self.set_timer(max(0.001, wait), self._frame)

    def flush(self) -> None:
        """Lay out all that was appended so far; else it is done with the next frames."""
        while self.document.dirty:
            self._frame(ALL)

    def _frame(self, limit_chars: int = FRAME_CHARS) -> None:
        """Lay out what was appended since the last frame, so much of it that keys are not kept waiting."""
        if self._flush_timer is not None:
            self._flush_timer.stop()
            self._flush_timer = None
        began = time.perf_counter()
        for index in self.document.take_dirty():
            if index in self.document.streams:
                self._flush_stream(index, limit_chars)
            else:
                self._changed(index)
        self._flushed_s = time.perf_counter()
        self._flush_cost_s = self._flushed_s - began
        if self.document.dirty and self._flush_timer is None and self.is_attached:  # behind: rest as long as it took
            self._flush_timer = self.set_timer(max(0.005, self._flush_cost_s), self._frame)

    def _flush_stream(self, index: int, limit_chars: int) -> None:
        document, stream = self.document, self.document.streams[index]
        stamp, before = document.blocks[index].stamp, stream.height
        changed = stream.flush(limit_chars)
        if stream.is_behind:
            document.dirty.add(index)
        elif index in document.ending:
            document.end_stream(index)
        after = document.body(index).height
        self._painter.forget(stamp, changed, max(before, after))
        if document.measure(index):
            self._grown()
        else:
            self._refresh_rows(index, changed, after)

    # -- changes on screen

    def _changed(self, index: int) -> None:
        """Draw a block anew; what is read stands still."""
        before = self.document.heights[index]
        grown = self.document.changed(index)
        self._port.shifted(index, grown)
        if grown:
            self._grown()
        else:
            self._refresh_rows(index, -1, before)

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

    def _spin(self) -> None:
        """Run the spinner's timer while a tool runs, and only then."""
        if self.document.running and self._spin_timer is None and self.is_attached:
            self._spin_timer = self.set_interval(SPIN_S, self._turn)
        elif not self.document.running and self._spin_timer is not None:
            self._spin_timer.stop()
            self._spin_timer = None

    def _turn(self) -> None:
        self.document.frame += 1
        for index in self.document.running:
            self._painter.forget(self.document.blocks[index].stamp, 0, 1)
            self._refresh_rows(index, 0, 1)

    def set_palette(self, palette: Palette) -> None:
        """Draw in other colours, open panels too."""
        self.document.set_palette(palette)
        self._painter.clear()
        self._show()

    # -- scrolling

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

    # -- open and closed

    def toggle(self, index: int) -> None:
        """Open or close a panel or a piece of reasoning; the person's choice outlives later updates."""
        block = self.document.blocks[index]
        if block.collapsible:
            self._open(index, not block.open)

    def _open(self, index: int, is_open: bool) -> None:
        head = self.document.top(index)
        self._port.top = min(self._port.top, head) if head >= 0 else self._port.top
        self.document.open(index, is_open)
        self._port.hold()
        self._show()
        self.follow = self._port.at_end

    def toggle_all(self) -> None:
        """Open every panel and thought, or close them when all are open."""
        first = self.document.heights.find(self._port.top)[0] if self.document.blocks else 0
        self.document.open_all()
        if self.document.blocks:
            self._port.top = self.document.heights.before(first)
        self._grown()

    # -- block cursor

    def move_cursor(self, step: int) -> int | None:
        """Move the block cursor to the next block (step 1) or the one before (-1) and show it; gives its index."""
        if not self.document.blocks:
            return None
        last = len(self.document) - 1
        index = last if self.cursor is None else max(0, min(last, self.cursor + step))
        self.set_cursor(index)
        return index

    def set_cursor(self, index: int | None) -> None:
        """Put the block cursor on a block, or take it away."""
        old, self.cursor = self.cursor, index
        self._painter.cursor = index
        for place in {old, index} - {None}:
            assert place is not None
            self._painter.forget(self.document.blocks[place].stamp, 0, self.document.heights[place])
            self._refresh_rows(place, 0, self.document.heights[place])
        if index is not None:
            self.reveal(index)

    def jump_prompt(self, step: int) -> int | None:
        """Move to the next (1) or previous (-1) prompt of the person; gives its index, None when there is none."""
        start = self.cursor if self.cursor is not None else self.document.heights.find(self._port.top)[0]
        index = start + step
        while 0 <= index < len(self.document):
            if self.document.blocks[index].data.kind == "user":
                self.set_cursor(index)
                self.go_to(self.document.top(index))
                return index
            index += step
        return None

    # -- search

    def search(self, text: str) -> int:
        """Mark every occurrence of `text` and go to the last one; gives their number. "" ends the search.

        Case counts only when `text` has a capital.
        """
        self.needle = self._painter.needle = text
        self.matches = find_all(self.document, text)
        self.match = len(self.matches)
        self._painter.current = None
        self._painter.clear()
        self.refresh(self.size.region)
        if self.matches:
            self.next_match(-1)
        return len(self.matches)

    def next_match(self, step: int = 1) -> int:
        """Go to another occurrence, round the ends; gives its number from 1, 0 when there is none."""
        if not self.matches:
            return 0
        self.match = (self.match + step) % len(self.matches)
        match = self.matches[self.match]
        if self.document.blocks[match.block].collapsible and not match.in_head:
            self.document.open(match.block, True)
        inside = row_of(self.document, match, self.needle)
        self._painter.current = (match.block, inside)
        self._painter.clear()
        self.reveal(match.block, inside)
        self._grown() if self.follow else self.refresh(self.size.region)
        return self.match + 1

    # -- text

    def source(self, index: int) -> str:
        """Give the text of a block as it came."""
        stream = self.document.streams.get(index)
        return stream.text if stream else self.document.blocks[index].data.text

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        text = selected_text(self.document, selection)
        return (text, "\n") if text else None

    # -- painting

    def on_mount(self) -> None:
        self._spin()

    def on_resize(self) -> None:
        self._fit()

    def _fit(self) -> None:
        """Lay out for the widget's size."""
        width, height = self.size
        if (width, height) == (self._painter.width, self._port.height):
            return
        place = self.document.find(self._port.top)
        if width != self._painter.width:
            self._painter.width = width
            self._painter.clear()
            self.document.set_width(max(1, width - GUTTER - MARGIN))
            if self.document.blocks:
                self._port.top = self.document.top(place[0]) + min(place[1], 0)
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
        if self.new_messages and crop.bottom == self._port.height and strips:
            strips[-1] = self._with_note(strips[-1])
        if crop.width != self._painter.width:
            return [strip.crop(crop.x, crop.right) for strip in strips]
        return strips

    def render_line(self, y: int) -> Strip:
        place = self._at(y)
        return self._painter.line(*place) if place else Strip([])

    def _with_note(self, strip: Strip) -> Strip:
        palette, inks = self.document.inks.palette, self.document.inks
        count = self.new_messages
        label = f" ↓ {count} new message{'s' if count > 1 else ''} "
        start = max(0, self._painter.width - len(label) - 2)
        note = Segment(label, inks(palette.background, palette.accent, "b"))
        return Strip.join(
            [strip.crop(0, start), Strip([note]), strip.crop(start + len(label), self._painter.width)]
        )

    # -- mouse

    def _at(self, y: int) -> tuple[int, int] | None:
        """Give the block and its row on row `y` of the window."""
        return next(self.document.walk(self._port.top + y), None) if 0 <= y < self._port.height else None

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.prevent_default().stop()
        self.scroll_rows(WHEEL_ROWS)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        event.prevent_default().stop()
        self.scroll_rows(-WHEEL_ROWS)

    def on_mouse_down(self, event: events.MouseDown) -> None:
        self._mouse_down = event.offset
        if event.x == self.size.width - 1 and self._port.limit:
            event.stop()
            self.screen.clear_selection()
            thumb = self._port.thumb()
            self._grip = event.y - thumb.start if event.y in thumb else len(thumb) // 2
            self.capture_mouse()
            self._drag_bar(event.y)

    def _drag_bar(self, y: int) -> None:
        self.go_to(self._port.row_at_thumb(y, self._grip or 0))

    def on_mouse_move(self, event: events.MouseMove) -> None:
        if self._grip is not None:
            event.stop()
            self._drag_bar(event.y)

    def on_mouse_up(self, event: events.MouseUp) -> None:
        if self._grip is not None:
            self._grip = None
            self.release_mouse()

    def on_click(self, event: events.Click) -> None:
        if event.button != 1 or event.offset != self._mouse_down or event.x >= self.size.width - 1:
            return
        if self.new_messages and event.y == self._port.height - 1:
            self.go_end()
            return
        place = self._at(event.y)
        if place is not None and place[1] >= 0:
            self._clicked(*place, event.x)

    def _clicked(self, index: int, inside: int, x: int) -> None:
        block = self.document.blocks[index]
        url = link_at(self.document.row(index, inside), x - GUTTER)
        if url:
            self.post_message(self.LinkClicked(url))
        elif block.collapsible and inside == 0:
            self.toggle(index)
        elif self.document.is_open_all(index, inside):
            self.post_message(self.OpenFull(self, block.data.call_id))
