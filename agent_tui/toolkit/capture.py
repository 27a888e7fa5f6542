"""Runs a short program to its end and gives what it wrote, within a limit of time and size."""

import asyncio
import contextlib
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from agent_tui.toolkit.children import NULL, PIPE, Child, start_child

ERROR_BYTES = 65_536
STREAM_BYTES = 1 << 20
_READ_BYTES = 65_536
_DRAIN_S = 0.5


@dataclass(frozen=True)
class Captured:
    """What a program answered; `exit_code` is negative for a signal, `stderr` is the start of its errors.

    `is_cut` says that `stdout` reached its limit and the program was ended.
    """

    exit_code: int
    stdout: bytes
    stderr: bytes
    is_cut: bool = False


async def capture(
    argv: Sequence[str],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    stdin: bytes = b"",
    stderr: int | None = PIPE,
    pass_fds: Sequence[int] = (),
    timeout_s: float,
    limit_bytes: int,
) -> Captured:
    """Run a short program (rg, git, a worker or a hook of the person's) and give its output.

    It is over when its own process is; what that left running in its group is then killed, as all is when the time or
    the size is used up or the caller is cancelled. `cwd` and `env` None are ours; `stderr` is as for `start_child`. Raises TimeoutError, OSError, and
    ValueError for a zero byte in `argv`.
    """
    child = await start_child(
        argv,
        cwd=cwd,
        env=env,
        stdin=PIPE if stdin else NULL,
        stdout=PIPE,
        stderr=stderr,
        pass_fds=pass_fds,
        limit_bytes=STREAM_BYTES,
    )
    try:
        async with asyncio.timeout(timeout_s), asyncio.TaskGroup() as group:
            out = group.create_task(_read_up_to(child, limit_bytes))
            err = group.create_task(_read_start(child.stderr, ERROR_BYTES))
            group.create_task(_feed(child, stdin))
            await child.exited()
            await asyncio.wait({out, err}, timeout=_DRAIN_S)
            child.signal(signal.SIGKILL)
    finally:
        await child.end()
    stdout = out.result()
    return Captured(
        child.exit_code or 0, stdout[:limit_bytes], err.result(), is_cut=len(stdout) > limit_bytes
    )


async def _feed(child: Child, data: bytes) -> None:
    if child.stdin is None:
        return
    with contextlib.suppress(ConnectionError):  # it need not read all
        child.stdin.write(data)
        await child.stdin.drain()
    child.stdin.close()


async def _read_up_to(child: Child, limit_bytes: int) -> bytes:
    """Read to the end, or a little over the limit and end the program."""
    parts: list[bytes] = []
    size = 0
    while size <= limit_bytes and child.stdout is not None:
        chunk = await child.stdout.read(_READ_BYTES)
        if not chunk:
            return b"".join(parts)
        parts.append(chunk)
        size += len(chunk)
    child.signal(signal.SIGKILL)
    return b"".join(parts)


async def _read_start(stream: asyncio.StreamReader | None, limit_bytes: int) -> bytes:
    """Read to the end and keep the start."""
    kept = b""
    while stream is not None and (chunk := await stream.read(_READ_BYTES)):
        kept += chunk[: limit_bytes - len(kept)]
    return kept
