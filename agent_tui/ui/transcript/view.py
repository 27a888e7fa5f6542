"""The conversation as one scrolling widget (Line API): no widget per message, no work outside the viewport."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from textual import events
from textual.geometry import Offset
from textual.message import Message

from agent_tui.protocol.replay import ReplayBlock
from agent_tui.ui.palette import Palette
from agent_tui.ui.transcript.paint import GUTTER, link_at
from agent_tui.ui.transcript.search import Match, find_all, row_of
from agent_tui.ui.transcript.selection import line_at, word_at
from agent_tui.ui.transcript.writing import Writing

WHEEL_ROWS = 3


class Transcript(Writing, can_focus=False):
    """Draws blocks, follows the newest one while it is at the end, and streams into its last blocks.

    All methods must be called from the app's own task; none awaits. Indexes are those `add` and `stream_start`
    gave; they stay valid until `clear` or `load`.
    """

    DEFAULT_CSS = """
    Transcript { scrollbar-size: 0 0; overflow: hidden hidden; }
    """

    class OpenFull(Message):
        """The person wants to see the whole result of a call whose display was cut."""

        def __init__(self, transcript: Transcript, call_id: str) -> None:
            super().__init__()
            self.transcript = transcript
            self.call_id = call_id

        @property
        def control(self) -> Transcript:
            return self.transcript

    class OpenPictures(Message):
        """The person wants to see the images of a call, or of a prompt when `call_id` is ""."""

        def __init__(self, call_id: str, prompt: str) -> None:
            super().__init__()
            self.call_id = call_id
            self.prompt = prompt

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
        super().__init__(palette, id=id, clock=clock)
        self.cursor: int | None = None
        self.needle = ""
        self.matches: list[Match] = []
        self.match = -1
        self._searches = 0
        self._mouse_down: Offset | None = None
        self._grip: int | None = None

    def load(self, blocks: Sequence[ReplayBlock]) -> None:
        """Show `blocks` instead of everything, from the end."""
        self.cursor = None
        self.matches, self.match = [], -1
        super().load(blocks)

    def toggle(self, index: int) -> None:
        """Open or close a panel or a piece of reasoning; the person's choice outlives later updates."""
        block = self.document.blocks[index]
        if block.collapsible:
            self._open(index, not block.open)

    def _open(self, index: int, is_open: bool) -> None:
        self.document.open(index, is_open)
        if self.follow:
            self._port.to_end()
        self._port.move(min(self._port.top, self.document.top(index)))
        self._show()
        self.follow = self._port.at_end

    def unfold(self, index: int) -> None:
        """Open a panel for the program: a choice of the person stands, and a followed end stays in sight."""
        block = self.document.blocks[index]
        if not block.open and not block.chosen:
            self.document.open(index, True)
            self._grown()

    def toggle_all(self) -> None:
        """Open every panel and thought, or close them when all are open."""
        first = self.document.heights.find(self._port.top)[0] if self.document.blocks else 0
        self.document.open_all()
        if self.document.blocks:
            self._port.top = self.document.heights.before(first)
        self._grown()

    def open_full(self, index: int) -> None:
        """Ask for the whole of a result that was cut, else for the images of a block; else nothing happens."""
        data = self.document.blocks[index].data
        if data.is_truncated:
            self.post_message(self.OpenFull(self, data.call_id))
        else:
            self.open_pictures(index)

    def open_pictures(self, index: int) -> None:
        """Ask for the images of a block, if it has any."""
        data = self.document.blocks[index].data
        if data.images:
            prompt = data.whole_text() if data.kind == "user" else ""
            self.post_message(self.OpenPictures(data.call_id, prompt))

    def move_cursor(self, step: int) -> int | None:
        """Move the block cursor to the next block (step 1) or the one before (-1) and show it; gives its index."""
        if not self.document.blocks:
            return None
        last = len(self.document) - 1
        start = self._cursor_in_sight()
        if start is None:
            index = self._in_sight()[0 if step > 0 else -1] if self.cursor is not None else last
        else:
            index = max(0, min(last, start + step))
        self.set_cursor(index)
        return index

    def _in_sight(self) -> range:
        """Give the indexes of the blocks of which a row is on screen."""
        heights = self.document.heights
        first = heights.find(self._port.top)[0]
        return range(first, heights.find(self._port.top + max(0, self._port.height - 1))[0] + 1)

    def _cursor_in_sight(self) -> int | None:
        """Give the marked block while a row of it is on screen: a mark that was left behind does not count."""
        return self.cursor if self.cursor is not None and self.cursor in self._in_sight() else None

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
        marked = self._cursor_in_sight()
        index = (self.document.heights.find(self._port.top)[0] if marked is None else marked) + step
        while 0 <= index < len(self.document):
            if self.document.blocks[index].data.kind == "user":
                self.set_cursor(index)
                self.go_to(self.document.top(index))
                return index
            index += step
        return None

    async def search(self, text: str) -> int | None:
        """Mark every occurrence of `text` and go to the last one; gives their number.

        Case counts only when `text` has a capital. None: another search or another conversation came in between.
        """
        self.needle = self._painter.needle = text
        self._mark_matches([])
        self._searches += 1
        mine = self._searches
        found = await find_all(self.document, text)
        if found is None or mine != self._searches:
            return None
        self._mark_matches(found)
        if found:
            self.next_match(-1)
        return len(found)

    def end_search(self) -> None:
        """Mark nothing any more, and give up a search that still runs."""
        self._searches += 1
        self.needle = self._painter.needle = ""
        self._mark_matches([])

    def _mark_matches(self, matches: list[Match]) -> None:
        self.matches, self.match = matches, len(matches)
        self._painter.current = None
        self._painter.clear()
        self.refresh(self.size.region)

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

    def source(self, index: int) -> str:
        """Give the text of a block as it came."""
        stream = self.document.streams.get(index)
        return stream.text if stream else self.document.blocks[index].text

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
        if event.chain > 1:  # Textual would select the whole conversation, then the whole screen
            event.prevent_default().stop()
        if event.button != 1 or event.offset != self._mouse_down or event.x >= self.size.width - 1:
            return
        place = self._at(event.y)
        if place is None or place[1] < 0:
            return
        if event.chain == 1:
            self._clicked(*place, event.x)
        else:
            self._select(*place, event.x - GUTTER, is_word=event.chain == 2)

    def _select(self, index: int, inside: int, x: int, *, is_word: bool) -> None:
        """Select the word at cell `x` of a row, or all rows of its line in the source."""
        found = word_at if is_word else line_at
        self.screen.selections = {self: found(self.document, index, inside, x)}

    def _clicked(self, index: int, inside: int, x: int) -> None:
        block = self.document.blocks[index]
        url = link_at(self.document.row(index, inside), x - GUTTER)
        if url:
            self.post_message(self.LinkClicked(url))
        elif block.collapsible and inside == 0:
            self.toggle(index)
        elif self.document.is_picture(index, inside):
            self.open_pictures(index)
        elif self.document.is_open_all(index, inside):
            self.open_full(index)
