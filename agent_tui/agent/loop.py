"""The loop: ask the model, run the calls of its reply as one round, tell it the results, until it is done."""

import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from agent_tui.agent.allowance import Allowance, AskContinue
from agent_tui.agent.attaching import Attach, nothing_attached
from agent_tui.agent.compaction import CompactionSettings, Summarized
from agent_tui.agent.compactor import CompactionReport, Compactor, Part
from agent_tui.agent.conversation import Conversation
from agent_tui.agent.guard import LoopGuard
from agent_tui.agent.guardrails import Guardrail, GuardrailChain
from agent_tui.agent.history import Messages
from agent_tui.agent.limits import Limits, Spending
from agent_tui.agent.notes import ENVIRONMENT_OPEN, note
from agent_tui.agent.queue import MessageQueue
from agent_tui.agent.requests import Requests
from agent_tui.agent.respond import respond_spec
from agent_tui.agent.steps import RoundRunner, Steps
from agent_tui.agent.stop import TurnStopped
from agent_tui.agent.teller import Teller
from agent_tui.agent.tokens import ContextShare, context_shares
from agent_tui.agent.turn import Turn
from agent_tui.agent.turn_hooks import NoTurnHooks, TurnHooks, hook_note
from agent_tui.executor.registry import CompositeSource
from agent_tui.protocol.data import JsonObject
from agent_tui.protocol.errors import AgentTuiError, BadResponse
from agent_tui.protocol.events import EventSink, TurnCancelled, TurnFailed, TurnFinished
from agent_tui.protocol.journal import Journal
from agent_tui.protocol.messages import (
    AssistantMessage,
    ImageBlock,
    TextBlock,
    TokenUsage,
    UserBlock,
    UserMessage,
)
from agent_tui.protocol.slash_line import as_typed
from agent_tui.protocol.tools import ToolCallOutcome, ToolSpec, TurnResult, TurnStop
from agent_tui.providers.base import Effort, Provider
from agent_tui.sessions.session import PROMPT_RETURNED
from agent_tui.toolkit.source import ToolSource


