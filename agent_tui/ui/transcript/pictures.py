"""The lines that stand for images in the conversation: format, pixels, size and name, never the image's own bytes."""

from __future__ import annotations

from collections.abc import Sequence

from rich.segment import Segment

from agent_tui.ui.render.rows import Row, cells, fit
from agent_tui.ui.render.safe import clean_line
from agent_tui.ui.transcript.blocks import Block, Look, picture_lines

MARK = "▧ "
LABEL_CHARS = 300


def picture_rows(labels: Sequence[str], look: Look, before: Sequence[Segment] = ()) -> list[Row]:
    """Give a row for each image behind `before`, the last one for all that are too many."""
    shown = labels[: picture_lines(labels)]
    texts = [clean_line(label[:LABEL_CHARS]) for label in shown]
    if len(labels) > len(shown):
        texts[-1] = f"and {len(labels) - len(shown) + 1} more images"
    style = look.inks(look.inks.palette.link)
    room = max(1, look.width - cells(before) - len(MARK) - 1)
    start = sum(len(segment.text) for segment in before) + len(MARK)
    return [
        Row(
            [*before, Segment(MARK, look.inks.muted), Segment(fit(text, room), style)],
            start,
            join="",
            source=text,
        )
        for text in texts
    ]


def is_picture(block: Block, inside: int, height: int) -> bool:
    """Tell whether a row of a block that is `height` rows high stands for an image."""
    below = 0
    if block.data.kind == "tool" and block.open:
        below = block.data.is_truncated + (not block.apart)
    last = height - below
    return last - picture_lines(block.data.images) <= inside < last
