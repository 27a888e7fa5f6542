"""Lets a function of a program answer for the person, one request at a time."""

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence

from agent_tui.protocol.permissions import DecidedBy, Decision, PermissionDecision, PermissionRequest, Verdict

Answer = bool | Verdict
Decide = Callable[[PermissionRequest], Answer | Awaitable[Answer]]
"""True allows the call once, False denies it; a Verdict says more: words for the model, edited arguments, lasting scopes."""


class FunctionApprover:
    """Asks `decide` about the calls of a review in their order. One that raises is a denial of the review."""

    def __init__(self, decide: Decide) -> None:
        self._decide = decide

    async def review(self, requests: Sequence[PermissionRequest]) -> Mapping[str, Verdict]:
        """Ask about each request."""
        verdicts: dict[str, Verdict] = {}
        for request in requests:
            answer = self._decide(request)
            if inspect.isawaitable(answer):
                answer = await answer
            verdicts[request.call_id] = answer if isinstance(answer, Verdict) else _verdict(request, answer)
        return verdicts


def _verdict(request: PermissionRequest, answer: object) -> Verdict:
    """Give the answer that holds once; only a plain True allows."""
    decision = Decision.ALLOW if answer is True else Decision.DENY
    return Verdict(
        call_id=request.call_id,
        permissions=tuple(
            PermissionDecision(permission_id=one.id, decision=decision, decided_by=DecidedBy.HOOK)
            for one in request.permissions
        ),
    )
