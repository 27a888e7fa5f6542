"""Lets hooks look at a session: its start and end, its prompts, its turns, and what waits for the person."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Literal

from agent_tui.agent.turn_hooks import CompactionSaid, PromptSaid
from agent_tui.conversation.round_hooks import RoundHooks
from agent_tui.extensions.hooks.bus import Hooks
from agent_tui.extensions.hooks.events import EventName, HookAnswer, HookEvent
from agent_tui.protocol.data import JsonObject
from agent_tui.protocol.permissions import PermissionRequest
from agent_tui.toolkit.context import Question

END_LIMIT_S = 1.5
"""How long the hooks of session_end may take together: leaving the program must not wait for more."""

Source = Literal["new", "resume"]
End = Literal["leave", "switch"]


class SessionHooks:
    """Implements `agent.turn_hooks.TurnHooks` for the open session, and tells of what happens around its turns.

    `session_id` gives the open session's; `tell` takes what the model is to know with the next prompt.
    """

    def __init__(
        self,
        hooks: Hooks,
        rounds: RoundHooks,
        *,
        session_id: Callable[[], str],
        tell: Callable[[str], None],
    ) -> None:
        self._hooks = hooks
        self._rounds = rounds
        self._session_id = session_id
        self._tell = tell
        self.end_limit_s = END_LIMIT_S
        self._starting: asyncio.Task[None] | None = None
        self._notes: set[asyncio.Task[HookAnswer]] = set()

    # Turns

    async def prompt(self, text: str) -> PromptSaid:
        """Pass what the person wrote through the hooks of user_prompt, once those of session_start have answered."""
        await self.ready()
        said = await self._fire(EventName.USER_PROMPT, {"prompt": text})
        return PromptSaid(block=said.reason if said.decision == "deny" else "", context=said.context)

    async def stopping(self, reply: str, *, times: int) -> str:
        """Ask the hooks of stop whether the turn may end."""
        said = await self._fire(
            EventName.STOP, {"reply": reply, "stop_hook_active": times > 0, "times": times}
        )
        return said.reason if said.decision == "deny" else ""

    async def compacting(self, *, by_hand: bool) -> CompactionSaid:
        """Ask the hooks of compaction."""
        said = await self._fire(EventName.COMPACTION, {"trigger": "manual" if by_hand else "auto"})
        return CompactionSaid(block=said.reason if said.decision == "deny" else "", focus=said.context)

    def halted(self) -> str:
        """Give, once, why a hook wants the turn to end."""
        return self._rounds.halted()

    # The session

    def begin(self, source: Source) -> None:
        """Tell that a session is open, beside whatever goes on; `ready` waits for the answers."""
        if self._hooks.any(EventName.SESSION_START):
            self._starting = asyncio.create_task(self._begin(source))  # owned: `ready` and `aclose` await it

    async def _begin(self, source: Source) -> None:
        said = await self._fire(EventName.SESSION_START, {"source": source})
        if said.context:
            self._tell(said.context)

    async def ready(self) -> None:
        """Wait until the hooks of session_start have answered: the first prompt carries what they add."""
        starting = self._starting
        if starting is None:
            return
        await asyncio.wait({starting})  # a turn that is stopped meanwhile must not end them
        self._starting = None
        if not starting.cancelled():
            starting.result()

    async def end(self, reason: End) -> None:
        """Tell that the session closes; what takes longer than 1.5 s is killed."""
        for task in [*self._notes, *([self._starting] if self._starting else [])]:
            task.cancel()
            await asyncio.wait({task})
        self._starting = None
        if self._hooks.any(EventName.SESSION_END):
            try:
                async with asyncio.timeout(self.end_limit_s):
                    await self._fire(EventName.SESSION_END, {"reason": reason})
            except TimeoutError:
                pass

    # What waits for the person

    def approval_waits(self, requests: Sequence[PermissionRequest]) -> None:
        """Tell that calls wait for the person's decision."""
        count = len(requests)
        words = "1 call waits for your decision" if count == 1 else f"{count} calls wait for your decision"
        self._note("approval", words)

    def question_waits(self, questions: Sequence[Question]) -> None:
        """Tell that a question waits for the person."""
        self._note("question", questions[0].question if questions else "A question waits for your answer")

    def _note(self, kind: str, message: str) -> None:
        if not self._hooks.any(EventName.NOTIFICATION):
            return
        work = self._fire(EventName.NOTIFICATION, {"notification_type": kind, "message": message})
        task = asyncio.create_task(work)  # owned: `end` ends what still runs
        self._notes.add(task)
        task.add_done_callback(self._notes.discard)

    async def _fire(self, name: EventName, facts: JsonObject) -> HookAnswer:
        if not self._hooks.any(name):
            return HookAnswer()
        return await self._hooks.fire(HookEvent(name, {"session_id": self._session_id(), **facts}))
