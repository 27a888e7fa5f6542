"""How the approval screen looks: its parts, what they show and how they share the room."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.geometry import Size
from textual.widgets import Static

from agent_tui.ui.keymap import Keymap
from agent_tui.ui.screens.approval import labels
from agent_tui.ui.screens.approval.fields import Writing
from agent_tui.ui.screens.approval.grouping import PermissionGroup
from agent_tui.ui.screens.approval.hints import Hints
from agent_tui.ui.screens.approval.hunks import HunkChoice
from agent_tui.ui.screens.approval.pane import Pane
from agent_tui.ui.screens.approval.preview import diff_of
from agent_tui.ui.screens.approval.round import Round, Row
from agent_tui.ui.screens.approval.sources import Look
from agent_tui.ui.widgets.editor import Field
from agent_tui.ui.widgets.elastic import Elastic
from agent_tui.ui.widgets.rows import Rows

PaneName = Literal["calls", "permissions", "preview"]

TINY_HEIGHT = 12
LOW_HEIGHT = 18
_PLAIN_HEIGHT = 30
_NARROW_WIDTH = 40
_SHORT_WIDTH = 60
_NOTE_LINES = 3  # app.tcss has it too
_LOW_CHROME = 4  # the frame's border, the title's margin, the line over the preview
_NAME_CELLS = 6
_LAST = ("submit", "escape")
_VITAL = ("allow", "deny", *_LAST)
OF_ONE_CALL = frozenset(["comment", "edit", "hunks"])
"""Actions that a permission has not."""
_LISTED_CHOICES = 5  # app.tcss has it too: with the line above them


@dataclass
class Shown:
    """What is shown now: the calls in their order, the joined permissions, and which pane has the cursor keys."""

    order: list[Row]
    groups: list[PermissionGroup]
    pane: PaneName = "calls"
    grouping: str = ""
    hunks: HunkChoice | None = None


class Face(Vertical):
    """The frame with all parts. It decides nothing. `stays_low` keeps it to half of the screen also for a round."""

    def __init__(self, keys: Keymap, *, stays_low: bool = False) -> None:
        super().__init__(classes="frame")
        self.keys = keys
        self._share = 0.5 if stays_low else 0.7
        self.note_text = ""
        self._choices = 0
        self._known_rows: dict[Row, tuple[tuple[object, ...], Elastic]] = {}
        self.title_line = Static("", classes="title", markup=False)
        self.calls = Rows(classes="calls")
        self.pane = Pane(classes="preview")
        self.permissions = Rows(classes="permissions")
        self._body = Horizontal(classes="body")
        self._note = Static("", classes="note", markup=False)
        self.field = Field(keys, ("field", "edit"))
        self.hints = Hints()

    def compose(self) -> ComposeResult:
        """Lay out title, list and preview, permissions, note, field and keys."""
        self.field.display = False
        yield self.title_line
        with self._body:
            yield self.calls
            yield self.pane
        yield self.permissions
        yield self._note
        yield self.field
        yield self.hints

    def draw(self, round_: Round, shown: Shown, *, cursor: int | None = None) -> None:
        """Show everything but the preview."""
        self._draw_calls(round_, shown, cursor)
        self._choices = 0
        if shown.hunks is not None:
            rows = shown.hunks.rows()
            self._choices = len(rows)
            self.permissions.set_rows(rows)
        else:
            total = len(shown.groups)
            self.permissions.set_rows([labels.group_row(group, round_, total) for group in shown.groups])
        self.screen.set_class(self._choices > 0, "-choosing")
        self._draw_title(round_)
        self.draw_pane(round_, shown)

    def _draw_calls(self, round_: Round, shown: Shown, cursor: int | None) -> None:
        headings = labels.headings(shown.order, shown.grouping, round_.grouper.project)
        widest = max((len(labels.call_name(row)) for row in shown.order), default=4)
        name_width = min(widest, _NAME_CELLS) if self.app.size.width >= _NARROW_WIDTH else 0  # pyright: ignore[reportUnknownMemberType] - Textual leaves its type open
        rows = [self._call_row(row, name_width) for row in shown.order]
        self.calls.set_rows(rows, cursor=cursor, headings=headings)

    def _call_row(self, row: Row, name_width: int) -> Elastic:
        """Draw one call, or give what was drawn when nothing of it changed: 60 rows cost 5 ms of each key."""
        looks = (*row.look, name_width)
        known = self._known_rows.get(row)
        if known is None or known[0] != looks:
            known = self._known_rows[row] = (looks, labels.call_row(row, name_width=name_width))
        return known[1]

    def _draw_title(self, round_: Round) -> None:
        width = max(10, self.screen.size.width - 4)
        if len(round_.rows) == 1:
            title = labels.single_headline(round_.rows[0], width, beside=len(round_.settled))
        else:
            title = labels.headline(round_, width)
        self.title_line.update(title, layout=False)  # one line: a layout would cost 3 ms of each key

    def current(self, shown: Shown) -> Row | None:
        """Give the call under the cursor."""
        return shown.order[self.calls.cursor] if 0 <= self.calls.cursor < len(shown.order) else None

    def current_group(self, shown: Shown) -> PermissionGroup | None:
        """Give the joined permission under the cursor."""
        at = self.permissions.cursor
        return shown.groups[at] if 0 <= at < len(shown.groups) else None

    def draw_pane(self, round_: Round, shown: Shown) -> None:
        """Show which pane has the keys, and which keys these are."""
        self.draw_marks(shown)
        self.draw_hints(round_, shown)

    def draw_marks(self, shown: Shown) -> None:
        """Mark what belongs together: the calls of a permission, or the permissions of a call."""
        row, group = self.current(shown), self.current_group(shown)
        calls: Sequence[int] = ()
        needed: Sequence[int] = ()
        if shown.hunks is None and shown.pane == "permissions" and group is not None:
            calls = [index for index, one in enumerate(shown.order) if one.call_id in group.calls]
        elif shown.hunks is None and row is not None:
            needed = [index for index, one in enumerate(shown.groups) if row.call_id in one.calls]
        self.calls.mark(calls)
        self.permissions.mark(needed)
        self.calls.set_class(shown.pane != "calls", "-blurred")
        self.permissions.set_class(shown.pane != "permissions" and shown.hunks is None, "-idle")
        self.pane.set_class(shown.pane == "preview", "-active")

    def bring_hunk(self, shown: Shown, look: Look | None) -> None:
        """Bring the hunk under the cursor on screen, when hunks are chosen."""
        if shown.hunks is None or look is None:
            return
        diff = look.diff(shown.hunks.row)
        self.pane.bring(diff, diff.row_of_hunk(self.permissions.cursor))

    def draw_hints(self, round_: Round, shown: Shown) -> None:
        """Show the keys that matter now, the most important first."""
        actions = (
            self._hunk_actions() if shown.hunks is not None else self._actions(round_, self.current(shown))
        )
        if shown.hunks is None and shown.pane == "permissions":
            actions = [one for one in actions if one[0] not in OF_ONE_CALL]
        vital = _LAST if shown.hunks is not None or not round_.counts()[2] else _VITAL
        hints = [(self.keys.hint("approval", action), word, action) for action, word in actions]
        self.hints.show(hints, vital=vital)

    @staticmethod
    def _hunk_actions() -> list[tuple[str, str]]:
        return [("toggle", "take or leave"), ("submit", "done"), ("escape", "back")]

    @staticmethod
    def _actions(round_: Round, row: Row | None) -> list[tuple[str, str]]:
        allowed, _, undecided = round_.counts()
        single, decided = len(round_.rows) == 1, not undecided
        open_ones = "all" if undecided == len(round_.rows) else "rest"
        return [
            *([("submit", "Run it" if allowed else "Send")] if decided and not single else []),
            ("allow", "Allow"),
            ("deny", "Deny"),
            ("session", "Session"),
            ("always", "Always allow"),
            *([] if decided or single else [("submit", "Submit")]),
            *([("hunks", "Hunks")] if row is not None and row.hunk_count > 1 else []),
            ("comment", "Comment"),
            *([] if single else [("allow_all", f"Allow {open_ones}"), ("deny_all", f"Deny {open_ones}")]),
            ("why", "Why"),
            ("edit", "Edit"),
            *([] if single else [("next_pane", "Permissions")]),
            ("full", "Full"),
            ("never", "Never"),
            *([] if single else [("allow_all_session", "All for session"), ("group", "Group")]),
            *([] if single else [("toggle", "Switch")]),
            *([("layout", "Columns"), ("wrap", "Wrap")] if row is not None and diff_of(row) else []),
            *([] if single else [("copy", "Copy")]),
            ("escape", "Later"),
        ]

    def show_field(self, on: bool) -> None:
        """Show the field in the place of the keys, which do nothing while somebody writes."""
        self.field.display, self.hints.display = on, not on
        self.screen.set_class(on, "-writing")

    def say(self, text: str) -> None:
        """Show a sentence above the keys; "" takes it away."""
        if text == self.note_text:
            return
        self.note_text = text
        self._note.update(Content(text))
        self._note.display = bool(text)

    def caption(self, writing: Writing, text: str) -> None:
        """Say what the field is for, in few words where there is little room."""
        size = self.screen.size
        is_small = size.height < TINY_HEIGHT or size.width < _SHORT_WIDTH
        if is_small:
            self.say(writing.short_caption(text, self.keys))
            return
        caption, outside = (
            writing.caption(text, self.keys),
            self.keys.legend(("field", "outside", "your editor")),
        )
        longer = f"{caption} · {outside}" if outside else caption
        self.say(longer if cell_len(longer) <= self.size.width - 2 else caption)

    def fit(self, size: Size, *, single: bool, whole: bool) -> None:
        """Choose the height: half the screen for one call, most of it for a round, all of a small one."""
        self._fit_field(size)
        if single and not whole and size.height >= TINY_HEIGHT:
            half = size.height // 2 - 6
            most = half if size.height >= _PLAIN_HEIGHT else size.height - self._chrome
            self.styles.height = min(max(self.pane.total, 1), most) + self._chrome
        else:
            self.styles.height = (
                size.height if whole or size.height < _PLAIN_HEIGHT else int(size.height * self._share)
            )

    def _fit_field(self, size: Size) -> None:
        """Keep what is written on a low screen, with what it is for."""
        is_low = self.field.display and size.height < LOW_HEIGHT
        room = size.height if size.height < TINY_HEIGHT else size.height - _LOW_CHROME
        self.title_line.display = self._body.display = not is_low or room > _NOTE_LINES + 2
        self._note.styles.max_height = min(_NOTE_LINES, room - 1) if is_low else None
        self.field.styles.max_height = (
            max(1, room - _NOTE_LINES - self.title_line.display) if is_low else None
        )

    @property
    def _chrome(self) -> int:
        below = max(1, self.field.size.height) if self.field.display else self.hints.lines
        listed = min(self._choices, _LISTED_CHOICES) + 1 if self._choices else 0
        return 3 + self._note.display + listed + below
