"""Chooses how the preview of a call is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from textual.content import Content
from textual.strip import Strip
from textual.style import Style
from textual.widget import Widget

from agent_tui.ui.palette import Palette
from agent_tui.ui.render.diff import SIDE_BY_SIDE_CELLS, DiffBody, DiffView
from agent_tui.ui.screens.approval import preview
from agent_tui.ui.screens.approval.pane import Source, TextSource
from agent_tui.ui.screens.approval.round import Row


class DiffSource:
    """A diff in one column or two; two by themselves when there is room for them."""

    def __init__(self, text: str, palette: Palette, *, path: str, side_by_side: bool | None) -> None:
        self._view = DiffView(text, palette=replace(palette, background=palette.surface), path=path)
        self._side_by_side = side_by_side
        self._body: DiffBody | None = None
        self._width = 0

    @property
    def width(self) -> int:
        """The widest row in cells."""
        return self._width

    def layout(self, width: int, *, wrap: bool) -> int:
        """Fit the diff to `width` cells."""
        split = width >= SIDE_BY_SIDE_CELLS if self._side_by_side is None else self._side_by_side
        self._width = width
        self._body = self._view.body(width, side_by_side=split, wrap=wrap)
        return self._body.height

    def strip(self, y: int, widget: Widget, style: Style) -> Strip:
        """Draw one row."""
        if self._body is None:
            return Strip.blank(self._width, style.rich_style)
        return self._body.strips(y, y + 1)[0]


def preview_sources(
    row: Row, instead: Sequence[Content] | None, *, side_by_side: bool | None, palette: Palette
) -> tuple[list[Source], int]:
    """Give what is shown of `row` - notes, body, needs, or only the lines `instead` - and how many of the
    sources must have been seen before the call can be allowed. `side_by_side` None leaves it to the width."""
    if instead is not None:
        return [TextSource(instead)], 1
    diff = preview.diff_of(row) if row.edited is None else ""
    above, below = TextSource(preview.above(row)), TextSource([*preview.parts(row), *preview.below(row)])
    if not diff:
        return [above, TextSource(preview.body(row)), below], 2
    path = row.request.preview.path if row.request.preview is not None else ""
    lines = DiffSource(diff, palette, path=path, side_by_side=side_by_side)
    return [above, lines, TextSource(preview.after_diff(row)), below], 3
