"""One sentence for what was decided about a call, for the transcript."""

from __future__ import annotations

from agent_tui.protocol.permissions import DecidedBy, Decision, PermissionRequest, Scope, Verdict
from agent_tui.ui.render.safe import clean_line

_SCOPES = {
    Scope.ONCE: "once",
    Scope.SESSION: "for this session",
    Scope.PROJECT: "for this project",
    Scope.USER: "for every project",
}


def decision_line(request: PermissionRequest | None, verdict: Verdict) -> str:
    """Say what was decided, by whom or which rule, with the person's words; "" when nothing was asked."""
    if request is None:
        return ""
    name = request.display_name or request.tool
    call = clean_line(f"{name}: {request.title}" if request.title else name)
    words = f" “{clean_line(verdict.feedback)}”" if verdict.feedback else ""
    return f"{_what(request, verdict)} {call}{_changes(verdict)}{words}"


def _what(request: PermissionRequest, verdict: Verdict) -> str:
    if verdict.deferred:
        return "put off"
    denied = [one for one in verdict.permissions if one.decision is Decision.DENY]
    missing = {p.id for p in request.permissions} - {one.permission_id for one in verdict.permissions}
    if denied or missing:
        lasting = next((one for one in denied if one.scope is not Scope.ONCE), None)
        rule = next((one.rule for one in denied if one.rule is not None), None)
        if rule is not None:
            return f"denied by {rule.text}:"
        return f"denied {_SCOPES[lasting.scope]} ({lasting.pattern}):" if lasting else "denied"
    lasting = [one for one in verdict.permissions if one.scope is not Scope.ONCE]
    if lasting:
        patterns = ", ".join(dict.fromkeys(one.pattern for one in lasting if one.pattern))
        return f"allowed {_SCOPES[lasting[0].scope]} ({clean_line(patterns)}):"
    by_rule = [
        one for one in verdict.permissions if one.decided_by is not DecidedBy.PERSON and one.rule is not None
    ]
    return f"allowed by {by_rule[0].rule.text}:" if by_rule and by_rule[0].rule else "allowed once"


def _changes(verdict: Verdict) -> str:
    parts: list[str] = []
    if verdict.edited_arguments is not None:
        parts.append("edited")
    if verdict.accepted_hunks is not None:
        parts.append(f"{len(verdict.accepted_hunks)} hunks")
    return f" ({', '.join(parts)})" if parts else ""
