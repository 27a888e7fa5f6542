"""The approval screen: one list for the whole round, decided by single keys."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Protocol

from textual import events
from textual.app import ComposeResult
from textual.widgets import TextArea

from agent_tui.protocol.permissions import Decision, Scope
from agent_tui.ui.keymap import Keymap
from agent_tui.ui.palette import Palette
from agent_tui.ui.render.diff import SIDE_BY_SIDE_CELLS
from agent_tui.ui.screens.approval import labels, preview
from agent_tui.ui.screens.approval.face import LOW_HEIGHT, TINY_HEIGHT, Face, PaneName, Shown
from agent_tui.ui.screens.approval.fields import CallEdit, Comment, Lasting, Target, Writing, pattern_of
from agent_tui.ui.screens.approval.gate import Gate
from agent_tui.ui.screens.approval.grouping import PermissionGroup
from agent_tui.ui.screens.approval.hints import Hints
from agent_tui.ui.screens.approval.hunks import HunkChoice
from agent_tui.ui.screens.approval.pane import Pane
from agent_tui.ui.screens.approval.round import Round, Row
from agent_tui.ui.screens.approval.sending import Sending
from agent_tui.ui.screens.approval.sources import Look, preview_sources
from agent_tui.ui.screens.approval.writer import Writer
from agent_tui.ui.screens.dialog import Dialog
from agent_tui.ui.widgets.editor import Editor
from agent_tui.ui.widgets.rows import Rows

_GROUPINGS = ("", "permission", "tool", "file", "agent")
_STACK_WIDTH = 80


class ApprovalControl(Protocol):
    """What the screen may ask of the program."""

    def lower_approval(self) -> None:
        """Keep the round pending behind the banner."""
        ...

    def just_focused(self) -> bool:
        """Tell whether the terminal got its focus a moment ago: a click then decides nothing."""
        ...

    def edit_outside(self, text: str, say: Callable[[str], None]) -> str | None:
        """Let the person's own editor change a text; None when it could not, which `say` is told."""
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
        stays_low: bool = False,
    ) -> None:
        super().__init__(keys, "approval")
        self.round = round_
        self._control, self._clock, self._grace_s = control, clock, grace_s
        self._opened_at = clock()
        self._side_by_side: bool | None = None
        self._full = self._why = self._drawable = False
        self._shown = Shown([], [])
        self._seen: Look | None = None
        self._face = Face(keys, stays_low=stays_low)
        self._writer = Writer(self._face, round_)
        self._sending = Sending(self._face, round_, keys)
        self._gate = Gate(
            self._face, round_, keys, clock=clock, grace_s=grace_s, just_focused=control.just_focused
        )

    def compose(self) -> ComposeResult:
        """Lay everything out in one frame."""
        yield self._face

    def on_mount(self) -> None:
        """Show the round."""
        self._opened_at = self._clock()
        self._drawable = True
        self.rows_changed()
        self._focus_undecided()

    # Drawing

    @property
    def row(self) -> Row | None:
        """The call under the cursor."""
        return self._face.current(self._shown)

    @property
    def group(self) -> PermissionGroup | None:
        """The joined permission that keys decide; None while they decide calls."""
        return self._face.current_group(self._shown) if self._shown.pane == "permissions" else None

    @property
    def note(self) -> str:
        """The sentence that is shown above the keys."""
        return self._face.note_text

    def rows_changed(self) -> None:
        """Show the round again, after rows came or went; the cursor stays on its call."""
        if not self._is_there or not self.round.rows:
            return
        row, shown = self.row, self._shown
        rows = self.round.rows if self._is_single else self.round.listed()
        self._sending.rows_changed()
        shown.order = labels.ordered(rows, shown.grouping)
        shown.groups = self.round.groups()
        self._draw(shown.order.index(row) if row in shown.order else 0)
        self._fit()
        self._show_row()

    @property
    def _is_there(self) -> bool:
        """Whether there is something to draw on: rows may come before the screen is composed."""
        return self._drawable and self.is_attached

    @property
    def _is_single(self) -> bool:
        return len(self.round.rows) == 1

    def _draw(self, cursor: int | None = None) -> None:
        if self.round.rows and self._is_there:
            self._face.draw(self.round, self._shown, cursor=cursor)

    def _show_row(self, *, keep_place: bool = False) -> None:
        row = self.row
        if row is None:
            return
        row.looked_at = True
        lines = preview.why(row) if self._why else None
        palette = self._control.palette_now()
        if self._seen is None or not self._seen.same(palette, self._side_by_side):
            self._seen = Look(palette, self._side_by_side)
        sources = preview_sources(row, lines, self.round, self._seen)
        self._face.pane.show(
            sources.all,
            needed=sources.needed,
            start=sources.start,
            keep_place=keep_place,
            subject=None if self._why else row,
        )
        self.call_after_refresh(self._face.bring_hunk, self._shown, self._seen)
        self.call_after_refresh(self._fit)

    def on_resize(self, event: events.Resize) -> None:
        """Choose the layout that fits."""
        self._fit()
        self.call_after_refresh(self._draw)

    def _fit(self) -> None:
        size, single = self.program.size, self._is_single
        tiny, full = size.height < TINY_HEIGHT, self._full or (self._why and size.height < LOW_HEIGHT)
        self.set_class(size.width < _STACK_WIDTH, "-stacked")
        self.set_class(tiny, "-tiny")
        self.set_class(size.height < LOW_HEIGHT, "-low")
        self.set_class(single, "-single")
        self.set_class(full, "-full")
        hidden = "permissions" if full or single else "preview" if tiny else ""
        if self._shown.pane == hidden or (tiny and self._shown.pane == "permissions"):
            self._shown.pane = "calls"  # a key decides only what is seen
            self._face.draw_pane(self.round, self._shown)
        self._face.fit(size, single=single, whole=self._full)

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
        if self._gate.takes_click(self._opened_at):
            self.act(event.action)

    def on_rows_moved(self, event: Rows.Moved) -> None:
        """Show the call, or the hunk, under the cursor."""
        event.stop()
        self._face.draw_marks(self._shown)
        if event.rows is self._face.calls:
            self._why = False
            self._face.draw_hints(self.round, self._shown)
            self._show_row()
        else:
            self._face.bring_hunk(self._shown, self._seen)

    def on_rows_chosen(self, event: Rows.Chosen) -> None:
        """Go to the list that was clicked."""
        event.stop()
        if self._shown.hunks is not None and event.rows is self._face.permissions:
            if self._gate.takes_click(self._opened_at):
                self._toggle_hunk()
            return
        self._shown.pane = "calls" if event.rows is self._face.calls else "permissions"
        self._face.draw_pane(self.round, self._shown)

    def on_pane_end_seen(self, event: Pane.EndSeen) -> None:
        """Remember that the whole preview was on screen."""
        event.stop()
        if isinstance(event.subject, Row):
            event.subject.read = True

    def act(self, action: str) -> None:
        """Do a key's action."""
        if action != "submit":
            self._sending.forget()
        if self._shown.hunks is not None and action in ("up", "down", "toggle", "submit", "escape", "hunks"):
            self._act_on_hunks(action)
            return
        if self._gate.stops(action, self._shown):
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
                self._sending.submit()
                self._fit()
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
                self._face.pane.page(-1 if action == "page_up" else 1)
            case "preview_end":
                self._full = self._full or self.has_class("-tiny")
                self._fit()
                self._face.pane.to_end()
            case "preview_start":
                self._face.pane.to_start()
            case "left" | "right":
                self._face.pane.shift(-8 if action == "left" else 8)
            case "why":
                self._why = not self._why
                self._show_row()
            case "wrap":
                self._face.pane.toggle_wrap()
            case "layout":
                wide = self._face.pane.size.width > SIDE_BY_SIDE_CELLS
                self._side_by_side = not (wide if self._side_by_side is None else self._side_by_side)
                self._show_row(keep_place=True)
            case "full":
                self._full = not self._full
                self._fit()
            case "group":
                self._shown.grouping = _GROUPINGS[
                    (_GROUPINGS.index(self._shown.grouping) + 1) % len(_GROUPINGS)
                ]
                self.rows_changed()
                self._face.say(
                    f"Grouped by {self._shown.grouping}."
                    if self._shown.grouping
                    else "In the order of the calls."
                )
            case "copy" if self.row is not None:
                self.program.copy_to_clipboard(preview.copied(self.row))
                self._face.say("Copied the whole of this call.")
            case "escape":
                self._escape()
            case _:
                pass

    @property
    def _active_rows(self) -> Rows:
        return self._face.permissions if self._shown.pane == "permissions" else self._face.calls

    def _move(self, step: int) -> None:
        if self._shown.pane == "preview":
            self._face.pane.scroll_relative(y=step, animate=False)
        else:
            self._active_rows.move(step)

    def _next_pane(self, step: int) -> None:
        panes: list[PaneName] = ["calls", "preview"]
        if self._face.permissions.display and len(self.round.rows) > 1:
            panes.insert(1, "permissions")
        at = panes.index(self._shown.pane) if self._shown.pane in panes else 0
        self._shown.pane = panes[(at + step) % len(panes)]
        self._face.draw_pane(self.round, self._shown)

    def _escape(self) -> None:
        if self._why:
            self._why = False
            self._show_row()
        elif self._full:
            self._full = False
            self._fit()
        elif self._shown.pane != "calls":
            self._shown.pane = "calls"
            self._face.draw_pane(self.round, self._shown)
        else:
            self._control.lower_approval()

    # Deciding

    def _targets(self) -> list[Row]:
        return self._gate.targets(self._shown)

    def _may(self, rows: Sequence[Row], decision: Decision) -> bool:
        return self._gate.may(rows, decision, self._shown)

    def _decide(self, decision: Decision, scope: Scope) -> None:
        rows = self._targets()
        if not self._may(rows, decision):
            return
        group = self.group
        if group is not None:
            if scope is not Scope.ONCE and not all(permission.pattern for _, permission in group.members):
                self._face.say("This cannot be allowed for longer than once.")
                return
            self.round.decide_group(group, decision, scope, group.pattern)
        elif why := self.round.decide(rows[0], decision, scope):
            self._face.say(why)
            return
        self._decided()

    def _decided(self) -> None:
        if len(self.round.rows) == 1 and self.round.rows[0].is_decided:
            self.round.send_decided()
            return
        self._draw()
        moved = self._shown.pane == "calls" and self._focus_undecided()
        if not moved:  # where the cursor came to is shown by its own message
            self._show_row(keep_place=True)
        allowed, _, open_ = self.round.counts()
        if not open_:
            submit = self.keys.hint("approval", "submit")
            does = "runs what is allowed" if allowed else "tells the model"
            self._face.say(f"All decided. {submit} {does}.")

    def _focus_undecided(self) -> bool:
        at = max(self._face.calls.cursor, 0)
        indexes = [*range(at, len(self._shown.order)), *range(at)]
        target = next((index for index in indexes if not self._shown.order[index].is_decided), None)
        if target is None or target == self._face.calls.cursor:
            return False
        self._face.calls.move_to(target)
        return True

    def _toggle(self) -> None:
        rows, group = self._targets(), self.group
        states = [row.state == "allowed" for row in rows] if group is None else [self.round.allows(group)]
        decision = Decision.DENY if all(states) else Decision.ALLOW
        if not self._may(rows, decision):
            return
        if group is not None:
            self.round.decide_group(group, decision, Scope.ONCE, "")
        else:
            self.round.decide(rows[0], decision)
        self._draw()
        self._show_row(keep_place=True)

    def _decide_all(self, decision: Decision, scope: Scope) -> None:
        skipped = self.round.decide_all(decision, scope, self._clock(), self._grace_s, needs_look=_needs_look)
        self._decided()
        if skipped:
            what = "call must" if skipped == 1 else "calls must"
            self._face.say(f"{skipped} {what} be looked at first: HIGH risk, long, or just arrived.")

    # Writing

    def _begin_lasting(self, decision: Decision) -> None:
        rows = self._targets()
        if not self._may(rows, decision):
            return
        group = self.group
        targets: list[Target] = (
            [group] if group is not None else [(rows[0], one) for one in rows[0].request.permissions]
        )
        if not targets or any(not pattern_of(target) for target in targets):
            self._face.say("This cannot be decided for longer than once.")
            return
        self._write(Lasting(self.round, decision, targets))

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        """Keep the caption true while the person writes."""
        event.stop()
        self._writer.changed()

    def on_editor_act(self, event: Editor.Act) -> None:
        """Accept or leave what is written."""
        event.stop()
        if event.action == "outside":
            text = self._control.edit_outside(self._face.field.text, self._face.say)
            if text is not None:
                self._face.field.put(text)
            return
        outcome = self._writer.act(event.action)
        if outcome is not None:
            self.set_focus(None)
            self._fit()
        if outcome == "noted":
            self._draw()
            self._show_row(keep_place=True)
        elif outcome == "decided":
            self._decided()

    def _write(self, writing: Writing) -> None:
        self._writer.begin(writing)
        self._fit()

    # Hunks

    def _begin_hunks(self) -> None:
        row = self.row
        if row is None or row.hunk_count < 2:
            whole = row is not None and row.edited is not None
            why = "what you edited runs whole" if whole else "the change is one piece"
            self._face.say(f"There is nothing to choose from: {why}.")
            return
        self._shown.hunks = HunkChoice(row)
        self._draw()
        self._fit()
        self._face.permissions.move_to(0)
        self.call_after_refresh(self._face.bring_hunk, self._shown, self._seen)

    def _toggle_hunk(self) -> None:
        if self._shown.hunks is not None:
            self._shown.hunks.toggle(self._face.permissions.cursor)
            self._draw()

    def _act_on_hunks(self, action: str) -> None:
        choice = self._shown.hunks
        if choice is None:
            return
        match action:
            case "up" | "down":
                self._face.permissions.move(-1 if action == "up" else 1)
            case "toggle":
                self._toggle_hunk()
            case "submit":
                if choice.any_taken and not self._may([choice.row], Decision.ALLOW):
                    return
                self._shown.hunks = None
                choice.apply()
                self.round.decide(choice.row, Decision.ALLOW if choice.any_taken else Decision.DENY)
                self._decided()
            case _:
                self._shown.hunks = None
                self._draw()
                self._fit()


def _needs_look(row: Row) -> bool:
    return preview.is_long(row) and not row.read
