"""Programs that leave others behind, and every place of ours that starts one, for tests of their ends."""

import asyncio
import contextlib
import os
import signal
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Any

from agent_tui.agent.git import git_bytes
from agent_tui.conversation.clipboard import Clipboard
from agent_tui.conversation.picture import png_of
from agent_tui.extensions.hooks.process import run_shell
from agent_tui.extensions.log import ServerLog
from agent_tui.extensions.mcp.browser import open_page
from agent_tui.extensions.mcp.spec import ServerSpec
from agent_tui.extensions.mcp.stdio import ReadStream, StdioServer, WriteStream
from agent_tui.extensions.plugged.child import Child as ExtensionChild
from agent_tui.extensions.plugged.manifest import Launch as ExtensionLaunch
from agent_tui.headless.command_approver import CommandApprover
from agent_tui.headless.questions import Ground
from agent_tui.protocol.errors import AgentTuiError
from agent_tui.toolkit.capture import capture
from tests.support.patience import PATIENCE_S, until, until_now

NAMES = ("git", "wl-paste", "rsvg-convert", "xdg-open", "program")


class StartWorld:
    """A folder of programs of one kind, first in PATH, and what they started."""

    def __init__(self, tmp_path: Path, workspace: Path) -> None:
        self.workspace = workspace
        self.bin = tmp_path / "bin"
        self.bin.mkdir()
        self.notes = tmp_path / "started"
        self.path = f"{self.bin}:{os.environ['PATH']}"

    def install(self, script: str) -> None:
        """Make each program run `script`; `$NOTES` is the file that its children are noted in."""
        for name in NAMES:
            program = self.bin / name
            program.write_text(f"#!/bin/sh\nexport NOTES={self.notes}\n{script}\n")
            program.chmod(0o755)

    def started(self) -> list[int]:
        """What the programs noted until now."""
        return [int(line) for line in self.notes.read_text().split()] if self.notes.exists() else []

    def wait_for_started(self, count: int) -> None:
        """Hold up the whole loop until `count` processes are noted."""
        until_now(lambda: len(self.started()) >= count)

    def clean(self) -> None:
        for pid in self.started():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue


def is_gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True


async def all_gone(pids: list[int]) -> bool:
    """Wait until the kernel has ended what was killed."""
    try:
        await until(lambda: all(map(is_gone, pids)))
    except TimeoutError:
        return False
    return True


async def cancelled_while_it_starts(work: Coroutine[Any, Any, Any], ready: Callable[[], None]) -> None:
    """Run `work` and cancel it in the turn of the loop after its first program was made, once `ready` returns."""
    loop = asyncio.get_running_loop()
    begin = loop.subprocess_exec
    task = asyncio.ensure_future(work)
    made = asyncio.Event()

    def stop() -> None:
        ready()
        made.set()
        task.cancel()

    async def watched(*arguments: Any, **options: Any) -> Any:
        loop.call_soon(stop)
        return await begin(*arguments, **options)

    loop.subprocess_exec = watched
    try:
        done, _ = await asyncio.wait({task}, timeout=PATIENCE_S)
    finally:
        loop.subprocess_exec = begin
    assert made.is_set(), "nothing was started"
    assert done, "it waits for what the program has started"
    assert task.cancelled()


async def by_capture(world: StartWorld) -> None:
    await capture((str(world.bin / "program"),), stdin=b"x", timeout_s=PATIENCE_S, limit_bytes=1_000)


async def by_hook(world: StartWorld) -> None:
    command = f"{world.bin / 'program'}; true"
    await run_shell(command, stdin=b"{}", cwd=world.workspace, env=os.environ, timeout_s=PATIENCE_S)


async def by_approver(world: StartWorld) -> None:
    ground = Ground(project=world.workspace, home=Path("/home/me"))
    await CommandApprover([str(world.bin / "program")], ground=ground, say=lambda _text: None).review([])


async def by_git(world: StartWorld) -> None:
    await git_bytes(world.workspace, ("status",), sandbox=None, timeout_s=PATIENCE_S)


async def by_clipboard(world: StartWorld) -> None:
    await Clipboard(lambda name: world.bin / name, {"WAYLAND_DISPLAY": "1"}).image()


async def by_picture(world: StartWorld) -> None:
    with contextlib.suppress(AgentTuiError):  # what ran made no picture
        await png_of("<svg/>", outside=world.workspace)


async def by_browser(world: StartWorld) -> None:
    await open_page("https://example.org", outside=world.workspace)


async def by_server(world: StartWorld) -> None:
    async def serve(incoming: ReadStream, _outgoing: WriteStream) -> None:
        async for _message in incoming:
            pass

    spec = ServerSpec(name="s", origin="user", file="", command=str(world.bin / "program"))
    await StdioServer(spec, world.workspace, ServerLog()).run(serve)


async def by_extension(world: StartWorld) -> None:
    launch = ExtensionLaunch(argv=(str(world.bin / "program"),), cwd=world.workspace, variables={})
    child = await ExtensionChild.start(launch)
    try:
        while await child.lines() is not None:
            pass
    finally:
        await child.end(farewell=b"{}\n", limit_s=1.0)


USERS: dict[str, Callable[[StartWorld], Awaitable[None]]] = {
    "capture": by_capture,
    "hook": by_hook,
    "approver": by_approver,
    "git": by_git,
    "clipboard": by_clipboard,
    "picture": by_picture,
    "browser": by_browser,
    "server": by_server,
    "extension": by_extension,
}
