"""Which calls a deciding key is about, and whether it may decide them now."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from agent_tui.protocol.permissions import Decision, Risk
from agent_tui.ui.keymap import Keymap
from agent_tui.ui.screens.approval import labels, preview
from agent_tui.ui.screens.approval.face import OF_ONE_CALL, Face, Shown
from agent_tui.ui.screens.approval.round import Round, Row

_OF_GROUPS = frozenset(["allow", "session", "deny", "always", "never", "toggle"])
_OF_CALLS = _OF_GROUPS | OF_ONE_CALL
_OF_ALL = frozenset(["allow_all", "allow_all_session", "deny_all"])


class Gate:
    """Nothing is decided unseen, in the moment it appeared, or that a rule decided already. It says why not."""

    def __init__(
        self,
        face: Face,
        round_: Round,
        keys: Keymap,
        *,
        clock: Callable[[], float],
        grace_s: float,
        just_focused: Callable[[], bool],
    ) -> None:
        self._face, self._round, self._keys = face, round_, keys
        self._clock, self._grace_s, self._just_focused = clock, grace_s, just_focused

    def stops(self, action: str, shown: Shown) -> bool:
        """Tell whether `action` would decide a call that a rule answered, or one that is not what is chosen from."""
        why = self._objection(action, shown)
        if why:
            self._face.say(why)
        return bool(why)

    def _objection(self, action: str, shown: Shown) -> str:
        if shown.hunks is not None and action in _OF_CALLS | _OF_ALL:
            ends = self._keys.legend(
                ("approval", "submit", "takes these hunks"), ("approval", "escape", "leaves")
            )
            return f"First the hunks: {ends}."
        if shown.pane == "permissions":
            to_calls = self._keys.hint("approval", "escape")
            words = f"That is for one call, not for a permission: {to_calls} goes to the calls."
            return words if action in OF_ONE_CALL else ""
        row = self._face.current(shown)
        if action in _OF_CALLS and row is not None and row.is_settled:
            return f"Nothing to decide here: this call {labels.settled_words(row)}."
        return ""

    def takes_click(self, opened_at: float) -> bool:
        """Tell whether a click may decide: not when it only wanted the window, nor as the screen has just come."""
        return self._clock() - opened_at >= self._grace_s and not self._just_focused()

    def targets(self, shown: Shown) -> list[Row]:
        """Give the calls a key decides: those of the joined permission, or the one under the cursor."""
        if shown.pane == "permissions":
            group = self._face.current_group(shown)
            return [row for row in self._round.rows if group is not None and row.call_id in group.calls]
        row = self._face.current(shown)
        return [row] if row is not None else []

    def may(self, rows: Sequence[Row], decision: Decision, shown: Shown) -> bool:
        """Tell whether all of `rows` may be decided so; what must be looked at or read first is shown."""
        now = self._clock()
        if any(now - row.added_at < self._grace_s for row in rows):
            return False
        if decision is Decision.DENY:
            return bool(rows)
        unseen = [row for row in rows if row.risk is Risk.HIGH and not row.looked_at]
        if unseen:
            self._face.say("HIGH risk: look at this call first, then decide.")
            self._face.calls.move_to(shown.order.index(unseen[0]))
            return False
        unread = [row for row in rows if preview.must_be_read(row) and not row.read and row.edited is None]
        if unread:
            self._ask_to_read(unread[0], shown)
        return bool(rows) and not unread

    def _ask_to_read(self, row: Row, shown: Shown) -> None:
        is_here = row is self._face.current(shown)
        lines = self._face.pane.needed_rows if is_here else 0
        many = f"{lines} lines: " if lines > 1 else ""
        end = self._keys.hint("approval", "preview_end")
        self._face.say(f"{many}read it to the end first. {end} goes there.")
        if not is_here:
            self._face.calls.move_to(shown.order.index(row))
