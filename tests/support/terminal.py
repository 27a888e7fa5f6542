"""Runs a program in a pseudo-terminal and looks at its screen through an independent terminal emulator."""

import fcntl
import os
import pty
import select
import signal
import struct
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pyte

from tests.support.patience import PATIENCE_S, until_now


class Screen(pyte.Screen):
    """The emulator with the two scroll sequences it lacks (ECMA-48 SU and SD)."""

    def scroll_up(self, count: int = 1, **_: object) -> None:
        self._move(count or 1, self.delete_lines)

    def scroll_down(self, count: int = 1, **_: object) -> None:
        self._move(count or 1, self.insert_lines)

    def _move(self, count: int, change: Callable[[int], None]) -> None:
        x, y = self.cursor.x, self.cursor.y
        self.cursor.y = self.margins.top if self.margins else 0
        change(count)
        self.cursor.x, self.cursor.y = x, y


class Stream(pyte.ByteStream):
    """Knows SU and SD."""

    csi = {**pyte.ByteStream.csi, "S": "scroll_up", "T": "scroll_down"}
    events = pyte.ByteStream.events | {"scroll_up", "scroll_down"}


class Terminal:
    """A program on a screen of `columns` x `rows`. Use as a context manager: the program never outlives it."""

    def __init__(
        self, argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], columns: int = 120, rows: int = 40
    ) -> None:
        self.screen = Screen(columns, rows)
        self._stream = Stream(self.screen)
        self.raw = bytearray()
        self.exit_code: int | None = None
        self.pid, self._fd = pty.fork()
        if self.pid == 0:
            try:
                os.chdir(cwd)
                os.execvpe(argv[0], list(argv), dict(env))
            finally:
                os._exit(127)
        self.resize(columns, rows)
        os.set_blocking(self._fd, False)

    def __enter__(self) -> "Terminal":
        return self

    def __exit__(self, *_: object) -> None:
        if self.exit_code is None:
            os.kill(self.pid, signal.SIGKILL)
            self._reap()
        os.close(self._fd)

    def resize(self, columns: int, rows: int) -> None:
        fcntl.ioctl(self._fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.screen.resize(rows, columns)

    @property
    def text(self) -> str:
        return "\n".join(line.rstrip() for line in self.screen.display)

    def send(self, keys: str | bytes) -> None:
        data = keys.encode() if isinstance(keys, str) else keys
        while data:
            try:
                data = data[os.write(self._fd, data) :]
            except BlockingIOError:
                self.pump(0.05)

    def pump(self, wait_s: float) -> bool:
        """Read what the program wrote within `wait_s`; tell whether there was something."""
        if not select.select([self._fd], [], [], wait_s)[0]:
            return False
        try:
            data = os.read(self._fd, 65536)
        except (BlockingIOError, OSError):
            return False
        self.raw += data
        # A terminal answers some queries; the emulator here does not, and needs them left out.
        self._stream.feed(data.replace(b"\x1b[>25u", b"").replace(b"\x1b[<u", b""))
        return bool(data)

    def until(self, told: str | Callable[[str], bool], *, wait_s: float = PATIENCE_S) -> str:
        """Read until the screen shows `told` (or it returns true); give the screen. Raises AssertionError."""
        seen = told if callable(told) else lambda text: told in text
        end = time.monotonic() + wait_s
        while time.monotonic() < end:
            if seen(self.text):
                return self.text
            self.pump(0.1)
            self._look()
            if self.exit_code is not None and not self.pump(0):
                break
        assert seen(self.text), f"not seen: {told!r}\nexit code: {self.exit_code}\n{self.text}"
        return self.text

    def until_written(self, words: str) -> None:
        """Read until the program wrote `words` in one piece, also when the screen shows them no more."""
        self.until(lambda _: words.encode() in self.raw)

    def quiet(self, for_s: float = 0.3, *, wait_s: float = 20.0) -> str:
        """Read until nothing came for `for_s`; give the screen. Says nothing of what the program has still to do."""
        end = time.monotonic() + wait_s
        while time.monotonic() < end and self.pump(for_s):
            pass
        return self.text

    def kill(self, number: signal.Signals) -> None:
        os.kill(self.pid, number)

    def wait(self, *, wait_s: float = PATIENCE_S) -> int:
        """Read on until the program ended; give its exit code (negative: the signal that ended it)."""
        end = time.monotonic() + wait_s
        while self.exit_code is None and time.monotonic() < end:
            self.pump(0.05)
            self._look()
        assert self.exit_code is not None, f"still running\n{self.text}"
        while self.pump(0.05):
            pass
        return self.exit_code

    def lost(self) -> None:
        """Take the terminal away, as a window that is closed does, and wait until the program has ended."""
        os.close(self._fd)
        try:
            until_now(self._look)
        except TimeoutError:
            self.kill(signal.SIGKILL)
            self._reap()
            raise AssertionError("still running after its terminal was closed") from None

    def _look(self) -> bool:
        """Tell whether the program has ended."""
        if self.exit_code is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.exit_code = os.waitstatus_to_exitcode(status)
        return self.exit_code is not None

    def _reap(self) -> None:
        _, status = os.waitpid(self.pid, 0)
        self.exit_code = os.waitstatus_to_exitcode(status)
