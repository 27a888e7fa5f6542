"""Runs one hook command in a process group of its own and leaves nothing of it behind."""

from collections.abc import Mapping
from pathlib import Path

from agent_tui.extensions.hooks.events import HookFailed
from agent_tui.toolkit.capture import Captured, capture

SHELL = "/bin/sh"
MAX_OUTPUT_BYTES = 262_144


async def run_shell(
    command: str, *, stdin: bytes, cwd: Path, env: Mapping[str, str], timeout_s: float
) -> Captured:
    """Run `command` by the shell. Whatever it started in its group is killed when it ends or its time is up.

    Raises HookFailed: it cannot be started, took too long, or wrote too much.
    """
    try:
        ran = await capture(
            (SHELL, "-c", command),
            cwd=cwd,
            env=env,
            stdin=stdin,
            timeout_s=timeout_s,
            limit_bytes=MAX_OUTPUT_BYTES,
        )
    except TimeoutError as error:
        raise HookFailed(f"no answer within {timeout_s:g} s") from error
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else ""
        raise HookFailed(f"it cannot be started: {reason or error}") from error
    if ran.is_cut:
        raise HookFailed(f"it wrote more than {MAX_OUTPUT_BYTES:,} bytes")
    return ran
