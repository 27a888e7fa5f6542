"""Runs a command under a supervisor that leaves nothing of it behind, even when this program is killed."""

import asyncio
import contextlib
import fcntl
import os
import signal
import sys
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from agent_tui.sandbox.interface import Launch
from agent_tui.toolkit.children import PIPE, Child, start_child
from agent_tui.toolkit.threads import off_loop

SUPERVISOR = Path(__file__).with_name("_supervisor.py")
DIRECTORY_FD = 9
_NUMBER_TAKEN = threading.Lock()
"""Descriptor numbers belong to the whole program: one launch at a time is prepared."""
READ_BYTES = 65_536
STREAM_LIMIT_BYTES = 1 << 20
END_GRACE_S = 2.0
# The supervisor kills for 3 s at most; whoever is not gone then hangs in the kernel and is left to it.
SUPERVISOR_PATIENCE_S = 5.0
DRAIN_PATIENCE_S = 1.0
DIRECTORY_REPORT_BYTES = 65_536

Sink = Callable[[bytes], Awaitable[None]]


@dataclass(frozen=True)
class Ended:
    """How a command ended. `exit_code` is negative for a signal, None when nobody knows.

    `left` names processes that outlived the command and were ended with it; `failure` says why it never ran;
    `directory_report` is what it wrote to descriptor 9, untrusted.
    """

    exit_code: int | None
    left: tuple[str, ...] = ()
    failure: str = ""
    directory_report: bytes = b""


