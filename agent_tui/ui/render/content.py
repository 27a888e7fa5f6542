"""The body of a tool's result by its content type."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from rich.segment import Segment

from agent_tui.ui.render.code import Lines, split_lines
from agent_tui.ui.render.inks import Inks
from agent_tui.ui.render.rows import Body, RowList, expand_tabs
from agent_tui.ui.render.safe import clean

# The words of ResultContentType; importing the enum would import pydantic (110 ms of CPU) before first paint.
MARKUP = frozenset({"json", "yaml", "xml"})
_DIFF = re.compile(r"^(?:diff --git |--- .*\n\+\+\+ |@@ -\d)", re.MULTILINE)


def content_body(
    text: str,
    content_type: str,
    width: int,
    inks: Inks,
    *,
    language: str = "",
    path: str = "",
    first_line: int = 0,
    is_truncated: bool = False,
) -> Body:
    """Lay out `text` as its type (a ResultContentType value) wants it. Markup that does not parse is plain.

    Long texts cost little: lines are highlighted when they are asked for.
    """
    kind = guess(text, path) if content_type == "auto" else content_type
    if kind in MARKUP and not is_truncated and not _parses(text, kind):
        kind = "plain_text"
    match kind:
        case "markdown":
            from agent_tui.ui.render.markdown import render  # markdown-it: 15 ms of CPU, on first use

            return RowList(render(clean(text), width, inks))
        case "diff":
            from agent_tui.ui.render.diff import DiffView  # difflib and the lexers, on first use

            return DiffView(text, inks=inks, path=path).body(width)
        case "terminal":
            from agent_tui.ui.render.terminal import terminal_body

            return terminal_body(text, width, inks)
        case "code" | "json" | "yaml" | "xml":
            return code_body(
                text, language or (kind if kind != "code" else ""), path, width, inks, first_line
            )
        case _:
            return plain_body(text, width, inks, first_line)


def code_body(text: str, language: str, path: str, width: int, inks: Inks, first_line: int = 0) -> Body:
    """Lay out source code, highlighted by language, else by file name, line numbers from `first_line` (0: none)."""
    from agent_tui.ui.render.highlight import Highlighter  # pygments: 48 ms of CPU, on first use

    lines = split_lines(clean(text))
    painter = Highlighter(lines, inks, language=language, path=path)
    number = inks(inks.palette.line_number)
    return Lines(lines, painter.line, width, first_line=first_line, number_style=number)


def plain_body(text: str, width: int, inks: Inks, first_line: int = 0) -> Body:
    """Lay out text as it is, in one colour."""
    lines = split_lines(clean(text))

    def paint(index: int) -> Sequence[Segment]:
        return [Segment(expand_tabs(lines[index]), inks.text)]

    return Lines(lines, paint, width, first_line=first_line, number_style=inks(inks.palette.line_number))


def guess(text: str, path: str) -> str:
    """Give the content type of a text that came as AUTO: by what it looks like, then by its file name."""
    head = text.lstrip()[:200]
    if "\x1b[" in text:
        return "terminal"
    if head.startswith(("{", "[")) and _parses(text, "json"):
        return "json"
    if head.startswith("<?xml"):
        return "xml"
    if _DIFF.match(head):
        return "diff"
    if path.endswith((".md", ".markdown")):
        return "markdown"
    return "code" if path else "plain_text"


def _parses(text: str, kind: str) -> bool:
    if kind == "json":
        try:
            json.loads(text)
        except (ValueError, RecursionError):
            return False
        return True
    if kind == "xml":
        return _is_xml(text)
    return True


def _is_xml(text: str) -> bool:
    from xml.parsers import expat  # on first use

    parser = expat.ParserCreate()
    parser.EntityDeclHandler = _refuse_entity
    try:
        parser.Parse(text, True)
    except (expat.ExpatError, ValueError):
        return False
    return True


def _refuse_entity(*_: object) -> None:
    raise ValueError("entities are not expanded")
