"""An editor for the tests: the official client of the package, with the program as its agent."""

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from acp import spawn_agent_process
from acp.client.connection import ClientSideConnection
from acp.schema import (
    AllowedOutcome,
    DeniedOutcome,
    PermissionOption,
    PromptResponse,
    RequestPermissionResponse,
    TextContentBlock,
    ToolCallUpdate,
)

from tests.support.acp_schema import SchemaCheck
from tests.support.patience import PATIENCE_S

Choose = Callable[[ToolCallUpdate, Sequence[PermissionOption]], str | None]


class Editor:
    """Keeps what the agent told. `choose` gives an option id, None cancels; while `hold` is set nothing is answered."""

    def __init__(self) -> None:
        self.updates: list[tuple[str, Any]] = []
        self.asked: list[tuple[str, ToolCallUpdate, list[PermissionOption]]] = []
        self.choose: Choose = lambda _call, _options: "allow_once"
        self.hold: asyncio.Event | None = None
        self.schema = SchemaCheck()
        self.agent: ClientSideConnection
        self.process: asyncio.subprocess.Process
        self._changed = asyncio.Event()

    def on_connect(self, conn: Any) -> None:
        """Part of the protocol."""

    async def session_update(self, session_id: str, update: Any, **_more: Any) -> None:
        self.updates.append((session_id, update))
        self._changed.set()

    async def request_permission(
        self, session_id: str, tool_call: ToolCallUpdate, options: list[PermissionOption], **_more: Any
    ) -> RequestPermissionResponse:
        self.asked.append((session_id, tool_call, options))
        self._changed.set()
        if self.hold is not None:
            await self.hold.wait()
        chosen = self.choose(tool_call, options)
        if chosen is None:
            return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))
        return RequestPermissionResponse(outcome=AllowedOutcome(outcome="selected", option_id=chosen))

    async def until(self, condition: Callable[[], Any]) -> None:
        """Wait for what the agent will tell."""
        async with asyncio.timeout(PATIENCE_S):
            while not condition():
                self._changed.clear()
                await self._changed.wait()

    async def open(self, folder: Path, **more: Any) -> str:
        opened = await self.agent.new_session(cwd=str(folder), **{"mcp_servers": [], **more})
        return opened.session_id

    async def say(self, session_id: str, *blocks: Any) -> PromptResponse:
        content = [TextContentBlock(type="text", text=b) if isinstance(b, str) else b for b in blocks]
        async with asyncio.timeout(PATIENCE_S):
            return await self.agent.prompt(session_id=session_id, prompt=content)

    def told(self, kind: str, session_id: str = "") -> list[Any]:
        return [u for s, u in self.updates if u.session_update == kind and session_id in ("", s)]

    def text(self, kind: str = "agent_message_chunk", session_id: str = "") -> str:
        return "".join(update.content.text for update in self.told(kind, session_id))

    def statuses(self) -> list[str]:
        """What was told of the calls, in order."""
        kinds = ("tool_call", "tool_call_update")
        return [u.status for _, u in self.updates if u.session_update in kinds and u.status]


@asynccontextmanager
async def editor(env: dict[str, str], *arguments: str, initialize: bool = True) -> AsyncIterator[Editor]:
    """Start the program as an editor's agent; at the end every message it sent was valid."""
    one = Editor()
    program = [sys.executable, "-m", "agent_tui", "acp", *arguments]
    transport = {"stderr": None, "shutdown_timeout": 20.0}
    async with spawn_agent_process(
        one, *program, env=env, transport_kwargs=transport, observers=[one.schema]
    ) as (agent, process):
        one.agent, one.process = agent, process
        if initialize:
            await agent.initialize(protocol_version=1)
        yield one
    assert one.schema.faults == []
    assert process.returncode == 0
