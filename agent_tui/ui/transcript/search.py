"""Finding text in the conversation."""

from __future__ import annotations

from typing import NamedTuple

from agent_tui.ui.render.safe import clean
from agent_tui.ui.transcript.blocks import Block
from agent_tui.ui.transcript.document import Document


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


def find_all(document: Document, needle: str) -> list[Match]:
    """Give every occurrence in the sources of all blocks, oldest first."""
    matches: list[Match] = []
    if not needle:
        return matches
    for index, block in enumerate(document.blocks):
        stream = document.streams.get(index)
        text = stream.text if stream else block.data.text
        in_head = fold(head_text(block), needle).count(needle)
        in_text = fold(text, needle).count(needle)
        matches += [Match(index, number, number < in_head) for number in range(in_head + in_text)]
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
