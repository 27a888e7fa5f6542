"""The status line: one line of facts; what does not fit is left out, what matters least first."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content
from textual.widget import Widget

from agent_tui.ui.backend import StatusView
from agent_tui.ui.look import spans
from agent_tui.ui.render.safe import clean_line
from agent_tui.ui.widgets.segments import Facts, Segment, sides


class StatusLine(Widget):
    """One line below the prompt. It changes only when it is told to."""

    DEFAULT_CSS = """
    StatusLine { height: 1; padding: 0 1; color: $muted; }
    """

    def __init__(self, chosen: Sequence[str] = (), *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._status = StatusView()
        self._hint = ""
        self._hint_stays = False
        self._mode = ""
        self._queued = 0
        self.chosen: Sequence[str] = chosen

    @property
    def hint(self) -> str:
        """What stands in place of the segments for a moment, such as "press Ctrl+D again to quit"."""
        return self._hint

    def show(self, status: StatusView) -> None:
        """Show these facts."""
        if status != self._status:
            self._status = status
            self.refresh()

    def show_hint(self, text: str, *, stays: bool = False) -> None:
        """Show a hint in place of the segments, until the next key unless it `stays`; "" ends it."""
        self._hint_stays = stays
        if text != self._hint:
            self._hint = text
            self.refresh()

    def key_pressed(self) -> None:
        """End a hint that was there for a moment."""
        if not self._hint_stays:
            self.show_hint("")

    def show_mode(self, label: str) -> None:
        """Show the mode of vim's keys; "" for none."""
        if label != self._mode:
            self._mode = label
            self.refresh()

    def show_queue(self, count: int) -> None:
        """Show how many messages wait."""
        if count != self._queued:
            self._queued = count
            self.refresh()

    def choose(self, chosen: Sequence[str]) -> None:
        """Show these segments, the usual ones for none."""
        self.chosen = chosen
        self.refresh()

    def render(self) -> Content:
        """Lay the segments out, left and right."""
        width = self.content_size.width
        if self._hint:
            return Content.styled(clean_line(self._hint), "$warning").truncate(width, ellipsis=True)
        facts = Facts(self._status, self._mode, self._queued)
        return lay_out(*sides(facts, self.chosen), width)


def lay_out(left: list[Segment], right: list[Segment], width: int) -> Content:
    """Join what fits in `width` cells: `left` at the left edge, `right` at the right one."""
    kept = sorted([*left, *right], key=lambda segment: -segment.rank)
    while kept and _cells(kept, left, right) > width:
        kept.pop()
    starts = _join([segment for segment in left if segment in kept])
    ends = _join([segment for segment in right if segment in kept])
    if not kept and left:
        return left[0].content.truncate(width)
    gap = max(0, width - starts.cell_length - ends.cell_length)
    return spans(starts, " " * gap, ends)


def _join(segments: list[Segment]) -> Content:
    return Content.styled(" · ", "$faint").join([segment.content for segment in segments])


def _cells(kept: list[Segment], left: list[Segment], right: list[Segment]) -> int:
    mine = _join([segment for segment in left if segment in kept]).cell_length
    theirs = _join([segment for segment in right if segment in kept]).cell_length
    return mine + theirs + (3 if mine and theirs else 0)
