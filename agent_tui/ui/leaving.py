"""Ends the program: by the person, by a signal, by a terminal that is gone; the core gets two seconds."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from typing import TYPE_CHECKING

from agent_tui.ui.crash import write_crash

if TYPE_CHECKING:
    from agent_tui.ui.app import AgentApp

CORE_S = 2.0


class Leaving:
    """The end of one run of the program on screen."""

    def __init__(self, app: AgentApp) -> None:
        self._app = app

    def begin(self, code: int = 0) -> None:
        """Leave with an exit code, beside whatever goes on."""
        self._app.run_worker(self._leave(code), group="leave", exit_on_error=False)

    async def _leave(self, code: int) -> None:
        """Stop the turn, end the core within 2 seconds and exit."""
        app = self._app
        app.driver.stop()
        if app.link is not None:
            app.link.approver.deny_all()
            try:
                async with asyncio.timeout(CORE_S):
                    await app.link.backend.aclose()
            except TimeoutError:
                pass  # leaving never waits longer
            except Exception as error:  # the core's end must not keep the person in the program
                write_crash(app.settings.crash_log, error)
        app.notifier.close()
        app.exit(code)

    def farewell(self) -> str:
        """Give the sentence to print on the normal screen once the program is gone."""
        link = self._app.link
        parting = link.backend.parting if link is not None else ""
        return "\n".join(filter(None, (self._app.crash_message, parting)))

    def watch_signals(self) -> None:
        """Leave when the system asks for it; what a forgotten task met goes to the log."""
        loop = asyncio.get_running_loop()
        if not self._app.is_headless:  # asyncio would write it across the screen
            loop.set_exception_handler(self._forgotten)
        for number, code in ((signal.SIGTERM, 143), (signal.SIGHUP, 129)):
            with contextlib.suppress(RuntimeError, ValueError):  # not on the main thread, in some tests
                loop.add_signal_handler(number, self.begin, code)

    def _forgotten(self, _loop: asyncio.AbstractEventLoop, context: dict[str, object]) -> None:
        error = context.get("exception") or context.get("message")
        log = self._app.settings.crash_log
        write_crash(log, error if isinstance(error, Exception) else RuntimeError(error))
