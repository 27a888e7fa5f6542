"""Shows the policy's recent decisions and makes them last."""

from collections.abc import Sequence

from agent_tui.permissions.decide import where
from agent_tui.permissions.policy import Policy, RecentDecision
from agent_tui.protocol.permissions import Scope
from agent_tui.ui.rulings import DecisionView, LastingScope


class PolicyRulings:
    """Implements the interface's `Rulings`."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy

    def recent(self) -> Sequence[DecisionView]:
        return [_view(entry, self._policy.promotes(entry)) for entry in reversed(self._policy.recent)]

    async def promote(self, number: int, scope: LastingScope) -> str:
        try:
            grant = await self._policy.promote(number, Scope(scope))
        except OSError as error:
            return f"It cannot be stored: {error}"
        if grant is None:
            return "This decision can hold once only: no pattern stands for it."
        verb = "Always allowed" if grant.decision == "allow" else "Always denied"
        return f"{verb} from now on ({scope}): {grant.pattern}"


def _view(entry: RecentDecision, pattern: str) -> DecisionView:
    decision, permission = entry.decision, entry.permission
    by = where(decision.rule) if decision.rule is not None else decision.decided_by.value
    return DecisionView(
        number=entry.number,
        at=entry.when.astimezone().strftime("%H:%M"),
        decision=decision.decision.value,
        call=f"{entry.tool}: {entry.title}" if entry.title else entry.tool,
        target=permission.target,
        by=by,
        scope=decision.scope.value,
        pattern=pattern,
    )
