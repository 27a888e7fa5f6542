"""The status line: model, mode, context, tokens, cost, session; what does not fit is left out."""

from __future__ import annotations

from dataclasses import dataclass

from textual.content import Content
from textual.widget import Widget

from agent_tui.ui.backend import ModeName, StatusView
from agent_tui.ui.commands.reports import MODE_WORDS, money, tokens
from agent_tui.ui.look import spans
from agent_tui.ui.render.safe import clean_line

_MODE_STYLE = {
    "default": "$muted",
    "accept-edits": "$accent",
    "plan": "$success",
    "auto": "$warning",
    "dont-ask": "$warning",
    "bypass": "bold $background on $error",
}


@dataclass(frozen=True)
class Segment:
    """A piece of the line. Of two that do not both fit the one with the lower `rank` goes."""

    content: Content
    rank: int


def context_tier(used: int, limit: int) -> int:
    """Say how full the window is: 0 fine, 1 to 3 worse. Large windows warn earlier, because quality falls before the end."""
    if limit <= 0:
        return 0
    if limit >= 900_000:
        bounds = (0.2, 0.8, 0.9)
    elif limit >= 400_000:
        bounds = (0.7, 0.8, 0.9)
    else:
        bounds = (0.8, 0.9, 0.95)
    return sum(used / limit >= bound for bound in bounds)


class StatusLine(Widget):
    """One line below the prompt. It changes only when it is told to."""

    DEFAULT_CSS = """
    StatusLine { height: 1; padding: 0 1; color: $muted; }
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._status = StatusView()
        self._hint = ""

    @property
    def hint(self) -> str:
        """What stands in place of the segments for a moment, such as "press Ctrl+D again to quit"."""
        return self._hint

    def show(self, status: StatusView) -> None:
        """Show these facts."""
        if status != self._status:
            self._status = status
            self.refresh()

    def show_hint(self, text: str) -> None:
        """Show a hint in place of the segments; "" ends it."""
        if text != self._hint:
            self._hint = text
            self.refresh()

    def render(self) -> Content:
        """Lay the segments out, left and right."""
        width = self.content_size.width
        if self._hint:
            return Content.styled(self._hint, "$warning").truncate(width, ellipsis=True)
        return lay_out(left_segments(self._status), right_segments(self._status), width)


def left_segments(status: StatusView) -> list[Segment]:
    """Give mode, model and context."""
    found = [Segment(Content.styled(_mode(status.mode), _MODE_STYLE[status.mode]), 100)]
    if status.model:
        found.append(Segment(Content.styled(clean_line(status.model), "$foreground"), 90))
    if status.context_limit_tokens:
        found.append(Segment(_context(status.context_tokens, status.context_limit_tokens), 80))
    return found


def _mode(mode: ModeName) -> str:
    return " BYPASS: nothing asks " if mode == "bypass" else MODE_WORDS[mode]


def _context(used: int, limit: int) -> Content:
    percent = f"{100 * used / limit:.0f} %"
    match context_tier(used, limit):
        case 0:
            return Content.styled(f"context {percent}", "$muted")
        case 1:
            return Content.styled(f"context {percent} !", "$warning")
        case 2:
            return Content.styled(f"context {percent} !!", "$error")
        case _:
            return Content.styled(f"context {percent} !!! /compact", "bold $error")


def right_segments(status: StatusView) -> list[Segment]:
    """Give cost, tokens, sandbox, branch, what extensions show, and session."""
    found: list[Segment] = []
    spent = status.input_tokens + status.output_tokens + status.cache_read_tokens
    if spent:
        cached = f" {tokens(status.cache_read_tokens)} cached" if status.cache_read_tokens else ""
        counts = (
            f"{tokens(status.input_tokens)} in {tokens(status.output_tokens)} out{cached} Σ{tokens(spent)}"
        )
        found.append(Segment(Content(counts), 40))
    if cost := money(status.cost_usd):
        found.append(Segment(Content(cost), 70))
    if status.sandbox:
        weak = status.sandbox.lower() in ("none", "off", "weak")
        found.append(
            Segment(Content.styled(f"sandbox {status.sandbox}", "$warning" if weak else "$muted"), 50)
        )
    if status.branch:
        found.append(Segment(Content(f"git {clean_line(status.branch)}"), 60))
    found += [Segment(Content.styled(clean_line(note), "$accent"), 65) for note in status.notes]
    if name := status.session_name or status.session_id[:8]:
        found.append(Segment(Content(clean_line(name)), 30))
    return found


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
