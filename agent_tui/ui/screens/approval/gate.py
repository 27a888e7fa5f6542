"""Which calls a deciding key is about, and whether it may decide them now."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from agent_tui.protocol.permissions import Decision
from agent_tui.ui.keymap import Keymap
from agent_tui.ui.screens.approval import labels, preview
from agent_tui.ui.screens.approval.face import Face, Shown
from agent_tui.ui.screens.approval.round import Round, Row

_DECIDING = frozenset(["allow", "session", "deny", "always", "never", "toggle", "comment", "edit", "hunks"])


class Gate:
    """Nothing is decided unseen, in the moment it appeared, or that a rule decided already. It says why not."""

    def __init__(
        self, face: Face, round_: Round, keys: Keymap, *, clock: Callable[[], float], grace_s: float
    ) -> None:
        self._face, self._round, self._keys = face, round_, keys
        self._clock, self._grace_s = clock, grace_s

    def stops(self, action: str, shown: Shown) -> bool:
        """Tell whether `action` would decide a call that a rule answered."""
        row = self._face.current(shown)
        if action not in _DECIDING or shown.pane == "permissions" or row is None or not row.is_settled:
            return False
        self._face.say(f"Nothing to decide here: this call {labels.settled_words(row)}.")
        return True

    def targets(self, shown: Shown) -> list[Row]:
        """Give the calls a key decides: those of the joined permission, or the one under the cursor."""
        group = self._face.current_group(shown)
        if shown.pane == "permissions" and group is not None:
            return [row for row in self._round.rows if row.call_id in group.calls]
        row = self._face.current(shown)
        return [row] if row is not None else []

    def may(self, rows: Sequence[Row], decision: Decision, shown: Shown) -> bool:
        """Tell whether all of `rows` may be decided so; what must be read first is shown."""
        now = self._clock()
        if any(now - row.added_at < self._grace_s for row in rows):
            return False
        if decision is Decision.DENY:
            return bool(rows)
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
