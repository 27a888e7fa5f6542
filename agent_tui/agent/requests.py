"""Asks the model for one reply and survives what can go wrong on the way."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from agent_tui.agent.allowance import Allowance
from agent_tui.agent.compaction import Summarized
from agent_tui.agent.compactor import CompactionReport, Compactor, Part
from agent_tui.agent.guardrails import GuardrailChain, Judgement
from agent_tui.agent.history import has_attachments, repair, without_attachments
from agent_tui.agent.limits import total_tokens
from agent_tui.agent.notes import note
from agent_tui.agent.refused_tools import MAX_DROPPED, refused_tool
from agent_tui.agent.reply import Received, receive
from agent_tui.agent.teller import Teller
from agent_tui.agent.turn import Turn
from agent_tui.agent.turn_hooks import NoTurnHooks, TurnHooks
from agent_tui.protocol.errors import AgentTuiError, BadResponse, ContextTooLong, StreamCut
from agent_tui.protocol.events import Compacted, Event, Retrying, Usage
from agent_tui.protocol.messages import AssistantMessage, TextBlock, TokenUsage, UserMessage
from agent_tui.protocol.tools import ToolSpec
from agent_tui.providers.base import CountsTokens, Provider, ProviderRequest
from agent_tui.providers.retry import RetryingProvider, RetryNotice

MAX_CUTS = 3
_GO_ON = (
    "The connection was lost in the middle of your reply; what stands above is all that arrived, and no tool call of "
    "it was run. Go on exactly where the text ends. Do not repeat any of it."
)


class GuardrailDenied(AgentTuiError):
    """A guardrail did not let a request or a reply pass."""


@dataclass
class Requests:
    """Asks for replies on behalf of one agent.

    A cut stream keeps what was shown and asks for the rest, a full context is compacted once, a request refused
    for a tool is sent once more without that tool, one refused for its attachments without them. Retries of other
    errors are the provider's.
    """

    provider: Provider
    teller: Teller
    compactor: Compactor
    allowance: Allowance
    system: str
    tools: Callable[[], Sequence[ToolSpec]]
    guardrails: GuardrailChain
    hooks: TurnHooks = field(default_factory=NoTurnHooks)
    cut_wait_s: float = 1.0

    async def reply(self, turn: Turn) -> AssistantMessage:
        """Give the next whole reply. Raises ProviderError, GuardrailDenied, TurnStopped."""
        turn.shown, turn.cuts = "", 0
        while True:
            if self.compactor.is_due(self.provider, self.system, self.tools()):
                await self.compact(turn)
            received = Received(shown_before=turn.shown)
            try:
                return await self._ask(turn, received)
            except StreamCut as error:
                await self._survive_cut(turn, received, error)
            except ContextTooLong:
                if turn.overflowed or not self.compactor.settings.auto:
                    raise
                turn.overflowed = True
                if (await self.compact(turn, overflowed=True)).messages is None:
                    raise
            except BadResponse as error:
                if await self._gave_up_tool(turn, error):
                    continue
                if turn.plain or not has_attachments(self.teller.conversation.messages):
                    raise
                turn.plain = True
                await self.teller.notice(
                    turn, "The request was refused; it is sent once more without images and documents."
                )
            finally:
                turn.began = turn.began or received.began
                if received.unanswered != TokenUsage():
                    used = self.teller.conversation.used_tokens(self.system, self.tools())
                    await self._count(turn, received.unanswered, context_tokens=used)

    async def compact(
        self,
        turn: Turn,
        *,
        focus: str = "",
        by_hand: bool = False,
        overflowed: bool = False,
        summary: str = "",
    ) -> CompactionReport:
        """Compact the conversation, record and tell it. Raises TurnStopped.

        A hook may stop it, except where the server refuses the conversation as it is.
        """
        said = await turn.switch.run(partial(self.hooks.compacting, by_hand=by_hand))
        if said.block and not overflowed:
            return await self._not_compacted(turn, said.block, by_hand=by_hand)
        focus = "; ".join(filter(None, [focus, said.focus]))
        report = await self.compactor.compact(
            self.provider,
            self.system,
            self.tools(),
            turn.switch,
            focus=focus,
            by_hand=by_hand,
            overflowed=overflowed,
            summary=summary,
        )
        if report.usage != TokenUsage():
            turn.spent(report.usage, self.allowance.spending.add(report.usage, self.provider.info))
        await self._keep_compaction(turn, report)
        if report.problem and not by_hand:
            await self.teller.notice(turn, report.problem)
        return report

    async def put_summary(self, turn: Turn, summary: str, part: Part) -> CompactionReport:
        """Put a summary in the place of a part of the conversation, record and tell it."""
        report = self.compactor.put_summary(self.provider, self.system, self.tools(), summary, part)
        await self._keep_compaction(turn, report)
        return report

    async def _keep_compaction(self, turn: Turn, report: CompactionReport) -> None:
        if report.messages is not None:
            turn.began = True  # the place where the turn began is gone, so its prompt cannot be given back
            await self.teller.journal.compacted(report.messages, turn_id=turn.turn_id, summary=report.summary)
            await self.teller.sink(
                Compacted(
                    turn_id=turn.turn_id,
                    origin=self.teller.origin,
                    tokens_before=report.tokens_before,
                    tokens_after=report.tokens_after,
                    summary=report.summary,
                )
            )

    async def _not_compacted(self, turn: Turn, reason: str, *, by_hand: bool) -> CompactionReport:
        """Leave the conversation as it is; by itself it is tried again once, as after one without gain."""
        used = self.teller.conversation.used_tokens(self.system, self.tools())
        problem = f"The conversation was not compacted, a hook stopped it: {reason}"
        if not by_hand:
            self.compactor.fruitless += 1
            await self.teller.notice(turn, problem)
        return CompactionReport(used, used, problem=problem)

    async def draft(self, turn: Turn, focus: str, part: Part | None = None) -> Summarized:
        """Write the summary that compacting by hand, or of `part`, would use; count it. Raises TurnStopped."""
        drafted = await self.compactor.draft(self.provider, turn.switch, focus=focus, part=part)
        if drafted.usage != TokenUsage():
            self.allowance.spending.add(drafted.usage, self.provider.info)
        return drafted

    async def aside(self, question: str) -> str:
        """Ask beside the conversation; give the text of the reply. Raises ProviderError.

        The tools stay in the request, so that the cached prefix is used; a call in the reply is not run.
        """
        words = note(
            "Answer this question from what you know already; call no tool. Then the work goes on as before."
        )
        asked = UserMessage(content=(TextBlock(text=f"{words}\n{question}"),))
        # its retries are its own: those of the provider itself are told as the turn's
        provider = self.provider.twin() if isinstance(self.provider, RetryingProvider) else self.provider
        request = ProviderRequest(
            system=self.system,
            messages=repair((*self.teller.conversation.messages, asked), provider.name, provider.model),
            tools=tuple(self.tools()),
            effort=self.allowance.limits.effort,
        )

        async def unseen(_event: Event) -> None:
            return None

        received = Received()
        try:
            message = await receive(provider, request, received, sink=unseen, turn_id="", origin="")
        finally:
            self.allowance.spending.add(received.unanswered, provider.info)
        self.allowance.spending.add(message.usage, provider.info)
        return "".join(block.text for block in message.content if isinstance(block, TextBlock)).strip()

    async def count_tokens(self) -> int | None:
        """Let the server count the next request without a new prompt; None where it cannot. Raises ProviderError."""
        messages = self.teller.conversation.repaired(self.provider.name, self.provider.model)
        if not messages or not isinstance(self.provider, CountsTokens):
            return None
        request = ProviderRequest(
            system=self.system,
            messages=messages,
            tools=tuple(self.tools()),
            effort=self.allowance.limits.effort,
        )
        return await self.provider.count_tokens(request)

    async def _ask(self, turn: Turn, received: Received) -> AssistantMessage:
        request = self._request(turn)
        if isinstance(self.provider, RetryingProvider):
            self.provider.on_retry = partial(self._retrying, turn)
        await self._judge(turn, await self.guardrails.pre_llm(request))
        turn.requests += 1
        async with turn.switch.droppable():
            message = await receive(
                self.provider,
                request,
                received,
                sink=self.teller.sink,
                turn_id=turn.turn_id,
                origin=self.teller.origin,
            )
        if turn.plain:
            self.teller.conversation.replace(without_attachments(self.teller.conversation.messages))
        used = total_tokens(message.usage)
        await self._count(turn, message.usage, context_tokens=used)
        await self._judge(turn, await self.guardrails.post_llm(message))
        return message

    def _request(self, turn: Turn) -> ProviderRequest:
        signer = (self.provider.name, self.provider.model)
        conversation = self.teller.conversation
        messages = (
            repair(without_attachments(conversation.messages), *signer)
            if turn.plain
            else conversation.repaired(*signer)
        )
        return ProviderRequest(
            system=self.system,
            messages=messages,
            tools=self._tools_of(turn),
            max_output_tokens=turn.room_tokens or self.allowance.limits.max_output_tokens,
            effort=self.allowance.limits.effort,
        )

    def _tools_of(self, turn: Turn) -> tuple[ToolSpec, ...]:
        return tuple(tool for tool in self.tools() if tool.name not in turn.refused_tools)

    async def _gave_up_tool(self, turn: Turn, error: BadResponse) -> bool:
        """Leave the tool that the server refused out of this turn, and say so; False when it named none."""
        refused = refused_tool(str(error), self._tools_of(turn)) if error.status in (400, 422) else ""
        if not refused or len(turn.refused_tools) >= MAX_DROPPED:
            return False
        turn.refused_tools.add(refused)
        await self.teller.notice(
            turn, f"The model server does not take the tool {refused}; this turn goes on without it. {error}"
        )
        return True

    async def _judge(self, turn: Turn, judgement: Judgement) -> None:
        if judgement.action == "deny":
            raise GuardrailDenied(f"Stopped by a guardrail: {judgement.reason}")
        if judgement.action == "warn":
            await self.teller.notice(turn, judgement.reason)

    async def _count(self, turn: Turn, usage: TokenUsage, *, context_tokens: int) -> None:
        """Count the tokens of a reply, or of a request that brought none but was counted by the server."""
        price = self.allowance.spending.add(usage, self.provider.info)
        turn.spent(usage, price)
        await self.teller.sink(
            Usage(
                turn_id=turn.turn_id,
                origin=self.teller.origin,
                usage=usage,
                cost_usd=price,
                context_tokens=context_tokens,
                context_limit_tokens=self.provider.context_tokens,
            )
        )

    async def _survive_cut(self, turn: Turn, received: Received, error: StreamCut) -> None:
        """Keep what was shown and wait a little. Raises the error when it happened too often in a row."""
        turn.cuts += 1
        if received.text.strip():
            await self._keep(turn, received.text)
        if turn.cuts > MAX_CUTS:
            raise error
        wait_s = self.cut_wait_s * 2 ** (turn.cuts - 1)
        await self._retrying(turn, RetryNotice(turn.cuts, MAX_CUTS, wait_s, str(error)))
        async with turn.switch.droppable():
            await asyncio.sleep(wait_s)

    async def _retrying(self, turn: Turn, notice: RetryNotice) -> None:
        if notice.fallback:
            await self.teller.notice(turn, f"{notice.reason} {notice.fallback} takes over.")
            return
        await self.teller.sink(
            Retrying(
                turn_id=turn.turn_id,
                origin=self.teller.origin,
                attempt=notice.attempt,
                max_attempts=notice.max_attempts,
                wait_s=notice.wait_s,
                reason=notice.reason,
            )
        )

    async def _keep(self, turn: Turn, text: str) -> None:
        """Record the text of a cut reply as a reply of its own, and ask for the rest."""
        turn.shown += text
        partial = AssistantMessage(
            content=(TextBlock(text=text),),
            provider=self.provider.name,
            model=self.provider.model,
            stop_reason="other",
        )
        await self.teller.replied(turn, partial)
        await self.teller.note(turn, _GO_ON)
