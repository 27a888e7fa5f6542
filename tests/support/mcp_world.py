import asyncio
import sys
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from agent_tui.executor.registry import CompositeSource
from agent_tui.extensions.mcp.guest import Desk
from agent_tui.extensions.mcp.server import Pace
from agent_tui.extensions.mcp.servers import Servers, ServerStatus
from agent_tui.extensions.mcp.spec import ServerSpec
from agent_tui.protocol.tools import ToolResult
from agent_tui.toolkit.context import ToolContext
from agent_tui.toolkit.testing import make_context
from tests.support.patience import PATIENCE_S, until

SCRIPTS = Path(__file__).parent / "mcp_servers"


def spec(
    mode: str = "good", *extra: str, name: str = "tiny", script: str = "tiny.py", **fields: object
) -> ServerSpec:
    words = (
        ("-S", str(SCRIPTS / script), mode, *extra)
        if script == "tiny.py"
        else (str(SCRIPTS / script), mode, *extra)
    )
    values: dict[str, object] = {
        "command": sys.executable,
        "args": words,
        "start_s": PATIENCE_S,
        "call_s": PATIENCE_S,
    }
    return ServerSpec(name=name, origin="user", file="config.toml", **{**values, **fields})


@dataclass
class World:
    servers: Servers
    tools: CompositeSource
    workspace: Path
    notices: list[str]

    def context(self) -> ToolContext:
        return make_context(self.workspace)

    def publish(self, *, cached: bool = False) -> list[str]:
        news = self.servers.publish(self.tools, cached=cached)
        self.notices += [entry.text for entry in news]
        return [entry.text for entry in news]

    async def call(self, name: str, args_json: str = "{}", ctx: ToolContext | None = None) -> ToolResult:
        return await self.tools.execute(name, args_json, ctx or self.context())

    def status(self, name: str = "tiny") -> ServerStatus:
        return next(status for status in self.servers.statuses() if status.name == name)

    async def until(self, truth: Callable[[], bool]) -> None:
        await until(truth)


@asynccontextmanager
async def world(
    workspace: Path,
    specs: Sequence[ServerSpec],
    *,
    desk: Mapping[str, object] | None = None,
    settle: bool = True,
    restart_s: float = 0.05,
) -> AsyncGenerator[World]:
    servers = Servers(
        specs,
        desk=Desk(roots=(workspace.resolve(),), **(desk or {})),
        state_dir=workspace.parent / "state",
        pace=Pace(restart_s=restart_s, settle_s=0.05, calm_s=0.3, ping_s=0.5),
    )
    servers.start()
    here = World(servers, CompositeSource(), workspace, [])
    try:
        if settle:
            async with asyncio.timeout(PATIENCE_S):
                await servers.settled()
            here.publish()
        yield here
    finally:
        await servers.aclose()