class Agent:
    """One model at work: a conversation and the turns that make it longer. Runs one turn at a time.

    `environment` gives the text that stands before the first prompt. `reminders` gives what the model must be
    told with the next prompt, such as that plan mode is on: the system prompt never changes. `reminded` hears
    that what was given last stays in the conversation with its prompt. `summaries` are those of a restored
    session, `known` what the open calls of its `history` have come to, by call id: those are not run again.
    `schema` asks for structured output. `cut_wait_s` is the first wait after a cut stream. `hooks` look at its
    turns; `attach` gives what goes with a prompt because the prompt points at it. A sub-agent has a `parent`:
    they share what is spent, its caps, and the ids of calls. `late` are its tools when some are loaded late: a
    turn waits for them.
    """

    def __init__(
        self,
        *,
        provider: Provider,
        rounds: RoundRunner,
        tools: ToolSource,
        sink: EventSink,
        journal: Journal,
        system: str,
        environment: Callable[[], Awaitable[str]],
        history: Sequence[UserMessage | AssistantMessage] = (),
        known: Mapping[str, ToolCallOutcome] | None = None,
        limits: Limits | None = None,
        ask_continue: AskContinue | None = None,
        queue: MessageQueue | None = None,
        session_id: str = "",
        origin: str = "",
        summaries: Mapping[str, str] | None = None,
        compaction: CompactionSettings | None = None,
        guardrails: Sequence[Guardrail] = (),
        hooks: TurnHooks | None = None,
        attach: Attach = nothing_attached,
        schema: JsonObject | None = None,
        reminders: Callable[[], Sequence[str]] = tuple,
        reminded: Callable[[], None] | None = None,
        cut_wait_s: float = 1.0,
        parent: "Agent | None" = None,
        late: CompositeSource | None = None,
        spent_before: Spending | None = None,
    ) -> None:
        self.session_id = session_id
        self._spent_before = spent_before or Spending()
        self._late = late
        self.last_error: AgentTuiError | OSError | None = None
        self._environment = environment
        self._reminders = reminders
        self._reminded = reminded
        self._turn: Turn | None = None
        self._hooks = hooks or NoTurnHooks()
        conversation = Conversation(
            history, summaries=summaries, call_ids=parent.call_ids if parent is not None else None
        )
        self._teller = Teller(conversation, journal, sink, origin)
        self._allowance = Allowance(
            self._teller,
            limits or Limits(),
            spending=parent.spending if parent is not None else Spending(),
            ask=ask_continue,
            shared=parent is not None,
        )
        self._requests = Requests(
            provider=provider,
            teller=self._teller,
            compactor=Compactor(conversation, compaction or CompactionSettings()),
            allowance=self._allowance,
            system=system,
            tools=self.specs,
            guardrails=GuardrailChain(guardrails),
            hooks=self._hooks,
            cut_wait_s=cut_wait_s,
        )
        self._steps = Steps(
            rounds=rounds,
            tools=tools,
            teller=self._teller,
            allowance=self._allowance,
            provider=lambda: self._requests.provider,
            queue=queue or MessageQueue(),
            schema=schema,
            hooks=self._hooks,
            attach=attach,
            paused=dict(known or {}),
        )

    @property
    def provider(self) -> Provider:
        """The model that is asked; may be replaced between turns."""
        return self._requests.provider

    @provider.setter
    def provider(self, provider: Provider) -> None:
        self._requests.provider = provider
        self._requests.compactor.fruitless = 0

    @property
    def history(self) -> Messages:
        """The conversation so far, as recorded."""
        return self._teller.conversation.messages

    @history.setter
    def history(self, messages: Sequence[UserMessage | AssistantMessage]) -> None:
        self._teller.conversation.replace(messages)
        self._requests.compactor.fruitless = 0

    @property
    def journal(self) -> Journal:
        """Where turns are written down; may be replaced between turns."""
        return self._teller.journal

    @journal.setter
    def journal(self, journal: Journal) -> None:
        self._teller.journal = journal

    @property
    def queue(self) -> MessageQueue:
        """What was typed while a turn runs."""
        return self._steps.queue

    @property
    def summaries(self) -> Mapping[str, str]:
        """What stands for each call's result once the context is compacted."""
        return self._teller.conversation.summaries

    @property
    def limits(self) -> Limits:
        """The caps of a turn; may be replaced between turns."""
        return self._allowance.limits

    @limits.setter
    def limits(self, limits: Limits) -> None:
        self._allowance.limits = limits
        self._allowance.start()

    @property
    def system(self) -> str:
        """The system prompt; the same bytes for the whole session."""
        return self._requests.system

    @property
    def spending(self) -> Spending:
        """What all requests have used so far, those of sub-agents included."""
        return self._allowance.spending

    @property
    def call_ids(self) -> set[str]:
        """The id of every call so far, those of sub-agents included."""
        return self._teller.conversation.call_ids

    @property
    def open_calls(self) -> Sequence[str]:
        """The ids of the last reply's calls that have no results yet."""
        return [use.id for use in self._teller.conversation.open_uses()]

    @property
    def usage(self) -> TokenUsage:
        """Tokens of all requests of the session so far, those of earlier runs included: the caps count this run's."""
        return self._spent_before.usage + self._allowance.spending.usage

    @property
    def cost_usd(self) -> float | None:
        """Price of all requests of the session so far in USD, None when a price is not known."""
        before, since = self._spent_before.usd, self._allowance.spending.usd
        return None if before is None or since is None else before + since

    @property
    def context_tokens(self) -> int:
        """How many tokens the next request holds, partly estimated; 0 before the tools of an empty one are loaded."""
        if self._late is not None and not self._late.is_ready and not self.history:
            return 0
        return self._teller.conversation.used_tokens(self.system, self.specs())

    @property
    def effort(self) -> Effort:
        """How much the model thinks, from the next request on; "" leaves it to the model."""
        return self._allowance.limits.effort

    @effort.setter
    def effort(self, effort: Effort) -> None:
        self._allowance.limits = replace(self._allowance.limits, effort=effort)

    def context_shares(self) -> Sequence[ContextShare]:
        """Split what the next request holds by category; estimates."""
        environment = [
            block.text
            for message in self.history[:1]
            for block in message.content
            if isinstance(block, TextBlock) and block.text.startswith(ENVIRONMENT_OPEN)
        ]
        return context_shares(
            system=self.system, tools=self.specs(), messages=self.history, environment="".join(environment)
        )

    async def count_tokens(self) -> int | None:
        """Let the server count the next request; None where it cannot. Raises ProviderError."""
        return await self._requests.count_tokens()

    @property
    def running(self) -> bool:
        """Whether a turn is going on."""
        return self._turn is not None

    def specs(self) -> Sequence[ToolSpec]:
        """Describe the tools as the model is told of them."""
        specs, schema = tuple(self._steps.tools.specs()), self._steps.schema
        return specs if schema is None else (*specs, respond_spec(schema))

    async def run(
        self,
        prompt: str,
        *,
        images: Sequence[ImageBlock] = (),
        shown: str | None = None,
        own_words: str | None = None,
    ) -> TurnResult:
        """Run one turn to its end. Errors of the model and of the disk end the turn, they are not raised.

        A prompt that a command made is recorded as `shown`, what was typed; of it `own_words` may point at files.
        """

        async def begin(turn: Turn) -> TurnStop | None:
            await self._accept(turn, prompt, images, own_words=own_words)
            return None

        words = _sendable(prompt if shown is None else shown)
        return await self._play(begin, prompt=words, typed=as_typed(words) if shown is None else words)

    async def redrive(self) -> TurnResult:
        """Go on with a turn that waits for approvals: its open calls are asked for again.

        Without an open call it only asks the model to go on.
        """

        async def begin(turn: Turn) -> TurnStop | None:
            await turn.switch.run(self._hooks.ready)
            uses = self._teller.conversation.open_uses()
            return await self._steps.resume(turn, uses) if uses else None

        return await self._play(begin)

    def cancel(self) -> None:
        """Stop the running turn: `run` then returns with stop_reason "cancelled". Without a turn it does nothing."""
        if self._turn is None:
            return
        self._turn.switch.press()
        if self._steps.in_round:
            self._steps.rounds.cancel()

    def absorb(self, result: TurnResult) -> None:
        """Count what a sub-agent of the running turn has used; the session's totals hold it already."""
        if self._turn is not None:
            self._turn.spent(result.usage, result.cost_usd)
            self._turn.denied_unasked += result.denied_unasked

    async def compact(self, focus: str = "", *, summary: str = "") -> CompactionReport:
        """Replace older messages by a summary, by the model or the one given. Raises AgentTuiError while a turn runs."""
        turn = self._open()
        try:
            return await self._requests.compact(turn, focus=focus, by_hand=True, summary=summary)
        except TurnStopped:
            used = self.context_tokens
            return CompactionReport(used, used, problem="Stopped; the conversation stays as it was.")
        finally:
            self._turn = None

    async def put_summary(self, summary: str, part: Part) -> CompactionReport:
        """Put a summary in the place of a part of the history. Raises AgentTuiError while a turn runs."""
        turn = self._open()
        try:
            return await self._requests.put_summary(turn, summary, part)
        finally:
            self._turn = None

    async def draft_summary(self, focus: str = "", part: Part | None = None) -> Summarized:
        """Let the model write the summary that `compact`, or `put_summary`, would put in, without putting it in.

        Raises AgentTuiError while a turn runs.
        """
        turn = self._open()
        try:
            return await self._requests.draft(turn, focus, part)
        except TurnStopped:
            return Summarized(problem="Stopped; the conversation stays as it was.")
        finally:
            self._turn = None

    async def pin(self, text: str) -> None:
        """Tell the model `text` with the next message, in a message that compaction keeps.

        Raises AgentTuiError while a turn runs or calls wait for an answer, or when it cannot be written down.
        """
        if self._turn is not None:
            raise AgentTuiError("A turn is running; what is pinned goes between two turns.")
        if self.open_calls:  # their results must come next
            raise AgentTuiError("Calls wait for an answer: /pending asks about them; pin it after that.")
        message = UserMessage(content=(TextBlock(text=note(text)),), pinned=True)
        await self._teller.journal.user_message(message, turn_id="", text="")
        self._teller.conversation.append(message)

    async def aside(self, question: str) -> str:
        """Answer a question beside the conversation, also while a turn runs; nothing of it is recorded.

        The model sees the conversation so far but is asked to use no tool. Raises ProviderError.
        """
        return await self._requests.aside(question)

    def _open(self) -> Turn:
        if self._turn is not None:
            raise AgentTuiError("A turn is running already; wait for its end or stop it first.")
        self._turn = Turn(
            turn_id=uuid.uuid4().hex[:12],
            guard=LoopGuard(repeats=self.limits.loop_repeats),
            rounds_allowed=self.limits.max_rounds,
        )
        return self._turn

    async def _play(
        self, begin: Callable[[Turn], Awaitable[TurnStop | None]], *, prompt: str = "", typed: str = ""
    ) -> TurnResult:
        turn = self._open()
        turn.prompt, turn.typed = prompt, "" if self._teller.origin else typed
        self.last_error = None
        try:
            try:
                if self._late is not None:
                    await turn.switch.run(self._late.get_ready)
                stop = await begin(turn) or await self._drive(turn)
                return await self._finish(turn, stop)
            except TurnStopped:
                return await self._stopped(turn)
            except (AgentTuiError, OSError) as error:
                return await self._fail(turn, error)
            except Exception:  # a bug may cost the turn, not the words
                await self._return_unsent(turn)
                raise
        finally:
            self._turn = None
            if self._reminded is not None and turn.prompt_at is not None and not turn.returned:
                self._reminded()

    async def _accept(
        self, turn: Turn, prompt: str, images: Sequence[ImageBlock], *, own_words: str | None
    ) -> None:
        text = _sendable(prompt)
        said = await turn.switch.run(partial(self._hooks.prompt, text))
        if said.block:
            raise AgentTuiError(f"The prompt was not sent, blocked by a hook: {said.block}")
        if uses := self._teller.conversation.open_uses():
            await self._steps.give_up(turn, uses)
        content: list[UserBlock] = []
        if not self.history:
            async with turn.switch.droppable():
                environment = await self._environment()
            if environment:
                content.append(TextBlock(text=environment))
        content.extend(TextBlock(text=note(text)) for text in self._reminders())
        if said.context:
            content.append(TextBlock(text=hook_note(said.context)))
        async with turn.switch.droppable():
            content.extend(await self._steps.attach(text if own_words is None else own_words))
        content.extend(images)
        content.append(TextBlock(text=text))
        await self._teller.said(turn, UserMessage(content=tuple(content)), turn.prompt)
        turn.prompt_at = len(self.history) - 1
        self.queue.recorded()

    async def _drive(self, turn: Turn) -> TurnStop:
        while True:
            turn.switch.check()
            stop = await self._allowance.reached(turn, self.provider.info)
            if stop is not None:
                return stop
            reply = await self._requests.reply(turn)
            stop = await self._steps.take(turn, reply)
            if stop is not None:
                return stop

    async def _finish(self, turn: Turn, stop: TurnStop) -> TurnResult:
        await self._teller.journal.turn_finished(turn_id=turn.turn_id, stop_reason=stop)
        await self._teller.sink(
            TurnFinished(
                turn_id=turn.turn_id,
                origin=self._teller.origin,
                stop_reason=stop,
                usage=turn.usage,
                cost_usd=turn.cost_usd,
                elapsed_s=turn.elapsed_s,
            )
        )
        return turn.result(stop)

    async def _stopped(self, turn: Turn) -> TurnResult:
        returned = turn.requests <= 1 and self._forget_prompt(turn)
        unsent = await self._return_unsent(turn)
        if returned or turn.messages:  # else nothing was written down that could have an end
            await self._teller.journal.turn_finished(
                turn_id=turn.turn_id, stop_reason=PROMPT_RETURNED if returned else "cancelled"
            )
        await self._teller.sink(
            TurnCancelled(
                turn_id=turn.turn_id,
                origin=self._teller.origin,
                usage=turn.usage,
                prompt_returned=returned,
                returned=turn.typed if returned else "",
            )
        )
        return turn.result("cancelled", prompt_returned=returned or unsent)

    async def _fail(self, turn: Turn, error: AgentTuiError | OSError) -> TurnResult:
        self.last_error = error
        # a prompt that the server refuses would make it refuse every later turn
        poisoned = isinstance(error, BadResponse) and self._forget_prompt(turn)
        returned = poisoned or (bool(turn.prompt) and turn.prompt_at is None)
        await self._teller.sink(
            TurnFailed(
                turn_id=turn.turn_id,
                origin=self._teller.origin,
                error=str(error),
                usage=turn.usage,
                prompt_returned=returned,
                returned=turn.typed if returned else "",
            )
        )
        try:
            await self._teller.journal.turn_finished(
                turn_id=turn.turn_id, stop_reason=PROMPT_RETURNED if poisoned else "failed"
            )
        except (AgentTuiError, OSError) as second:
            await self._teller.notice(turn, f"The session could not be written: {second}")
        return turn.result("failed", error=str(error), prompt_returned=returned)

    async def _return_unsent(self, turn: Turn) -> bool:
        """Give the person's prompt back when it was not written down; tell whether it was so."""
        unsent = bool(turn.typed) and turn.prompt_at is None
        if unsent:
            await self._teller.notice(turn, "Your message was not sent.", returned=turn.typed)
        return unsent

    def _forget_prompt(self, turn: Turn) -> bool:
        """Take the turn's prompt out of the conversation; False when there is none or something came of it."""
        if turn.prompt_at is None or turn.began or turn.prompt_at != len(self.history) - 1:
            return False
        self._teller.conversation.cut_to(turn.prompt_at)
        turn.messages.pop()
        turn.returned = True
        return True


def _sendable(text: str) -> str:
    """Give text without lone surrogates, which can go to no server."""
    return text.encode("utf-8", "replace").decode("utf-8")