class Command:
    """A running command with everything it starts; make one with `start_command`.

    Output goes to the sink as it comes. The command and its descendants end with `end`, with its shell, or with
    this program, even when that is killed: a supervisor process watches all three.
    """

    def __init__(self, supervisor: Child, sink: Sink, directory_r: int) -> None:
        self._supervisor = supervisor
        self._sink = sink
        self._directory_r = directory_r
        self._directory = b""
        self._pid = 0
        self._exit_code: int | None = None
        self._failure = ""
        self._left: list[str] = []
        if directory_r >= 0:
            asyncio.get_running_loop().add_reader(directory_r, self._read_directory)
        self._task = asyncio.create_task(self._follow())

    @property
    def running(self) -> bool:
        """Whether `wait` would have to wait."""
        return not self._task.done()

    async def wait(self) -> Ended:
        """Wait until the command and all it started are gone. May be called often and cancelled safely."""
        await asyncio.wait({self._task})
        return self._task.result()

    async def wait_or(
        self, asked: asyncio.Event, *, timeout_s: float
    ) -> Literal["ended", "asked", "timeout"]:
        """Wait until the command ends, `asked` is set or the time is up, and say which came first."""
        waiter = asyncio.create_task(asked.wait())
        try:
            await asyncio.wait({self._task, waiter}, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
        finally:
            waiter.cancel()
        if self._task.done():
            return "ended"
        return "asked" if asked.is_set() else "timeout"

    async def end(self, *, grace_s: float = END_GRACE_S) -> Ended:
        """Ask the command and all it started to end, kill the rest after `grace_s`, and wait.

        When this is cancelled the ending goes on by itself.
        """
        self.begin_end(grace_s=grace_s)
        done, _ = await asyncio.wait({self._task}, timeout=grace_s + SUPERVISOR_PATIENCE_S)
        if not done:
            self._kill_hard()
        return await self.wait()

    def begin_end(self, *, grace_s: float = END_GRACE_S) -> None:
        """Begin what `end` does, without waiting."""
        stdin = self._supervisor.stdin
        if stdin is None or stdin.is_closing():
            return
        stdin.write(f"end {grace_s}\n".encode())
        stdin.close()

    async def _follow(self) -> Ended:
        try:
            async with asyncio.TaskGroup() as group:
                output = group.create_task(self._pump())
                await self._follow_reports()
                # Whoever still holds the pipe is no process of ours any more: take what is there and leave.
                await asyncio.wait({output}, timeout=DRAIN_PATIENCE_S)
                output.cancel()
        finally:
            self._close_directory()
            self._supervisor_is_done()
        await self._supervisor.exited(SUPERVISOR_PATIENCE_S)
        await self._supervisor.end()
        return Ended(
            exit_code=self._exit_code,
            left=tuple(self._left),
            failure=self._failure,
            directory_report=self._directory,
        )

    async def _pump(self) -> None:
        stream = self._supervisor.stdout
        while stream is not None and (chunk := await stream.read(READ_BYTES)):
            await self._sink(chunk)

    async def _follow_reports(self) -> None:
        stream = self._supervisor.stderr
        while stream is not None and (line := await stream.readline()):
            word, _, rest = line.decode("utf-8", "replace").rstrip("\n").partition(" ")
            match word:
                case "pid":
                    self._pid = int(rest)
                case "exit":
                    self._exit_code = int(rest)
                case "failed":
                    self._failure = rest
                case "left":
                    self._left.append(rest)
                case "done":
                    return
                case _:
                    self._failure = f"{self._failure}{line.decode('utf-8', 'replace')}"
        # The supervisor died without a word (the command killed it): the group is all that is known.
        self._failure = self._failure or "the process that watched the command was ended"
        self._kill_hard()

    def _kill_hard(self) -> None:
        for pid in (self._pid, self._supervisor.pid):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                if pid > 0:
                    os.killpg(pid, signal.SIGKILL)

    def _supervisor_is_done(self) -> None:
        stdin = self._supervisor.stdin
        if stdin is not None and not stdin.is_closing():
            stdin.close()

    def _read_directory(self) -> None:
        try:
            data = os.read(self._directory_r, READ_BYTES)
        except BlockingIOError:
            return
        if data:
            self._directory = (self._directory + data)[-DIRECTORY_REPORT_BYTES:]
        else:
            self._close_directory()

    def _close_directory(self) -> None:
        if self._directory_r < 0:
            return
        asyncio.get_running_loop().remove_reader(self._directory_r)
        with contextlib.suppress(BlockingIOError):
            while data := os.read(self._directory_r, READ_BYTES):
                self._directory = (self._directory + data)[-DIRECTORY_REPORT_BYTES:]
        os.close(self._directory_r)
        self._directory_r = -1


async def start_command(
    prepare: Callable[[tuple[int, ...]], Launch], sink: Sink, *, report_directory: bool = False
) -> Command:
    """Start a command in a session of its own, its input empty, its output and errors in one pipe to `sink`.

    `prepare` gets the descriptors the command must keep and gives the launch (see `Sandbox.launch`); it may block,
    since it runs in a thread. With `report_directory` the command has descriptor 9 to report on. Must be called on
    the main thread's loop.
    Raises OSError when no process can be made, and what `prepare` raises.
    """
    directory_r, directory_w = os.pipe() if report_directory else (-1, -1)
    launch = None
    try:
        keep = (DIRECTORY_FD,) if report_directory else ()
        launch = await off_loop(lambda: _prepared(prepare, keep), drop=_close_descriptors)
        others = tuple(fd for fd in launch.pass_fds if fd != DIRECTORY_FD or not report_directory)
        supervisor = await start_child(
            (sys.executable, "-I", "-S", str(SUPERVISOR)),
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            env={},
            pass_fds=(*others, *(() if directory_w < 0 else (directory_w,))),
            limit_bytes=STREAM_LIMIT_BYTES,
        )
        _send_order(supervisor, _order(launch, directory_w, others))
    except BaseException:
        if directory_r >= 0:
            os.close(directory_r)
        raise
    finally:
        if directory_w >= 0:
            os.close(directory_w)
        if launch is not None:
            _close_descriptors(launch)
    if directory_r >= 0:
        os.set_blocking(directory_r, False)
    return Command(supervisor, sink, directory_r)


async def start_program(argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], sink: Sink) -> Command:
    """Start a program of our own as it is, supervised like a command: it ends with this one. Raises OSError."""

    def prepare(keep: tuple[int, ...]) -> Launch:
        return Launch(argv=tuple(argv), env=dict(env), cwd=cwd, pass_fds=keep)

    return await start_command(prepare, sink)


def _prepared(prepare: Callable[[tuple[int, ...]], Launch], keep: tuple[int, ...]) -> Launch:
    """Prepare the launch while number 9 is taken here, so that no descriptor of the sandbox gets it."""
    with _NUMBER_TAKEN:
        taken = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
        if taken < DIRECTORY_FD:
            low, taken = taken, fcntl.fcntl(taken, fcntl.F_DUPFD_CLOEXEC, DIRECTORY_FD)
            os.close(low)
        try:
            return prepare(keep)
        finally:
            os.close(taken)


def _close_descriptors(launch: Launch) -> None:
    for fd in launch.close_after:
        os.close(fd)


def _order(launch: Launch, directory_fd: int, others: Sequence[int]) -> bytes:
    fields = [
        os.fsencode(launch.cwd),
        str(directory_fd).encode(),
        " ".join(map(str, others)).encode(),
        str(len(launch.argv)).encode(),
        *(_encoded(argument) for argument in launch.argv),
        *(_encoded(f"{name}={value}") for name, value in launch.env.items()),
    ]
    return b"".join(field + b"\0" for field in fields)


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _send_order(supervisor: Child, order: bytes) -> None:
    if supervisor.stdin is not None:
        supervisor.stdin.write(f"{len(order)}\n".encode() + order)
