"""Turns that follow each other by themselves: a goal to be reached, a prompt to be repeated."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from agent_tui.protocol.tools import TurnResult

GOAL_ROUNDS = 10
GOAL_MET = "GOAL MET"
GOAL_OUT_OF_REACH = "GOAL OUT OF REACH"
MAX_REPEATS = 100

Tell = Callable[[str], None]
AskOn = Callable[[str], Awaitable[bool]]


class Series(Protocol):
    """Says what to send when a turn has ended. A turn that was stopped or failed ends every series."""

    @property
    def first(self) -> str:
        """The prompt it begins with."""
        ...

    @property
    def about(self) -> str:
        """What goes on, in a few words."""
        ...

    async def following(self, result: TurnResult) -> str | None:
        """Give the next prompt, or None when it is over; it says itself why."""
        ...


class Goal:
    """Keeps the model at work until it says that the goal is met; asks the person after every ten rounds."""

    def __init__(self, goal: str, *, last_reply: Callable[[], str], tell: Tell, ask: AskOn) -> None:
        self.first = (
            f"{goal}\n\nThis is a goal: work until it is met, and check that it is. Only then end your message with "
            f"the line {GOAL_MET}. If it cannot be met, end with the line {GOAL_OUT_OF_REACH} and say why."
        )
        self._goal = goal
        self._last_reply = last_reply
        self._tell = tell
        self._ask = ask
        self._rounds = 1

    @property
    def about(self) -> str:
        return f"goal, round {self._rounds}: {self._goal}"

    async def following(self, result: TurnResult) -> str | None:
        """Read the last line of the reply."""
        if result.stop_reason != "end_turn":
            self._tell("The goal is put down, since the turn did not end by itself. /goal takes up another.")
            return None
        said = _last_line(self._last_reply())
        rounds = f"after {self._rounds} round{'s' if self._rounds > 1 else ''}"
        if said == GOAL_MET:
            self._tell(f"The model says that the goal is met, {rounds}.")
            return None
        if said == GOAL_OUT_OF_REACH:
            self._tell(f"The model says that the goal cannot be met, {rounds}.")
            return None
        if self._rounds % GOAL_ROUNDS == 0 and not await self._ask(
            f"The goal is not met {rounds}. Go on for {GOAL_ROUNDS} more?"
        ):
            self._tell("The goal is put down.")
            return None
        self._rounds += 1
        return (
            f"The goal is not met yet: {self._goal}\nGo on with it. End with the line {GOAL_MET} only when it is met and "
            f"checked, with {GOAL_OUT_OF_REACH} when it cannot be."
        )


class Repeat:
    """Sends one prompt several times, each time when the turn before has ended by itself."""

    def __init__(self, prompt: str, times: int, *, tell: Tell) -> None:
        self.first = prompt
        self._times = times
        self._done = 0
        self._tell = tell

    @property
    def about(self) -> str:
        return f"loop, {self._done + 1} of {self._times}: {self.first}"

    async def following(self, result: TurnResult) -> str | None:
        """Count."""
        self._done += 1
        if result.stop_reason != "end_turn":
            self._tell(f"The loop ends at {self._done} of {self._times}: the turn did not end by itself.")
            return None
        if self._done >= self._times:
            self._tell(f"The loop has run {self._times} times.")
            return None
        return self.first


def _last_line(text: str) -> str:
    """Give the last line without the marks that models put around it."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1].strip("*_`#.! ").upper() if lines else ""
