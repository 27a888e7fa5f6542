"""SIGINT and SIGTERM stop the running turn of a run without a screen; what is done is kept."""

import asyncio
import signal
from collections.abc import Callable, Generator
from contextlib import contextmanager

from agent_tui.headless.exit_codes import ExitCode

_CODES = {signal.SIGINT: ExitCode.INTERRUPTED, signal.SIGTERM: ExitCode.TERMINATED}


class Stopped:
    """Which signal came first, if any."""

    def __init__(self) -> None:
        self.by: signal.Signals | None = None

    @property
    def code(self) -> ExitCode | None:
        """The exit code that names the signal."""
        return None if self.by is None else _CODES[self.by]


@contextmanager
def stopped_by_signals(stop: Callable[[], None]) -> Generator[Stopped]:
    """Call `stop` at each of the signals while the block runs; only in the main thread of a running loop."""
    stopped, loop = Stopped(), asyncio.get_running_loop()

    def take(number: signal.Signals) -> None:
        stopped.by = stopped.by or number
        stop()

    for number in _CODES:
        loop.add_signal_handler(number, take, number)
    try:
        yield stopped
    finally:
        for number in _CODES:
            loop.remove_signal_handler(number)
