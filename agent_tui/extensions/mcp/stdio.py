"""Runs a server as a child process and carries its messages; survives noise, floods and endless lines."""

import asyncio
import contextlib
import json
import os
import re
import signal
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import cast

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared._stream_protocols import ReadStream as AnyReadStream  # the types have no public home
from mcp.shared._stream_protocols import WriteStream as AnyWriteStream
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCNotification, jsonrpc_message_adapter
from pydantic_core import from_json

from agent_tui.extensions.lines import Lines
from agent_tui.extensions.log import ServerLog
from agent_tui.extensions.mcp.faults import ServerFault
from agent_tui.extensions.mcp.launch import launch_of
from agent_tui.extensions.mcp.results import CUT_MARK
from agent_tui.extensions.mcp.spec import ServerSpec
from agent_tui.protocol.data import JsonObject
from agent_tui.toolkit.children import PIPE, Child, start_child

ReadStream = AnyReadStream[SessionMessage | Exception]
WriteStream = AnyWriteStream[SessionMessage]
Serve = Callable[[ReadStream, WriteStream], Awaitable[None]]

MAX_NOISE_LINES = 10_000
MAX_NOTICES_A_SECOND = 1_000
_CHUNK_BYTES = 65_536
_EOF_GRACE_S = 1.0
_TERM_GRACE_S = 0.7
_QUEUED_MESSAGES = 64
_REQUEST_ID = re.compile(rb'"id"\s*:\s*(\d{1,15})')


class StdioServer:
    """One server process. `ended` says why it is gone, "" while it lives."""

    def __init__(self, spec: ServerSpec, workspace: Path, log: ServerLog) -> None:
        self.ended = ""
        self._spec = spec
        self._workspace = workspace
        self._log = log
        self._noise = 0
        self._second = 0
        self._notices = 0

    async def run(self, serve: Serve) -> None:
        """Start the process, call `serve` with its streams, and end the process whatever happens.

        Must run on the main thread. Raises ServerFault when it cannot be started.
        """
        process = await self._start()
        incoming, read_stream = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        # Buffered: a server that does not read must not hold up whoever cancels a call.
        write_stream, outgoing = anyio.create_memory_object_stream[SessionMessage](_QUEUED_MESSAGES)
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(self._read(process, incoming)),
                group.create_task(self._write(process, outgoing)),
                group.create_task(self._read_errors(process)),
            ]
            try:
                await serve(read_stream, write_stream)
            finally:
                read_stream.close()
                write_stream.close()
                try:
                    await self._stop(process)
                finally:
                    for task in tasks:
                        task.cancel()  # before the pipes are closed: nobody may read on from a closed one
                    # Also when the server itself is gone: what it started may have stayed.
                    await process.end()
                    await asyncio.wait(tasks)

    async def _start(self) -> Child:
        """Raises ServerFault."""
        launch = launch_of(self._spec, self._workspace, os.environ)
        argv = (launch.program, *self._spec.args)
        try:
            return await start_child(
                argv, stdin=PIPE, stdout=PIPE, stderr=PIPE, env=launch.variables, cwd=launch.cwd
            )
        except (OSError, ValueError) as error:
            raise ServerFault(f"cannot be started: {error}", lasting=True) from error

    async def _read(
        self,
        process: Child,
        incoming: MemoryObjectSendStream[SessionMessage | Exception],
    ) -> None:
        """Pass messages on until the process ends, closes its output or says too much."""
        lines = Lines()
        assert process.stdout is not None
        with incoming:
            while self._noise <= MAX_NOISE_LINES:
                chunk = await process.stdout.read(_CHUNK_BYTES)
                if not chunk:
                    break
                for line, size in lines.feed(chunk):
                    message = self._message(line, size)
                    if message is None:
                        continue
                    try:
                        await incoming.send(message)
                    except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                        return
                await asyncio.sleep(0)  # a flood must not keep the screen waiting
            await self._say_why(
                process, lines.pending_bytes
            )  # before the stream ends: then nobody waits for it

    async def _say_why(self, process: Child, pending_bytes: int) -> None:
        if self._noise > MAX_NOISE_LINES:
            self.ended = f"wrote more than {MAX_NOISE_LINES:,} lines that are no messages"
            return
        await process.exited(_EOF_GRACE_S)
        code = process.exit_code
        how = "closed its output" if code is None else _how_it_ended(code)
        self.ended = f"{how} in the middle of a message" if pending_bytes else how

    def _message(self, line: bytes, size: int) -> SessionMessage | None:
        """Read one line; None for what is no message, or one notice of too many."""
        if not line.strip():
            return None
        try:
            text = line if size == len(line) else _shortened(line, size)
            message = jsonrpc_message_adapter.validate_json(text, by_name=False)
        except ValueError:
            self._noise += 1
            if self._noise <= 20:
                self._log.add("noise", line[:2_000].decode("utf-8", "replace"))
            return None
        if isinstance(message, JSONRPCNotification) and self._too_many():
            return None
        self._noise = 0
        return SessionMessage(message)

    def _too_many(self) -> bool:
        second = int(time.monotonic())
        if second != self._second:
            self._second, self._notices = second, 0
        self._notices += 1
        return self._notices > MAX_NOTICES_A_SECOND

    async def _write(self, process: Child, outgoing: MemoryObjectReceiveStream[SessionMessage]) -> None:
        assert process.stdin is not None
        with outgoing, contextlib.suppress(OSError, RuntimeError):  # RuntimeError: the pipe is closing
            async for item in outgoing:
                text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
                process.stdin.write(f"{text}\n".encode("utf-8", "replace"))
                await process.stdin.drain()

    async def _read_errors(self, process: Child) -> None:
        assert process.stderr is not None
        lines = Lines(max_bytes=8_192, kept_bytes=4_096)
        while chunk := await process.stderr.read(_CHUNK_BYTES):
            for line, _ in lines.feed(chunk):
                self._log.add("stderr", line.decode("utf-8", "replace"))
            await asyncio.sleep(0)

    async def _stop(self, process: Child) -> None:
        """Close its input, then ask its whole group to end."""
        if process.stdin is not None:
            with contextlib.suppress(OSError, RuntimeError):
                process.stdin.close()
        if not await process.exited(_EOF_GRACE_S):
            process.signal(signal.SIGTERM)
            await process.exited(_TERM_GRACE_S)


def _how_it_ended(code: int) -> str:
    if code >= 0:
        return f"exited with code {code}"
    with contextlib.suppress(ValueError):
        return f"was ended by {signal.Signals(-code).name}"
    return f"was ended by signal {-code}"


def _shortened(head: bytes, size: int) -> bytes:
    """Make a whole message of the head of one that was too long, marked as cut. Raises ValueError."""
    value: object = from_json(head, allow_partial="trailing-strings")
    found = cast("JsonObject", value) if isinstance(value, dict) else {}
    result = found.get("result")
    if not isinstance(result, dict):
        raise ValueError("not the head of an answer")
    if "id" not in found:
        number = _REQUEST_ID.search(head)
        if number is None:
            raise ValueError("an answer without an id")
        found["id"] = int(number[1])
    result["_meta"] = {CUT_MARK: size}
    return json.dumps(found).encode()
