"""One block of a finished conversation, light enough to make 10,000 of at start-up (no pydantic here)."""

from dataclasses import dataclass
from typing import Literal

BlockKind = Literal["user", "assistant", "thinking", "tool", "notice", "decision"]
ToolState = Literal["waiting", "running", "done", "error", "cancelled", "rejected", "interrupted"]


@dataclass(slots=True)
class ReplayBlock:
    """What the transcript needs to draw one block again.

    `text` is the prompt, the reply's markdown, the reasoning, the notice or the body of a tool panel. The other
    fields are for tool panels: `content_type` is a ResultContentType value, `first_line` 1-based (0: no numbers),
    `full_length` in characters and `full_lines` in lines before the display cut. `images` has a line for each image of
    a prompt or a result.
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
