"""The third phase of a round: one question for everything that remains, and what the answers mean."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from agent_tui.executor import answers
from agent_tui.executor.beside import Beside, beside
from agent_tui.executor.bounded import StopSignal, Workers
from agent_tui.executor.gate import PolicyLike
from agent_tui.executor.losses import deletes, with_losses
from agent_tui.executor.record import Recorder
from agent_tui.executor.state import Refusal, RoundCall
from agent_tui.executor.verdicts import Verdicts, decision, once, replaces
from agent_tui.protocol.events import ApprovalDecided, ApprovalRequested
from agent_tui.protocol.permissions import (
    Approver,
    DecidedBy,
    Decision,
    PermissionRequest,
    Verdict,
)
from agent_tui.toolkit.threads import off_loop

_MAX_REVIEWS = 5
_LOSSES_LIMIT_S = 2.0
_STORE_GRACE_S = 0.25
_NEEDS_MORE = "the edited call needs more than was approved"
_REWRITTEN = "a hook changed the arguments; these are the ones that would run"
_CHANGED = "the file changed after the call was approved"


@dataclass
class Asking:
    """Asks about the calls of one round.

    `deferred` collects the requests whose answers come later from outside. Unless `partial`, one deferred answer
    defers all, so that a paused round has had no side effect.
    """

    verdicts: Verdicts
    recorder: Recorder
    policy: PolicyLike
    approver: Approver
    workers: Workers
    stop: StopSignal
    partial: bool = False
    deferred: list[PermissionRequest] = field(default_factory=list[PermissionRequest])
    beside: Beside = field(default_factory=Beside)

    async def ask(self, items: Sequence[RoundCall], *, among: Sequence[RoundCall] = ()) -> None:
        """Ask once for `items`; each is then ready to run, answered, or deferred.

        Calls whose edited arguments need more than was approved come up again in a review of their own. `among`
        is the whole round: what the rules settled of it is told beside the first question.
        """
        waiting, reason = list(items), ""
        self.beside = beside(among, self.recorder)
        for item in waiting:
            item.to_ask = item.asking
        for _ in range(_MAX_REVIEWS):
            if not waiting:
                return
            verdicts = await self._review(waiting, reason)
            open_items = [item for item in waiting if not item.answered and item.call.call_id in verdicts]
            waiting = [
                item for item in open_items if await self.verdicts.apply(item, verdicts[item.call.call_id])
            ]
            reason = _NEEDS_MORE
        for item in waiting:
            await self.recorder.refuse(item, Refusal(answers.denied(None, item.to_ask), "denied"))

    async def _review(self, items: Sequence[RoundCall], reason: str) -> Mapping[str, Verdict]:
        """Ask, with the question written down before and the answers after; give the verdicts that count."""
        for item in items:
            item.request = item.make_request(
                origin=self.recorder.origin,
                agent_name=self.recorder.agent_name,
                permissions=item.to_ask,
                reason=_CHANGED
                if item.second_review
                else reason or (_REWRITTEN if item.hook_rewrote else ""),
            )
            if deletes(item.request):
                item.request = await self._with_losses(item.request, item.context.cwd)
        if self.stop.pressed:
            return {}
        requests = [item.request for item in items if item.request is not None]
        if not await self._written(items, requests):
            return {}
        given, failure = await self._answers(requests)
        if self._defer(items, given):
            return {}
        return await self._settle(items, given, failure)

    async def _with_losses(self, request: PermissionRequest, cwd: Path) -> PermissionRequest:
        """Say what a command would delete; a disk that hangs, or a stop, leaves it unsaid."""
        look = off_loop(lambda: with_losses(request, cwd))
        settled = await self.workers.run(look, limit_s=_LOSSES_LIMIT_S, stop=self.stop)
        return settled.value or request

    async def _written(self, items: Sequence[RoundCall], requests: Sequence[PermissionRequest]) -> bool:
        """Write the question down and announce it; a question that cannot be written is a no."""
        try:
            await self.recorder.journal.approval_requested(requests, turn_id=self.recorder.turn_id)
        except Exception as error:  # whatever a journal raises
            for item in items:
                await self.recorder.refuse(item, Refusal(f"{answers.NOT_RECORDED}: {error}", "denied"))
            return False
        told, self.beside = self.beside, Beside()
        await self.recorder.sink(
            ApprovalRequested(
                turn_id=self.recorder.turn_id,
                origin=self.recorder.origin,
                requests=tuple(requests),
                settled=told.settled,
                order=told.order,
            )
        )
        return True

    async def _answers(
        self, requests: Sequence[PermissionRequest]
    ) -> tuple[Mapping[str, Verdict], Refusal | None]:
        """Get the verdicts; and why there are none, when the round was stopped or the approver failed."""
        try:
            settled = await self.workers.run(self.approver.review(requests), stop=self.stop)
        except Exception as error:  # a screen, a terminal, a program of the user: whatever fails is a no
            return {}, Refusal(f"Denied: the question could not be asked: {error}", "denied")
        if settled.how == "stopped":
            return {}, Refusal(answers.CANCELLED, "cancelled")
        return settled.value or {}, None

    def _defer(self, items: Sequence[RoundCall], given: Mapping[str, Verdict]) -> bool:
        """Put off what has no answer yet; tell whether that is everything."""
        waiting = [item for item in items if _is_deferred(item, given)]
        if not waiting:
            return False
        if any(item.second_review for item in waiting):
            return False  # the rest of the round ran: this is no longer a pause, the call is denied
        put_off = waiting if self.partial else list(items)
        self.deferred += [item.request for item in put_off if item.request is not None]
        for item in put_off:
            self.recorder.pend(item, answers.PENDING)
        return len(put_off) == len(items)

    async def _settle(
        self, items: Sequence[RoundCall], given: Mapping[str, Verdict], failure: Refusal | None
    ) -> Mapping[str, Verdict]:
        """Store and write down the answers; what cannot be stored or written is a no."""
        refusals: dict[str, Refusal] = {}
        verdicts: dict[str, Verdict] = {}
        for item in items:
            request = item.request
            if request is None or item.answered:
                continue
            verdict = given.get(request.call_id)
            if verdict is None or verdict.call_id != request.call_id or verdict.deferred:
                refusals[request.call_id] = failure or self._unanswered(item)
                verdict = _no(request)
            elif replaces(request, verdict) is not None:
                verdict = once(verdict)  # what runs instead is written down when it is known
            elif refusal := await self._store(item, request, verdict):
                refusals[request.call_id] = refusal
                verdict = _no(request)
            verdicts[request.call_id] = verdict
        problem = await self._decided(list(verdicts.values()))
        for item in items:
            refusal = refusals.get(item.call.call_id)
            if refusal is None and problem:
                refusal = Refusal(problem, "denied")
            if refusal is not None:
                await self.recorder.refuse(item, refusal)
        return verdicts

    def _unanswered(self, item: RoundCall) -> Refusal:
        """Say what a missing answer means."""
        if item.second_review:
            return Refusal(answers.changed(str(item.moved)), "denied")
        return Refusal(answers.denied(None, item.to_ask), "denied")

    async def _store(self, item: RoundCall, request: PermissionRequest, verdict: Verdict) -> Refusal | None:
        """Store lasting decisions and the audit line; say why not.

        A stop ends the wait for a disk that hangs. An answer that came with it, as "deny all and stop" does, counts.
        """
        storing = self.policy.record(request, verdict, edited=item.edited)
        try:
            settled = await self.workers.run(storing, stop=self.stop, finish_s=_STORE_GRACE_S)
        except Exception as error:  # an audit that cannot be written refuses, whatever the reason
            return Refusal(f"Denied: the decision could not be recorded: {error}", "denied")
        return Refusal(answers.CANCELLED, "cancelled") if settled.how == "stopped" else None

    async def _decided(self, verdicts: Sequence[Verdict]) -> str:
        """Write the verdicts down and announce them; give the text of a failure."""
        turn_id, problem = self.recorder.turn_id, ""
        try:
            await self.recorder.journal.approval_decided(verdicts, turn_id=turn_id)
        except Exception as error:  # whatever a journal raises: an approval that is not on disk is none
            problem = f"Denied: the approval could not be recorded: {error}"
        await self.recorder.sink(
            ApprovalDecided(turn_id=turn_id, origin=self.recorder.origin, verdicts=tuple(verdicts))
        )
        return problem


def _is_deferred(item: RoundCall, given: Mapping[str, Verdict]) -> bool:
    """Tell whether the answer to a call comes later."""
    verdict = given.get(item.call.call_id)
    return verdict is not None and verdict.deferred


def _no(request: PermissionRequest) -> Verdict:
    """Give the denial that stands for an answer nobody gave."""
    return Verdict(
        call_id=request.call_id,
        permissions=tuple(
            decision(permission.id, Decision.DENY, DecidedBy.NOBODY) for permission in request.permissions
        ),
    )
