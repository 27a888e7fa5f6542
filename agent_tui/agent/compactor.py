"""Decides when and how far to compact a conversation, and never does it in a loop."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from agent_tui.agent.compaction import (
    SUMMARY_TOKENS,
    CompactionSettings,
    Summarized,
    fold_results,
    largest,
    shrink_results,
    split,
    summarize,
    with_summary,
)
from agent_tui.agent.conversation import Conversation
from agent_tui.agent.history import Messages
from agent_tui.agent.stop import StopSwitch
from agent_tui.agent.tokens import history_tokens
from agent_tui.protocol.messages import TokenUsage
from agent_tui.protocol.tools import ToolSpec
from agent_tui.providers.base import Provider

MAX_FRUITLESS = 2
_GAIN = 0.9
_FOLD_IS_ENOUGH = 0.8
_OVERFLOW_SHARE = 0.6


Part = tuple[int, int]
"""Messages from an index to before another."""


@dataclass(frozen=True)
class CompactionReport:
    """What a compaction came to. Token counts are estimates; `problem` is for the person, "" when all went well.

    `messages` is None when nothing was changed. `summary` is "" when folding old results was enough.
    """

    tokens_before: int
    tokens_after: int
    summary: str = ""
    problem: str = ""
    messages: Messages | None = None
    usage: TokenUsage = TokenUsage()


@dataclass
class Compactor:
    """Compacts one conversation.

    After two compactions without gain it stops trying by itself, until one asked for by hand gains again.
    """

    conversation: Conversation
    settings: CompactionSettings = field(default_factory=CompactionSettings)
    fruitless: int = 0

    def is_due(self, provider: Provider, system: str, tools: Sequence[ToolSpec]) -> bool:
        """Tell whether to compact before the next request."""
        if not self.settings.auto or self.fruitless >= MAX_FRUITLESS:
            return False
        used = self.conversation.used_tokens(system, tools)
        return self.settings.is_due(used, provider.context_tokens)

    async def compact(
        self,
        provider: Provider,
        system: str,
        tools: Sequence[ToolSpec],
        switch: StopSwitch,
        *,
        focus: str = "",
        by_hand: bool = False,
        overflowed: bool = False,
        summary: str = "",
    ) -> CompactionReport:
        """Make the conversation shorter; the old one stays as it was when that fails.

        `by_hand` always writes a summary; `summary` is one the person edited and is taken as it is. `overflowed`
        says that the server refused the conversation: then the newest results may be cut too. `switch` drops the
        request for the summary. Raises TurnStopped.
        """
        old = self.conversation.messages
        before = self.conversation.used_tokens(system, tools)
        limit = provider.context_tokens
        index = self._split(provider, by_hand=by_hand)
        new = fold_results(old, self.conversation.summaries, before=index)
        asked = Summarized(text=summary)
        if index and (by_hand or self._needs_summary(old, new, index, limit, before, overflowed=overflowed)):
            if not summary:
                async with switch.droppable():
                    asked = await summarize(
                        provider, old[:index], focus=focus, timeout_s=self.settings.summary_timeout_s
                    )
            if asked.text:
                new = with_summary(new, asked.text, before=index)
        if overflowed:
            new = self._shrunk(new, before, before - history_tokens(old), limit)
        after = before - history_tokens(old) + history_tokens(new)
        if new == old:
            return self._nothing_gained(before, asked)
        self.conversation.replace(new)
        problem = self._judge(before, after, by_hand=by_hand) or (
            asked.problem and f"Old results were shortened only: {asked.problem}."
        )
        return CompactionReport(before, after, asked.text, problem, new, asked.usage)

    async def draft(
        self, provider: Provider, switch: StopSwitch, *, focus: str = "", part: Part | None = None
    ) -> Summarized:
        """Write the summary that compacting by hand, or of `part`, would use, and use it not. Raises TurnStopped."""
        start, index = part or (0, self._split(provider, by_hand=True))
        if index <= start:
            return Summarized(problem="There is too little to be summarised.")
        async with switch.droppable():
            drafted = await summarize(
                provider,
                self.conversation.messages[start:index],
                focus=focus,
                timeout_s=self.settings.summary_timeout_s,
            )
        if not drafted.text:
            return replace(drafted, problem=f"There is no summary: {drafted.problem}.")
        return drafted

    def put_summary(
        self, provider: Provider, system: str, tools: Sequence[ToolSpec], summary: str, part: Part
    ) -> CompactionReport:
        """Put a summary in the place of one part of the conversation."""
        start, end = part
        old, before = self.conversation.messages, self.conversation.used_tokens(system, tools)
        new = with_summary(old, summary, start=start, before=end)
        self.conversation.replace(new)
        self.fruitless = 0
        after = before - history_tokens(old) + history_tokens(new)
        return CompactionReport(before, after, summary, messages=new)

    def _split(self, provider: Provider, *, by_hand: bool) -> int:
        """Give the index from which messages stay; by hand a short conversation is shortened too, to its last quarter."""
        messages = self.conversation.messages
        index = split(messages, self.settings.kept(provider.context_tokens))
        return index if index or not by_hand else split(messages, history_tokens(messages) // 4)

    def _needs_summary(
        self, old: Messages, folded: Messages, index: int, limit: int, before: int, *, overflowed: bool
    ) -> bool:
        """Tell whether folding old results was not enough and a summary of what is old would gain something."""
        if history_tokens(folded[:index]) <= SUMMARY_TOKENS:
            return False
        after = before - history_tokens(old) + history_tokens(folded)
        if overflowed:  # the server counts more than we estimate, so only a proportion can be trusted
            return after > before * _OVERFLOW_SHARE
        return not limit or after > self.settings.ceiling(limit) * _FOLD_IS_ENOUGH

    def _shrunk(self, messages: Messages, before: int, overhead: int, limit: int) -> Messages:
        target = int(before * _OVERFLOW_SHARE)
        if limit:
            target = min(target, int(limit * _OVERFLOW_SHARE))
        target -= overhead
        return (
            shrink_results(messages, target_tokens=target) if history_tokens(messages) > target else messages
        )

    def _nothing_gained(self, before: int, asked: Summarized) -> CompactionReport:
        self.fruitless += 1
        why = asked.problem or f"the largest part is {largest(self.conversation.messages)}"
        return CompactionReport(
            before, before, problem=f"The conversation could not be compacted: {why}.", usage=asked.usage
        )

    def _judge(self, before: int, after: int, *, by_hand: bool) -> str:
        if after <= before * _GAIN:
            self.fruitless = 0
            return ""
        if by_hand:
            return ""
        self.fruitless += 1
        if self.fruitless < MAX_FRUITLESS:
            return ""
        return (
            "Compacting gains too little and is not tried again by itself; "
            f"the largest part is {largest(self.conversation.messages)}."
        )
