"""Runs sub-agents: a conversation of its own for each, one level deep, at most four at once."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from agent_tui.agent.agent_types import AgentType, tools_of
from agent_tui.agent.guardrails import Guardrail
from agent_tui.agent.limits import total_tokens
from agent_tui.agent.loop import Agent
from agent_tui.agent.prompt import subagent_prompt
from agent_tui.executor.gate import PolicyLike
from agent_tui.executor.hooks import QuestionHooks, ToolHooks
from agent_tui.executor.locks import PathLocks
from agent_tui.executor.prepare import MakeContext
from agent_tui.executor.registry import CompositeSource
from agent_tui.executor.rounds import Rounds
from agent_tui.executor.strategy import ToolRoundExecutor
from agent_tui.protocol.errors import AgentTuiError, ToolError
from agent_tui.protocol.events import EventSink
from agent_tui.protocol.journal import Journal
from agent_tui.protocol.messages import AssistantMessage, TextBlock, ToolUseBlock
from agent_tui.protocol.near_names import did_you_mean
from agent_tui.protocol.permissions import Approver
from agent_tui.protocol.tools import TurnResult
from agent_tui.providers.base import Provider
from agent_tui.toolkit.context import Spawned

MAX_AT_ONCE = 4
MAX_ROUNDS = 50
MAX_ORIGIN_CHARS = 40
_PROBLEMS = {
    "cancelled": "It was stopped by the person.",
    "round_limit": "It reached its limit of rounds.",
    "budget": "It reached the budget of the session.",
    "pending_approvals": "It needs approvals that nobody can give here.",
    "max_tokens": "Its reply was cut: it reached the longest it may write.",
    "refusal": "Its model declined to answer.",
    "context_overflow": "Its conversation no longer fitted the model.",
}


class Transcript(Journal, Protocol):
    """Where the conversation of a sub-agent is kept; `path` is None when it is kept nowhere."""

    @property
    def path(self) -> Path | None: ...

    async def aclose(self) -> None:
        """Write what is left."""
        ...


class Setting(Protocol):
    """What the program provides for the sub-agents of one session."""

    def provider(self, model: str) -> AbstractAsyncContextManager[Provider]:
        """Give a provider for one sub-agent; `model` "" is the main agent's. Entering raises AgentTuiError."""
        ...

    def transcript(self, call_id: str, title: str) -> Transcript:
        """Begin the transcript of the sub-agent that the call `call_id` runs."""
        ...

    def contexts(self) -> MakeContext:
        """Give what makes the contexts of one sub-agent's calls: its own files, shell and todos, no way to spawn."""
        ...


@dataclass(frozen=True)
class Shared:
    """What sub-agents have in common with their main agent. `skills` are (name, description)."""

    tools: CompositeSource
    policy: PolicyLike
    approver: Approver
    sink: EventSink
    locks: PathLocks
    environment: Callable[[], Awaitable[str]]
    reminders: Callable[[], Sequence[str]] = tuple
    hooks: ToolHooks | None = None
    questions: QuestionHooks | None = None
    skills: Sequence[tuple[str, str]] = ()
    guardrails: Sequence[Guardrail] = ()
    executor: ToolRoundExecutor | None = None


class Subagents:
    """The sub-agents of one main agent. Implements `toolkit.context.Spawn`."""

    def __init__(
        self, *, parent: Agent, types: Sequence[AgentType], shared: Shared, setting: Setting
    ) -> None:
        self._parent = parent
        self._types = {kind.name: kind for kind in reversed(types)}
        self._order = tuple(dict.fromkeys(kind.name for kind in types))
        self._shared = shared
        self._setting = setting
        self._room = asyncio.Semaphore(MAX_AT_ONCE)

    def agents(self) -> Sequence[tuple[str, str]]:
        """List (name, description) of the agents there are."""
        return [(name, self._types[name].description) for name in self._order]

    async def __call__(self, *, call_id: str, description: str, prompt: str, agent: str) -> Spawned:
        """Run a sub-agent to its end; when cancelled it stops and what it came to is given. Raises ToolError."""
        kind = self._types.get(agent)
        if kind is None:
            raise ToolError(f"No agent named {agent!r}{did_you_mean(agent, self._order, end='.')}")
        async with self._room, AsyncExitStack() as stack:
            title = f"{kind.name}: {description}"
            transcript = self._setting.transcript(call_id, title)
            stack.push_async_callback(transcript.aclose)
            try:
                provider = await stack.enter_async_context(self._setting.provider(kind.model))
            except AgentTuiError as error:
                raise ToolError(f"The agent {agent!r} has no model: {error}") from error
            child = self._make(kind, call_id, title, transcript, provider)
            result = await _run_to_end(child, prompt)
            self._parent.absorb(result)
            return _spawned(result, transcript)

    def _make(
        self, kind: AgentType, call_id: str, title: str, transcript: Transcript, provider: Provider
    ) -> Agent:
        shared = self._shared
        tools = tools_of(kind, shared.tools)
        rounds = Rounds(
            tools=tools,
            policy=shared.policy,
            approver=shared.approver,
            journal=transcript,
            sink=shared.sink,
            make_context=self._setting.contexts(),
            hooks=shared.hooks,
            questions=shared.questions,
            origin=call_id,
            agent_name=title[:MAX_ORIGIN_CHARS],
            locks=shared.locks,
            executor=shared.executor,
        )
        limits = self._parent.limits
        return Agent(
            provider=provider,
            rounds=rounds,
            tools=tools,
            sink=shared.sink,
            journal=transcript,
            system=subagent_prompt(
                kind.prompt,
                skills=shared.skills if tools.owns("skill") else (),
                may_change=not kind.reads_only,
            ),
            environment=shared.environment,
            guardrails=shared.guardrails,
            limits=replace(limits, max_rounds=min(limits.max_rounds or MAX_ROUNDS, MAX_ROUNDS)),
            session_id=self._parent.session_id,
            origin=call_id,
            reminders=shared.reminders,
            parent=self._parent,
        )


async def _run_to_end(child: Agent, prompt: str) -> TurnResult:
    """Run a turn; a cancellation stops it the way Esc does, so that every call of it is answered."""
    turn = asyncio.create_task(child.run(prompt))  # owned: awaited below whatever happens
    try:
        return await asyncio.shield(turn)
    except asyncio.CancelledError:
        if turn.done():
            raise
        child.cancel()
        return await turn  # a second cancellation reaches the turn itself


def _spawned(result: TurnResult, transcript: Transcript) -> Spawned:
    problem = result.error or _PROBLEMS.get(result.stop_reason, "")
    return Spawned(
        reply=_last_words(result),
        problem=problem,
        calls=sum(
            isinstance(block, ToolUseBlock) for message in result.messages for block in message.content
        ),
        tokens=total_tokens(result.usage),
        transcript=str(transcript.path or ""),
    )


def _last_words(result: TurnResult) -> str:
    """Give the text of the last reply that has any."""
    for message in reversed(result.messages):
        if isinstance(message, AssistantMessage):
            text = "\n".join(block.text for block in message.content if isinstance(block, TextBlock)).strip()
            if text:
                return text
    return ""
