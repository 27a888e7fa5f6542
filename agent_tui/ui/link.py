"""Connects a core that is ready to the screen: events, approvals, questions."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from agent_tui.protocol.events import ApprovalRequested, Event, TurnStarted
from agent_tui.ui.approver import ScreenApprover
from agent_tui.ui.palette import Palette
from agent_tui.ui.room import Room
from agent_tui.ui.settling import settle
from agent_tui.ui.turn import TurnView
from agent_tui.ui.widgets.activity import waiting_words

if TYPE_CHECKING:
    from agent_tui.toolkit.context import Question
    from agent_tui.ui.app import AgentApp
    from agent_tui.ui.backend import Backend
    from agent_tui.ui.screens.approval.round import Round
    from agent_tui.ui.screens.approval.screen import ApprovalScreen


BREATH_S = 0.002
"""How long events that come all at once may keep the loop from a key, which needs it several times in a row."""


class Link:
    """What the app holds once there is a core. This module and what it needs cost 110 ms, so the app imports
    it after the first paint."""

    def __init__(self, app: AgentApp, backend: Backend) -> None:
        self._app = app
        self.backend = backend
        self.turn = TurnView(app.transcript, app)
        self.approver = ScreenApprover(self)
        self._room = Room(app.transcript)
        self._breathed_s = 0.0
        backend.bind(sink=self.take, approver=self.approver, ask=self.ask)

    async def take(self, event: Event) -> None:
        """Take an event; what a review shows beside its questions goes to the approver."""
        if isinstance(event, ApprovalRequested):
            self.approver.announce(event.order, event.settled)
        await self.turn(event)
        if isinstance(event, TurnStarted):  # what begins, or reaches a turn that runs, waits no longer
            self._app.queue_changed()
        now = time.perf_counter()
        if now - self._breathed_s > BREATH_S:
            self._breathed_s = now
            await asyncio.sleep(0)

    # Questions

    async def ask(self, questions: Sequence[Question]) -> Sequence[Sequence[str]] | None:
        """Ask the person; None when declined, also when the screen is gone."""
        from agent_tui.ui.screens.question import QuestionScreen  # loaded ahead by `ui.ahead`

        answer: asyncio.Future[list[list[str]] | None] = asyncio.get_running_loop().create_future()

        def answered(result: list[list[str]] | None) -> None:
            if not answer.done():
                answer.set_result(result)

        screen = QuestionScreen(
            self._app.keys,
            questions,
            clock=self._app.settings.clock,
            grace_s=self._app.settings.grace_s,
            palette=self._app.palette,
        )
        self._app.push_screen(screen, answered)
        self._app.waits_for_person("A question waits for your answer")
        try:
            return await answer
        finally:
            screen.finish(None)
            self._app.person_answered()

    # Approvals

    def make_round(self) -> Round:
        """Give an empty round that uses the program's clock."""
        from agent_tui.ui.screens.approval.grouping import Grouper
        from agent_tui.ui.screens.approval.round import Round

        settings = self._app.settings
        grouper = Grouper(self.backend.workspace, Path.home(), settings.grants_file)
        return Round(grouper, settings.clock)

    def make_approval(self, round_: Round) -> ApprovalScreen:
        """Give a screen for a round."""
        from agent_tui.ui.screens.approval.screen import ApprovalScreen  # 30 ms, loaded ahead by `ui.ahead`

        settings = self._app.settings
        return ApprovalScreen(
            self._app.keys,
            round_,
            self,
            clock=settings.clock,
            grace_s=settings.grace_s,
            stays_low=settings.low_approvals,
        )

    def open_approval(self, screen: ApprovalScreen) -> None:
        """Put the screen over the conversation."""
        self._app.push_screen(screen)
        self._room.make(screen)
        settle(self._app, screen, beside=self._app.transcript)
        undecided = len(screen.round.undecided())
        self._app.waits_for_person(waiting_words(len(screen.round.rows), undecided))

    def close_approval(self, screen: ApprovalScreen) -> None:
        """Take the screen away, with whatever stands above it."""
        screen.finish(None)
        self._app.release_frames()
        self._room.give_back()
        self._app.person_answered()

    def approval_waits(self, count: int, undecided: int) -> None:
        """Show the banner."""
        self._app.show_banner(count, undecided)
        if count:
            self._app.attention(waiting_words(count, undecided))

    def is_typing(self) -> bool:
        """Tell whether the person writes right now."""
        return self._app.presses.is_typing()

    def when_typing_stops(self, then: Callable[[], None]) -> None:
        """Call back once no key came for a while."""
        self._app.presses.when_typing_stops(then)

    def lower_approval(self) -> None:
        """Keep the round pending behind the banner."""
        self.approver.lower()

    def just_focused(self) -> bool:
        """Tell whether the terminal got its focus a moment ago."""
        return self._app.just_focused()

    def edit_outside(self, text: str, say: Callable[[str], None]) -> str | None:
        """Let the person's own editor change a text; None when it could not, which `say` is told."""
        return self._app.actions.edit_outside(text, say=say)

    def palette_now(self) -> Palette:
        """Give the colours in force."""
        return self._app.palette
