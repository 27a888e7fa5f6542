"""What a preview shows of other calls: earlier and later edits of the same file, calls that rules settled."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content

from agent_tui.ui.look import spans
from agent_tui.ui.screens.approval import labels, preview
from agent_tui.ui.screens.approval.round import Round, Row

_STATES = {"open": "undecided", "partial": "undecided", "allowed": "allowed", "denied": "denied"}


def edits_of_one_file(row: Row, rows: Sequence[Row]) -> list[Row]:
    """Give the calls of `rows` that change the same single file, in order, `row` among them."""
    path = _path(row)
    return [one for one in rows if path and _path(one) == path and one.edited is None]


def _path(row: Row) -> str:
    change = row.request.preview
    return change.path if change is not None and preview.diff_of(row) else ""


def share_line(row: Row, number: int, total: int, *, is_own: bool) -> Content:
    """Head the share of one call in the diff of a file."""
    change = row.request.preview
    size = f"  {change.summary}" if change is not None and change.summary else ""
    own = ("  ← this call", "bold $accent") if is_own else (f"  {_STATES[row.state]}", "$muted")
    return spans((f"Edit {number} of {total}", "bold" if is_own else "$muted"), (size, "$muted"), own)


def neighbours(round_: Round) -> list[Content]:
    """List what rules settled when a single call has the screen for itself."""
    if len(round_.rows) != 1 or not round_.settled:
        return []
    lines = [labels.call_row(row, name_width=0).whole for row in round_.settled]
    return [Content(""), Content.styled("Beside it, by rule", "bold $muted"), *lines]
