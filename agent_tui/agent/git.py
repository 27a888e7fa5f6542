"""Our own git calls: nothing that a repository's configuration names is run, and never for long."""

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path

from agent_tui.protocol.errors import SandboxError
from agent_tui.sandbox.interface import Confinement, Launch, Profile, Sandbox, Strength
from agent_tui.toolkit.capture import capture
from agent_tui.toolkit.children import NULL
from agent_tui.toolkit.programs import find_program
from agent_tui.toolkit.threads import off_loop

TIMEOUT_S = 2.0
_LIMIT_BYTES = 64 * 1024
_SAFE = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "--no-optional-locks")


class GuardedGit:
    """Git in one workspace: in the read-only sandbox, or without one where the person trusts the project."""

    def __init__(self, workspace: Path, *, sandbox: Sandbox | None = None, trusted: bool = False) -> None:
        self.workspace = workspace
        self._sandbox = sandbox
        self._trusted = trusted

    @property
    def in_work_tree(self) -> bool:
        """Whether the workspace lies in a repository."""
        return any((place / ".git").exists() for place in (self.workspace, *self.workspace.parents))

    async def may_run(self) -> bool:
        """Tell whether git may be asked at all: a repository's configuration can name programs that git runs."""
        return self._trusted or await self._confining() is not None

    async def output(
        self,
        *arguments: str,
        stdin: bytes = b"",
        limit_bytes: int = _LIMIT_BYTES,
        timeout_s: float = TIMEOUT_S,
    ) -> bytes | None:
        """Run git; None when it may not run, fails or takes too long. More than `limit_bytes` is cut."""
        sandbox = await self._confining()
        if sandbox is None and not self._trusted:
            return None
        return await git_bytes(
            self.workspace,
            arguments,
            sandbox=sandbox,
            stdin=stdin,
            limit_bytes=limit_bytes,
            timeout_s=timeout_s,
        )

    async def _confining(self) -> Sandbox | None:
        sandbox = self._sandbox
        if sandbox is None:
            return None
        return sandbox if await asyncio.to_thread(lambda: sandbox.strength) is Strength.STRONG else None


async def git_bytes(
    workspace: Path,
    arguments: Sequence[str],
    *,
    sandbox: Sandbox | None,
    stdin: bytes = b"",
    limit_bytes: int = _LIMIT_BYTES,
    timeout_s: float = TIMEOUT_S,
) -> bytes | None:
    """Run git in `workspace`, confined by `sandbox` when given; None when it fails or takes over `timeout_s`.

    At most `limit_bytes` of output are read; the rest is cut.
    """
    git = await asyncio.to_thread(lambda: find_program("git", outside=workspace))
    if git is None:
        return None
    argv = (str(git), *_SAFE, "-C", str(workspace), *arguments)
    env = _environment()

    def prepare() -> Launch:
        if sandbox is None:
            return Launch(argv=argv, env=env, cwd=workspace)
        return sandbox.launch(argv, cwd=workspace, confinement=Confinement(Profile.READ_ONLY), env=env)

    try:
        launch = await off_loop(prepare, drop=_close_descriptors)  # a sandbox may start its network's holder
        return await _run(launch, stdin, limit_bytes, timeout_s)
    except (OSError, ValueError, SandboxError):
        return None


def _environment() -> dict[str, str]:
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": os.environ.get("HOME", "/"),
        "LC_ALL": "C.UTF-8",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_PAGER": "cat",
        "GIT_NO_LAZY_FETCH": "1",
        "AGENT_TUI_CHILD": "1",
    }


async def _run(launch: Launch, stdin: bytes, limit_bytes: int, timeout_s: float) -> bytes | None:
    try:
        answer = await capture(
            launch.argv,
            cwd=launch.cwd,
            env=launch.env,
            stdin=stdin,
            stderr=NULL,
            pass_fds=launch.pass_fds,
            timeout_s=timeout_s,
            limit_bytes=limit_bytes,
        )
    finally:
        _close_descriptors(launch)
    return None if answer.exit_code and not answer.is_cut else answer.stdout


def _close_descriptors(launch: Launch) -> None:
    for descriptor in launch.close_after:
        os.close(descriptor)
