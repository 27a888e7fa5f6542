"""The text of a PDF, when the extra that can read one is installed."""

import io
from collections.abc import Sequence
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


def pages_of(data: bytes, *, shown: str) -> list[str]:
    """Give the text of each page. Raises ToolError without the extra and for a damaged file."""
    try:
        library = cast("_Library", import_module("pypdf"))  # 90 ms, and only for PDF files
    except ImportError as error:
        raise ToolError(
            f"{shown} is a PDF; its text can be read once agent-tui[pdf] is installed, or with pdftotext."
        ) from error
    try:
        return [page.extract_text() for page in library.PdfReader(io.BytesIO(data)).pages]
    except Exception as error:  # foreign code: a damaged PDF may raise anything
        raise ToolError(f"{shown} is a PDF that cannot be read: {error}") from error
