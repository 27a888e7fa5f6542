"""Runs what a person writes behind `!`, and ends it when they say so."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from textual.worker import Worker

    from agent_tui.ui.app import AgentApp
    from agent_tui.ui.backend import Backend

Work = Callable[[Callable[[], Awaitable[None]], str], "Worker[None]"]
_USAGE = "! runs a shell line and shows the model its output; !! keeps it to yourself."


class ShellLines:
    """The shell lines that run. `work` runs a job beside the screen; `backend` raises while the core loads."""

    def __init__(self, app: AgentApp, backend: Callable[[], Backend], work: Work) -> None:
        self._app = app
        self._backend = backend
        self._work = work
        self._running: list[Worker[None]] = []

    def submit(self, text: str) -> None:
        """Run a text that begins with `!`, or `!!` for one that the model does not see."""
        command = text.lstrip("!").strip()
        if not command:
            self._app.notice("info", _USAGE)
            return
        worker = self._work(lambda: self._run(command, private=text.startswith("!!")), "shell")
        self._running = [*(one for one in self._running if not one.is_finished), worker]

    async def _run(self, command: str, *, private: bool) -> None:
        app = self._app
        if not app.driver.busy:
            app.activity.start("Running")
        try:
            await self._backend().house.run_shell(command, private=private)
            self._open_panel()
        finally:
            if not app.driver.busy:
                app.activity.stop()
            app.refresh_status()

    def _open_panel(self) -> None:
        """Open the panel of the line that ended, unless the person chose otherwise: its output is what they asked for."""
        blocks = self._app.transcript.document.blocks
        for index in range(len(blocks) - 1, -1, -1):
            if blocks[index].data.display_name.startswith("!"):
                self._app.transcript.unfold(index)
                return

    def end(self) -> bool:
        """End all that run; whether there were any."""
        running = [worker for worker in self._running if not worker.is_finished]
        self._running = []
        for worker in running:
            worker.cancel()
        return bool(running)

    def to_background(self) -> None:
        """Send the command that is waited for to the background."""
        sent = self._backend().house.to_background()
        self._app.status.show_hint(
            "Sent to the background; /tasks lists it" if sent else "No command is running"
        )
