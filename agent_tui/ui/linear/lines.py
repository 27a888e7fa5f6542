"""Lines to and from a terminal in its ordinary mode: nothing is drawn over, nothing is echoed twice."""

from __future__ import annotations

import asyncio
import contextlib
import os
import termios
import time
from collections import deque
from collections.abc import Callable, Generator
from typing import TextIO

from agent_tui.ui.render.safe import clean

PASTE_S = 0.05
GRACE_S = 0.3
_ENOUGH_BYTES = 65_536


class Lines:
    """Reads whole lines from `fd` and writes safe text to `out`. The terminal itself edits and echoes the line.

    Whoever asks first is answered first; a line that comes within `grace_s` of a question was not meant for it.
    `on_line` gets the lines that nobody asked for; `on_end` is called once when the input ends.
    """

    def __init__(
        self,
        fd: int,
        out: TextIO,
        *,
        on_line: Callable[[str], None],
        on_end: Callable[[], None],
        clock: Callable[[], float] = time.monotonic,
        grace_s: float = GRACE_S,
    ) -> None:
        self._fd, self._out = fd, out
        self._on_line, self._on_end = on_line, on_end
        self._clock, self._grace_s = clock, grace_s
        self._rest = b""
        self._asked: deque[tuple[asyncio.Future[str | None], float]] = deque()
        self._pasted: list[str] = []
        self._flush: asyncio.TimerHandle | None = None
        self._at_start = True
        self.is_over = False

    def start(self) -> None:
        """Begin to read."""
        os.set_blocking(self._fd, False)
        asyncio.get_running_loop().add_reader(self._fd, self._readable)

    def stop(self) -> None:
        """Read no more; nobody who still waits gets an answer."""
        asyncio.get_running_loop().remove_reader(self._fd)
        os.set_blocking(self._fd, True)
        self.no_answer(is_over=True)

    def _readable(self) -> None:
        try:
            data = os.read(self._fd, _ENOUGH_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._ended()
            return
        *lines, self._rest = (self._rest + data).split(b"\n")
        self._at_start = self._at_start or bool(lines)
        for line in lines:
            self._take(line.decode("utf-8", "replace").rstrip("\r"))

    def _ended(self) -> None:
        asyncio.get_running_loop().remove_reader(self._fd)
        if self._flush is not None:
            self._deliver()
        self.no_answer(is_over=True)
        self._on_end()

    def _take(self, line: str) -> None:
        while self._asked and self._asked[0][0].done():
            self._asked.popleft()
        if self._asked:
            answer, since = self._asked[0]
            if self._clock() - since < self._grace_s:
                self.say("That came before the question could be read and does not count.")
                return
            self._asked.popleft()
            answer.set_result(line)
            return
        # Lines that come within a moment of each other are one paste.
        self._pasted.append(line)
        if self._flush is not None:
            self._flush.cancel()
        self._flush = asyncio.get_running_loop().call_later(PASTE_S, self._deliver)

    def _deliver(self) -> None:
        self._flush = None
        text, self._pasted = "\n".join(self._pasted), []
        self._on_line(text)

    async def ask(self, label: str) -> str | None:
        """Write `label`, drop what was typed before it, and give the next line; None when there will be none."""
        self._drop_typed()
        self.write(f"{label} ")
        answer: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
        self._asked.append((answer, self._clock()))
        return await answer

    @property
    def is_asking(self) -> bool:
        """Whether somebody waits for an answer."""
        return any(not answer.done() for answer, _ in self._asked)

    def no_answer(self, *, is_over: bool = False) -> None:
        """Tell everybody who waits that there is no answer; `is_over` says that there will be none any more."""
        self.is_over = self.is_over or is_over
        asked, self._asked = self._asked, deque()
        for answer, _ in asked:
            if not answer.done():
                answer.set_result(None)

    def _drop_typed(self) -> None:
        self._rest = b""
        with contextlib.suppress(termios.error):  # not a terminal
            termios.tcflush(self._fd, termios.TCIFLUSH)

    def say(self, text: str) -> None:
        """Write `text` as lines of their own."""
        if not self._at_start:
            self._out.write("\n")
        self._out.write(f"{clean(text)}\n")
        self._out.flush()
        self._at_start = True

    def write(self, text: str) -> None:
        """Write `text` without ending the line."""
        if text:
            self._out.write(clean(text))
            self._out.flush()
            self._at_start = text.endswith("\n")

    @contextlib.contextmanager
    def lent(self) -> Generator[None]:
        """Leave the terminal to another program for a while."""
        loop = asyncio.get_running_loop()
        loop.remove_reader(self._fd)
        os.set_blocking(self._fd, True)
        try:
            yield
        finally:
            os.set_blocking(self._fd, False)
            loop.add_reader(self._fd, self._readable)

    def bell(self) -> None:
        """Ring the terminal's bell."""
        self._out.write("\a")
        self._out.flush()
