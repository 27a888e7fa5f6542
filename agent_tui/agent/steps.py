"""Does what a reply asks for: runs its calls as one round, takes the structured answer, or ends the turn."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Literal, Protocol

from agent_tui.agent.allowance import Allowance
from agent_tui.agent.answers import (
    CANCELLED,
    NOT_WAITED,
    REPEATED,
    STOPPED_LOOP,
    calls_of,
    cut_off,
    results_message,
    unrun,
)
from agent_tui.agent.attaching import Attach, nothing_attached
from agent_tui.agent.conversation import uses_of
from agent_tui.agent.queue import MessageQueue
from agent_tui.agent.respond import ACCEPTED, MAX_RETRIES, MISSING, NOT_REACHED, RESPOND, check
from agent_tui.agent.stop import TurnStopped
from agent_tui.agent.teller import Teller
from agent_tui.agent.turn import Turn
from agent_tui.agent.turn_hooks import MAX_GO_ONS, NoTurnHooks, TurnHooks, hook_note
from agent_tui.protocol.data import JsonObject
from agent_tui.protocol.errors import AgentTuiError
from agent_tui.protocol.messages import AssistantMessage, TextBlock, ToolUseBlock, UserBlock, UserMessage
from agent_tui.protocol.slash_line import as_typed
from agent_tui.protocol.tools import BatchResult, Effect, ToolCall, ToolCallOutcome, TurnStop
from agent_tui.providers.base import Provider
from agent_tui.toolkit.source import ToolSource

_LOG = logging.getLogger(__name__)

MAX_ROOM_TRIES = 3
MAX_PAUSES = 10
_FIRST_ROOM_TOKENS = 8_192
_TRIES_OF_A_LOOP = 2
_NO_ROOM = {
    "max_tokens": "The model's replies do not fit their limit; the turn ends here.",
    "context_overflow": "The model's replies do not fit what is left of its window; the turn ends here.",
}


class RoundRunner(Protocol):
    """Runs the calls of one reply; `executor.rounds.Rounds` is the real one."""

    async def run(
        self,
        calls: Sequence[ToolCall],
        *,
        turn_id: str,
        round_index: int,
        resumed: Mapping[str, ToolCallOutcome] | None = None,
        stopped: bool = False,
    ) -> BatchResult:
        """Give one outcome per call, in request order; those in `resumed` were given before a pause.

        A round that was `stopped` before it began runs nothing.
        """
        ...

    def cancel(self) -> None:
        """Stop the running round: `run` then returns with every call answered."""
        ...


@dataclass
class Steps:
    """Takes the replies of one agent, one after another. Each method gives the reason when the turn is over.

    `paused` holds what the calls of a round have come to that the model was not told yet, by call id: because it
    waits for approvals, or because something broke off the turn when they had run.
    """

    rounds: RoundRunner
    tools: ToolSource
    teller: Teller
    allowance: Allowance
    provider: Callable[[], Provider]
    queue: MessageQueue = field(default_factory=MessageQueue)
    schema: JsonObject | None = None
    hooks: TurnHooks = field(default_factory=NoTurnHooks)
    attach: Attach = nothing_attached
    in_round: bool = False
    paused: dict[str, ToolCallOutcome] = field(default_factory=dict[str, ToolCallOutcome])

    async def take(self, turn: Turn, reply: AssistantMessage) -> TurnStop | None:
        """Record a reply and do what it asks for; give the reason when the turn is over."""
        reply = self.teller.conversation.with_new_ids(reply)
        uses = uses_of(reply)
        said = any(isinstance(block, TextBlock) and block.text.strip() for block in reply.content)
        if not uses and not said and reply.stop_reason != "pause_turn":
            return await self._end_unsaid(turn, reply)
        await self._record(turn, reply)
        if uses and reply.stop_reason in ("max_tokens", "context_overflow", "refusal"):
            return await self._cut_calls(turn, uses, reply)
        turn.room_tries, turn.room_tokens = 0, 0
        if self.schema is not None and any(use.name == RESPOND for use in uses):
            return await self._respond(turn, uses, self.schema)
        if uses:
            return await self.round(turn, uses)
        if reply.stop_reason == "pause_turn" and turn.pauses < MAX_PAUSES:
            turn.pauses += 1
            return None
        return await self._end(turn, reply)

    async def _record(self, turn: Turn, reply: AssistantMessage) -> None:
        provider = self.provider()
        if not reply.provider or not reply.model:
            reply = reply.model_copy(update={"provider": provider.name, "model": provider.model})
        await self.teller.replied(turn, reply)

    async def _end(self, turn: Turn, reply: AssistantMessage) -> TurnStop | None:
        """End the turn unless somebody spoke meanwhile, the structured answer is missing, or a hook wants more."""
        stop_reason = reply.stop_reason
        if stop_reason == "refusal":
            await self.teller.notice(turn, "The model refused to answer this.")
            return "refusal"
        if stop_reason == "max_tokens":
            await self.teller.notice(
                turn, "The reply reached the limit of its length; say 'go on' for the rest."
            )
        words = await self._heard(turn)
        if words:
            for heard in words:
                await self.teller.said(turn, UserMessage(content=heard.blocks), heard.text)
            self.queue.recorded()
            return None
        if self.schema is not None and turn.structured is None:
            self._count_respond_try(turn)
            await self.teller.note(turn, MISSING)
            return None
        if stop_reason != "max_tokens" and await self._kept_going(turn, reply):
            return None
        return "end_turn" if stop_reason in ("tool_use", "pause_turn", "other") else stop_reason

    async def _end_unsaid(self, turn: Turn, reply: AssistantMessage) -> TurnStop | None:
        """End the turn on a reply of nothing, which is told when nothing came before it either."""
        stop = await self._end(turn, reply)
        if stop == "end_turn" and not any(isinstance(one, AssistantMessage) for one in turn.messages):
            await self.teller.notice(
                turn, "The model answered nothing. Ask again, or ask another with /model."
            )
        return stop

    async def _kept_going(self, turn: Turn, reply: AssistantMessage) -> bool:
        """Let hooks say what is left to do; a turn is kept going a few times only."""
        if turn.go_ons >= MAX_GO_ONS:
            return False
        text = "".join(block.text for block in reply.content if isinstance(block, TextBlock))
        left = await turn.switch.run(partial(self.hooks.stopping, text, times=turn.go_ons))
        if not left:
            return False
        turn.go_ons += 1
        await self.teller.notice(turn, f"A hook keeps the turn going: {left}")
        await self.teller.note(turn, f"A hook of the person says that you are not done: {left}")
        return True

    async def _heard(self, turn: Turn) -> list["_Heard"]:
        """Take what the person said meanwhile, as far as hooks let it pass. Raises TurnStopped, then all of it waits on."""
        heard: list[_Heard] = []
        waiting = list(self.queue.take_steering())
        try:
            while waiting:
                text = waiting[0]
                one = await self._looked_at(turn, text)
                heard += [one] if one is not None else []
                del waiting[0]
        finally:
            if waiting:  # a stop or a fault: what was said is not lost
                self.queue.put_back([*(one.text for one in heard), *waiting])
        return heard

    async def _looked_at(self, turn: Turn, text: str) -> "_Heard | None":
        """Give a message with what goes along; None when it went back to the person. Raises TurnStopped."""
        try:
            said = await turn.switch.run(partial(self.hooks.prompt, text))
            if not said.block:
                return _Heard(text, said.context, await turn.switch.run(partial(self.attach, text)))
            why = f"Your message was not sent, blocked by a hook: {said.block}"
        except TurnStopped:
            raise
        except Exception as error:  # hooks and what reads files are foreign code: neither costs the turn
            _LOG.warning("a message to a running turn could not be sent", exc_info=True)
            why = f"Your message was not sent: {error}"
        await self.teller.notice(turn, why, returned=as_typed(text))
        return None

    async def round(self, turn: Turn, uses: Sequence[ToolUseBlock]) -> TurnStop | None:
        """Run the calls of a reply as one round and give the model their results. Raises TurnStopped."""
        calls = calls_of(uses)
        if turn.switch.pressed:
            await self._answer_all(turn, calls, CANCELLED, "cancelled")
            raise TurnStopped
        if turn.guard.trips(calls):
            verdict = await self._looping(turn, calls)
            if verdict != "run":
                return verdict
        return await self._run(turn, calls, None)

    async def resume(self, turn: Turn, uses: Sequence[ToolUseBlock]) -> TurnStop | None:
        """Go on with a round that waited for approvals: what it has come to is not done again. Raises TurnStopped."""
        return await self._run(turn, calls_of(uses), dict(self.paused))

    async def give_up(self, turn: Turn, uses: Sequence[ToolUseBlock]) -> None:
        """Answer the open calls of a reply because something else comes first."""
        given_up = {
            call.call_id: unrun(call, NOT_WAITED, "not_run", self.tools)
            for call in calls_of(uses)
            if call.call_id not in self.paused
        }
        await self.teller.unrun(turn, list(given_up.values()))
        outcomes = [self.paused.get(use.id) or given_up[use.id] for use in uses]
        self.paused.clear()
        await self.teller.answered(turn, results_message(outcomes))

    async def _run(
        self, turn: Turn, calls: Sequence[ToolCall], resumed: Mapping[str, ToolCallOutcome] | None
    ) -> TurnStop | None:
        turn.rounds += 1
        if resumed is None:
            self.hooks.halted()  # left by a round that was stopped or given up: it ends no other
        self.in_round = True
        try:
            batch = await self.rounds.run(
                calls, turn_id=turn.turn_id, round_index=turn.rounds - 1, resumed=resumed
            )
        finally:
            self.in_round = False
        self.paused = {o.tool_use_id: o for o in batch.outcomes if o.effect != "pending"}
        if batch.pending:
            turn.pending = batch.pending
            return "pending_approvals"
        turn.guard.saw(calls, [outcome.result.output for outcome in batch.outcomes])
        turn.count_unasked(batch.outcomes)
        self.teller.conversation.note_outcomes(batch.outcomes)
        stopped = batch.cancelled or turn.switch.pressed
        words: list[_Heard] = []
        if not stopped:
            try:
                words = await self._heard(turn)
            except TurnStopped:  # the calls have run: the model gets their results
                stopped = True
        blocks = [block for heard in words for block in heard.blocks]
        self.paused.clear()
        await self.teller.answered(turn, results_message(batch.outcomes, blocks))
        self.queue.recorded()
        for heard in words:
            await self.teller.delivered(turn, heard.text, heard.blocks)
        if stopped:
            raise TurnStopped
        if why := self.hooks.halted():
            await self.teller.notice(turn, f"A hook ended the turn: {why}")
            return "end_turn"
        return None

    async def _looping(self, turn: Turn, calls: Sequence[ToolCall]) -> TurnStop | Literal["run"] | None:
        """Decide about calls that repeat: "run" them, go on without them (None), or end the turn."""
        names = ", ".join(dict.fromkeys(call.name for call in calls))
        why = f"The model keeps making the same calls ({names})."
        if self.allowance.ask is not None:
            if await self.allowance.go_on(turn, why):
                turn.guard.reset()
                return "run"
            await self._answer_all(turn, calls, STOPPED_LOOP, "not_run")
            return "round_limit"
        turn.refused_loops += 1
        await self.teller.notice(turn, why)
        await self._answer_all(turn, calls, REPEATED, "not_run")
        return None if turn.refused_loops < _TRIES_OF_A_LOOP else "round_limit"

    async def _cut_calls(
        self, turn: Turn, uses: Sequence[ToolUseBlock], reply: AssistantMessage
    ) -> TurnStop | None:
        """Answer the calls of a reply that was broken off: none is run, since the last one may be half."""
        limit = reply.usage.output_tokens
        await self._answer_all(turn, calls_of(uses), cut_off(reply.stop_reason, limit), "not_run")
        if reply.stop_reason == "refusal":
            return await self._end(turn, reply)
        turn.room_tries += 1
        if turn.room_tries >= MAX_ROOM_TRIES:
            await self.teller.notice(turn, _NO_ROOM[reply.stop_reason])
            return reply.stop_reason
        turn.room_tokens = self._more_room(turn, limit) if reply.stop_reason == "max_tokens" else 0
        return None

    def _more_room(self, turn: Turn, reached: int) -> int:
        """Give the next reply twice the room, as far as the model can write that much."""
        least = _FIRST_ROOM_TOKENS // 2
        room = max(turn.room_tokens, self.allowance.limits.max_output_tokens, reached, least) * 2
        most = self.provider().info.max_output_tokens
        return min(room, most) if most else room

    async def _respond(self, turn: Turn, uses: Sequence[ToolUseBlock], schema: JsonObject) -> TurnStop | None:
        """Take the structured answer: checked, never run, never asked; other calls of the reply are not run."""
        answer = next(use for use in uses if use.name == RESPOND)
        value, problem = check(schema, answer.arguments_json)
        outcomes = [
            unrun(
                call,
                (problem or ACCEPTED) if call.call_id == answer.id else NOT_REACHED,
                "not_run",
                self.tools,
            )
            for call in calls_of(uses)
        ]
        if not problem:
            outcomes = [_accepted(o) if o.tool_use_id == answer.id else o for o in outcomes]
        await self.teller.answered(turn, results_message(outcomes))
        if value is None:
            self._count_respond_try(turn)
            return None
        turn.structured = value
        return "end_turn"

    def _count_respond_try(self, turn: Turn) -> None:
        turn.respond_tries += 1
        if turn.respond_tries > MAX_RETRIES:
            raise AgentTuiError(
                f"The model gave no answer that follows the schema in {turn.respond_tries} tries."
            )

    async def _answer_all(self, turn: Turn, calls: Sequence[ToolCall], text: str, effect: Effect) -> None:
        """Answer all calls of a reply without running any."""
        outcomes = [unrun(call, text, effect, self.tools) for call in calls]
        await self.teller.refused(turn, calls, outcomes)
        await self.teller.answered(turn, results_message(outcomes))


@dataclass(frozen=True)
class _Heard:
    """What the person said while the turn ran, and what a hook adds to it."""

    text: str
    context: str
    attached: Sequence[UserBlock]

    @property
    def blocks(self) -> tuple[UserBlock, ...]:
        """Give what the model gets."""
        context = [TextBlock(text=hook_note(self.context))] if self.context else []
        return (*context, *self.attached, TextBlock(text=self.text))


def _accepted(outcome: ToolCallOutcome) -> ToolCallOutcome:
    return outcome.model_copy(update={"result": outcome.result.model_copy(update={"is_error": False})})
