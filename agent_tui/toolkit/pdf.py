"""The text of a PDF, page by page and no further than wanted, when the extra that can read one is installed."""

import io
import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Protocol, cast

from agent_tui.protocol.errors import ToolError


class _Page(Protocol):
    def extract_text(self) -> str: ...


class _Reader(Protocol):
    @property
    def pages(self) -> Sequence[_Page]: ...


class _Library(Protocol):
    def PdfReader(self, stream: io.BytesIO) -> _Reader: ...


@dataclass(frozen=True)
class PdfText:
    """Lines of the text, each page below a line "# Page N".

    `next_line` (1-based) is where it goes on, None at the end. `has_text` is False when no page that was read has any.
    """

    lines: tuple[str, ...]
    pages: int
    next_line: int | None
    has_text: bool


def read_pdf(data: bytes, *, shown: str, offset: int, limit: int, limit_chars: int) -> PdfText:
    """Give at most `limit` lines from line `offset` (1-based) on and at most `limit_chars` characters.

    Raises ToolError without the extra, for a damaged file and for one that needs a password.
    """
    try:
        library = cast("_Library", import_module("pypdf"))  # 90 ms, and only for PDF files
    except ImportError as error:
        raise ToolError(
            f"{shown} is a PDF; its text can be read once the package pypdf is installed beside agent-tui, or with pdftotext."
        ) from error
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # its warnings would be written over the screen
    try:
        pages = library.PdfReader(io.BytesIO(data)).pages
        return _window(pages, offset, limit, limit_chars)
    except Exception as error:  # foreign code: a damaged PDF may raise anything
        raise ToolError(f"{shown} is a PDF that cannot be read: {error or type(error).__name__}") from error


def _window(pages: Sequence[_Page], offset: int, limit: int, limit_chars: int) -> PdfText:
    taken: list[str] = []
    room, has_text = limit_chars, False
    for number, line in enumerate(_lines(pages), start=1):
        has_text = has_text or bool(line.text and not line.is_heading)
        if number < offset:
            continue
        if len(taken) == limit or (taken and len(line.text) > room):
            return PdfText(tuple(taken), len(pages), number, has_text=True)
        taken.append(line.text[:limit_chars])
        room -= len(line.text) + 1
    return PdfText(tuple(taken), len(pages), None, has_text)


@dataclass(frozen=True)
class _Line:
    text: str
    is_heading: bool = False


def _lines(pages: Sequence[_Page]) -> Iterator[_Line]:
    for number, page in enumerate(pages, start=1):
        yield _Line(f"# Page {number}", is_heading=True)
        yield from (_Line(text.rstrip()) for text in page.extract_text().strip().split("\n"))
        yield _Line("")
