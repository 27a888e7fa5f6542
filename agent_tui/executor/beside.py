"""What a person sees beside the calls that ask: those of the round that rules, grants or hooks settled."""

from collections.abc import Sequence
from dataclasses import dataclass

from agent_tui.executor.record import Recorder
from agent_tui.executor.state import RoundCall
from agent_tui.protocol.permissions import DecidedBy, Decision, PermissionDecision, PermissionRequest, RuleRef


@dataclass(frozen=True)
class Beside:
    """Calls for show, never to be decided, and the ids of the whole round in model order."""

    settled: tuple[PermissionRequest, ...] = ()
    order: tuple[str, ...] = ()


def beside(items: Sequence[RoundCall], recorder: Recorder) -> Beside:
    """Give what is settled of a round: calls that run unasked and calls that were denied unasked.

    What was invalid or answered before a pause is not among them.
    """
    settled = [item for item in items if _is_allowed(item) or _is_denied(item)]
    requests = [_for_show(item, recorder) for item in settled]
    return Beside(tuple(requests), tuple(item.call.call_id for item in items))


def _is_allowed(item: RoundCall) -> bool:
    return not item.answered and not item.asking


def _is_denied(item: RoundCall) -> bool:
    return item.outcome is not None and item.outcome.effect == "denied"


def _for_show(item: RoundCall, recorder: Recorder) -> PermissionRequest:
    """Build the request of a settled call; its `decided` holds a denial exactly when it was denied."""
    request = item.make_request(origin=recorder.origin, agent_name=recorder.agent_name, permissions=())
    denied = any(one.decision is Decision.DENY for one in request.decided)
    if item.outcome is None or denied:
        return request
    reason = item.outcome.result.output.partition("\n")[0]
    refusal = PermissionDecision(
        permission_id="",
        decision=Decision.DENY,
        decided_by=DecidedBy.HOOK if item.review is None or item.hook_denied else DecidedBy.RULE,
        rule=RuleRef(text=reason),
    )
    return request.model_copy(update={"decided": (*request.decided, refusal)})
