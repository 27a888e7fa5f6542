import contextlib
import fcntl
import json
import os
import pty
import select
import signal
import struct
import sys
import termios
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

ROWS, COLUMNS = 40, 120


class Child:
    """A program in a terminal: the benchmark's own with `args`, or `program` with `environment` in `cwd`."""

    def __init__(
        self,
        *args: object,
        program: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
        cwd: Path | None = None,
    ) -> None:
        argv = [*program] or [sys.executable, "-m", "tests.bench.child", *map(str, args)]
        reader, writer = os.pipe()
        os.set_inheritable(writer, True)
        self.reports: dict[str, Mapping[str, float]] = {}
        self.written = 0
        self.output = b""
        self._partial = b""
        self.started_s = time.perf_counter()
        self.pid, self.master = pty.fork()
        if self.pid == 0:
            os.close(reader)
            if cwd is not None:
                os.chdir(cwd)
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
            terminal = {"BENCH_FD": str(writer), "TERM": "xterm-256color", "COLORTERM": "truecolor"}
            os.execve(argv[0], argv, {**(os.environ if environment is None else environment), **terminal})
        os.close(writer)
        self._reader = reader

    def pump(self, seconds: float) -> bytes:
        ready, _, _ = select.select([self.master, self._reader], [], [], max(0.0, seconds))
        new = b""
        if self.master in ready:
            with contextlib.suppress(OSError):
                new = os.read(self.master, 1 << 16)
            self.written += len(new)
            self.output = (self.output + new)[-20_000:]
            self._answer(new)
        if self._reader in ready:
            self._take(os.read(self._reader, 1 << 16))
        return new

    def _answer(self, new: bytes) -> None:
        if b"\x1b[?2026$p" in new:
            os.write(self.master, b"\x1b[?2026;2$y")

    def _take(self, data: bytes) -> None:
        *lines, self._partial = (self._partial + data).split(b"\n")
        for line in lines:
            fact = json.loads(line)
            self.reports[fact["what"]] = fact

    def until_shown(self, wanted: bytes, seconds: float = 60.0) -> float:
        """Read until `wanted` was written; gives the seconds since the program was started."""
        stop = time.perf_counter() + seconds
        while wanted not in self.output:
            if time.perf_counter() > stop:
                tail = self.output[-2_000:].decode("utf-8", "replace")
                raise TimeoutError(f"{wanted!r} was not written; the screen ended in {tail!r}")
            self.pump(0.2)
        return time.perf_counter() - self.started_s

    def until(self, what: str, seconds: float = 60.0) -> Mapping[str, float]:
        stop = time.perf_counter() + seconds
        while what not in self.reports:
            if time.perf_counter() > stop:
                tail = self.output[-2_000:].decode("utf-8", "replace")
                raise TimeoutError(f"{what!r} was not reported; the screen ended in {tail!r}")
            self.pump(0.2)
        return self.reports[what]

    def quiet(self, seconds: float = 0.3, at_most: float = 5.0) -> None:
        stop = time.perf_counter() + at_most
        silent = time.perf_counter() + seconds
        while time.perf_counter() < min(stop, silent):
            if self.pump(silent - time.perf_counter()):
                silent = time.perf_counter() + seconds

    def write(self, data: bytes) -> None:
        os.write(self.master, data)

    def echo_ms(self, char: str, seconds: float = 3.0) -> float:
        wanted, seen = char.encode(), b""
        began = time.perf_counter()
        os.write(self.master, wanted)
        while wanted not in seen:
            if time.perf_counter() - began > seconds:
                return seconds * 1000
            seen = seen[-8:] + self.pump(seconds)
        return (time.perf_counter() - began) * 1000

    def cpu_s(self) -> float:
        return time.clock_gettime(~self.pid << 3 | 2)  # clock_getcpuclockid(3): threads that ended count too

    def rss_mib(self) -> float:
        pages = int(Path(f"/proc/{self.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / (1 << 20)

    def peak_mib(self) -> float:
        """Give the most memory that was resident at a time."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        return int(status.split("VmHWM:")[1].split()[0]) / 1024

    def close(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.master)
        os.close(self._reader)

    def __enter__(self) -> "Child":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
