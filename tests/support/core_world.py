import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agent_tui.conversation.core import Core
from agent_tui.protocol.events import Event, Notice, ToolDenied, ToolFinished, TurnFailed
from agent_tui.protocol.messages import TextBlock, UserMessage
from agent_tui.providers.scripted import ScriptedProvider
from agent_tui.run.assembly import assemble
from agent_tui.run.options import RunOptions
from agent_tui.toolkit.testing import ScriptedApprover


def config_folder() -> Path:
    """Give the user's folder of the isolated home."""
    path = Path(os.environ["XDG_CONFIG_HOME"]) / "agent-tui"
    path.mkdir(parents=True, exist_ok=True)
    return path


def configure(toml: str) -> Path:
    """Write the user's settings of the isolated home."""
    path = config_folder() / "config.toml"
    path.write_text(toml)
    return path


def audit() -> list[dict[str, Any]]:
    """Give the lines of the audit file."""
    path = Path(os.environ["XDG_STATE_HOME"]) / "agent-tui/audit.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


@dataclass
class CoreWorld:
    """A whole core without a screen: a scripted model, an approver, everything it told."""

    core: Core
    provider: ScriptedProvider
    approver: ScriptedApprover
    events: list[Event] = field(default_factory=list)

    def words(self, request: int = -1) -> str:
        """Give what the last message of a request says, results included."""
        message = self.provider.requests[request].messages[-1]
        assert isinstance(message, UserMessage)
        return "\n".join(
            block.text if isinstance(block, TextBlock) else getattr(block, "content", "")
            for block in message.content
        )

    def of(self, kind: type[Any]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]

    @property
    def notices(self) -> list[str]:
        return [event.text for event in self.of(Notice)]

    @property
    def denials(self) -> list[str]:
        return [event.reason for event in self.of(ToolDenied)]

    @property
    def results(self) -> list[str]:
        return [event.output for event in self.of(ToolFinished)]

    @property
    def failures(self) -> list[str]:
        return [event.error for event in self.of(TurnFailed)]


@asynccontextmanager
async def open_core(
    workspace: Path, *replies: Any, approver: ScriptedApprover | None = None, **options: Any
) -> AsyncIterator[CoreWorld]:
    core = await assemble(RunOptions(provider="offline", **options), workspace, with_screen=False)
    provider = ScriptedProvider(list(replies))
    core.agent.provider = provider
    world = CoreWorld(core, provider, approver or ScriptedApprover())

    async def listen(event: Event) -> None:
        world.events.append(event)

    core.bind(sink=listen, approver=world.approver, ask=None)
    try:
        yield world
    finally:
        await core.aclose()
