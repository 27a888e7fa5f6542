"""Says what would happen to a command: decision, class, needs, parts, and what could be stored."""

from pathlib import Path

from agent_tui.permissions.decide import where
from agent_tui.permissions.policy import CallReview, Policy
from agent_tui.permissions.shell.model import Analysis
from agent_tui.protocol.data import JsonObject
from agent_tui.protocol.permissions import Decision, Permission, PermissionKind

SAFE, NEEDS, OUTSIDE, NETWORK = "read-only-safe", "needs-approval", "outside-workspace-write", "network"


def classify(analysis: Analysis) -> str:
    """Give the class of a command, whatever the rules say."""
    if any(touch.kind is PermissionKind.WRITE and touch.outside for touch in analysis.touches):
        return OUTSIDE
    if any(touch.kind is PermissionKind.NETWORK for touch in analysis.touches):
        return NETWORK
    only_reads = analysis.clear and not analysis.touches and all(part.safe for part in analysis.parts)
    return SAFE if only_reads else NEEDS


def review_command(policy: Policy, command: str, *, cwd: Path) -> CallReview:
    """Decide a command as the bash tool's call would be, without writing anything down."""
    permission = Permission(id="command", kind=PermissionKind.EXECUTE, target=command)
    return policy.evaluate(
        tool="bash", permissions=[permission], readable=False, needs_approval=False, cwd=cwd
    )


def decision_of(review: CallReview) -> Decision:
    """Give the one word for a review."""
    if review.denial:
        return Decision.DENY
    return Decision.ASK if review.asking else Decision.ALLOW


def as_json(policy: Policy, command: str, *, cwd: Path) -> JsonObject:
    """Give everything as JSON: decision, class, needs, parts, always."""
    review = review_command(policy, command, cwd=cwd)
    analysis = policy.analyse(command, cwd)
    return {
        "decision": decision_of(review).value,
        "class": classify(analysis),
        "needs": [
            {
                "kind": p.kind.value,
                "target": p.target,
                "pattern": policy.offers(p),
                "risk": p.risk.value,
                "reason": p.reason,
            }
            for p in _needed(review)
        ],
        "parts": [
            {
                "argv": list(part.argv),
                "decision": part.decision.value,
                "rule": where(part.rule) if part.rule else "",
                "why": part.why,
            }
            for part in review.parts
        ],
        "always": list(dict.fromkeys(policy.offers(p) for p in review.asking if p.pattern)),
        "unclear": list(analysis.unclear),
        "denial": review.denial,
    }


def _needed(review: CallReview) -> list[Permission]:
    """Give the permissions that go beyond reading the project."""
    built_in = {
        d.permission_id
        for d in review.decided
        if d.rule is not None and d.rule.text.startswith("built-in: only")
    }
    return [permission for permission in review.permissions if permission.id not in built_in]


def as_text(policy: Policy, command: str, *, cwd: Path) -> str:
    """Give everything for a person: the decision first, then each part, each need and what could be stored."""
    review = review_command(policy, command, cwd=cwd)
    analysis = policy.analyse(command, cwd)
    lines = [f"{decision_of(review).value}  ({classify(analysis)})"]
    lines += [f"  cannot be judged by its parts: {reason}" for reason in analysis.unclear]
    for part in review.parts:
        rule = f"  [{where(part.rule)}]" if part.rule else ""
        lines.append(f"  {part.decision.value:5} {' '.join(part.argv)}  - {part.why}{rule}")
    for permission in _needed(review):
        reason = f"  - {permission.reason}" if permission.reason else ""
        lines.append(f"  needs {permission.kind.value} {permission.target}{reason}")
    lines += [
        f"  always would store {pattern}"
        for pattern in dict.fromkeys(policy.offers(p) for p in review.asking if p.pattern)
    ]
    if review.denial:
        lines.append(f"  {review.denial}")
    return "\n".join(lines)
