"""One block of the conversation on screen, and how high it probably is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agent_tui.protocol.replay import BlockKind, ReplayBlock
from agent_tui.ui.render.inks import Inks

COLLAPSIBLE: frozenset[BlockKind] = frozenset({"tool", "thinking"})
LIVE_ROWS = 6
MAX_PICTURES = 10


@dataclass(frozen=True)
class Look:
    """How bodies are drawn: styles, width in cells, frame of the spinner, time in seconds (monotonic)."""

    inks: Inks
    width: int
    frame: int = 0
    now_s: float = 0.0


class Block:
    """What is known of a block: its data, whether it is open, and since when it runs.

    `chosen` says that a person opened or closed it, which later updates respect. `stamp` names its present
    looks: a new one makes every cached row of the old one worthless. `exact` says that its height was measured. `apart`
    says that the next block keeps a distance of its own, so that an open panel ends without a blank row.
    """

    __slots__ = ("apart", "chosen", "data", "exact", "live", "open", "stamp", "started_s")

    def __init__(self, data: ReplayBlock, stamp: int, *, wide: bool = False) -> None:
        self.data = data
        self.stamp = stamp
        self.open = starts_open(data, wide=wide)
        self.chosen = False
        self.exact = False
        self.apart = False
        self.live = ""
        self.started_s = 0.0

    @property
    def text(self) -> str:
        """Its text, read from disk when it lies there: to lay it out, find, copy or write it, never to guess a height."""
        return self.data.whole_text()

    @property
    def collapsible(self) -> bool:
        """Whether it has a head that opens and closes it."""
        return self.data.kind in COLLAPSIBLE


def starts_open(data: ReplayBlock, *, wide: bool = False) -> bool:
    """Tell whether a block is open until a person chooses: a failed call, and one whose tool asked for it.

    `wide` opens all that can be.
    """
    if wide and data.kind in COLLAPSIBLE:
        return True
    return data.kind == "tool" and (data.state == "error" or data.starts_open)


def gap(previous: ReplayBlock | None, data: ReplayBlock) -> int:
    """Count the blank rows between two neighbours: none above the first block, between panels and between short notices."""
    if previous is None or (previous.kind == data.kind == "tool"):
        return 0
    if previous.kind == data.kind == "notice":  # a report of several lines stands apart
        return int(_has_lines(previous) or _has_lines(data))
    return 0 if data.kind == "decision" and previous.kind in ("tool", "decision") else 1


def _has_lines(data: ReplayBlock) -> bool:
    return "\n" in data.text or (data.stored is not None and data.stored.newlines > 0)


def estimate(block: Block, width: int) -> int:
    """Guess the height of a block without its gap, from the size of its text; at least 1."""
    data = block.data
    if block.collapsible and not block.open:
        return 1 + picture_lines(data.images)
    size, newlines = len(data.text), data.text.count("\n", 0, 20_000)
    if data.stored is not None:
        size, newlines = data.stored.chars, data.stored.newlines
    rows = newlines + 1 + size // max(20, width + 20) + picture_lines(data.images)
    return rows + 2 - block.apart if data.kind in ("tool", "user") else rows


def picture_lines(labels: Sequence[str]) -> int:
    """Count the rows that stand for images."""
    return min(len(labels), MAX_PICTURES)
