"""Markdown to rows."""

from __future__ import annotations

from rich.segment import Segment

from agent_tui.ui.render.inks import Inks
from agent_tui.ui.render.rows import Row, expand_tabs, wrap_runs


def render(text: str, width: int, inks: Inks) -> list[Row]:
    """Lay out safe markdown text."""
    rows: list[Row] = []
    for line in text.rstrip("\n").split("\n"):
        rows += wrap_runs([Segment(expand_tabs(line), inks.text)], width)
    return rows
