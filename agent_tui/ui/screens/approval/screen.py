"""The approval screen: one list for the whole round, decided by single keys."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Literal, Protocol

from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Static, TextArea

from agent_tui.protocol.permissions import Decision, Scope
from agent_tui.ui.keymap import Keymap
from agent_tui.ui.palette import Palette
from agent_tui.ui.render.diff import SIDE_BY_SIDE_CELLS
from agent_tui.ui.screens.approval import labels, preview
from agent_tui.ui.screens.approval.fields import CallEdit, Comment, Lasting, Writing
from agent_tui.ui.screens.approval.grouping import PermissionGroup
from agent_tui.ui.screens.approval.hints import Hints
from agent_tui.ui.screens.approval.hunks import HunkChoice
from agent_tui.ui.screens.approval.pane import Pane
from agent_tui.ui.screens.approval.round import Round, Row
from agent_tui.ui.screens.approval.sources import preview_sources
from agent_tui.ui.screens.dialog import Dialog
from agent_tui.ui.widgets.editor import Editor, Field
from agent_tui.ui.widgets.rows import Rows

PaneName = Literal["calls", "permissions", "preview"]
_GROUPINGS = ("", "permission", "tool", "file", "agent")
_STACK_WIDTH = 80
_TINY_HEIGHT = 12
_PLAIN_HEIGHT = 30
_NARROW_WIDTH = 40
_NAME_CELLS = 6


class ApprovalControl(Protocol):
    """What the screen may ask of the program."""

    def lower_approval(self) -> None:
        """Keep the round pending behind the banner."""
        ...

    def palette_now(self) -> Palette:
        """Give the colours in force."""
        ...


class ApprovalScreen(Dialog[None]):
    """Shows a round and takes its decisions. The approver opens and closes it; it answers through the round."""

    def __init__(
        self,
        keys: Keymap,
        round_: Round,
        control: ApprovalControl,
        *,
        clock: Callable[[], float] = time.monotonic,
        grace_s: float = 0.5,
    ) -> None:
        super().__init__(keys, "approval")
        self.round = round_
        self._control, self._clock, self._grace_s = control, clock, grace_s
        self._opened_at = clock()
        self._order: list[Row] = []
        self._groups: list[PermissionGroup] = []
        self._pane: PaneName = "calls"
        self._grouping = ""
        self._side_by_side: bool | None = None
        self._full = self._why = self._sure = False
        self._writing: Writing | None = None
        self._hunks: HunkChoice | None = None
        self._title = Static("", classes="title", markup=False)
        self._list = Rows(classes="calls")
        self._view = Pane(classes="preview")
        self._perms = Rows(classes="permissions")
        self._note = Static("", classes="note", markup=False)
        self._field = Field(keys, ("field", "edit"))
        self._hints = Hints()

    def compose(self) -> ComposeResult:
        """Lay out title, list and preview, permissions, note, field and keys."""
        with Vertical(classes="frame"):
            yield self._title
            with Horizontal(classes="body"):
                yield self._list
                yield self._view
            yield self._perms
            yield self._note
            yield self._field
            yield self._hints

    def on_mount(self) -> None:
        """Show the round."""
        self._field.display = False
        self._opened_at = self._clock()
        self.rows_changed()
        self._focus_undecided()

    # Drawing

    @property
    def row(self) -> Row | None:
        """The call under the cursor."""
        return self._order[self._list.cursor] if 0 <= self._list.cursor < len(self._order) else None

    @property
    def group(self) -> PermissionGroup | None:
        """The joined permission under the cursor."""
        return self._groups[self._perms.cursor] if 0 <= self._perms.cursor < len(self._groups) else None

    @property
    def preview_pane(self) -> Pane:
        """The preview."""
        return self._view

    @property
    def note(self) -> str:
        """The sentence that is shown above the keys."""
        return self._note_text

    _note_text = ""

    def rows_changed(self) -> None:
        """Show the round again, after rows came or went; the cursor stays on its call."""
        if not self.is_attached or not self.round.rows:
            return
        row = self.row
        self._order = labels.ordered(self.round.rows, self._grouping)
        at = self._order.index(row) if row in self._order else 0
        self._groups = self.round.groups()
        self._draw(at)
        self._fit()
        self._show_row()

    def _draw(self, cursor: int | None = None) -> None:
        widest = max((len(labels.call_name(row)) for row in self._order), default=4)
        name_width = min(widest, _NAME_CELLS) if self.size.width >= _NARROW_WIDTH else 0
        rows = [
            labels.call_row(row, name_width=name_width, group=labels.group_key(row, self._grouping))
            for row in self._order
        ]
        self._list.set_rows(rows, cursor=cursor)
        if self._hunks is not None:
            self._perms.set_rows(self._hunks.rows())
        else:
            total = len(self._groups)
            self._perms.set_rows([labels.group_row(group, self.round, total) for group in self._groups])
        self._draw_title()
        self._draw_marks()
        self._draw_hints()

    def _draw_title(self) -> None:
        width = max(10, self.size.width - 4)
        single = len(self.round.rows) == 1
        row = self.round.rows[0]
        self._title.update(
            labels.single_headline(row, width) if single else labels.headline(self.round, width)
        )

    def _draw_marks(self) -> None:
        row, group = self.row, self.group
        if self._hunks is not None:
            self._perms.mark(())
            self._list.mark(())
        elif self._pane == "permissions" and group is not None:
            self._list.mark([index for index, one in enumerate(self._order) if one.call_id in group.calls])
            self._perms.mark(())
        else:
            needed = [i for i, one in enumerate(self._groups) if row is not None and row.call_id in one.calls]
            self._perms.mark(needed)
            self._list.mark(())
        self._list.set_class(self._pane != "calls", "-blurred")
        self._perms.set_class(self._pane != "permissions" and self._hunks is None, "-idle")
        self._view.set_class(self._pane == "preview", "-active")

    def _draw_hints(self) -> None:
        def hint(action: str, word: str) -> tuple[str, str, str]:
            return self.keys.hint("approval", action), word, action

        single = len(self.round.rows) == 1
        if self._hunks is not None:
            shown = [hint("toggle", "take or leave"), hint("submit", "done"), hint("escape", "back")]
        else:
            decided = not self.round.counts()[2]
            first = [hint("submit", "Run it")] if decided and not single else []
            shown = [
                *first,
                hint("allow", "Allow"),
                hint("deny", "Deny"),
                hint("session", "Session"),
                hint("always", "Always allow"),
                hint("never", "Never"),
                hint("comment", "Comment"),
                hint("edit", "Edit"),
                *([hint("hunks", "Hunks")] if self.row is not None and self.row.hunk_count > 1 else []),
                *([] if single else [hint("allow_all", "Allow all"), hint("deny_all", "Deny all")]),
                *([] if decided or single else [hint("submit", "Submit")]),
                hint("why", "Why"),
                hint("full", "Full"),
                hint("escape", "Later"),
            ]
        self._hints.show(shown)

    def _show_row(self, *, keep_place: bool = False) -> None:
        row = self.row
        if row is None:
            return
        row.looked_at = True
        lines = preview.why(row) if self._why else None
        palette = self._control.palette_now()
        sources, needed = preview_sources(row, lines, side_by_side=self._side_by_side, palette=palette)
        self._view.show(sources, needed=needed, keep_place=keep_place)
        self.call_after_refresh(self._fit)

    def _say(self, text: str) -> None:
        self._note_text = text
        self._note.update(Content(text))
        self._note.display = bool(text)

    def on_resize(self, event: events.Resize) -> None:
        """Choose the layout that fits."""
        self._fit()
        self.call_after_refresh(self._draw_if_rows)

    def _draw_if_rows(self) -> None:
        if self.round.rows and self.is_attached:
            self._draw()

    def _fit(self) -> None:
        size, single = self.program.size, len(self.round.rows) == 1
        tiny = size.height < _TINY_HEIGHT
        self.set_class(size.width < _STACK_WIDTH, "-stacked")
        self.set_class(tiny, "-tiny")
        self.set_class(single, "-single")
        self.set_class(self._full, "-full")
        frame = self.query_one(".frame")
        whole = self._full or size.height < _PLAIN_HEIGHT
        if single and not whole:
            most = max(4, size.height // 2 - 6)
            frame.styles.height = min(max(self._view.total, 1), most) + self._chrome
        else:
            frame.styles.height = size.height if whole else int(size.height * 0.7)

    @property
    def _chrome(self) -> int:
        shown = [self._note.display, self._field.display]
        return 4 + sum(shown) + (self._field.size.height if self._field.display else 0)

    # Keys

    def take_key(self, event: events.Key) -> None:
        """Take keys once the screen has been on for a moment; before that they decide nothing."""
        if event.key in ("ctrl+c", "ctrl+q"):
            return
        if self._clock() - self._opened_at < self._grace_s:
            event.stop()
            return
        super().take_key(event)

    def on_hints_clicked(self, event: Hints.Clicked) -> None:
        """Do what a key would do."""
        event.stop()
        if self._clock() - self._opened_at >= self._grace_s:
            self.act(event.action)

    def on_rows_moved(self, event: Rows.Moved) -> None:
        """Show the call under the cursor."""
        event.stop()
        if event.rows is self._list:
            self._why = False
            self._draw_marks()
            self._draw_hints()
            self._show_row()
        else:
            self._draw_marks()

    def on_rows_chosen(self, event: Rows.Chosen) -> None:
        """Go to the list that was clicked."""
        event.stop()
        if self._hunks is not None and event.rows is self._perms:
            self._toggle_hunk()
            return
        self._pane = "calls" if event.rows is self._list else "permissions"
        self._draw_marks()

    def on_pane_end_seen(self, event: Pane.EndSeen) -> None:
        """Remember that the whole preview was on screen."""
        event.stop()
        if self.row is not None and not self._why:
            self.row.read = True

    def act(self, action: str) -> None:
        """Do a key's action."""
        sure, self._sure = self._sure, False
        if action != "submit":
            self._say("")
        if self._hunks is not None and action in ("up", "down", "toggle", "submit", "escape", "hunks"):
            self._act_on_hunks(action)
            return
        match action:
            case "allow":
                self._decide(Decision.ALLOW, Scope.ONCE)
            case "session":
                self._decide(Decision.ALLOW, Scope.SESSION)
            case "deny":
                self._decide(Decision.DENY, Scope.ONCE)
            case "always":
                self._begin_lasting(Decision.ALLOW)
            case "never":
                self._begin_lasting(Decision.DENY)
            case "toggle":
                self._toggle()
            case "allow_all":
                self._decide_all(Decision.ALLOW, Scope.ONCE)
            case "allow_all_session":
                self._decide_all(Decision.ALLOW, Scope.SESSION)
            case "deny_all":
                self._decide_all(Decision.DENY, Scope.ONCE)
            case "submit":
                self._submit(sure)
            case "comment" if self.row is not None:
                self._write(Comment(self.row))
            case "edit" if self.row is not None:
                self._write(CallEdit(self.row))
            case "hunks":
                self._begin_hunks()
            case _:
                self._look(action)

    def _look(self, action: str) -> None:
        match action:
            case "up" | "down":
                self._move(-1 if action == "up" else 1)
            case "first":
                self._active_rows.first()
            case "last":
                self._active_rows.last()
            case "next_pane" | "previous_pane":
                self._next_pane(1 if action == "next_pane" else -1)
            case "page_up" | "page_down":
                self._view.page(-1 if action == "page_up" else 1)
            case "preview_end":
                self._full = self._full or self.has_class("-tiny")
                self._fit()
                self._view.to_end()
            case "preview_start":
                self._view.to_start()
            case "left" | "right":
                self._view.shift(-8 if action == "left" else 8)
            case "why":
                self._why = not self._why
                self._show_row()
            case "wrap":
                self._view.toggle_wrap()
            case "layout":
                wide = self._view.size.width > SIDE_BY_SIDE_CELLS
                self._side_by_side = not (wide if self._side_by_side is None else self._side_by_side)
                self._show_row(keep_place=True)
            case "full":
                self._full = not self._full
                self._fit()
            case "group":
                self._grouping = _GROUPINGS[(_GROUPINGS.index(self._grouping) + 1) % len(_GROUPINGS)]
                self.rows_changed()
                self._say(f"Grouped by {self._grouping}." if self._grouping else "In the order of the calls.")
            case "escape":
                self._escape()
            case _:
                pass

    @property
    def _active_rows(self) -> Rows:
        return self._perms if self._pane == "permissions" else self._list

    def _move(self, step: int) -> None:
        if self._pane == "preview":
            self._view.scroll_relative(y=step, animate=False)
        else:
            self._active_rows.move(step)

    def _next_pane(self, step: int) -> None:
        panes: list[PaneName] = ["calls", "preview"]
        if self._perms.display and len(self.round.rows) > 1:
            panes.insert(1, "permissions")
        at = panes.index(self._pane) if self._pane in panes else 0
        self._pane = panes[(at + step) % len(panes)]
        self._draw_marks()

    def _escape(self) -> None:
        if self._why:
            self._why = False
            self._show_row()
        elif self._full:
            self._full = False
            self._fit()
        elif self._pane != "calls":
            self._pane = "calls"
            self._draw_marks()
        else:
            self._control.lower_approval()

    # Deciding

    def _targets(self) -> list[Row]:
        if self._pane == "permissions" and self.group is not None:
            calls = self.group.calls
            return [row for row in self.round.rows if row.call_id in calls]
        return [self.row] if self.row is not None else []

    def _may(self, rows: Sequence[Row], decision: Decision) -> bool:
        now = self._clock()
        if any(now - row.added_at < self._grace_s for row in rows):
            return False
        if decision is Decision.DENY:
            return bool(rows)
        unread = [row for row in rows if preview.must_be_read(row) and not row.read and row.edited is None]
        if unread:
            rows_here = self._view.needed_rows if unread[0] is self.row else 0
            many = f"{rows_here} lines: " if rows_here > 1 else ""
            end = self.keys.hint("approval", "preview_end")
            self._say(f"{many}read it to the end first. {end} goes there.")
            if unread[0] is not self.row:
                self._list.move_to(self._order.index(unread[0]))
        return bool(rows) and not unread

    def _decide(self, decision: Decision, scope: Scope) -> None:
        rows = self._targets()
        if not self._may(rows, decision):
            return
        group = self.group if self._pane == "permissions" else None
        if group is not None:
            if scope is not Scope.ONCE and not group.pattern:
                self._say("This cannot be allowed for longer than once.")
                return
            self.round.decide_group(group, decision, scope, group.pattern)
        elif why := self.round.decide(rows[0], decision, scope):
            self._say(why)
            return
        self._decided()

    def _decided(self) -> None:
        if len(self.round.rows) == 1 and self.round.rows[0].is_decided:
            self.round.send_decided()
            return
        self._draw()
        if self._pane == "calls":
            self._focus_undecided()
        self._show_row(keep_place=True)
        if not self.round.counts()[2]:
            submit = self.keys.hint("approval", "submit")
            self._say(f"All decided. {submit} runs what is allowed.")

    def _focus_undecided(self) -> None:
        at = max(self._list.cursor, 0)
        indexes = [*range(at, len(self._order)), *range(at)]
        target = next((index for index in indexes if not self._order[index].is_decided), None)
        if target is not None:
            self._list.move_to(target)

    def _toggle(self) -> None:
        rows = self._targets()
        allowed = all(row.state == "allowed" for row in rows)
        decision = Decision.DENY if allowed else Decision.ALLOW
        if not self._may(rows, decision):
            return
        for row in rows:
            self.round.decide(row, decision)
        self._draw()
        self._show_row(keep_place=True)

    def _decide_all(self, decision: Decision, scope: Scope) -> None:
        skipped = self.round.decide_all(decision, scope, self._clock(), self._grace_s, needs_look=_needs_look)
        self._decided()
        if skipped:
            what = "call must" if skipped == 1 else "calls must"
            self._say(f"{skipped} {what} be looked at first: HIGH risk, long, or just arrived.")

    def _submit(self, sure: bool) -> None:
        undecided = self.round.counts()[2]
        if not undecided or sure:
            self.round.send_all()
            return
        self.round.send_decided()
        self._sure = True
        what = "1 call is" if undecided == 1 else f"{undecided} calls are"
        submit = self.keys.hint("approval", "submit")
        self._say(f"{what} undecided: {submit} again denies {'it' if undecided == 1 else 'them'}.")
        self._fit()

    # Writing

    def _begin_lasting(self, decision: Decision) -> None:
        rows = self._targets()
        if not self._may(rows, decision):
            return
        group = self.group if self._pane == "permissions" else None
        targets: list[PermissionGroup | tuple[Row, preview.Permission]]
        if group is not None:
            targets = [group]
        else:
            targets = [(rows[0], permission) for permission in rows[0].request.permissions]
        if not targets or any(not _pattern(target) for target in targets):
            self._say("This cannot be decided for longer than once.")
            return
        self._write(Lasting(self.round, decision, targets))

    def _write(self, writing: Writing) -> None:
        self._writing = writing
        self._field.put(writing.text)
        self._field.display = True
        self._field.focus()
        self._say(writing.caption(writing.text))
        self._fit()

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        """Keep the caption true while the person writes."""
        event.stop()
        if self._writing is not None:
            if isinstance(self._writing, Lasting):
                self._writing.confirming = False
            self._say(self._writing.caption(self._field.text))

    def on_editor_act(self, event: Editor.Act) -> None:
        """Accept or leave what is written."""
        event.stop()
        writing = self._writing
        match event.action:
            case "cancel":
                self._stop_writing()
            case "scope" if isinstance(writing, Lasting):
                writing.next_scope()
                self._say(writing.caption(self._field.text))
            case "accept" if writing is not None:
                self._accept(writing, self._field.text)
            case _:
                pass

    def _stop_writing(self) -> None:
        self._writing = None
        self._field.display = False
        self.set_focus(None)
        self._say("")
        self._fit()

    def _accept(self, writing: Writing, text: str) -> None:
        match writing:
            case Comment():
                writing.row.feedback = text.strip()
                self._stop_writing()
                self._draw()
                self._show_row(keep_place=True)
            case CallEdit():
                self._accept_edit(writing, text)
            case Lasting():
                self._accept_lasting(writing, text.strip())

    def _accept_edit(self, writing: CallEdit, text: str) -> None:
        arguments = writing.parse(text)
        if arguments is None:
            self._say(writing.caption(text))
            return
        writing.row.edited = arguments
        writing.row.hunks = None
        self.round.decide(writing.row, Decision.ALLOW)
        self._stop_writing()
        self._decided()

    def _accept_lasting(self, writing: Lasting, pattern: str) -> None:
        if not pattern:
            self._say("A pattern is needed.")
            return
        if not writing.confirming:
            writing.confirming = True
            self._say(writing.caption(pattern))
            return
        if not writing.accept(pattern):
            self._write(writing)
            return
        writing.apply()
        self._stop_writing()
        self._decided()

    # Hunks

    def _begin_hunks(self) -> None:
        row = self.row
        if row is None or row.hunk_count < 2:
            self._say("There is nothing to choose from: the change is one piece.")
            return
        self._hunks = HunkChoice(row)
        self._draw()
        self._perms.move_to(0)

    def _toggle_hunk(self) -> None:
        if self._hunks is not None:
            self._hunks.toggle(self._perms.cursor)
            self._draw()

    def _act_on_hunks(self, action: str) -> None:
        choice = self._hunks
        if choice is None:
            return
        match action:
            case "up" | "down":
                self._perms.move(-1 if action == "up" else 1)
            case "toggle":
                self._toggle_hunk()
            case "submit":
                self._hunks = None
                choice.apply()
                self.round.decide(choice.row, Decision.ALLOW if choice.any_taken else Decision.DENY)
                self._decided()
            case _:
                self._hunks = None
                self._draw()


def _needs_look(row: Row) -> bool:
    return preview.is_long(row) and not row.read


def _pattern(target: PermissionGroup | tuple[Row, preview.Permission]) -> str:
    return target.pattern if isinstance(target, PermissionGroup) else target[1].pattern
