"""The rules and grants that count now, as the interface lists, explains and revokes them."""

from collections.abc import Sequence
from pathlib import Path

from agent_tui.permissions.policy import Policy
from agent_tui.sandbox.granted import GrantedSandbox
from agent_tui.ui.backend import RuleView

_OPENED = {
    "folder": "commands write in {}",
    "host": "commands reach {}",
    "command": "once without the sandbox: {}",
}
_SANDBOX = "sandbox"


class SessionRules:
    """The policy's rules, and what the person opened of the sandbox during this session."""

    def __init__(self, policy: Policy, granted: GrantedSandbox) -> None:
        self._policy = policy
        self._granted = granted

    def views(self) -> Sequence[RuleView]:
        """Give one entry for each rule, grant and opening."""
        views: list[RuleView] = []
        for rule in self._policy.rules():
            where = f"{rule.origin.file}:{rule.origin.line}" if rule.origin.file else "this session"
            views.append(
                RuleView(
                    rule_id=rule.rule_id,
                    decision=rule.effect.value,
                    text=rule.text,
                    scope=rule.origin.layer.value,
                    where=where,
                    removable=bool(rule.grant_id),
                )
            )
        opened = [
            RuleView(
                rule_id=f"{_SANDBOX}:{kind}:{target}",
                decision="allow",
                text=_OPENED[kind].format(target),
                scope="session",
                where="this session, the sandbox",
                removable=True,
            )
            for kind, target in self._granted.allowed()
        ]
        return [*views, *opened]

    async def remove(self, rule_id: str) -> str:
        """Revoke a grant or close what was opened, and say in one sentence what came of it."""
        kind, _, target = rule_id.removeprefix(f"{_SANDBOX}:").partition(":")
        if rule_id.startswith(f"{_SANDBOX}:") and (kind, target) in self._granted.allowed():
            self._granted.take_back(kind, target)
            return f"Taken back: {_OPENED[kind].format(target)}"
        try:
            gone = await self._policy.remove(rule_id)
        except OSError as error:
            return f"The grant cannot be removed: {error}"
        return (
            f"Revoked: {gone.pattern}"
            if gone
            else f"No grant has the id {rule_id!r}; rules of a file are edited there."
        )

    def explain(self, command: str, *, cwd: Path) -> str:
        """Say what would happen to a command and why."""
        from agent_tui.permissions.commands import explain_command

        return explain_command(self._policy, command, cwd=cwd)
