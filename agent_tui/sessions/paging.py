"""Leaves the texts of old blocks in the session's file and reads one again when it is needed."""

import os
import zlib
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import cast

from jiter import from_json

from agent_tui.protocol.replay import (
    KEPT_BLOCKS,
    LEAST_CHARS,
    BlockKind,
    LostText,
    ReplayBlock,
    StoredBlocks,
    StoredText,
)
from agent_tui.sessions.blobs import Blobs
from agent_tui.sessions.frames import RawRecord, read_frames, text_of
from agent_tui.sessions.outline import Outline
from agent_tui.sessions.replay import Replay, blocks_of

_ONE_RECORD = frozenset({"user", "assistant", "results", "outcome", "shell_line", "compacted"})
"""Records whose blocks depend on no other record."""


class SessionTexts:
    """The texts in one session file. Two of the same path are equal."""

    def __init__(self, path: Path, blobs: Blobs) -> None:
        self.path = path
        self._blobs = blobs

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SessionTexts) and other.path == self.path

    def __hash__(self) -> int:
        return hash(self.path)

    def read(self, place: StoredText) -> str:
        """Give a text, or the sentence that says why it is not there any more."""
        try:
            line = _read_at(self.path, place.offset, place.size_bytes)
        except OSError as error:
            return LostText(f"The text of this block cannot be read: {self.path}: {error.strerror or error}.")
        blocks = self._blocks(line, place)
        if place.part >= len(blocks):
            return LostText(f"The text of this block is lost: {self.path} was changed by something else.")
        return blocks[place.part].text

    def _blocks(self, line: bytes, place: StoredText) -> Sequence[ReplayBlock]:
        if len(line) != place.size_bytes or zlib.crc32(line[9:]) != place.crc32:
            return ()
        record: object = from_json(line[9:])
        return blocks_of([cast("RawRecord", record)], self._blobs) if isinstance(record, dict) else ()

    def since(self, offset: int) -> dict[tuple[BlockKind, str], StoredText]:
        """Give the places of the texts that stand in the file from `offset` on, by kind and text."""
        try:
            data = _read_at(self.path, offset, max(0, self.path.stat().st_size - offset))
        except OSError:
            return {}
        frames = read_frames(data[: data.rfind(b"\n") + 1])
        replay, found = Replay(self._blobs), dict[tuple[BlockKind, str], StoredText]()
        for record in frames.records:
            start, size, crc32 = frames.spans[text_of(record, "id")]
            for _, block, place in _added(replay, record, self, (start + offset, size, crc32)):
                found[block.kind, block.text] = place
        return found

    def place(self, block: ReplayBlock, part: int, span: tuple[int, int, int]) -> StoredText:
        """Say where the text of a block lies that is the `part`th of the record at `span`."""
        newlines = block.text.count("\n", 0, 20_000)
        return StoredText(self, *span, part, len(block.text), newlines)


def paged_blocks(
    outline: Outline, blobs: Blobs, texts: SessionTexts, *, kept: int = KEPT_BLOCKS
) -> StoredBlocks:
    """Give the blocks of the active path; the text of all but the last `kept` stays in the file.

    What is not in the file yet keeps its text. Only the texts of the newest blocks are ever held.
    """
    replay, waiting = Replay(blobs), deque[tuple[int, ReplayBlock, StoredText]]()
    path = outline.path()
    for index, record in zip(path, outline.records(path), strict=True):
        span = outline.span(index)
        if span[0] + span[1] < outline.file_bytes:
            waiting += _added(replay, record, texts, span)
        else:
            replay.add(record)
        _page(waiting, len(replay.blocks) - kept)
    replay.close()
    _page(waiting, len(replay.blocks) - kept)
    blocks = StoredBlocks(replay.blocks)
    blocks.state = outline.state
    return blocks


def _page(waiting: deque[tuple[int, ReplayBlock, StoredText]], end: int) -> None:
    """Leave the texts of the blocks before `end` to the file."""
    while waiting and waiting[0][0] < end:
        _, block, place = waiting.popleft()
        block.text, block.stored = "", place


def _added(
    replay: Replay, record: RawRecord, texts: SessionTexts, span: tuple[int, int, int]
) -> Iterator[tuple[int, ReplayBlock, StoredText]]:
    """Add a record and give those of its blocks whose text is worth leaving on disk: index, block, place."""
    places = replay.add(record)
    if record.get("type") not in _ONE_RECORD:
        return
    for part, at in enumerate(places):
        block = replay.blocks[at]
        if len(block.text) >= LEAST_CHARS:
            yield at, block, texts.place(block, part, span)


def _read_at(path: Path, offset: int, size_bytes: int) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.pread(descriptor, size_bytes, offset)
    finally:
        os.close(descriptor)
