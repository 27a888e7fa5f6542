"""Leaves the texts of old blocks in the session's file and reads one again when it is needed."""

import os
import zlib
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import cast

from jiter import from_json

from agent_tui.protocol.replay import KEPT_BLOCKS, LEAST_CHARS, BlockKind, LostText, ReplayBlock, StoredText
from agent_tui.sessions.blobs import Blobs
from agent_tui.sessions.frames import Frames, RawRecord, read_frames
from agent_tui.sessions.replay import blocks_of

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
        whole = data[: data.rfind(b"\n") + 1]
        frames = read_frames(whole)
        blocks = blocks_of(frames.records, self._blobs)
        moved = {key: (start + offset, size, crc32) for key, (start, size, crc32) in frames.spans.items()}
        places = _places(blocks, frames.records, self, moved, offset + len(whole))
        return {(blocks[at].kind, blocks[at].text): place for at, place in places.items()}

    def place(self, block: ReplayBlock, part: int, span: tuple[int, int, int]) -> StoredText:
        """Say where the text of a block lies that is the `part`th of the record at `span`."""
        newlines = block.text.count("\n", 0, 20_000)
        return StoredText(self, *span, part, len(block.text), newlines)


def paged_blocks(
    path: Sequence[RawRecord],
    blobs: Blobs,
    texts: SessionTexts,
    frames: Frames,
    *,
    on_disk_bytes: int,
    kept: int = KEPT_BLOCKS,
) -> list[ReplayBlock]:
    """Give the blocks of the entries of `path`; the text of all but the last `kept` stays in the file.

    What lies behind the first `on_disk_bytes` of `frames` is not in the file yet and keeps its text.
    """
    blocks = blocks_of(path, blobs)
    places = _places(blocks, path, texts, frames.spans, on_disk_bytes)
    for at, place in places.items():
        if at < len(blocks) - kept:
            blocks[at].text, blocks[at].stored = "", place
    return blocks


def _places(
    blocks: Sequence[ReplayBlock],
    path: Collection[RawRecord],
    texts: SessionTexts,
    spans: Mapping[str, tuple[int, int, int]],
    on_disk_bytes: int,
) -> dict[int, StoredText]:
    """Give the places of the texts that are worth leaving on disk, by the index of their block."""
    alone = {str(record.get("id")) for record in path if record.get("type") in _ONE_RECORD}
    places: dict[int, StoredText] = {}
    last_id, part = "", 0
    for at, block in enumerate(blocks):
        if not block.record_id:
            continue
        part = part + 1 if block.record_id == last_id else 0
        last_id = block.record_id
        span = spans.get(last_id)
        if last_id not in alone or len(block.text) < LEAST_CHARS or span is None:
            continue
        if span[0] + span[1] < on_disk_bytes:
            places[at] = texts.place(block, part, span)
    return places


def _read_at(path: Path, offset: int, size_bytes: int) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.pread(descriptor, size_bytes, offset)
    finally:
        os.close(descriptor)
