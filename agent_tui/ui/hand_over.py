"""Lets the first frame take the place of the prompt that was drawn before the program was loaded."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from agent_tui.ui.first_frame import keep_look, look_of
from agent_tui.ui.terminal_driver import TerminalDriver

if TYPE_CHECKING:
    from textual.driver import Driver

    from agent_tui.ui.app import AgentApp


class HandOver:
    """The steps from the mounted app to keys that reach it; `then` is called when they do."""

    def __init__(self, app: AgentApp, then: Callable[[], None]) -> None:
        self._app, self._then = app, then
        self._look = ""

    def begin(self) -> None:
        """Put what was typed so far into the first frame, and wait for it."""
        if self._app.drawn is not None:
            self._app.prompt.put(self._app.drawn.text)
        self._app.call_after_refresh(self._take_over)

    def _take_over(self) -> None:
        """End the echo now that the frame is ready; what was typed meanwhile gets a frame of its own."""
        driver = terminal_of(self._app)
        text = driver.take_over() if driver is not None else None
        if text is not None and text != self._app.prompt.text:
            self._app.prompt.put(text)
        self._app.call_after_refresh(self._painted)

    def _painted(self) -> None:
        driver = terminal_of(self._app)
        if driver is not None:  # the prompt is painted and has the focus
            self._look = look_of(self._app, self._app.prompt)
            driver.release()
        self._app.drawn = None
        self._then()

    async def keep_look(self) -> None:
        """Write down how the frame looked, for the next start."""
        if self._look:
            await asyncio.to_thread(keep_look, self._look)


def terminal_of(app: AgentApp) -> TerminalDriver | None:
    """Give the app's own driver, None on any other kind of screen."""
    driver: Driver | None = app._driver  # pyright: ignore[reportPrivateUsage]  # Textual has no public name for it
    return driver if isinstance(driver, TerminalDriver) else None
