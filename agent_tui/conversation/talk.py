"""What the person does with the context of the open session, on behalf of the interface."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from agent_tui.agent.compactor import Part
from agent_tui.agent.loop import Agent
from agent_tui.agent.notes import CLOSE, OPEN
from agent_tui.protocol.errors import AgentTuiError, NothingThereError
from agent_tui.protocol.messages import AssistantMessage, TextBlock, UserMessage
from agent_tui.protocol.near_names import did_you_mean
from agent_tui.sessions.frames import active_path
from agent_tui.sessions.store import Session
from agent_tui.ui.talk import EFFORTS, DraftView, ShareView, Side

COMPACTION_UNDONE = "compaction undone"
_PIN = "The person wants you to keep this in mind: "
_COUNT_S = 5
_QUIET = frozenset({"checkpoint", "todo"})


class SessionTalk:
    """Implements `ui.talk.Talk`. `reload` reads the session anew and gives the model a note."""

    def __init__(
        self,
        *,
        agent: Callable[[], Agent],
        record: Callable[[], Session],
        reload: Callable[[str], Awaitable[None]],
    ) -> None:
        self._agent = agent
        self._record = record
        self._reload = reload

    @property
    def effort(self) -> str:
        return self._agent().effort

    def set_effort(self, effort: str) -> str:
        if effort not in EFFORTS:
            return f"There is no effort {effort!r}{did_you_mean(effort, EFFORTS[1:], end='.')}"
        agent = self._agent()
        agent.effort = effort
        thinks = agent.provider.info.thinks
        unknown = "" if thinks else f" It is not known that {agent.provider.model} thinks."
        return f"The effort is {effort or 'the model’s own'} from the next request on.{unknown}"

    def shares(self) -> Sequence[ShareView]:
        return [ShareView(share.category, share.tokens) for share in self._agent().context_shares()]

    async def count(self) -> str:
        try:
            async with asyncio.timeout(_COUNT_S):
                tokens = await self._agent().count_tokens()
        except TimeoutError:
            return f"no answer within {_COUNT_S} s"
        except AgentTuiError as error:
            return f"failed: {error}"
        return "" if tokens is None else f"{tokens:,} tokens in the next request"

    def last_reply(self) -> str:
        for message in reversed(self._agent().history):
            if isinstance(message, AssistantMessage):
                return "".join(block.text for block in message.content if isinstance(block, TextBlock))
        return ""

    async def aside(self, question: str) -> str:
        return await self._agent().aside(question) or "(no answer)"

    async def draft(self, focus: str) -> DraftView:
        drafted = await self._agent().draft_summary(focus)
        return DraftView(drafted.text, drafted.problem)

    async def compact(self, summary: str) -> str:
        report = await self._agent().compact(summary=summary)
        sizes = f"about {report.tokens_before:,} tokens before, {report.tokens_after:,} now"
        return report.problem or f"Compacted: {sizes}. /compact undo takes it back."

    async def draft_part(self, entry_id: str, side: Side) -> DraftView:
        part = await asyncio.to_thread(self._part, entry_id, side)
        drafted = await self._agent().draft_summary(part=part)
        return DraftView(drafted.text, drafted.problem)

    async def compact_part(self, entry_id: str, side: Side, summary: str) -> str:
        part = await asyncio.to_thread(self._part, entry_id, side)
        report = await self._agent().put_summary(summary, part)
        what = "that prompt and what followed" if side == "from" else "what was said before that prompt"
        return (
            f"A summary stands in the place of {what}: about {report.tokens_before:,} tokens before, "
            f"{report.tokens_after:,} now. /compact undo takes it back."
        )

    def _part(self, entry_id: str, side: Side) -> Part:
        """Find the messages that are meant. Raises AgentTuiError when they are not there any more."""
        record, history = self._record(), self._agent().history
        path = active_path(record.records())
        at = next((i for i, entry in enumerate(path) if entry.get("id") == entry_id), None)
        if at is None:
            raise AgentTuiError("This prompt is on another branch; /tree goes there.")
        if any(entry.get("type") == "compacted" for entry in path[at:]):
            raise AgentTuiError("The conversation was summarised since this prompt; choose a later one.")
        start = len(record.messages_at(str(path[at].get("parent", ""))))
        if start > len(history):
            raise AgentTuiError("The conversation changed in this moment; try again.")
        if side == "before" and start == 0:
            raise NothingThereError("Nothing was said before this prompt.")
        return (start, len(history)) if side == "from" else (0, start)

    async def undo_compaction(self) -> str:
        if self._agent().running:
            raise AgentTuiError("A turn is running; stop it or wait for its end.")
        record = self._record()
        records = await asyncio.to_thread(record.records)
        path = [entry for entry in active_path(records) if "parent" in entry]
        while path and path[-1].get("type") in _QUIET:
            path.pop()
        if not path or path[-1].get("type") != "compacted":
            went_on = any(entry.get("type") == "compacted" for entry in path)
            hint = " The conversation went on since then; /rewind goes back further." if went_on else ""
            return f"There is no compaction to take back.{hint}"
        await record.move_to(str(path[-1]["parent"]), why=COMPACTION_UNDONE)
        await self._reload("")
        return "The compaction is taken back; the whole conversation is there again."

    async def pin(self, text: str) -> str:
        await self._agent().pin(f"{_PIN}{text}")
        return "Pinned: it goes with the next message and stays through every compaction."

    def pins(self) -> Sequence[str]:
        return [
            block.text.removeprefix(OPEN).removeprefix(_PIN).removesuffix(CLOSE)
            for message in self._agent().history
            if isinstance(message, UserMessage) and message.pinned
            for block in message.content
            if isinstance(block, TextBlock)
        ]
