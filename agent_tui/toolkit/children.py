"""Starts programs on the event loop so that none holds up who waits for it or leaves its group behind."""

import asyncio
import asyncio.subprocess as aio
import contextlib
import os
import signal
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

PIPE, NULL = aio.PIPE, aio.DEVNULL
END_S = 2.0
QUIET_S = 0.5
_STREAM_BYTES = 65_536
_OUTPUTS = (1, 2)


class _Streams(aio.SubprocessStreamProtocol):
    """The streams of a program. Its outputs end with it, or with the silence of others that hold them open."""

    def __init__(self, loop: asyncio.AbstractEventLoop, limit_bytes: int) -> None:
        super().__init__(limit=limit_bytes, loop=loop)
        self.exited: asyncio.Future[None] = loop.create_future()
        self._clock = loop
        self._program: asyncio.SubprocessTransport | None = None
        self._spoke = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport, whose pipes may have to be closed."""
        super().connection_made(transport)
        assert isinstance(transport, asyncio.SubprocessTransport)
        self._program = transport

    def pipe_data_received(self, fd: int, data: bytes | str) -> None:
        """Note that somebody still writes."""
        super().pipe_data_received(fd, data)
        self._spoke = True

    def process_exited(self) -> None:
        """The program itself is gone."""
        super().process_exited()
        if not self.exited.done():
            self.exited.set_result(None)
        self._spoke = False
        self._clock.call_later(QUIET_S, self._close_when_quiet)

    def _close_when_quiet(self) -> None:
        program = self._program
        if program is None or program.is_closing():
            return
        pipes = [program.get_pipe_transport(number) for number in _OUTPUTS]
        unread = any(
            isinstance(pipe, asyncio.ReadTransport) and not pipe.is_closing() and not pipe.is_reading()
            for pipe in pipes
        )
        if self._spoke or unread:
            self._spoke = False
            self._clock.call_later(QUIET_S, self._close_when_quiet)
        else:
            _close(program)


def _close(program: asyncio.SubprocessTransport) -> None:
    """Close all pipes; what nobody has read of the input is dropped, closing alone would wait for it."""
    pipe = program.get_pipe_transport(0)
    if isinstance(pipe, asyncio.WriteTransport) and pipe.get_write_buffer_size():
        pipe.abort()
    program.close()


class Child:
    """A program that was started in a session and group of its own; made by `start_child`.

    Its outputs come to an end at most a moment (`QUIET_S` without a word) after the program itself is gone, whoever
    still holds them. To be used on the loop that started it.
    """

    def __init__(self, transport: asyncio.SubprocessTransport, streams: _Streams) -> None:
        self._transport = transport
        self._streams = streams

    @property
    def pid(self) -> int:
        """Its process id, which is also that of its group."""
        return self._transport.get_pid()

    @property
    def exit_code(self) -> int | None:
        """How it ended: negative for a signal, None while it runs."""
        return self._transport.get_returncode()

    @property
    def stdin(self) -> asyncio.StreamWriter | None:
        """Its input, when that is a pipe."""
        return self._streams.stdin

    @property
    def stdout(self) -> asyncio.StreamReader | None:
        """Its output, when that is a pipe."""
        return self._streams.stdout

    @property
    def stderr(self) -> asyncio.StreamReader | None:
        """Its errors, when they are a pipe."""
        return self._streams.stderr

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to its whole group, also when the program itself is gone."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)

    async def exited(self, limit_s: float | None = None) -> bool:
        """Wait until the program itself is gone, `limit_s` at most; tell whether it is."""
        await asyncio.wait({self._streams.exited}, timeout=limit_s)
        return self._streams.exited.done()

    async def end(self) -> None:
        """Kill its whole group, reap it and close its pipes; takes `END_S` at most."""
        try:
            self.signal(signal.SIGKILL)
            await self.exited(END_S)
        finally:
            _close(self._transport)


async def start_child(
    argv: Sequence[str],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    stdin: int = NULL,
    stdout: int = NULL,
    stderr: int | None = NULL,
    pass_fds: Sequence[int] = (),
    limit_bytes: int = _STREAM_BYTES,
) -> Child:
    """Start a program in a session of its own; each stream is `PIPE` or `NULL`, errors may be ours (None).

    When this is cancelled, the program and all that it started in its group are killed. `limit_bytes` is the longest
    line `readline` takes. Must be called on the main thread's loop. Raises OSError, and ValueError for a zero byte.
    """
    loop = asyncio.get_running_loop()
    starting = asyncio.create_task(
        loop.subprocess_exec(
            partial(_Streams, loop, limit_bytes),
            *argv,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            cwd=cwd,
            env=None if env is None else dict(env),
            pass_fds=tuple(pass_fds),
            start_new_session=True,
        )
    )
    try:
        return Child(*await asyncio.shield(starting))
    except asyncio.CancelledError:
        # asyncio itself would kill the program alone and then wait for all that hold its pipes
        await _undo(starting)
        raise


async def _undo(starting: "asyncio.Task[tuple[asyncio.SubprocessTransport, _Streams]]") -> None:
    """Let the start come to its end, a few turns of the loop, and end what it gave, however often this is cancelled."""
    await _in_any_case(starting)
    if not starting.cancelled() and starting.exception() is None:
        await _in_any_case(asyncio.create_task(Child(*starting.result()).end()))


async def _in_any_case(work: "asyncio.Task[Any]") -> None:
    while not work.done():
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.wait({work})
