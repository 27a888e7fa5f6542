"""Reads the terminal without waking up when nothing comes, and survives bytes that are no UTF-8 and a terminal that is gone."""

from __future__ import annotations

import os
import select
import threading
from codecs import getincrementaldecoder

from textual import events
from textual._xterm_parser import XTermParser
from textual.app import App
from textual.drivers.linux_driver import LinuxDriver

READ_BYTES = 4096
# An escape sequence that is not complete is given up after Textual's ESCAPE_DELAY (0.1 s): after input we look a few
# times with a limit, then wait without one. Textual itself wakes up ten times a second for ever (1 ms of CPU a second).
TICK_S = 0.1
TICKS_AFTER_INPUT = 4


class TerminalDriver(LinuxDriver):
    """Textual's driver with an input thread of our own."""

    def __init__(
        self,
        app: App[object],
        *,
        debug: bool = False,
        mouse: bool = True,
        size: tuple[int, int] | None = None,
    ) -> None:
        super().__init__(app, debug=debug, mouse=mouse, size=size)  # pyright: ignore[reportUnknownMemberType]  # Textual says App without its parameter
        self._wake_r, self._wake_w = os.pipe()
        self._released = threading.Event()

    def release(self) -> None:
        """Begin to read: the prompt can take keys. What was typed before waits in the terminal until then."""
        self._released.set()

    def run_input_thread(self) -> None:
        """Hand over what is typed until told to stop; bytes that are no UTF-8 become U+FFFD."""
        self._released.wait()
        parser = XTermParser(self._debug)
        decoder = getincrementaldecoder("utf-8")("replace")
        ticks = 0
        while not self.exit_event.is_set():
            ready, _, _ = select.select([self.fileno, self._wake_r], [], [], TICK_S if ticks else None)
            if self.fileno in ready:
                try:
                    data = os.read(self.fileno, READ_BYTES)
                except OSError:
                    data = b""
                if not data:
                    self._lost()
                    return
                for message in parser.feed(decoder.decode(data)):
                    self.process_message(message)
                ticks = TICKS_AFTER_INPUT
            elif ticks:
                ticks -= 1
            for message in parser.tick():
                self.process_message(message)

    def _lost(self) -> None:
        """The terminal is gone: end as Ctrl+Q does, which denies what is open."""
        self._loop.call_soon_threadsafe(self._app.post_message, TerminalLost())

    def disable_input(self) -> None:
        """Stop reading; the thread is woken first, since it waits without a limit."""
        self._released.set()
        os.write(self._wake_w, b"x")
        super().disable_input()
        os.read(self._wake_r, 1)


class TerminalLost(events.Event, bubble=False):
    """The terminal was closed or its reader failed."""
