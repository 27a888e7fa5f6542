"""Serves the protocol on standard input and output, which carry nothing else from then on."""

import asyncio
import logging
import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import cast

from acp.agent.connection import AgentSideConnection
from acp.interfaces import Agent
from acp.stdio import stdio_streams

from agent_tui.headless.acp.agent import EditorAgent
from agent_tui.headless.acp.conversation import ListSessions, OpenConversation
from agent_tui.headless.exit_codes import ExitCode
from agent_tui.headless.signals import stopped_by_signals
from agent_tui.protocol.errors import AgentTuiError, UsageError

LINE_LIMIT_BYTES = 50 * 1024 * 1024


def serve(open_conversation: OpenConversation, list_sessions: ListSessions, *, log: Path) -> int:
    """Serve one editor until it closes standard input; give the exit code. Raises UsageError."""
    if sys.stdin.isatty():
        print(
            "agent-tui acp: waiting for an editor that speaks the Agent Client Protocol; docs/acp.md says how to "
            "connect one. Ctrl+D ends it.",
            file=sys.stderr,
        )
    _log_to(log)
    return asyncio.run(_serve(EditorAgent(open_conversation, list_sessions)))


async def _serve(agent: EditorAgent) -> int:
    try:
        with _private_streams():
            reader, writer = await stdio_streams(limit=LINE_LIMIT_BYTES)
    except ValueError as error:
        raise UsageError("agent-tui acp needs pipes as standard input and output, not files") from error
    connection = AgentSideConnection(
        cast("Agent", agent), writer, reader, listening=False, observers=[agent.observe]
    )
    listening = asyncio.create_task(connection.listen())  # owned: awaited or cancelled below

    def stop() -> None:
        listening.cancel()

    with stopped_by_signals(stop) as stopped:
        try:
            await asyncio.wait([listening])
        finally:
            listening.cancel()
            await agent.aclose()
            await connection.close()
    if stopped.code is None and not listening.cancelled() and (error := listening.exception()):
        raise AgentTuiError(f"The connection to the editor broke: {error}") from error
    return int(stopped.code or ExitCode.DONE)


@contextmanager
def _private_streams() -> Generator[None]:
    """Lend the real streams to the block; afterwards descriptor 0 is empty and 1 is standard error.

    A tool, a library or a child that prints can so not disturb the protocol.
    """
    sys.stdin, sys.stdout = os.fdopen(os.dup(0), "r"), os.fdopen(os.dup(1), "w")
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    try:
        yield
    finally:
        sys.stdin, sys.stdout = open(0, closefd=False), sys.stderr  # noqa: SIM115  # both live as long as the program


def _log_to(log: Path) -> None:
    """Send what the package logs to the program's log file, or to standard error when it cannot be written."""
    try:
        log.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        os.close(os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600))
        logging.basicConfig(filename=log, format="%(asctime)s acp %(levelname)s %(message)s")
    except OSError:
        logging.basicConfig(stream=sys.stderr, format="agent-tui acp: %(message)s")
