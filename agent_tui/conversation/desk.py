"""Who listens to a conversation and who answers its questions at the moment."""

import logging
from collections.abc import Callable, Mapping, Sequence

from agent_tui.headless.approver import NobodyApprover
from agent_tui.protocol.events import (
    Event,
    EventSink,
    Notice,
    TextDelta,
    ThinkingDelta,
    ToolOutput,
    TurnStarted,
)
from agent_tui.protocol.permissions import Approver, PermissionRequest, Verdict
from agent_tui.toolkit.context import Ask, Question, QuestionOption

_LOG = logging.getLogger("agent_tui.events")


class Desk:
    """Who listens and who answers at the moment; `turn_id` is the last turn that began."""

    def __init__(self) -> None:
        self.sink: EventSink = _nobody
        self.approver: Approver = NobodyApprover()
        self.ask: Ask | None = None
        self.overhear: Callable[[Event], None] = _ignored
        self.turn_id = ""
        self.waits: Callable[[Sequence[PermissionRequest]], None] = _nobody_waits

    async def tell(self, event: Event) -> None:
        """Pass an event on to whoever listens now."""
        if isinstance(event, TurnStarted) and not event.origin:
            self.turn_id = event.turn_id
        if _LOG.isEnabledFor(logging.DEBUG) and not isinstance(event, TextDelta | ThinkingDelta | ToolOutput):
            _LOG.debug("%s", event.model_dump_json())
        await self.sink(event)
        self.overhear(event)

    async def warn(self, text: str) -> None:
        """Tell the person something about the running turn."""
        await self.tell(Notice(turn_id=self.turn_id, text=text))

    async def review(self, requests: Sequence[PermissionRequest]) -> Mapping[str, Verdict]:
        """Pass a review on to whoever answers now."""
        if self.ask is not None:
            self.waits(requests)
        return await self.approver.review(requests)

    async def ask_continue(self, why: str) -> bool:
        """Ask whether a turn that reached a limit goes on; with nobody to ask it does not."""
        if self.ask is None:
            await self.tell(Notice(turn_id=self.turn_id, text=why))
            return False
        options = (QuestionOption(label="Go on"), QuestionOption(label="Stop here"))
        answers = await self.ask([Question(question=f"{why} Go on?", header="Limit", options=options)])
        return bool(answers) and list(answers[0]) == ["Go on"]


async def _nobody(_event: Event) -> None:
    """Drop events that nobody listens to."""


def _ignored(_event: Event) -> None:
    """Overhear nothing."""


def _nobody_waits(_requests: Sequence[PermissionRequest]) -> None:
    """Tell nobody."""
