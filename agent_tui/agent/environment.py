"""What the model must know of the place it works in; stands once, before the first prompt."""

import asyncio
import platform
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path

from agent_tui.agent.git import GuardedGit
from agent_tui.agent.instructions import Instructions, load_instructions
from agent_tui.agent.notes import ENVIRONMENT_OPEN
from agent_tui.sandbox.interface import Sandbox, Strength

_MAX_STATUS_LINES = 40
_ENVIRONMENT_CLOSE = "</environment>"
_SANDBOXED = (
    "Commands run in a sandbox: no network and no writing outside the project unless granted, and a /tmp of their own "
    "that the other tools do not see."
)


class Surroundings:
    """Describes the workspace; call it for the text of the first message.

    Git is asked only in the read-only sandbox, or without one when `trusted`: its configuration can name programs that
    it runs. `instructions` and their notices are there after the first call; `git` asks git in the same way.
    """

    def __init__(
        self,
        workspace: Path,
        *,
        sandbox: Sandbox | None = None,
        trusted: bool = False,
        user_files: Sequence[Path] = (),
        reads_instructions: bool = True,
        now: Callable[[], datetime] = lambda: datetime.now().astimezone(),
    ) -> None:
        self._workspace = workspace
        self._sandbox = sandbox
        self.git = GuardedGit(workspace, sandbox=sandbox, trusted=trusted)
        self._user_files = tuple(user_files)
        self._reads_instructions = reads_instructions
        self._now = now
        self.instructions: Instructions | None = None

    async def __call__(self) -> str:
        """Give the text: working directory, platform, date, git state, instruction files."""
        facts = [
            f"Working directory: {self._workspace}",
            f"Platform: {platform.system()} {platform.release()} ({platform.machine()})",
            f"Date: {self._now():%Y-%m-%d (%A), time zone %Z}",
            await asyncio.to_thread(self._confined),
            await self._git(),
        ]
        text = f"{ENVIRONMENT_OPEN}\n" + "\n".join(filter(None, facts)) + f"\n{_ENVIRONMENT_CLOSE}"
        if not self._reads_instructions:
            return text
        self.instructions = await asyncio.to_thread(
            load_instructions, self._workspace, user_files=self._user_files
        )
        return f"{text}\n\n{self.instructions.text}" if self.instructions.text else text

    def _confined(self) -> str:
        """Say how commands are confined, "" when they are not; may wait for the probe."""
        confined = self._sandbox is not None and self._sandbox.strength is Strength.STRONG
        return _SANDBOXED if confined else ""

    async def _git(self) -> str:
        if not self.git.in_work_tree:
            return "Git: not a repository"
        if not await self.git.may_run():
            return "Git: a repository (its state was not read)"
        status = await self.git.output("status", "--porcelain=v1", "--branch", "--untracked-files=normal")
        if status is None:
            return "Git: a repository (its state could not be read)"
        return _git_text(status.decode("utf-8", "replace"))


def _git_text(status: str) -> str:
    first, *files = status.splitlines() or ["## (unknown)"]
    branch = first.removeprefix("## ").split("...")[0].removeprefix("No commits yet on ")
    if not files:
        return f"Git: branch {branch}, no changes"
    shown = files[:_MAX_STATUS_LINES]
    more = [f"... and {len(files) - len(shown)} more"] if len(files) > len(shown) else []
    return "\n".join([f"Git: branch {branch}, {len(files)} changed or new:", *shown, *more])
