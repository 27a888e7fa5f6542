"""Shows rules and grants, where each comes from, and takes grants back."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from agent_tui.ui.backend import RuleView
from agent_tui.ui.keymap import Keymap
from agent_tui.ui.look import spans
from agent_tui.ui.render.safe import clean_line
from agent_tui.ui.screens.dialog import Dialog
from agent_tui.ui.widgets.rows import Rows

_STYLES = {"allow": "$success", "deny": "$error", "ask": "$warning"}


class RulesScreen(Dialog[None]):
    """Every rule with its decision, scope and place; grants can be revoked."""

    DEFAULT_CSS = """
    RulesScreen {
        & > .frame { width: 100; }
        & Rows { height: auto; max-height: 20; min-height: 1; }
        & .said { color: $muted; height: auto; margin-top: 1; }
    }
    """

    def __init__(
        self, keys: Keymap, rules: Callable[[], Sequence[RuleView]], remove: Callable[[str], str]
    ) -> None:
        super().__init__(keys)
        self._read, self._remove = rules, remove
        self._rules: list[RuleView] = []
        self._rows = Rows(can_focus=True)
        self._said = Static("", classes="said", markup=False)

    def compose(self) -> ComposeResult:
        """Lay out the list and the line that says what was done."""
        with Vertical(classes="frame") as frame:
            frame.border_title = Content("Permissions")
            remove = self.keys.hint("list", "remove")
            frame.border_subtitle = Content(f"{remove} revokes a grant · Esc closes")
            yield self._rows
            yield self._said

    def on_mount(self) -> None:
        """Read the rules."""
        self._refresh()
        self._rows.focus()

    def _refresh(self) -> None:
        self._rules = list(self._read())
        width = max((len(rule.text) for rule in self._rules), default=0)
        rows = [_row(rule, min(width, 44)) for rule in self._rules]
        self._rows.set_rows(
            rows or [Content.styled("No rules: everything that is not read-only asks.", "$muted")]
        )

    def act(self, action: str) -> None:
        """Move, revoke or close."""
        match action:
            case "up":
                self._rows.move(-1)
            case "down":
                self._rows.move(1)
            case "page_up":
                self._rows.page(-1)
            case "page_down":
                self._rows.page(1)
            case "first":
                self._rows.first()
            case "last":
                self._rows.last()
            case "remove":
                self._revoke()
            case "choose" | "cancel":
                self.finish(None)
            case _:
                pass

    def _revoke(self) -> None:
        if not self._rules:
            return
        rule = self._rules[self._rows.cursor]
        if not rule.removable:
            self._said.update(Content(f"{rule.text} stands in {rule.where}; take it out there."))
            return
        self._said.update(Content(clean_line(self._remove(rule.rule_id))))
        self._refresh()


def _row(rule: RuleView, width: int) -> Content:
    return spans(
        (f"{rule.decision:<6}", _STYLES.get(rule.decision, "")),
        clean_line(rule.text).ljust(width + 2),
        (f"{rule.scope}  {clean_line(rule.where)}", "$muted"),
    )
