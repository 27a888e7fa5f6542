"""One process of an extension: lines in, lines out, ended with all that it started."""

import asyncio
import contextlib
import signal

from agent_tui.extensions.lines import Lines
from agent_tui.extensions.plugged.faults import ExtensionFault
from agent_tui.extensions.plugged.manifest import Launch
from agent_tui.extensions.plugged.wire import MAX_LINE_BYTES
from agent_tui.toolkit.children import PIPE, start_child
from agent_tui.toolkit.children import Child as Process

_CHUNK_BYTES = 65_536
_REAP_S = 0.5


class Child:
    """A started process. Everything here is called on the event loop."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._lines = Lines(max_bytes=MAX_LINE_BYTES)
        self.is_killed = False

    @classmethod
    async def start(cls, launch: Launch) -> "Child":
        """Start it in a session of its own. Must be called on the main thread. Raises ExtensionFault."""
        try:
            process = await start_child(
                launch.argv, stdin=PIPE, stdout=PIPE, stderr=PIPE, cwd=launch.cwd, env=launch.variables
            )
        except (OSError, ValueError) as error:
            raise ExtensionFault(f"cannot be started: {error}") from error
        return cls(process)

    @property
    def pid(self) -> int:
        """Its process id, which is also that of its group."""
        return self._process.pid

    async def send(self, line: bytes) -> None:
        """Write a line; waits while the process does not read. A process that is gone takes nothing."""
        stdin = self._process.stdin
        assert stdin is not None
        with contextlib.suppress(OSError, RuntimeError):  # RuntimeError: the pipe is closing
            stdin.write(line)
            await stdin.drain()

    async def lines(self) -> list[bytes] | None:
        """Wait for output and give the lines that are whole now; None once there will be no more.

        Lines of more than 16 MiB come cut, so they are no JSON any more.
        """
        stdout = self._process.stdout
        assert stdout is not None
        chunk = await stdout.read(_CHUNK_BYTES)
        return [line for line, _ in self._lines.feed(chunk)] if chunk else None

    async def errors(self) -> list[str] | None:
        """Wait for what it writes to standard error; None at the end."""
        stderr = self._process.stderr
        assert stderr is not None
        chunk = await stderr.read(8_192)
        return chunk.decode("utf-8", "replace").splitlines() if chunk else None

    def kill(self) -> None:
        """Kill it and all that it started, now."""
        self.is_killed = True
        self._process.signal(signal.SIGKILL)

    async def end(self, *, farewell: bytes, limit_s: float) -> None:
        """Tell it to end, wait for that, then kill what is left of its group. Takes at most `limit_s`."""
        try:
            if not self.is_killed:
                await self._ask_to_end(farewell, max(0.0, limit_s - _REAP_S))
        finally:
            self.is_killed = True
            await self._process.end()  # also when it is gone itself: what it started may have stayed

    def how(self) -> str:
        """Say how it ended."""
        code = self._process.exit_code
        if code is None:
            return "closed its output"
        if code >= 0:
            return f"ended with code {code}"
        with contextlib.suppress(ValueError):
            return f"was ended by {signal.Signals(-code).name}"
        return f"was ended by signal {-code}"

    async def exited(self) -> None:
        """Wait a moment for its exit code, after its output ended."""
        await self._process.exited(_REAP_S)

    async def _ask_to_end(self, farewell: bytes, limit_s: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(limit_s):
                await self.send(farewell)
                stdin = self._process.stdin
                assert stdin is not None
                with contextlib.suppress(OSError, RuntimeError):
                    stdin.close()
                await self._process.exited(limit_s)
