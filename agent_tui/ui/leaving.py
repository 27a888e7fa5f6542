"""Ends the program: by the person, by a signal, by a terminal that is gone; the core gets two seconds."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from functools import partial
from typing import TYPE_CHECKING

from agent_tui.protocol.errors import AgentTuiError
from agent_tui.ui.crash import write_crash
from agent_tui.ui.render.safe import clean

if TYPE_CHECKING:
    from agent_tui.ui.app import AgentApp

CORE_S = 2.0


class Leaving:
    """The end of one run of the program on screen."""

    def __init__(self, app: AgentApp) -> None:
        self._app = app
        self.failure: Exception | None = None
        self._is_told_to = False

    def begin(self, code: int = 0) -> None:
        """Leave with an exit code, beside whatever goes on."""
        self._app.run_worker(partial(self._leave, code), group="leave", exit_on_error=False)

    def give_up(self, failure: Exception) -> None:
        """End because the start failed. A page has no terminal below it to read the reason on: there it stands."""
        app = self._app
        if not app.is_web:
            self.failure = failure
            self.begin(1)
            return
        app.early.ended()
        if isinstance(failure, AgentTuiError):
            app.notice("error", str(failure))
        else:
            app.report_bug(failure)

    async def _leave(self, code: int) -> None:
        """Stop the turn, end the core within 2 seconds and exit."""
        app = self._app
        app.driver.stop()
        if app.link is not None:
            app.link.approver.deny_all(unasked=True)
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
        """Give what to print on the normal screen once the program is gone; Textual has printed `crash_message`."""
        link = self._app.link
        parting = link.backend.parting if link is not None else ""
        return "\n".join(filter(None, (parting, self._unsent())))

    def _unsent(self) -> str:
        """Give back what was typed when the person did not end the program; what the core has queued it keeps itself."""
        if self.failure is None and not self._app.crash_message and not self._is_told_to:
            return ""
        drawn = self._app.drawn  # until the first frame has taken what was typed
        texts = [drawn.typed] if drawn else [*self._app.driver.early, self._app.prompt.expanded]
        typed = "\n".join(text for text in texts if text.strip())
        return f"Typed and not sent:\n{clean(typed)}" if typed else ""

    def watch_signals(self) -> None:
        """Leave when the system asks for it; what a forgotten task met goes to the log."""
        loop = asyncio.get_running_loop()
        if not self._app.is_headless:  # asyncio would write it across the screen
            loop.set_exception_handler(self._forgotten)
        for number, code in ((signal.SIGTERM, 143), (signal.SIGHUP, 129)):
            with contextlib.suppress(RuntimeError, ValueError):  # not on the main thread, in some tests
                loop.add_signal_handler(number, self._obey, code)

    def _obey(self, code: int) -> None:
        """Leave because the system asks for it."""
        self._is_told_to = True
        self.begin(code)

    def _forgotten(self, _loop: asyncio.AbstractEventLoop, context: dict[str, object]) -> None:
        error = context.get("exception") or context.get("message")
        log = self._app.settings.crash_log
        write_crash(log, error if isinstance(error, Exception) else RuntimeError(error))
