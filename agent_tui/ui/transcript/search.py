"""Finding text in the conversation."""

from __future__ import annotations

import asyncio
import time
from typing import NamedTuple

from agent_tui.ui.render.safe import clean
from agent_tui.ui.transcript.blocks import Block
from agent_tui.ui.transcript.document import Document

SLICE_S = 0.004


class Match(NamedTuple):
    """The `number`th occurrence (from 0) in block `block`; `in_head`: in its title, seen also when closed."""

    block: int
    number: int
    in_head: bool


def fold(text: str, needle: str) -> str:
    """Make `text` comparable with `needle`: case counts only when `needle` has a capital."""
    return text if needle != needle.lower() else text.lower()


def head_text(block: Block) -> str:
    """Give what the head of a tool panel says."""
    data = block.data
    if data.kind != "tool":
        return ""
    return f"{data.display_name or data.tool}: {data.title}"


def find_in(document: Document, index: int, needle: str) -> list[Match]:
    """Give every occurrence in the head and the source of a block."""
    block, stream = document.blocks[index], document.streams.get(index)
    in_head = fold(head_text(block), needle).count(needle)
    in_text = fold(stream.text if stream else block.text, needle).count(needle)
    return [Match(index, number, number < in_head) for number in range(in_head + in_text)]


async def find_all(document: Document, needle: str) -> list[Match] | None:
    """Give every occurrence in the sources of all blocks, oldest first; None when other blocks came in their place.

    Keys and frames get in between: 10,000 texts take 0.2 s when they are read from disk.
    """
    matches: list[Match] = []
    generation = document.generation
    began = time.perf_counter()
    for index in range(len(document) if needle else 0):
        matches += find_in(document, index, needle)
        if time.perf_counter() - began > SLICE_S:
            await asyncio.sleep(0)
            if document.generation != generation:
                return None
            began = time.perf_counter()
    return matches


def row_spans(text: str, needle: str) -> list[tuple[int, int]]:
    """Give the (start, end) of each occurrence in the text of one row."""
    if not needle:
        return []
    folded, spans, at = fold(text, needle), list[tuple[int, int]](), 0
    while (at := folded.find(needle, at)) >= 0:
        spans.append((at, at + len(needle)))
        at += len(needle)
    return spans


def row_of(document: Document, match: Match, needle: str) -> int:
    """Give the row inside the block on which a match is drawn; 0 when markup keeps it from being drawn whole."""
    seen = 0
    height = document.body(match.block).height
    for inside in range(height):
        seen += len(row_spans(document.row(match.block, inside).text, needle))
        if seen > match.number:
            return inside
    return _wrapped_row(document, match, clean(needle), height)


def _wrapped_row(document: Document, match: Match, needle: str, height: int) -> int:
    joined, starts = "", list[int]()
    for inside in range(height):
        row = document.row(match.block, inside)
        starts.append(len(joined))
        joined += row.text[row.start :] + ("\n" if row.join is None else row.join)
    at = fold(joined, needle).find(needle)
    return max((inside for inside, start in enumerate(starts) if start <= at), default=0)
