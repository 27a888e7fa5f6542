"""The blocks of a conversation with their places: what is on which row, independent of any widget."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence

from agent_tui.protocol.replay import KEPT_BLOCKS, LEAST_CHARS, BlockKind, ReplayBlock, StoredText
from agent_tui.ui.palette import Palette
from agent_tui.ui.render.inks import Inks
from agent_tui.ui.render.rows import Body, Row, RowList
from agent_tui.ui.transcript.blocks import Block, Look, estimate, gap
from agent_tui.ui.transcript.cache import Bounded
from agent_tui.ui.transcript.compose import compose
from agent_tui.ui.transcript.heights import Heights
from agent_tui.ui.transcript.panel import Panel, tool_head
from agent_tui.ui.transcript.pictures import is_picture
from agent_tui.ui.transcript.stream import Stream, make_stream

BODY_ROWS = 3_000
EMPTY = Row(())


class Document:
    """Blocks, their heights and their laid-out bodies. Rows are counted from the top of the conversation.

    Row 0 of a block is its first row below the gap; the gap above has negative numbers.
    """

    def __init__(self, palette: Palette, clock: Callable[[], float] = time.monotonic) -> None:
        self.inks = Inks(palette)
        self.clock = clock
        self.width = 80
        self.frame = 0
        self.generation = 0
        """Changes when other blocks take the place of all."""
        self.opens_all = False
        self.blocks: list[Block] = []
        self.heights = Heights()
        self.streams: dict[int, Stream] = {}
        self.running: set[int] = set()
        self.dirty: set[int] = set()
        self.ending: set[int] = set()
        self._bodies: Bounded[int, Body] = Bounded(BODY_ROWS, _cost)
        self._calls: dict[str, int] = {}
        self._stamp = 0

    def __len__(self) -> int:
        return len(self.blocks)

    # -- changes

    def load(self, blocks: Sequence[ReplayBlock]) -> None:
        """Replace everything by `blocks`."""
        self.clear()
        for data in blocks:
            self._append(data)
        previous: list[ReplayBlock | None] = [None, *blocks]
        self.heights = Heights(
            [
                estimate(block, self.width) + gap(before, block.data)
                for before, block in zip(previous, self.blocks, strict=False)
            ]
        )

    def clear(self) -> None:
        """Forget all blocks."""
        self.generation += 1
        self.blocks.clear()
        self.heights = Heights()
        self.streams.clear()
        self.running.clear()
        self.dirty.clear()
        self.ending.clear()
        self._calls.clear()
        self._bodies.clear()

    def add(self, data: ReplayBlock) -> int:
        """Put a block at the end; gives its index, which stays valid until `clear` or `load`."""
        block = self._append(data)
        index = len(self.blocks) - 1
        if index and self.blocks[index - 1].apart and self.blocks[index - 1].open:
            self.changed(index - 1)  # its closing row gives way to the distance below it
        self.heights.append(estimate(block, self.width) + self.gap(index))
        return index

    def _append(self, data: ReplayBlock) -> Block:
        block = Block(data, self.next_stamp(), wide=self.opens_all)
        if self.blocks and self.blocks[-1].data.kind == "tool":
            self.blocks[-1].apart = gap(self.blocks[-1].data, data) > 0
        self.blocks.append(block)
        if data.kind == "tool":
            self._calls[data.call_id] = len(self.blocks) - 1
            self._track(len(self.blocks) - 1)
        return block

    def _track(self, index: int) -> None:
        block = self.blocks[index]
        if block.data.state == "running":
            if index not in self.running:
                self.running.add(index)
                block.started_s = self.clock()
        else:
            self.running.discard(index)

    def call(self, call_id: str) -> int | None:
        """Give the block of a call: the newest when an id comes twice."""
        return self._calls.get(call_id)

    def open(self, index: int, is_open: bool) -> int:
        """Open or close a block as a person's choice; gives by how many rows it grew."""
        block = self.blocks[index]
        block.open, block.chosen = is_open, True
        return self.changed(index)

    def open_all(self) -> None:
        """Open every block that can be, or close them when all are open. Heights are guesses until seen."""
        panels = [index for index, block in enumerate(self.blocks) if block.collapsible]
        is_open = not all(self.blocks[index].open for index in panels)
        for index in panels:
            block = self.blocks[index]
            self._bodies.drop(block.stamp)
            block.open, block.chosen, block.exact = is_open, True, False
            block.stamp = self.next_stamp()
            self.heights.set(index, estimate(block, self.width) + self.gap(index))

    def is_open_all(self, index: int, inside: int) -> bool:
        """Say whether a row offers to open the whole of a cut result."""
        block = self.blocks[index]
        last = self.body(index).height - 1 - (not block.apart)
        return block.open and block.data.is_truncated and inside == last

    def is_picture(self, index: int, inside: int) -> bool:
        """Say whether a row stands for an image."""
        block = self.blocks[index]
        return bool(block.data.images) and is_picture(block, inside, self.body(index).height)

    def start_stream(self, kind: BlockKind) -> int:
        """Put a block at the end that will be written bit by bit."""
        index = self.add(ReplayBlock(kind, ""))
        self.streams[index] = make_stream(self.blocks[index], self.look())
        self.measure(index)
        return index

    def end_stream(self, index: int) -> bool:
        """Keep what a stream wrote as the block's text. False: rows wait to be laid out, end it again then."""
        stream = self.streams[index]
        if stream.is_behind:
            self.ending.add(index)
            return False
        del self.streams[index]
        self.ending.discard(index)
        block = self.blocks[index]
        block.exact = False  # its last rows may just have come
        block.data.text = stream.text
        if block.data.kind == "assistant":
            self._bodies.put(block.stamp, stream.finished())
        else:
            self.changed(index)
        return True

    def old_texts(self) -> list[int]:
        """Give the blocks far from the end whose text is in memory and worth leaving on disk."""
        old = range(len(self.blocks) - KEPT_BLOCKS)
        return [at for at in old if len(self.blocks[at].data.text) >= LEAST_CHARS and at not in self.streams]

    def leave_on_disk(self, index: int, place: StoredText) -> None:
        """Forget the text of a block, which `place` holds; its looks stay."""
        data = self.blocks[index].data
        data.text, data.stored = "", place

    def turn(self) -> None:
        """Move the spinners on: new heads for the calls that run, the rest of their looks stays."""
        self.frame += 1
        for index in self.running:
            body = self._bodies.get(self.blocks[index].stamp)
            if isinstance(body, Panel):
                body.head = tool_head(self.blocks[index], self.look())

    def take_dirty(self) -> list[int]:
        """Give the blocks that wait for a flush, in order, and forget that they do."""
        indexes = sorted(self.dirty)
        self.dirty = set()
        return indexes

    def changed(self, index: int) -> int:
        """Lay a block out anew; gives by how many rows it grew."""
        block = self.blocks[index]
        self._bodies.drop(block.stamp)
        block.stamp = self.next_stamp()
        block.exact = False
        if block.data.kind == "tool":
            self._track(index)
        return self.measure(index)

    def relook(self) -> None:
        """Forget all looks, as after a change of colours; heights stay."""
        self._bodies.clear()
        for block in self.blocks:
            block.stamp = self.next_stamp()
        for index, stream in list(self.streams.items()):
            self.streams[index] = stream.again(self.look())

    def set_palette(self, palette: Palette) -> None:
        """Draw in other colours."""
        self.inks = Inks(palette)
        self.relook()

    def set_width(self, width: int, top: int) -> int:
        """Lay out for another width, in cells; gives the row where what stood on row `top` is then, nearly.

        Heights are guesses until they are seen.
        """
        index, inside = self.find(top)
        height = max(1, self.heights[index]) if self.blocks else 1
        self.width = width
        self.relook()
        heights: list[int] = []
        previous: ReplayBlock | None = None
        for block in self.blocks:
            block.exact = False
            heights.append(estimate(block, width) + gap(previous, block.data))
            previous = block.data
        self.heights = Heights(heights)
        if not self.blocks:
            return 0
        self.measure(index)
        return max(0, self.top(index) + (inside * self.heights[index] // height if inside > 0 else inside))

    def next_stamp(self) -> int:
        """Give a number never given before."""
        self._stamp += 1
        return self._stamp

    # -- layout

    def look(self) -> Look:
        """Say how bodies are drawn now."""
        return Look(self.inks, self.width, self.frame, self.clock())

    def gap(self, index: int) -> int:
        """Count the blank rows above a block."""
        previous = self.blocks[index - 1].data if index else None
        return gap(previous, self.blocks[index].data)

    def body(self, index: int) -> Body:
        """Give the laid-out rows of a block."""
        stream = self.streams.get(index)
        if stream is not None:
            return stream
        block = self.blocks[index]
        body = self._bodies.get(block.stamp)
        if body is None:
            body = compose(block, self.look())
            self._bodies.put(block.stamp, body)
        return body

    def measure(self, index: int) -> int:
        """Make the height of a block exact; gives by how many rows it grew."""
        block = self.blocks[index]
        if block.exact and index not in self.streams:
            return 0
        block.exact = True
        height = self.body(index).height
        return self.heights.set(index, height + self.gap(index) if height else 0)

    def find(self, row: int) -> tuple[int, int]:
        """Give the block on a row and its row there, negative in the gap above it."""
        index, inside = self.heights.find(row)
        return index, inside - (self.gap(index) if self.blocks else 0)

    def top(self, index: int) -> int:
        """Give the row on which a block's own first row stands."""
        return self.heights.before(index) + self.gap(index)

    def row(self, index: int, inside: int) -> Row:
        """Give one row of a block; an empty one in a gap or past the end."""
        if inside < 0:
            return EMPTY
        body = self.body(index)
        return body.row(inside) if inside < body.height else EMPTY

    def walk(self, row: int) -> Iterator[tuple[int, int]]:
        """Give (block, row in it) for `row` and every row below it."""
        if not self.blocks:
            return
        index, inside = self.find(row)
        while index < len(self.blocks):
            for place in range(inside, self.heights[index] - self.gap(index)):
                yield index, place
            index += 1
            inside = -self.gap(index) if index < len(self.blocks) else 0


def _cost(body: Body) -> int:
    if isinstance(body, RowList):  # its rows are all there, 2 KB each
        return body.height + 1
    return min(body.height, BODY_ROWS // 4) + 1
