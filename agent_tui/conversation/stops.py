"""Lets the person's stop reach what comes before a turn: until then no turn is there that could be stopped."""

from collections.abc import Generator
from contextlib import contextmanager

from agent_tui.agent.stop import StopSwitch
from agent_tui.protocol.events import EventSink, Notice, TurnCancelled, TurnFailed
from agent_tui.protocol.tools import TurnResult


class Stops:
    """The switches of what is about to begin a turn. `tell` hears what was not sent."""

    def __init__(self, tell: EventSink) -> None:
        self._tell = tell
        self._open: list[StopSwitch] = []

    @contextmanager
    def watched(self) -> Generator[StopSwitch]:
        """Give a switch that every stop presses from now on; who asks it last must begin the turn without a wait."""
        switch = StopSwitch()
        self._open.append(switch)
        try:
            yield switch
        finally:
            self._open.remove(switch)

    def press(self) -> None:
        """Stop what is about to begin a turn. Without any it does nothing."""
        for switch in self._open:
            switch.press()

    async def not_sent(self, typed: str) -> TurnResult:
        """Tell that a turn was stopped before it began, and give `typed` back; "" is none."""
        if typed:
            await self._tell(
                Notice(turn_id="", level="warning", text="Your message was not sent.", returned=typed)
            )
        await self._tell(TurnCancelled(turn_id=""))
        return TurnResult(stop_reason="cancelled")

    async def failed(self, typed: str, why: str) -> TurnResult:
        """Tell why a turn could not begin, and give `typed` back."""
        problem = f"{typed} was not sent: {why}"
        await self._tell(TurnFailed(turn_id="", error=problem, returned=typed))
        return TurnResult(stop_reason="failed", error=problem)
