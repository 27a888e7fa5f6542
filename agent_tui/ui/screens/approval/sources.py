"""Chooses how the preview of a call is drawn."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content

from agent_tui.ui.render.safe import clean
from agent_tui.ui.screens.approval import preview
from agent_tui.ui.screens.approval.pane import Source, TextSource
from agent_tui.ui.screens.approval.round import Row

_STYLES = {"+": "$diff-add on $diff-add-bg", "-": "$diff-del on $diff-del-bg", "@": "$diff-hunk"}


def preview_sources(
    row: Row, instead: Sequence[Content] | None, *, side_by_side: bool, dark: bool
) -> list[Source]:
    """Give what is shown of `row`: notes, body, needs; or only the lines `instead`."""
    if instead is not None:
        return [TextSource(instead)]
    diff = preview.diff_of(row) if row.edited is None else ""
    middle: list[Source] = (
        [TextSource([_diff_line(line) for line in diff.split("\n")]), TextSource(preview.after_diff(row))]
        if diff
        else [TextSource(preview.body(row))]
    )
    return [TextSource(preview.above(row)), *middle, TextSource(preview.below(row))]


def _diff_line(line: str) -> Content:
    style = "$muted" if line.startswith(("+++", "---")) else _STYLES.get(line[:1], "")
    return Content.styled(clean(line), style)
