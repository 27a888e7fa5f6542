"""Runs turns one after the other: sends, queues, steers, stops."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from agent_tui.protocol.slash_line import as_typed
from agent_tui.ui.backend import Backend
from agent_tui.ui.commands.registry import Command, Level

if TYPE_CHECKING:
    from agent_tui.protocol.tools import TurnResult
    from agent_tui.ui.series import Series


class DriverHost(Protocol):
    """What the driver needs of the program."""

    def run_turn_in_worker(self, work: Callable[[], Awaitable[None]]) -> None: ...

    def notice(self, level: Level, text: str) -> None: ...

    def give_back(self, prompt: str) -> None:
        """Put what was typed and not sent back, unless something else was written meanwhile."""
        ...

    def turn_began(self) -> None: ...

    def turn_over(self) -> None: ...

    def queue_changed(self) -> None: ...

    def run_command(self, command: Command, args: str) -> None: ...

    def report_bug(self, error: Exception) -> None:
        """Write a traceback to the log and say one line on screen."""
        ...


class TurnDriver:
    """Keeps at most one turn running. What is sent meanwhile waits in the core's queue, commands wait here.

    A command that changes the conversation holds it: what is sent or begun before it is over waits here too.
    """

    def __init__(self, host: DriverHost) -> None:
        self._host = host
        self._backend: Backend | None = None
        self._early: list[str] = []
        self._catching_up = False
        self._waiting: list[tuple[Command | None, str]] = []  # without a command it is a message
        self._begun: list[tuple[Callable[[], Awaitable[TurnResult]] | None, str]] = []
        self._holds = 0
        self._stopping = False
        self.series: Series | None = None
        self._series_said = ""
        self.busy = False

    def use(self, backend: Backend) -> None:
        """Begin with a core that is ready; `catch_up` does what was written before it was."""
        self._backend = backend

    @property
    def is_ready(self) -> bool:
        """Whether there is a core to send to."""
        return self._backend is not None

    def wait_for_core(self, typed: str) -> None:
        """Keep a line as it was typed, a message or a command, until `catch_up`."""
        self._early.append(typed)
        self._host.queue_changed()

    def catch_up(self, submit: Callable[[str], None]) -> None:
        """Submit what was written before the core was there, in its order."""
        early, self._early = self._early, []
        self._catching_up = True
        for typed in early:
            submit(typed)
        self._catching_up = False

    @property
    def early(self) -> Sequence[str]:
        """What was typed and sent before the core was there and waits for it, oldest first."""
        return self._early

    @property
    def stopping(self) -> bool:
        """Whether the running turn was told to stop."""
        return self._stopping

    @property
    def is_taken(self) -> bool:
        """Whether a turn runs, or a command that changes the conversation."""
        return self.busy or self._holds > 0

    def hold_for(self, command: Command) -> Callable[[], None] | None:
        """Let nothing begin before what is given is called: the command changes the conversation; None for any other.

        While `catch_up` submits, each built-in one counts: the model it chooses answers the message behind it.
        """
        if command.while_busy and not (self._catching_up and command.source == "built in"):
            return None
        self._holds += 1
        return self.release

    def release(self) -> None:
        """A command is over: go on with what came meanwhile."""
        self._holds -= 1
        self._go_on()

    def queued(self) -> list[tuple[str, bool]]:
        """List what waits, oldest first, as (text, after_turn)."""
        if self._backend is None:
            return [(text, False) for text in self._early]
        return [*self._backend.queued(), *((_shown(*one), True) for one in self._waiting)]

    def _keep_waiting(self) -> None:
        if self._backend is not None:
            self._backend.keep_commands([_typed(*one) for one in self._waiting])

    def take_back(self, index: int = -1) -> str | None:
        """Remove what stands at `index` of `queued`, the newest by default, and give it as a person types it."""
        count = len(self.queued())
        at = index + count if index < 0 else index
        if not 0 <= at < count:
            return None
        if self._backend is None:
            return self._early.pop(at)
        first_command = count - len(self._waiting)
        if at >= first_command:
            taken = self._waiting.pop(at - first_command)
            self._keep_waiting()
            return _typed(*taken)
        text = self._backend.take_back(at)
        return None if text is None else _typed(None, text)

    def send(self, text: str, *, after_turn: bool = False) -> None:
        """Start a turn with `text`, or queue it."""
        if self._backend is None:
            self._early.append(as_typed(text))
        elif self._holds:
            self._waiting.append((None, text))
            self._keep_waiting()
        elif not self.busy:
            self._start(text)
            return
        elif after_turn:
            self._backend.follow_up(text)
        else:
            self._backend.steer(text)
        self._host.queue_changed()

    def redrive(self) -> None:
        """Go on with the turn that waits for approvals, unless one runs."""
        if self._holds:
            self._begun.append((None, ""))
        elif not self.busy:
            self._start(None)

    def begin(self, command: Command, args: str, work: Callable[[], Awaitable[TurnResult]]) -> None:
        """Start a turn that a command begins, or let the command wait for the end of the one that runs."""
        if self.busy or self._backend is None:
            self.after_turn(command, args)
        elif self._holds:
            self._begun.append((work, _typed(command, args)))
        else:
            self._start(None, work, _typed(command, args))

    def pursue(self, series: Series | None) -> None:
        """Begin a series of turns in the place of another, or end it with None; a turn that runs goes on."""
        self.series = series
        if series is not None:
            self._series_said = series.first
            self.send(series.first, after_turn=True)

    def is_of_series(self, typed: str) -> bool:
        """Whether words that come back are those that the series that runs sent, not the person's own."""
        return self.series is not None and typed == _typed(None, self._series_said)

    def after_turn(self, command: Command, args: str) -> None:
        """Run a command once no turn runs."""
        self._waiting.append((command, args))
        self._keep_waiting()
        self._host.queue_changed()

    def stop(self) -> None:
        """Stop the running turn, which ends with every call answered, or the summary that is being written."""
        if self._backend is not None and self.is_taken:
            self._stopping = self.busy
            self._backend.cancel_turn()

    def _start(
        self, text: str | None, work: Callable[[], Awaitable[TurnResult]] | None = None, typed: str = ""
    ) -> None:
        self.busy, self._stopping = True, False
        self._host.turn_began()
        self._host.queue_changed()
        self._host.run_turn_in_worker(
            lambda: self._run(text, work, typed if text is None else _typed(None, text))
        )

    async def _run(
        self, text: str | None, work: Callable[[], Awaitable[TurnResult]] | None, typed: str
    ) -> None:
        backend = self._backend
        assert backend is not None  # a turn starts only with a core
        following = text
        try:
            if self._stopping:  # before there was a turn that the core could stop
                self._host.notice("info", "Stopped.")
                if typed:
                    self._host.give_back(typed)
                self.series = following = None
            elif following is None:
                await (work or backend.redrive)()
                following = None if self._waiting else backend.next_follow_up()
            while following is not None:
                series = self.series
                result = await backend.run_turn(following)
                following = None if self._waiting else backend.next_follow_up()
                if following is None:
                    following = await self._next_of(series, result)
                self._stopping = False
                self._host.queue_changed()
        except (
            Exception
        ) as error:  # the core promised not to raise: this is a bug, and one turn is all it may cost
            self.series = None
            self._host.report_bug(error)
        finally:
            self.busy, self._stopping = False, False
            self._host.turn_over()
        self._go_on()

    async def _next_of(self, series: Series | None, result: TurnResult) -> str | None:
        """Ask the series what comes next; one that began during the turn sends its first prompt itself."""
        if series is None or series is not self.series:
            return None
        following = await series.following(result)
        if self.series is not series:
            return None
        if following is None:
            self.series = None
            return None
        self._series_said = following
        if self._waiting:  # commands come first
            assert self._backend is not None  # a turn has run
            self._backend.follow_up(following)
            return None
        return following

    def _go_on(self) -> None:
        while not self.is_taken:
            if self._begun:
                self._start(None, *self._begun.pop(0))
            elif self._waiting:
                command, text = self._waiting.pop(0)
                self._keep_waiting()
                if command is None:
                    self._start(text)
                else:
                    self._host.run_command(command, text)
                self._host.queue_changed()
            elif self._backend is not None and (following := self._backend.next_follow_up()) is not None:
                self._start(following)
            else:
                return


def _shown(command: Command | None, text: str) -> str:
    return text if command is None else f"/{command.name} {text}".strip()


def _typed(command: Command | None, text: str) -> str:
    """Give what waits as a person would write it."""
    return as_typed(text) if command is None else _shown(command, text)
