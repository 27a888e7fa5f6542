import asyncio
import json
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from textwrap import dedent

from agent_tui.executor.registry import CompositeSource
from agent_tui.extensions.plugged.discover import Findings, Places, find_extensions
from agent_tui.extensions.plugged.host import ExtensionHost
from agent_tui.extensions.plugged.plug import Pace
from agent_tui.protocol.tools import ToolResult
from agent_tui.toolkit.context import ToolContext
from agent_tui.toolkit.extension import Level
from agent_tui.toolkit.testing import make_context


class FakePerson:
    """Answers questions with `answer` and keeps what it is told."""

    def __init__(self, *, answer: bool = True) -> None:
        self.answer = answer
        self.asked: list[tuple[str, str, str, str, bool]] = []
        self.notices: list[tuple[Level, str]] = []
        self.submitted: list[str] = []
        self.changes = 0

    async def confirm(self, title: str, message: str, *, yes: str, no: str, danger: bool) -> bool:
        self.asked.append((title, message, yes, no, danger))
        return self.answer

    def notify(self, level: Level, text: str) -> None:
        self.notices.append((level, text))

    def submit(self, text: str) -> None:
        self.submitted.append(text)

    def status_changed(self) -> None:
        self.changes += 1

    def commands_changed(self) -> None:
        self.changes += 1


class PlugWorld:
    """A host with what it loaded from `folder`, and the door its tools joined."""

    def __init__(self, host: ExtensionHost, workspace: Path, notices: list[str]) -> None:
        self.host = host
        self.tools = CompositeSource()
        self.notices = notices
        self.context = make_context(workspace)
        self.person = FakePerson()

    async def ready(self) -> None:
        await self.host.settled()
        self.notices += [text for _, text in self.host.publish(self.tools)]

    async def call(self, name: str, *, ctx: ToolContext | None = None, **arguments: object) -> ToolResult:
        return await self.tools.execute(name, json.dumps(arguments), ctx or self.context)

    async def title(self, name: str, **arguments: object) -> str:
        await self.tools.foresee(name, json.dumps(arguments))
        return self.tools.title(name, json.dumps(arguments))


def write_extension(folder: Path, name: str, code: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.py"
    path.write_text(dedent(code))
    return path


def write_program(folder: Path, name: str, code: str) -> Path:
    """Write an extension in a process of its own: Python, with the few lines that every one needs before `code`."""
    folder.mkdir(parents=True, exist_ok=True)
    script = folder / f"_{name}.py"
    script.write_text(PRELUDE + dedent(code))
    manifest = folder / f"{name}.toml"
    manifest.write_text(f"command = [{json.dumps(sys.executable)}, '-S', {json.dumps(str(script))}]\n")
    return manifest


PRELUDE = """
import json, os, subprocess, sys, time

def say(**message):
    print(json.dumps(message), flush=True)

def hear():
    line = sys.stdin.readline()
    return json.loads(line) if line else {"type": "shutdown"}

def tool(name, **more):
    say(type="register_tool", name=name, description=f"Does {name}.", schema={"type": "object"}, **more)

"""


@asynccontextmanager
async def plug_world(
    workspace: Path,
    folder: Path,
    *,
    project: Path | None = None,
    pace: Pace | None = None,
    packages: bool = False,
    findings: Findings | None = None,
) -> AsyncGenerator[PlugWorld]:
    found = findings or find_extensions(Places(user=folder, project=project, packages=packages))
    host = ExtensionHost(workspace, pace=pace)
    world = PlugWorld(host, workspace, await asyncio.to_thread(host.load, found))
    host.bind(world.person)
    host.start()
    try:
        await world.ready()
        yield world
    finally:
        await host.aclose()
