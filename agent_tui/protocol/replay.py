"""One block of a finished conversation, light enough to make 10,000 of at start-up (no pydantic here)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

BlockKind = Literal["user", "assistant", "thinking", "tool", "notice", "decision"]
ToolState = Literal["waiting", "running", "done", "error", "cancelled", "denied", "interrupted"]

KEPT_BLOCKS = 500
"""So many of the newest blocks keep their text in memory: a screen that follows the end reads nothing."""
LEAST_CHARS = 256
"""A shorter text takes no more memory than its place on disk does."""


class LostText(str):
    """A sentence in the place of a text that can no longer be read."""

    __slots__ = ()


class TextHome(Protocol):
    """A file in which texts of blocks lie."""

    def read(self, place: StoredText) -> str:
        """Give a text as it was when it was stored, or a LostText. Never raises; one read of a local file."""
        ...


class StoredText(NamedTuple):
    """Where the text of a block lies: text `part` of the line of `size_bytes` at `offset`, whose checksum is `crc32`.

    `chars` is the length of the text, `newlines` counts those in its first 20,000 characters.
    """

    home: TextHome
    offset: int
    size_bytes: int
    crc32: int
    part: int
    chars: int
    newlines: int

    @property
    def end(self) -> int:
        """Where the line ends."""
        return self.offset + self.size_bytes


@dataclass(slots=True)
class ReplayBlock:
    """What the transcript needs to draw one block again.

    `text` is "" while the text lies on disk only, which `stored` says; `whole_text` gives it either way. It is the
    prompt, the reply's markdown, the reasoning, the notice or the body of a tool panel. The other fields are for tool
    panels: `content_type` is a ResultContentType value, `first_line` 1-based (0: no numbers), `full_length` in characters
    and `full_lines` in lines before the display cut. `images` has a line for each image of a prompt or a result.
    """

    kind: BlockKind
    text: str
    call_id: str = ""
    tool: str = ""
    display_name: str = ""
    title: str = ""
    state: ToolState = "done"
    elapsed_s: float = 0.0
    content_type: str = "plain_text"
    language: str = ""
    path: str = ""
    first_line: int = 0
    is_truncated: bool = False
    full_length: int = 0
    full_lines: int = 0
    summary: str = ""
    origin: str = ""
    record_id: str = ""
    starts_open: bool = False
    images: tuple[str, ...] = ()
    stored: StoredText | None = None

    def whole_text(self) -> str:
        """Give the text, from disk when it lies there."""
        return self.text if self.stored is None else self.stored.home.read(self.stored)


class StoredBlocks(list[ReplayBlock]):
    """Blocks of a stored session; `state` names what they were made of, so that an equal one means equal blocks."""

    state: str = ""
