"""Our own git calls: nothing that a repository's configuration names is run, and never for long."""

import asyncio
import contextlib
import os
import signal
from collections.abc import Sequence
from pathlib import Path

from agent_tui.protocol.errors import SandboxError
from agent_tui.sandbox.interface import Confinement, Launch, Profile, Sandbox
from agent_tui.toolkit.programs import find_program

TIMEOUT_S = 2.0
_LIMIT_BYTES = 64 * 1024
_SAFE = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "--no-optional-locks")


async def git_output(workspace: Path, arguments: Sequence[str], *, sandbox: Sandbox | None) -> str | None:
    """Run git in `workspace`, confined by `sandbox` when given; None when it fails or takes over 2 seconds.

    At most 64 KiB of output are read; the rest is cut.
    """
    git = await asyncio.to_thread(lambda: find_program("git", outside=workspace))
    if git is None:
        return None
    argv = (str(git), *_SAFE, "-C", str(workspace), *arguments)
    launch = Launch(argv=argv, env=_environment(), cwd=workspace)
    try:
        if sandbox is not None:
            confinement = Confinement(profile=Profile.READ_ONLY)
            launch = sandbox.launch(argv, cwd=workspace, confinement=confinement, env=launch.env)
        return await _run(launch)
    except (OSError, TimeoutError, SandboxError):
        return None


def _environment() -> dict[str, str]:
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": os.environ.get("HOME", "/"),
        "LC_ALL": "C.UTF-8",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_PAGER": "cat",
        "AGENT_TUI_CHILD": "1",
    }


async def _run(launch: Launch) -> str | None:
    try:
        process = await asyncio.create_subprocess_exec(
            *launch.argv,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            cwd=launch.cwd,
            env=dict(launch.env),
            pass_fds=launch.pass_fds,
            start_new_session=True,
        )
    finally:
        for descriptor in launch.close_after:
            os.close(descriptor)
    output = b""
    try:
        async with asyncio.timeout(TIMEOUT_S):
            if process.stdout is not None:
                while len(output) < _LIMIT_BYTES and (part := await process.stdout.read(_LIMIT_BYTES)):
                    output += part
            if len(output) < _LIMIT_BYTES and await process.wait():
                return None
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
    return output.decode("utf-8", "replace")
