"""Waits for a command of the foreground: to its end, to its time limit, or until a person sends it away."""

import asyncio
from contextlib import nullcontext
from dataclasses import dataclass

from agent_tui.toolkit.context import JobView, ToolContext
from agent_tui.toolkit.jobs import SessionJobs
from agent_tui.toolkit.process import END_GRACE_S
from agent_tui.toolkit.shell import ShellCommand, ShellEnd, start_shell

CANCEL_GRACE_S = 0.5


@dataclass(frozen=True)
class ForegroundRun:
    """What came of a command: its end, or the job it became."""

    shell: ShellCommand
    end: ShellEnd | None = None
    timed_out: bool = False
    stopped: bool = False
    job: JobView | None = None


async def run_in_foreground(text: str, ctx: ToolContext, *, timeout_s: float) -> ForegroundRun:
    """Run `text` and wait for it at most `timeout_s`, then end it with all it started.

    A cancelled caller ends it too and takes over: it returns with what was printed until then. Raises ToolError.
    """
    shell = await start_shell(text, ctx)
    jobs = ctx.jobs if isinstance(ctx.jobs, SessionJobs) else None
    with jobs.in_foreground(ctx.call_id) if jobs else nullcontext(asyncio.Event()) as asked:
        try:
            came = await shell.command.wait_or(asked, timeout_s=timeout_s)
        except asyncio.CancelledError:
            ended = await shell.command.end(grace_s=CANCEL_GRACE_S)
            return ForegroundRun(shell, end=await shell.finish(ended, keeps_directory=False), stopped=True)
    if came == "asked" and jobs is not None:
        await shell.mute()
        return ForegroundRun(shell, job=jobs.adopt(shell))
    timed_out = came != "ended"
    ended = await (shell.command.end(grace_s=END_GRACE_S) if timed_out else shell.command.wait())
    return ForegroundRun(
        shell, end=await shell.finish(ended, keeps_directory=not timed_out), timed_out=timed_out
    )
