"""Describes tool calls in the protocol's words: kind, title, places, contents."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

from acp.schema import (
    ContentToolCallContent,
    FileEditToolCallContent,
    TextContentBlock,
    ToolCallLocation,
    ToolKind,
)

from agent_tui.headless.acp.diffs import read_hunks
from agent_tui.protocol.display import ChangePreview, DisplayResult, ResultContentType
from agent_tui.protocol.json_text import parse_json
from agent_tui.toolkit.terminal_text import strip_sequences

Contents = list[ContentToolCallContent | FileEditToolCallContent]
MAX_TEXT_CHARS = 10_000
_KINDS: Mapping[str, ToolKind] = {
    "read": "read",
    "list": "read",
    "skill": "read",
    "bash_output": "read",
    "glob": "search",
    "grep": "search",
    "edit": "edit",
    "write": "edit",
    "patch": "edit",
    "bash": "execute",
    "bash_kill": "execute",
    "webfetch": "fetch",
    "websearch": "fetch",
    "task": "think",
    "todowrite": "think",
    "todoread": "think",
    "exit_plan_mode": "switch_mode",
}
_PATH_KEYS = ("file_path", "path", "notebook_path")


def kind_of(tool: str) -> ToolKind:
    """Give the protocol's kind of a tool; a foreign one is "other"."""
    return _KINDS.get(tool, "other")


def title_of(display_name: str, title: str) -> str:
    """Give the one line that names a call."""
    shown = f"{display_name}: {title}" if title else display_name
    return " ".join(strip_sequences(shown).split()) or "Tool"


def raw_input(arguments_json: str) -> object:
    """Give the arguments as data, or as the text they are when they are no JSON."""
    try:
        return parse_json(arguments_json or "{}")
    except ValueError:
        return arguments_json


def places_of(arguments: object, workspace: Path) -> list[ToolCallLocation]:
    """Give the file that the arguments name, with its line when they say one."""
    if not isinstance(arguments, dict):
        return []
    known = cast("Mapping[str, object]", arguments)
    named = next((value for key in _PATH_KEYS if isinstance(value := known.get(key), str) and value), "")
    if not named:
        return []
    line = known.get("offset")
    first = line if isinstance(line, int) and not isinstance(line, bool) and line > 0 else None
    return [ToolCallLocation(path=absolute(named, workspace), line=first)]


def absolute(path: str, workspace: Path) -> str:
    """Give a path as the protocol wants it."""
    return str(workspace / Path(os.path.expanduser(path)))


def contents_of(display: DisplayResult, workspace: Path) -> tuple[Contents, list[ToolCallLocation]]:
    """Give what a panel shows, and the places its diff touches."""
    if display.content_type is not ResultContentType.DIFF:
        return text_contents(display.content, display.content_type, display.language), []
    hunks = read_hunks(display.content)
    if not hunks:
        return text_contents(display.content, display.content_type, "diff"), []
    contents: Contents = [
        FileEditToolCallContent(
            type="diff", path=absolute(hunk.path, workspace), old_text=hunk.old, new_text=hunk.new
        )
        for hunk in hunks
    ]
    note = display.note if isinstance(display, ChangePreview) else ""
    if display.is_truncated:
        note = f"{note} The change is longer than what is shown here.".strip()
    if note:
        contents += text_contents(note, ResultContentType.MARKDOWN)
    places = [ToolCallLocation(path=absolute(hunk.path, workspace), line=hunk.line) for hunk in hunks]
    return contents, places


def new_file(tool: str, arguments: object, display: DisplayResult, workspace: Path) -> Contents:
    """Give the whole of a file that `write` created, whose panel shows text instead of a diff; [] for others."""
    if tool != "write" or display.content_type is ResultContentType.DIFF or not isinstance(arguments, dict):
        return []
    known = cast("Mapping[str, object]", arguments)
    path, text = known.get("file_path"), known.get("content")
    if not isinstance(path, str) or not isinstance(text, str):
        return []
    return [
        FileEditToolCallContent(type="diff", path=absolute(path, workspace), old_text=None, new_text=text)
    ]


def text_contents(
    text: str, content_type: ResultContentType = ResultContentType.PLAIN_TEXT, language: str = ""
) -> Contents:
    """Give a text as markdown: what is not markdown stands in a fence that it cannot leave."""
    shown = strip_sequences(text)[:MAX_TEXT_CHARS]
    if not shown.strip():
        return []
    if content_type is not ResultContentType.MARKDOWN:
        shown = fenced(shown, language or _LANGUAGES.get(content_type, ""))
    return [ContentToolCallContent(type="content", content=TextContentBlock(type="text", text=shown))]


def fenced(text: str, language: str = "") -> str:
    """Put a text in a fence that is longer than any in it."""
    longest = max((len(run) for run in _backticks(text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"


def _backticks(text: str) -> Sequence[str]:
    return [run for run in "".join(c if c == "`" else " " for c in text).split(" ") if run]


_LANGUAGES = {
    ResultContentType.JSON: "json",
    ResultContentType.YAML: "yaml",
    ResultContentType.XML: "xml",
    ResultContentType.DIFF: "diff",
}
