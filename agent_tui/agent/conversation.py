"""The conversation of one agent: its messages, how full the context is, what its results were summarised to."""

from collections.abc import Mapping, Sequence

from agent_tui.agent.history import Messages, RepairedHistory
from agent_tui.agent.limits import total_tokens
from agent_tui.agent.tokens import message_tokens, text_tokens, tool_tokens
from agent_tui.protocol.messages import (
    AssistantBlock,
    AssistantMessage,
    TokenUsage,
    ToolUseBlock,
    UserMessage,
)
from agent_tui.protocol.tools import ToolCallOutcome, ToolSpec


class Conversation:
    """Messages in order. Only whole messages enter; compaction replaces all of them at once.

    `call_ids` holds every id of a call that was given out; a sub-agent shares it with its main agent, since
    approvals and panels know a call by its id alone.
    """

    def __init__(
        self,
        messages: Sequence[UserMessage | AssistantMessage] = (),
        *,
        summaries: Mapping[str, str] | None = None,
        call_ids: set[str] | None = None,
    ) -> None:
        self._messages: list[UserMessage | AssistantMessage] = list(messages)
        self.summaries: dict[str, str] = dict(summaries or {})
        self._measured_tokens = 0
        self._measured_count = 0
        self.call_ids = set[str]() if call_ids is None else call_ids
        self.call_ids.update(use.id for message in messages for use in uses_of(message))
        self._estimates = [message_tokens(message) for message in messages]
        self._estimate = sum(self._estimates)
        self._repaired: RepairedHistory | None = None

    @property
    def messages(self) -> Messages:
        """The messages so far."""
        return tuple(self._messages)

    def __len__(self) -> int:
        return len(self._messages)

    def append(self, message: UserMessage | AssistantMessage) -> None:
        """Add a message; what the server counted with a reply holds for everything up to it."""
        self._messages.append(message)
        self._estimates.append(message_tokens(message))
        self._estimate += self._estimates[-1]
        self.call_ids.update(use.id for use in uses_of(message))
        if isinstance(message, AssistantMessage) and message.usage != TokenUsage():
            self._measured_tokens, self._measured_count = total_tokens(message.usage), len(self._messages)

    def with_new_ids(self, reply: AssistantMessage) -> AssistantMessage:
        """Give `reply` with ids of calls that never stood in this conversation; most servers send such ids."""
        if not uses_of(reply):
            return reply
        taken = set(self.call_ids)
        content: list[AssistantBlock] = []
        for block in reply.content:
            if isinstance(block, ToolUseBlock):
                unique, number = block.id or "call", 1
                while unique in taken or not unique:
                    number += 1
                    unique = f"{block.id or 'call'}-{number}"
                taken.add(unique)
                block = block if unique == block.id else block.model_copy(update={"id": unique})
            content.append(block)
        new = tuple(content)
        return reply if new == reply.content else reply.model_copy(update={"content": new})

    def replace(self, messages: Sequence[UserMessage | AssistantMessage]) -> None:
        """Put other messages in the place of all of them; what was measured no longer holds."""
        self._messages = list(messages)
        self._reset()

    def cut_to(self, count: int) -> None:
        """Keep the first `count` messages."""
        del self._messages[count:]
        self._reset()

    def _reset(self) -> None:
        self._estimates = [message_tokens(message) for message in self._messages]
        self._estimate = sum(self._estimates)
        self._measured_tokens = self._measured_count = 0
        self._repaired = None

    def repaired(self, provider: str, model: str) -> Messages:
        """Give the messages as this model may see them."""
        if self._repaired is None or self._repaired.signer != (provider, model):
            self._repaired = RepairedHistory(provider, model)
        return self._repaired.of(self._messages)

    def used_tokens(self, system: str, tools: Sequence[ToolSpec]) -> int:
        """Give how many tokens the next request holds: what was measured plus an estimate of what came since.

        Never less than half of an estimate of all: some servers count only what their cache did not hold.
        """
        estimate = text_tokens(system) + sum(tool_tokens(spec) for spec in tools) + self._estimate
        if not self._measured_tokens:
            return estimate
        since = sum(self._estimates[self._measured_count :])
        return max(self._measured_tokens + since, estimate // 2)

    def open_uses(self) -> tuple[ToolUseBlock, ...]:
        """Give the calls of the last message that have no results yet."""
        return uses_of(self._messages[-1]) if self._messages else ()

    def note_outcomes(self, outcomes: Sequence[ToolCallOutcome]) -> None:
        """Keep the summaries that stand for results once the context is compacted."""
        for outcome in outcomes:
            if outcome.summary:
                self.summaries[outcome.tool_use_id] = outcome.summary


def uses_of(message: UserMessage | AssistantMessage) -> tuple[ToolUseBlock, ...]:
    """Give the calls a message asks for."""
    return tuple(block for block in message.content if isinstance(block, ToolUseBlock))
