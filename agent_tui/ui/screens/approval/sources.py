"""Chooses how the preview of a call is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from textual.content import Content
from textual.strip import Strip
from textual.style import Style
from textual.widget import Widget

from agent_tui.ui.palette import Palette
from agent_tui.ui.render.diff import SIDE_BY_SIDE_CELLS, DiffBody, DiffView
from agent_tui.ui.screens.approval import preview
from agent_tui.ui.screens.approval.beside import edits_of_one_file, neighbours, share_line
from agent_tui.ui.screens.approval.pane import Source, TextSource
from agent_tui.ui.screens.approval.round import Round, Row


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

    def row_of_hunk(self, index: int) -> int:
        """Give the row of the head of a hunk; of the last one when the diff was cut before it."""
        if self._body is None or not self._view.hunks:
            return 0
        hunk = self._view.hunks[min(max(index, 0), len(self._view.hunks) - 1)]
        return self._body.row_of_line(hunk.line)

    def strip(self, y: int, widget: Widget, style: Style) -> Strip:
        """Draw one row."""
        if self._body is None:
            return Strip.blank(self._width, style.rich_style)
        return self._body.strips(y, y + 1)[0]


@dataclass
class Look:
    """How diffs are drawn; `side_by_side` None leaves it to the width. Keeps what was drawn."""

    palette: Palette
    side_by_side: bool | None = None
    drawn: dict[Row, DiffSource] = field(default_factory=dict[Row, "DiffSource"])

    def same(self, palette: Palette, side_by_side: bool | None) -> bool:
        """Tell whether it is still right."""
        return palette is self.palette and side_by_side == self.side_by_side

    def diff(self, row: Row) -> DiffSource:
        """Give the diff of a change."""
        found = self.drawn.get(row)
        if found is None:
            path = row.request.preview.path if row.request.preview is not None else ""
            text = preview.diff_of(row)
            found = DiffSource(text, self.palette, path=path, side_by_side=self.side_by_side)
            self.drawn[row] = found
        return found


@dataclass(frozen=True)
class Sources:
    """What the pane shows. The first `needed` must have been seen before the call is allowed; it opens at `start`."""

    all: list[Source]
    needed: int
    start: int = 0


def preview_sources(row: Row, instead: Sequence[Content] | None, round_: Round, look: Look) -> Sources:
    """Give what is shown of `row`: notes, body, needs - or only the lines `instead`.

    Edits of one file stand one below the other as one diff, opened at the row's own share.
    """
    if instead is not None:
        return Sources([TextSource(instead)], 1)
    above = TextSource(preview.above(row))
    below = TextSource([*preview.parts(row), *preview.below(row), *neighbours(round_)])
    if not preview.diff_of(row) or row.edited is not None:
        return Sources([above, TextSource(preview.body(row)), below], 2)
    after = TextSource(preview.after_diff(row))
    shares = edits_of_one_file(row, round_.listed())
    if len(shares) < 2:
        return Sources([above, look.diff(row), after, below], 3)
    parts: list[Source] = [above]
    own = 0
    for number, share in enumerate(shares, start=1):
        own = len(parts) if share is row else own
        parts += [
            TextSource([share_line(share, number, len(shares), is_own=share is row)]),
            look.diff(share),
        ]
    return Sources([*parts, after, below], own + 2, own if own > 1 else 0)
