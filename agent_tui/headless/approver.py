"""Answers reviews when there is no person: by saying no."""

from collections.abc import Mapping, Sequence

from agent_tui.protocol.permissions import DecidedBy, Decision, PermissionDecision, PermissionRequest, Verdict

REFUSAL = (
    "Not allowed: this needs a permission and nobody can be asked in a run without a screen. "
    "Go on without it, or say what should be allowed."
)


class NobodyApprover:
    """Denies everything that would have to be asked; `asked` keeps the requests for the report."""

    def __init__(self) -> None:
        self.asked: list[PermissionRequest] = []

    async def review(self, requests: Sequence[PermissionRequest]) -> Mapping[str, Verdict]:
        """Deny every request and mark it as unasked."""
        self.asked += requests
        return {request.call_id: _denied(request) for request in requests}


def _denied(request: PermissionRequest) -> Verdict:
    decisions = tuple(
        PermissionDecision(permission_id=permission.id, decision=Decision.DENY, decided_by=DecidedBy.NOBODY)
        for permission in request.permissions
    )
    return Verdict(call_id=request.call_id, permissions=decisions, feedback=REFUSAL, unasked=True)
