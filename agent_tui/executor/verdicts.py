"""What an answer means for its call: denied, ready to run, or changed by the person and asked again."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from agent_tui.executor import answers
from agent_tui.executor.gate import PolicyLike
from agent_tui.executor.prepare import Preparer, edited, parse_arguments
from agent_tui.executor.preview import Previewer
from agent_tui.executor.record import Recorder
from agent_tui.executor.state import Refusal, RoundCall, beyond
from agent_tui.protocol.data import JsonObject
from agent_tui.protocol.permissions import (
    DecidedBy,
    Decision,
    Permission,
    PermissionDecision,
    PermissionKind,
    PermissionRequest,
    Scope,
    Verdict,
)
from agent_tui.protocol.tools import ToolCall


class DeniedCalls:
    """What a person denied in this turn; the same call is answered alike without asking again."""

    def __init__(self) -> None:
        self._turn_id = ""
        self._texts: dict[tuple[str, str], str] = {}

    def start(self, turn_id: str) -> None:
        """Forget everything when another turn begins."""
        if turn_id != self._turn_id:
            self._turn_id = turn_id
            self._texts.clear()

    def remember(self, call: ToolCall, text: str) -> None:
        """Keep the denial of a call."""
        self._texts[_signature(call)] = text

    def text(self, call: ToolCall) -> str:
        """Give the denial of the very same call, "" when there was none."""
        return self._texts.get(_signature(call), "")


def _signature(call: ToolCall) -> tuple[str, str]:
    """Give name and arguments with the keys in one order; only for arguments that were validated."""
    return call.name, json.dumps(parse_arguments(call.arguments_json), sort_keys=True)


@dataclass
class Verdicts:
    """Acts on the verdicts of one round."""

    preparer: Preparer
    previewer: Previewer
    recorder: Recorder
    policy: PolicyLike
    denied: DeniedCalls

    async def apply(self, item: RoundCall, verdict: Verdict) -> bool:
        """Act on one verdict; tell whether the call has to be asked again."""
        request = item.request
        if request is None or not _allows(request, verdict) or verdict.accepted_hunks == ():
            await self._deny(item, verdict)
            return False
        item.approved = (*item.approved, *request.permissions)
        if verdict.feedback:
            item.notes.append(answers.feedback_note(verdict))
        replacement = replaces(request, verdict)
        if replacement is not None:
            return await self._edit(item, verdict, replacement)
        await self._accept(item, verdict, audited=request.permissions)
        return False

    async def _deny(self, item: RoundCall, verdict: Verdict) -> None:
        """Answer a denied call, with the person's words."""
        text = answers.denied(verdict, item.to_ask)
        if item.second_review and verdict.unasked:
            text = answers.changed(str(item.moved))
        elif not verdict.unasked:
            self.denied.remember(item.call, text)
        await self.recorder.refuse(item, Refusal(text, "denied", unasked=verdict.unasked))

    async def _edit(self, item: RoundCall, verdict: Verdict, replacement: JsonObject) -> bool:
        """Take the person's arguments, look at them anew, and tell whether they need another review."""
        item.call, item.edited = edited(item.call, replacement), True
        item.notes.append(answers.edited_note(item.call.arguments_json))
        item.preview = None
        refusal = await self.preparer.check(item) or await self.previewer.show_one(item)
        if refusal is not None:
            await self.recorder.refuse(item, refusal)
            return False
        item.to_ask = beyond(item.asking, item.approved, own_words=not item.hook_rewrote)
        if item.to_ask:
            return True
        item.request = item.make_request(
            origin=self.recorder.origin, agent_name=self.recorder.agent_name, permissions=item.asking
        )
        await self._accept(item, verdict.model_copy(update={"accepted_hunks": None}), audited=())
        return False

    async def _accept(self, item: RoundCall, verdict: Verdict, *, audited: Sequence[Permission]) -> None:
        """Make an approved call ready: what it may touch, what it is bound to. `audited` are written down already."""
        request = item.request
        if request is None:
            return
        whole = request.model_copy(update={"permissions": item.asking})
        given = {decision.permission_id: decision for decision in verdict.permissions}
        allowed = tuple(given.get(need.id) or decision(need.id, Decision.ALLOW) for need in item.asking)
        try:
            item.confinement = self.policy.confinement(
                whole, verdict.model_copy(update={"permissions": allowed})
            )
            if item.edited:
                await self._audit(item, request, verdict, audited)
        except Exception as error:  # a grant that cannot be worked out, or cannot be written down, is a no
            await self.recorder.refuse(item, Refusal(f"Denied: {error}", "denied"))
            return
        item.bases = dict(request.bases)
        if item.bases:
            item.context.files.expect(item.call.call_id, item.bases)
        if verdict.accepted_hunks is not None:
            item.context.files.accept_hunks(item.call.call_id, verdict.accepted_hunks)
            note = answers.hunks_note(verdict.accepted_hunks, item.hunks)
            item.notes += [note] if note else []

    async def _audit(
        self, item: RoundCall, request: PermissionRequest, verdict: Verdict, audited: Sequence[Permission]
    ) -> None:
        """Write down what an edited call needs and nobody was asked about again. Raises OSError."""
        known = {permission.id for permission in audited}
        needs = tuple(need for need in item.asking if need.id not in known)
        if not needs and audited:
            return
        needs = needs or (item.review.permissions if item.review else ()) or (_the_tool(item),)
        by = next((one.decided_by for one in verdict.permissions), DecidedBy.PERSON)
        line = Verdict(
            call_id=request.call_id,
            permissions=tuple(decision(need.id, Decision.ALLOW, by) for need in needs),
            feedback=verdict.feedback,
        )
        await self.policy.record(request.model_copy(update={"permissions": needs}), line, edited=True)


def replaces(request: PermissionRequest, verdict: Verdict) -> JsonObject | None:
    """Give the arguments that run in the place of those asked about, None when the verdict changes or allows none."""
    given = verdict.edited_arguments
    if given is None or not _allows(request, verdict) or verdict.accepted_hunks == ():
        return None
    asked = json.dumps(parse_arguments(request.arguments_json), sort_keys=True)
    return None if json.dumps(given, sort_keys=True) == asked else given


def once(verdict: Verdict) -> Verdict:
    """Give the verdict without anything that lasts: it was said of other arguments than those that run."""
    kept = {"scope": Scope.ONCE, "pattern": "", "expires_at": None}
    return verdict.model_copy(
        update={"permissions": tuple(one.model_copy(update=kept) for one in verdict.permissions)}
    )


def _the_tool(item: RoundCall) -> Permission:
    """Give the permission that stands for a call that needs none."""
    return Permission(id="tool", kind=PermissionKind.TOOL, target=item.call.name)


def _allows(request: PermissionRequest, verdict: Verdict) -> bool:
    """Tell whether every permission asked for is allowed and nothing denied; a permission in both is denied."""
    denied = any(item.decision is not Decision.ALLOW for item in verdict.permissions)
    allowed = {item.permission_id for item in verdict.permissions if item.decision is Decision.ALLOW}
    needed = {permission.id for permission in request.permissions}
    return needed <= allowed and not denied


def decision(
    permission_id: str, decision: Decision, decided_by: DecidedBy = DecidedBy.PERSON
) -> PermissionDecision:
    """Give a decision that holds once."""
    return PermissionDecision(permission_id=permission_id, decision=decision, decided_by=decided_by)
