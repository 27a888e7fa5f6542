"""Shows rules and grants, where each comes from, and what was decided lately; takes grants back, makes decisions last."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Static

from agent_tui.ui.backend import RuleView
from agent_tui.ui.keymap import Keymap
from agent_tui.ui.look import spans
from agent_tui.ui.render.safe import clean_line, vis
from agent_tui.ui.rulings import DecisionView, LastingScope, Rulings
from agent_tui.ui.screens.dialog import Dialog
from agent_tui.ui.screens.frame import Frame
from agent_tui.ui.screens.settings.pages import short
from agent_tui.ui.widgets.rows import Rows

_STYLES = {"allow": "$success", "deny": "$error", "ask": "$warning"}
_SCOPES: dict[str, LastingScope] = {"session": "session", "project": "project", "user": "user"}
_SCOPE_WORDS = {"session": "this session", "project": "this project", "user": "every project"}
_WIDEST_RULE = 44


class RulesScreen(Dialog[None]):
    """Every rule with its decision, scope and place, then the recent decisions, newest first."""

    DEFAULT_CSS = """
    RulesScreen {
        & > .frame { width: 100; }
        & Rows { height: auto; max-height: 20; min-height: 1; }
        & .said { color: $muted; height: auto; margin-top: 1; }
    }
    """

    def __init__(
        self,
        keys: Keymap,
        rules: Callable[[], Sequence[RuleView]],
        remove: Callable[[str], Awaitable[str]],
        rulings: Rulings,
    ) -> None:
        super().__init__(keys, "rules", "list")
        self._read, self._remove, self._rulings = rules, remove, rulings
        self._entries: list[RuleView | DecisionView | None] = []
        self._rows = Rows(can_focus=True)
        self._asked: tuple[int, LastingScope] | None = None
        self._said = Static("", classes="said", markup=False)

    def compose(self) -> ComposeResult:
        """Lay out the list and the line that says what was done."""
        with Frame(self.keys) as frame:
            frame.border_title = Content("Permissions")
            keys = "/".join(self.keys.hint("rules", scope) for scope in _SCOPES)
            remove = self.keys.hint("list", "remove")
            frame.legend = (
                f"{remove} revokes · {keys} keep it for session, project, user · "
                + self.keys.legend(("list", "cancel", "closes"))
            )
            yield self._rows
            yield self._said

    def on_mount(self) -> None:
        """Read the rules."""
        self._refresh()
        self.set_focus(self._rows)

    def _refresh(self) -> None:
        rules, recent = list(self._read()), list(self._rulings.recent())
        width = min(max((len(rule.text) for rule in rules), default=0), _WIDEST_RULE)
        rows = [_row(rule, width) for rule in rules]
        if not rules:
            rows = [Content.styled("No rules: everything that is not read-only asks.", "$muted")]
        self._entries = [*rules] or [None]
        if recent:
            rows += [Content(""), Content.styled("Decided lately", "bold $muted")]
            rows += [_decision_row(one) for one in recent]
            self._entries += [None, None, *recent]
        self._rows.set_rows(rows)

    def act(self, action: str) -> None:
        """Move, revoke or close."""
        asked, self._asked = self._asked, None
        if self._rows.perform(action):
            if asked is not None:
                self._say("")
            return
        match action:
            case "remove":
                self._revoke()
            case "session" | "project" | "user":
                self._promote(_SCOPES[action], asked)
            case "choose" | "cancel":
                self.finish(None)
            case _:
                pass

    @property
    def _entry(self) -> RuleView | DecisionView | None:
        at = self._rows.cursor
        return self._entries[at] if 0 <= at < len(self._entries) else None

    def _say(self, text: str) -> None:
        self._said.update(Content(clean_line(text)))

    def _promote(self, scope: LastingScope, asked: tuple[int, LastingScope] | None) -> None:
        """Show what would be stored, and store it when the same key comes again."""
        entry = self._entry
        if not isinstance(entry, DecisionView):
            self._say("Choose one of the decisions below; a rule lasts already.")
            return
        if entry.pattern and asked != (entry.number, scope):
            self._asked = (entry.number, scope)
            verb = "Always allow" if entry.decision == "allow" else "Always deny"
            again = self.keys.hint("rules", scope)
            self._say(f"{verb} {vis(entry.pattern)} for {_SCOPE_WORDS[scope]}: {again} again stores it.")
            return
        promote = partial(self._rulings.promote, entry.number, scope)
        self.run_worker(partial(self._show, promote), group="rules")

    async def _show(self, change: Callable[[], Awaitable[str]]) -> None:
        """Say what came of a change, with the rules as they are then."""
        self._say(await change())
        self._refresh()

    def _revoke(self) -> None:
        entry = self._entry
        match entry:
            case RuleView() if entry.removable:
                self._take_back(entry)
            case RuleView():
                self._say(f"{entry.text} stands in {entry.where}; take it out there.")
            case DecisionView():
                self._revoke_grant_of(entry)
            case _:
                pass

    def _revoke_grant_of(self, entry: DecisionView) -> None:
        """Take back the grant that a decision made."""
        for rule in self._read():
            if rule.removable and rule.text == entry.pattern and rule.decision == entry.decision:
                self._take_back(rule)
                return
        self._say("This decision held once; there is nothing to revoke.")

    def _take_back(self, rule: RuleView) -> None:
        self.run_worker(partial(self._show, partial(self._remove, rule.rule_id)), group="rules")


def _row(rule: RuleView, width: int) -> Content:
    return spans(
        (f"{rule.decision:<6}", _STYLES.get(rule.decision, "")),
        clean_line(rule.text).ljust(width + 2),
        (f"{rule.scope}  {clean_line(short(rule.where))}", "$muted"),
    )


def _decision_row(one: DecisionView) -> Content:
    return spans(
        (f"{one.decision:<6}", _STYLES.get(one.decision, "")),
        (f"{one.at}  ", "$muted"),
        vis(one.call).replace("\n", " "),
        (f"  {one.scope}, by {clean_line(one.by)}", "$muted"),
        ("" if one.pattern else "  (once only)", "$faint"),
    )
