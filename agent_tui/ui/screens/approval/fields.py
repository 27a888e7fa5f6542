"""What is being written in the approval screen's field: a comment, an edited call, a lasting pattern."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import cast

from agent_tui.protocol.data import JsonObject
from agent_tui.protocol.json_text import parse_json
from agent_tui.protocol.permissions import Decision, Permission, Scope
from agent_tui.ui.keymap import Keymap
from agent_tui.ui.screens.approval.grouping import PermissionGroup
from agent_tui.ui.screens.approval.preview import arguments_of, command_of
from agent_tui.ui.screens.approval.round import SCOPE_WORDS, Round, Row

Target = PermissionGroup | tuple[Row, Permission]
"""What a lasting decision is about: a joined permission, or one permission of one call."""
LASTING = (Scope.SESSION, Scope.PROJECT, Scope.USER)


def pattern_of(target: Target) -> str:
    """Give the pattern that is suggested for it, "" when it can be decided once only."""
    return target.pattern if isinstance(target, PermissionGroup) else target[0].pattern_of(target[1])


@dataclass
class Comment:
    """Words that go with a decision."""

    row: Row

    @property
    def text(self) -> str:
        """What stands in the field at first."""
        return self.row.feedback

    def caption(self, _text: str, keys: Keymap) -> str:
        """Say what the field is for."""
        ends = keys.legend(("field", "accept", "keeps it"), ("field", "cancel", "leaves"))
        return f"Say to the model, with your decision · {ends}"

    def short_caption(self, _text: str, _keys: Keymap) -> str:
        """Say it where there is hardly any room."""
        return "Say to the model"


@dataclass
class CallEdit:
    """Other arguments for a call: its command, or all of them as JSON."""

    row: Row

    @property
    def text(self) -> str:
        """What stands in the field at first."""
        if self.is_command:
            return self._command
        return json.dumps(self.row.edited or arguments_of(self.row.request), indent=2, ensure_ascii=False)

    @property
    def is_command(self) -> bool:
        """Whether only the command is edited."""
        return isinstance(arguments_of(self.row.request).get("command"), str)

    @property
    def _command(self) -> str:
        if self.row.edited is not None and isinstance(edited := self.row.edited.get("command"), str):
            return edited
        return command_of(self.row.request) or str(arguments_of(self.row.request).get("command", ""))

    def caption(self, text: str, keys: Keymap) -> str:
        """Say what the field is for and whether it can be used."""
        what = "Edit the command" if self.is_command else "Edit the arguments (JSON)"
        bad = "" if self.is_command or self.parse(text) is not None else " · not a JSON object yet"
        ends = keys.legend(("field", "accept", "allows it so"), ("field", "cancel", "leaves"))
        return f"{what}, it is checked again · {ends}{bad}"

    def short_caption(self, text: str, _keys: Keymap) -> str:
        """Say it where there is hardly any room."""
        if self.is_command:
            return "Edit the command"
        return "Edit the JSON" if self.parse(text) is not None else "Not JSON yet"

    def parse(self, text: str) -> JsonObject | None:
        """Give the new arguments, or None when they are not an object."""
        if self.is_command:
            return cast("JsonObject", {**arguments_of(self.row.request), "command": text})
        try:
            found = parse_json(text)
        except ValueError:
            return None
        return cast("JsonObject", found) if isinstance(found, dict) else None


@dataclass
class Lasting:
    """A decision that stays: its scope, and one pattern after the other for each permission.

    `chosen` takes one pattern per target, in their order; the first Enter shows what will be stored, the second
    confirms.
    """

    round_: Round
    decision: Decision
    targets: list[Target]
    scope: Scope = Scope.PROJECT
    confirming: bool = False
    chosen: list[str] = field(default_factory=list[str])

    @property
    def _target(self) -> Target:
        return self.targets[len(self.chosen)]

    @property
    def text(self) -> str:
        """The pattern that is suggested."""
        return pattern_of(self._target)

    def next_scope(self) -> None:
        """Choose the next longer scope, after the last the first."""
        self.scope = LASTING[(LASTING.index(self.scope) + 1) % len(LASTING)]
        self.confirming = False

    def covered(self, pattern: str) -> tuple[int, int]:
        """Count (covered, all) calls of the round."""
        hit = {
            row.call_id
            for row in self.round_.rows
            for permission in row.request.permissions
            if self.round_.grouper.covers(pattern, permission)
        }
        return len(hit), len(self.round_.rows)

    def objection(self, pattern: str) -> str:
        """Say why the pattern cannot be stored for what is being decided, "" when it can."""
        if not pattern:
            return "Write the pattern that is to be stored."
        target = self._target
        members = target.members if isinstance(target, PermissionGroup) else ((target[0].call_id, target[1]),)
        if any(self.round_.grouper.covers(pattern, permission) for _, permission in members):
            return ""
        what = "call that is" if len(members) == 1 else "calls that are"
        return f"Not stored: {pattern} covers 0 of {len(members)} {what} being decided."

    def caption(self, text: str, keys: Keymap) -> str:
        """Say what accepting will do, with how many calls the pattern covers."""
        verb = "Always allow" if self.decision is Decision.ALLOW else "Always deny"
        many = f" ({len(self.chosen) + 1} of {len(self.targets)})" if len(self.targets) > 1 else ""
        hit, total = self.covered(text.strip())
        scope = f"{SCOPE_WORDS[self.scope]}{self._place}"
        others = ("field", "scope", "changes the scope"), ("field", "cancel", "leaves")
        if self.confirming:
            ends = keys.legend(("field", "accept", "again stores it"), *others)
            return f"{verb} {text.strip()} for {scope}: {ends}"
        wider = (
            " · WIDER than what was asked" if self.round_.grouper.is_wider(text.strip(), self.text) else ""
        )
        covers = f"covers {hit} of {total}{wider}"
        return f"{verb}{many} for {scope} · {covers} · {keys.legend(('field', 'accept', 'goes on'), *others)}"

    @property
    def _place(self) -> str:
        """The file that will be written, ", in ~/FILE"; "" when the answer ends with the session."""
        kept_in = self.round_.grouper.kept_in
        return f", in {kept_in}" if kept_in and self.scope is not Scope.SESSION else ""

    def short_caption(self, text: str, keys: Keymap) -> str:
        """Say it where there is hardly any room."""
        verb = "Always allow" if self.decision is Decision.ALLOW else "Always deny"
        if self.confirming:
            ends = keys.legend(("field", "accept", "again stores it"))
            return f"{SCOPE_WORDS[self.scope].capitalize()}{self._place}: {ends}"
        hit, total = self.covered(text.strip())
        wider = " WIDER" if self.round_.grouper.is_wider(text.strip(), self.text) else ""
        return f"{verb}, {SCOPE_WORDS[self.scope]}: {hit} of {total}{wider}"

    def accept(self, pattern: str) -> bool:
        """Take the pattern of the present target; tell whether all are chosen."""
        self.chosen.append(pattern)
        self.confirming = False
        return len(self.chosen) == len(self.targets)

    def apply(self) -> None:
        """Decide every target as chosen."""
        for target, pattern in zip(self.targets, self.chosen, strict=True):
            if isinstance(target, PermissionGroup):
                self.round_.decide_group(target, self.decision, self.scope, pattern)
            else:
                self.round_.decide_permission(*target, self.decision, self.scope, pattern)


Writing = Comment | CallEdit | Lasting
