import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import cast

import pytest

from agent_tui.headless.output import Output
from agent_tui.headless.print_mode import Conversation
from agent_tui.headless.questions import Ground
from agent_tui.headless.stream_approver import StreamApprover
from agent_tui.headless.stream_mode import StreamRun


class Idle:
    """A conversation that is given no prompt."""

    def __init__(self) -> None:
        self.closed = False

    def bind(self, **_: object) -> None: ...

    def status(self) -> None: ...

    def tools(self) -> list[object]:
        return []

    async def aclose(self) -> None:
        self.closed = True


class Unread(Output):
    """Standard output without a reader."""

    def __init__(self) -> None: ...

    def begin(self, facts: object, tools: list[str]) -> None: ...

    def line(self, data: object) -> None:
        raise BrokenPipeError


async def test_a_rejection_that_nobody_reads_ends_the_run_although_the_input_goes_on() -> None:
    async def lines() -> AsyncIterator[bytes]:
        yield b"nonsense"
        await asyncio.Event().wait()

    async def known(_text: str) -> str:
        return ""

    conversation, output = Idle(), Unread()
    approver = StreamApprover(output.line, Ground(Path("/p"), Path("/h")))
    run = StreamRun(cast("Conversation", conversation), output=output, approver=approver, unknown=known)

    with pytest.raises(BrokenPipeError):
        async with asyncio.timeout(10):
            await run.run(lines())
    assert conversation.closed
