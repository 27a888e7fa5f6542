"""Shows a screen that opens in its last layout at once: the ones on the way to it would flicker."""

from __future__ import annotations

from textual.screen import Screen
from textual.widget import Widget

from agent_tui.ui.render.rowdiff import RowDiffApp

MOST_S = 0.5
"""Frames are never held back longer than this, in seconds."""
SAME_FRAMES = 2
"""After this many frames in which nothing moved the layout counts as found."""

_Places = list[tuple[object, ...]]


def settle(app: RowDiffApp[int], screen: Screen[None], *, beside: Widget) -> None:
    """Hold frames back until the widgets of `screen`, which was just pushed, and the one `beside` stay where they are."""
    app.hold_frames(most_s=MOST_S)
    screen.call_after_refresh(_look, app, screen, beside, [], 0)


def _look(app: RowDiffApp[int], screen: Screen[None], beside: Widget, seen: _Places, same: int) -> None:
    widgets = [*screen.walk_children(Widget), beside]
    places: _Places = [(widget.region, widget.virtual_size, widget.scroll_offset) for widget in widgets]
    same = same + 1 if places == seen else 0
    if same >= SAME_FRAMES or not screen.is_current:
        app.release_frames()
    elif app.holds_frames:
        screen.call_after_refresh(_look, app, screen, beside, places, same)
