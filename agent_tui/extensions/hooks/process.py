"""Runs one hook command in a process group of its own and leaves nothing of it behind."""

import asyncio
import contextlib
import os
import signal
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from agent_tui.extensions.hooks.events import HookFailed

SHELL = "/bin/sh"
MAX_OUTPUT_BYTES = 262_144
MAX_ERROR_BYTES = 16_384
DRAIN_S = 0.5
REAP_S = 2.0
_OUT, _ERR = 1, 2


@dataclass(frozen=True)
class Ran:
    """How a command ended; `code` is negative for a signal."""

    code: int
    stdout: bytes
    stderr: bytes


class _Watch(asyncio.SubprocessProtocol):
    """Collects what a process writes. It ends with its own process: others may hold the pipes for longer."""

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        self.over: asyncio.Future[None] = loop.create_future()
        self.exited: asyncio.Future[None] = loop.create_future()
        self.drained: asyncio.Future[None] = loop.create_future()
        self.output: dict[int, bytearray] = {_OUT: bytearray(), _ERR: bytearray()}
        self.too_much = False
        self._open = {_OUT, _ERR}

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """Keep what fits."""
        limit = MAX_OUTPUT_BYTES if fd == _OUT else MAX_ERROR_BYTES
        kept = self.output[fd]
        kept += data[: limit - len(kept) + 1]
        if fd == _OUT and len(kept) > limit:
            self.too_much = True
            _finish(self.over)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        """Note that a stream ended; the process need not have read its input."""
        self._open.discard(fd)
        if not self._open:
            _finish(self.drained)

    def process_exited(self) -> None:
        """The command itself is gone."""
        _finish(self.exited)
        _finish(self.over)


def _finish(future: "asyncio.Future[None]") -> None:
    if not future.done():
        future.set_result(None)


async def run_shell(
    command: str, *, stdin: bytes, cwd: Path, env: Mapping[str, str], timeout_s: float
) -> Ran:
    """Run `command` by the shell. Whatever it started in its group is killed when it ends or its time is up.

    Raises HookFailed: it cannot be started, took too long, or wrote too much.
    """
    try:
        transport, watch = await _started(command, cwd=cwd, env=env)
    except OSError as error:
        raise HookFailed(f"it cannot be started: {error.strerror or error}") from error
    try:
        _feed(transport, stdin)
        try:
            async with asyncio.timeout(timeout_s):
                await watch.over
        except TimeoutError as error:
            raise HookFailed(f"no answer within {timeout_s:g} s") from error
        if watch.too_much:
            raise HookFailed(f"it wrote more than {MAX_OUTPUT_BYTES:,} bytes")
        _kill_group(transport.get_pid())
        await asyncio.wait({watch.drained}, timeout=DRAIN_S)
        return Ran(transport.get_returncode() or 0, bytes(watch.output[_OUT]), bytes(watch.output[_ERR]))
    finally:
        await _end(transport, watch)


async def _started(
    command: str, *, cwd: Path, env: Mapping[str, str]
) -> tuple[asyncio.SubprocessTransport, _Watch]:
    """Start the command. Raises OSError."""
    loop = asyncio.get_running_loop()
    starting = asyncio.create_task(
        loop.subprocess_exec(_Watch, SHELL, "-c", command, cwd=cwd, env=dict(env), start_new_session=True)
    )
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        # asyncio itself would kill the shell alone and then wait for what the shell has started
        with contextlib.suppress(OSError):
            await _end(*await starting)
        raise


async def _end(transport: asyncio.SubprocessTransport, watch: _Watch) -> None:
    """Kill the whole group and wait until its first process is reaped."""
    _kill_group(transport.get_pid())
    await asyncio.wait({watch.exited}, timeout=REAP_S)
    transport.close()


def _feed(transport: asyncio.SubprocessTransport, data: bytes) -> None:
    pipe = transport.get_pipe_transport(0)
    if isinstance(pipe, asyncio.WriteTransport):
        pipe.write(data)
        pipe.write_eof()


def _kill_group(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
