"""Finds the text of a cell, as read shows it, in the JSON of a notebook."""

import json
import re

from agent_tui.protocol.errors import ToolError
from agent_tui.toolkit.notebooks import render
from agent_tui.toolkit.text_matching import Found, Match, find

LABEL = "the quoting of the notebook"
_SOURCE = re.compile(r'"source"\s*:\s*(\[|")')
_LIST_BREAK = re.compile(r'\\n"(\s*,\s*)"')
_DEFAULT_BREAK = '\\n",\n    "'


def find_in_notebook(text: str, old: str, new: str) -> Found:
    """Look for `old` in the JSON as it is, then as lines of a cell; `new` is quoted as the cell's source is."""
    found = find(text, old, new)
    if found.matches:
        return found
    for ascii_only in (False, True):
        matches = tuple(_matches(text, old, new, ascii_only=ascii_only))
        if matches:
            return Found(matches, LABEL)
    return Found(())


def check_notebook(before: str, after: str, *, shown: str) -> None:
    """Refuse a change that would break a notebook. Raises ToolError."""
    if render(before) is not None and render(after) is None:
        raise ToolError(f"{shown} would not be a notebook any more: its JSON breaks. It was not changed.")


def _matches(text: str, old: str, new: str, *, ascii_only: bool) -> list[Match]:
    lines = [_quoted(line, ascii_only=ascii_only) for line in old.split("\n")]
    joint = r'(?:\\n"\s*,\s*"|\\n)'
    found: list[Match] = []
    for match in re.finditer(joint.join(re.escape(line) for line in lines), text):
        parts = [_quoted(line, ascii_only=ascii_only) for line in new.split("\n")]
        found.append(Match(match.start(), match.end(), _break_at(text, match).join(parts)))
    return found


def _quoted(line: str, *, ascii_only: bool) -> str:
    return json.dumps(line, ensure_ascii=ascii_only)[1:-1]


def _break_at(text: str, match: re.Match[str]) -> str:
    """Give what stands between two lines of the source around the match: a list has one string a line."""
    sources = list(_SOURCE.finditer(text, 0, match.start()))
    if sources and sources[-1][1] == '"':
        return "\\n"
    near = _LIST_BREAK.search(text, sources[-1].end() if sources else 0)
    return near[0] if near else _DEFAULT_BREAK
