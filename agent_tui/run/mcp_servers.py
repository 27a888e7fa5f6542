"""Joins the MCP servers of a run to the core: which there are, whom they may ask, when their tools count."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from agent_tui.config.paths import Paths, user_paths
from agent_tui.executor.registry import CompositeSource
from agent_tui.extensions.mcp.config import Found, ServerFiles
from agent_tui.extensions.mcp.guest import Desk, Sampler, SampleReply, SampleRequest
from agent_tui.extensions.mcp.servers import Servers
from agent_tui.protocol.errors import AgentTuiError
from agent_tui.protocol.messages import AssistantMessage, TextBlock, UserMessage
from agent_tui.providers.base import Completed, Provider, ProviderRequest
from agent_tui.run.mcp_files import configured
from agent_tui.run.options import RunOptions
from agent_tui.toolkit.context import Ask

SAMPLE_S = 120.0


@dataclass(frozen=True)
class RunServers:
    """The servers of a run, where they are written down, and how their settings are read anew."""

    servers: Servers
    files: ServerFiles
    found: Found
    reread: Callable[[], Awaitable[Found]]

    async def join(self, tools: CompositeSource, *, wait: bool, told: Collection[str] = ()) -> list[str]:
        """Start the servers in the background; with `wait` until they run, and let their tools join at once.

        Gives what a person should know; that the files `told` cannot be read was said already.
        """
        notices = [f"MCP: {problem}" for problem in self.found.problems_beside(told)]
        self.servers.start()
        if wait and self.found.servers:
            await self.servers.settled()
            notices += [news.text for news in self.servers.publish(tools, last=True) if news.trouble]
        return notices

    async def follow(self) -> None:
        """Start and end servers so that those run whose settings count now."""
        await self.servers.reload((await self.reread()).servers)


async def make_servers(
    options: RunOptions,
    paths: Paths,
    workspace: Path,
    *,
    trusted: Callable[[], bool],
    ask: Callable[[], Ask | None],
    provider: Callable[[], Provider],
    interactive: bool,
) -> RunServers:
    """Read the settings and make the servers; none runs yet. The caller ends them.

    `interactive` says that a person may be there to ask.
    """
    roots = (workspace, *(path.resolve() for path in options.add_dirs))
    desk = Desk(roots=roots, ask=ask, sampler=sampler(provider), interactive=interactive)

    def look() -> Found:
        found = configured(options, paths, workspace, trusted=trusted())
        if found.servers:
            import_module("agent_tui.extensions.mcp.source")  # 20 ms, not on the loop
        return found

    async def read() -> Found:
        return await asyncio.to_thread(look)

    found = await read()
    files = ServerFiles.of(workspace, paths.user_config)
    return RunServers(Servers(found.servers, desk=desk, state_dir=paths.state), files, found, read)


def sampler(provider: Callable[[], Provider]) -> Sampler:
    """Lend the model: each request was allowed by a person, has no tools and at most two minutes."""

    async def sample(request: SampleRequest) -> SampleReply:
        model = provider()
        asked = ProviderRequest(
            system=request.system,
            messages=tuple(_message(role, text) for role, text in request.turns),
            max_output_tokens=request.max_tokens,
        )
        async with asyncio.timeout(SAMPLE_S), model.stream(asked) as deltas:
            async for delta in deltas:
                if isinstance(delta, Completed):
                    return _reply(delta.message, model.model)
        raise AgentTuiError("the model's reply was cut")

    return sample


def _message(role: str, text: str) -> UserMessage | AssistantMessage:
    block = (TextBlock(text=text or "(nothing)"),)
    return AssistantMessage(content=block) if role == "assistant" else UserMessage(content=block)


def _reply(message: AssistantMessage, model: str) -> SampleReply:
    text = "".join(block.text for block in message.content if isinstance(block, TextBlock))
    return SampleReply(text=text, model=model, cut=message.stop_reason == "max_tokens")


def run_mcp(arguments: Sequence[str]) -> int:
    """Run the `mcp` subcommand and give the exit code."""
    from agent_tui.extensions.mcp.commands import Setup, main
    from agent_tui.extensions.trust import TrustStore

    def setup(cwd: Path) -> Setup:
        paths, workspace = user_paths(), cwd.resolve()
        trusted = TrustStore(paths.state).verdict(workspace).trusted
        found = configured(RunOptions(), paths, workspace, trusted=trusted)
        files = ServerFiles.of(workspace, paths.user_config)
        return Setup(workspace, files, paths.state, found, trusted)

    return main(arguments, setup=setup)
