"""What a tool's work looks like on screen, never what the model reads."""

from collections.abc import Mapping
from enum import StrEnum

from agent_tui.protocol.data import Data

DISPLAY_LIMIT_CHARS = 10_000
TITLE_LIMIT_CHARS = 50


class ResultContentType(StrEnum):
    """How a body is highlighted. AUTO decides by path, then by content."""

    PLAIN_TEXT = "plain_text"
    CODE = "code"
    DIFF = "diff"
    MARKDOWN = "markdown"
    JSON = "json"
    YAML = "yaml"
    XML = "xml"
    TERMINAL = "terminal"
    AUTO = "auto"


class DisplayResult(Data):
    """The body of a tool panel.

    `content` holds at most 10,000 characters, cut on a character boundary; `full_length` counts the
    characters before the cut and `full_lines` the lines, also when nothing was cut. `first_line` is the
    1-based number of the first line of CODE; 0 shows no numbers. `summary` is the one line of a collapsed panel.
    `starts_open` shows the body at once; the person's own choice wins. `images` holds a line for each image that the
    result carries; the executor sets it.
    """

    content: str
    content_type: ResultContentType = ResultContentType.PLAIN_TEXT
    is_truncated: bool = False
    full_length: int = 0
    full_lines: int = 0
    language: str = ""
    path: str = ""
    first_line: int = 0
    summary: str = ""
    starts_open: bool = False
    images: tuple[str, ...] = ()


class ChangePreview(DisplayResult):
    """A preview of file changes, bound to what it was computed from.

    `bases` maps each real path to the SHA-256 (hex) of the content the preview started from; "" says that the
    file did not exist. `hunks` is the number of separately acceptable hunks (0: not divisible). `note` labels
    what a person must know, such as a match that was not exact.
    """

    bases: Mapping[str, str] = {}
    hunks: int = 0
    note: str = ""
