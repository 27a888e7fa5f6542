import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from agent_tui.extensions.hooks.bus import Hooks
from agent_tui.extensions.hooks.command import CommandHook, HookGround
from agent_tui.extensions.hooks.events import EventName, HookAnswer, HookEvent
from agent_tui.extensions.hooks.settings import HookFile, HookSpec, find_hooks

PYTHON = shlex.quote(sys.executable)


def say(answer: str) -> str:
    """Give a shell command that prints `answer`."""
    return f"printf %s {shlex.quote(answer)}"


class Heard:
    """A subscriber written in Python: answers what it was given, remembers what it was told."""

    label = "listener"

    def __init__(
        self, *answers: HookAnswer | Exception | None, names: Sequence[str] = (), guarding: bool = False
    ) -> None:
        self._answers = list(answers)
        self._names = names
        self._guarding = guarding
        self.events: list[HookEvent] = []

    def wants(self, event: HookEvent) -> bool:
        return not self._names or event.name in self._names

    def guards(self, event: HookEvent) -> bool:
        return self._guarding

    async def on(self, event: HookEvent) -> HookAnswer | None:
        self.events.append(event)
        answer = self._answers.pop(0) if self._answers else None
        if isinstance(answer, Exception):
            raise answer
        return answer


class HookWorld:
    """Hooks on a workspace, with what was said to the person."""

    def __init__(self, workspace: Path, *, env: Mapping[str, str] | None = None, holds: bool = True) -> None:
        self.workspace = workspace
        self.env = dict(env or {"PATH": os.environ["PATH"]})
        self.project_holds = holds
        self.warnings: list[str] = []
        self.hooks = Hooks(self._warn)

    async def _warn(self, text: str) -> None:
        self.warnings.append(text)

    async def _holds(self) -> bool:
        return self.project_holds

    @property
    def ground(self) -> HookGround:
        return HookGround(self.workspace, lambda: self.env, self._holds)

    def use(self, toml: str, *, origin: str = "user") -> list[HookSpec]:
        """Use the hooks of a settings text."""
        path = self.workspace.parent / f"{origin}.toml"
        path.write_text(toml)
        found = find_hooks([HookFile(path, origin)])
        self.hooks.use([CommandHook(spec, self.ground) for spec in found.hooks])
        return list(found.hooks)

    def hook(self, event: str, command: str, **more: Any) -> CommandHook:
        """Give one hook that stands nowhere."""
        spec = HookSpec(
            event=EventName(event),
            command=command,
            file=Path("/c.toml"),
            line=3,
            **{"origin": "user", **more},
        )
        return CommandHook(spec, self.ground)


def tool_event(name: str = "pre_tool", tool: str = "bash", **facts: Any) -> HookEvent:
    given = {"tool_name": tool, "tool_input": {"command": "ls"}, "call_id": "c0", **facts}
    return HookEvent(EventName(name), given, tool)
