"""The part of the transcript that takes in blocks, live output and streamed text, at its own pace."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from textual.timer import Timer

from agent_tui.protocol.replay import BlockKind, ReplayBlock, ToolState
from agent_tui.ui.palette import Palette
from agent_tui.ui.transcript.blocks import starts_open
from agent_tui.ui.transcript.canvas import Canvas
from agent_tui.ui.transcript.panel import last_lines
from agent_tui.ui.transcript.stream import ALL

SPIN_S = 0.125
FRAME_S = 1 / 20
LIVE_LIMIT_CHARS = 64_000
# About 6 ms of layout; a reply that comes all at once is laid out over several frames.
FRAME_CHARS = 4_000
# A frame may take a third of the time at most, so that keys are never behind a queue of frames.
REST = 3.0


class Writing(Canvas, can_focus=False):
    """Changes the document and paints what changed, at most 20 times a second while text streams."""

    def __init__(
        self,
        palette: Palette = Palette.DARK,
        *,
        id: str | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(palette, id=id, clock=clock)
        self._flush_timer: Timer | None = None
        self._spin_timer: Timer | None = None
        self._is_held = False
        self._flush_cost_s = 0.0
        self._flushed_s = 0.0

    def on_mount(self) -> None:
        self._spin()

    def load(self, blocks: Sequence[ReplayBlock]) -> None:
        """Show `blocks` instead of everything, from the end."""
        self.document.load(blocks)
        self._painter.clear()
        self._painter.cursor = None
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
        if "text" in fields:
            fields["stored"] = None
        block.data = replace(block.data, **fields)  # type: ignore[arg-type]  # replace checks the names
        if not block.chosen:
            block.open = starts_open(block.data, wide=self.document.opens_all)
        if block.data.state != "running" and (block.data.text or block.data.stored):
            block.live = ""
        self._changed(index)
        self._spin()

    def tool_state(self, call_id: str) -> ToolState | None:
        """Give the state of the panel of a call that stands below the last prompt, None without one."""
        index = self.document.call(call_id)
        if index is None or any(block.data.kind == "user" for block in self.document.blocks[index:]):
            return None
        return self.document.blocks[index].data.state

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
        block.live = last_lines(block.live + text, LIVE_LIMIT_CHARS)
        self.document.dirty.add(index)
        self._schedule_flush()

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

    @property
    def _may_wait(self) -> bool:
        return self.is_attached and self.is_running  # nothing stops a timer that a closed widget sets

    def _schedule_flush(self) -> None:
        if self._flush_timer is None and self._may_wait:
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
        if self.document.dirty and self._flush_timer is None and self._may_wait:
            # Behind: rest as long as it took.
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

    def _changed(self, index: int) -> None:
        """Draw a block anew; what is read stands still."""
        before = self.document.heights[index]
        grown = self.document.changed(index)
        self._port.shifted(index, grown)
        if grown:
            self._grown()
        else:
            self._refresh_rows(index, -1, before)

    @property
    def spins(self) -> bool:
        """Whether the spinners' timer runs."""
        return self._spin_timer is not None

    def hold(self) -> None:
        """Let the spinners stand still while a person is asked."""
        self._is_held = True
        self._spin()

    def go_on(self) -> None:
        """Let the spinners turn again after `hold`."""
        self._is_held = False
        self._spin()

    def _spin(self) -> None:
        """Run the spinner's timer while a tool runs and nobody is asked, and only then."""
        spins = bool(self.document.running) and not self._is_held
        if spins and self._spin_timer is None and self._may_wait:
            self._spin_timer = self.set_interval(SPIN_S, self._turn)
        elif not spins and self._spin_timer is not None:
            self._spin_timer.stop()
            self._spin_timer = None

    def _turn(self) -> None:
        self.document.turn()
        for index in self.document.running:
            self._painter.forget(self.document.blocks[index].stamp, 0, 1)
            self._refresh_rows(index, 0, 1)
