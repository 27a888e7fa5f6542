"""Takes the pictures of the README from the real program: its core, its offline model, its screen.

python docs/pictures/make.py [FOLDER]   writes the .svg files beside this script, or into FOLDER
"""

import asyncio
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from textual.pilot import Pilot

from agent_tui.conversation.core import Core
from agent_tui.extensions.bundled import themes_dir
from agent_tui.protocol.events import Event, EventSink, ToolFinished, ToolOutput
from agent_tui.providers.offline import OfflineProvider
from agent_tui.run.assembly import assemble
from agent_tui.run.options import RunOptions
from agent_tui.ui.app import AgentApp
from agent_tui.ui.screens.approval.preview import must_be_read
from agent_tui.ui.screens.approval.screen import ApprovalScreen
from agent_tui.ui.settings import AppSettings

SIZE = (100, 30)
TRIES = 3_000
PROJECT = {
    "README.md": "# Sunflower\n\nCounts petals.\n",
    "src/petals.py": (
        'def greet(name: str) -> str:\n    return f"Hello, {name}!"\n\n\n'
        "def count(flower: list[str]) -> int:\n    return len(flower)\n"
    ),
}


class Camera:
    """Drives the program with keys and keeps what it shows."""

    def __init__(self, app: AgentApp, pilot: Pilot[int], folder: Path) -> None:
        self._app, self._pilot, self._folder = app, pilot, folder

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait for something. Raises TimeoutError after half a minute."""
        for _ in range(TRIES):
            if condition():
                await self._pilot.pause(0.1)
                return
            await self._pilot.pause(0.01)
        raise TimeoutError("the program did not come to where its picture is taken")

    async def say(self, text: str) -> None:
        """Send a prompt."""
        self._app.prompt.put(text)
        self._app.completion.close()
        await self._pilot.press("enter")

    async def decide(self, *keys: str) -> None:
        """Press keys of the approval screen, each on a call whose preview was seen to its end."""
        for key in keys:
            await self.until(self._is_read)
            await self._pilot.press(key)

    def _is_read(self) -> bool:
        screen = self._app.screen
        row = screen.row if isinstance(screen, ApprovalScreen) else None
        return row is None or row.read or not must_be_read(row)

    async def asked(self) -> None:
        """Wait for the approval screen."""
        await self.until(lambda: isinstance(self._app.screen, ApprovalScreen))
        await self.until(self._is_read)

    async def idle(self) -> None:
        """Wait for the end of the turn."""
        await self.until(lambda: not self._app.driver.busy)

    async def shoot(self, name: str) -> None:
        """Keep a picture."""
        await self._pilot.pause(0.3)
        svg = self._app.export_screenshot(title="agent-tui")
        svg = re.sub(r"terminal-\d+", "t", svg)  # a number made of the whole picture
        svg = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)  # pictures in pages load nothing
        lines = [line.rstrip() for line in svg.splitlines()]
        (self._folder / f"{name}.svg").write_text("\n".join(lines) + "\n", encoding="utf-8")


async def tour(camera: Camera, pilot: Pilot[int]) -> None:
    """Go the way of the two minutes."""
    await camera.say("explain this project")
    await camera.idle()
    await camera.shoot("1-start")
    await camera.say("tour")
    await camera.asked()
    await camera.shoot("2-round")
    await camera.decide("y", "c")
    await pilot.press(*"not yet", "enter")
    await camera.decide("n", "a", "y")
    await camera.shoot("3-decided")
    await camera.decide("n", "n", "enter")
    await camera.asked()
    await camera.shoot("4-diff")
    await camera.decide("y")
    await camera.idle()
    await camera.shoot("5-done")


def make_project(root: Path) -> Path:
    """Give a small project with one commit."""
    project = root / "sunflower"
    for name, text in PROJECT.items():
        path = project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    git = ["git", "-C", str(project), "-c", "user.name=me", "-c", "user.email=me@example.invalid"]
    for arguments in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-qm", "first"]):
        subprocess.run([*git, *arguments], check=True)
    return project


async def take(folder: Path, root: Path) -> None:
    """Run the program in a home of its own and take its pictures."""
    project = make_project(root)
    os.environ.update(HOME=str(root / "home"), **{f"XDG_{kind}_HOME": str(root / kind) for kind in _KINDS})
    os.environ["TZ"] = "UTC"
    time.tzset()
    os.chdir(project)

    async def load() -> Core:
        core = await assemble(RunOptions(provider="offline", name="tour"), project, with_screen=True)
        core.agent.provider = OfflineProvider(clock=lambda: 0.0)
        return core

    settings = AppSettings(theme_folders=(themes_dir(),), grace_s=0.0, typing_s=0.0)
    app = AgentApp(load, settings=settings)
    async with app.run_test(size=SIZE) as pilot:
        camera = Camera(app, pilot, folder)
        await camera.until(lambda: app.link is not None)
        if app.link is not None:
            app.link.backend.bind(sink=_still(app.link.take), approver=app.link.approver, ask=app.link.ask)
        await tour(camera, pilot)


def _still(sink: EventSink) -> EventSink:
    """Give a sink in which everything takes the same time, so that two runs give the same pictures."""

    async def take(event: Event) -> None:
        if isinstance(event, ToolFinished | ToolOutput):
            told = re.sub(r"\d+\.\d+ s\b", "0.10 s", event.model_dump_json())
            event = type(event).model_validate_json(re.sub(r'"elapsed_s":[^,}]*', '"elapsed_s":0.1', told))
        await sink(event)

    return take


_KINDS = ("CONFIG", "DATA", "STATE", "CACHE")


def main() -> None:
    """Take the pictures."""
    folder = Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else Path(__file__).resolve().parent
    root = Path(tempfile.gettempdir()).resolve() / "agent-tui-pictures"  # its name is seen in the pictures
    root.mkdir()
    try:
        asyncio.run(take(folder, root))
    finally:
        shutil.rmtree(root)


if __name__ == "__main__":
    main()
