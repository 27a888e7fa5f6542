"""Runs a bash command and shows what it printed."""

import re
from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict, Field

from agent_tui.toolkit.api import (
    DisplayConfig,
    DisplayResult,
    Permission,
    PermissionKind,
    Risk,
    Tool,
    ToolError,
    ToolResult,
)
from agent_tui.toolkit.console import console_display
from agent_tui.toolkit.context import JobView, ToolContext
from agent_tui.toolkit.foreground import ForegroundRun, run_in_foreground
from agent_tui.toolkit.shell import signal_note
from agent_tui.toolkit.text import CAPPED_BY_TOOL, ENDED_AFTER

DEFAULT_TIMEOUT_MS = 120_000
MIN_TIMEOUT_MS = 1_000
MAX_TIMEOUT_MS = 600_000
CALL_TIMEOUT_S = 3_600  # the limits above are this tool's own
SUMMARY_CHARS = 30
_OWN_PROGRAM = re.compile(r"(?:^|[\s;&|(){}/\\\"'`!=])agent[-_]tui(?![\w.-])")


class BashParams(BaseModel):
    """Arguments of bash."""

    model_config = ConfigDict(extra="ignore")

    command: str = Field(description="The command, run as /bin/bash -c TEXT.")
    timeout: int = Field(
        default=DEFAULT_TIMEOUT_MS,
        description="Time limit in milliseconds; default 120000, 1000 to 600000.",
    )
    description: str = Field(default="", description="What the command does, in a few words.")
    run_in_background: bool = Field(
        default=False,
        description="Return at once with a job id; read its output with bash_output, end it with bash_kill.",
    )


def _limit(timeout_ms: int) -> tuple[float, str]:
    """Give the limit in seconds and what to say if it is not the one asked for."""
    limit_ms = max(MIN_TIMEOUT_MS, min(timeout_ms, MAX_TIMEOUT_MS))
    note = (
        f"timeout {timeout_ms} ms is out of range, {limit_ms} ms was used" if limit_ms != timeout_ms else ""
    )
    return limit_ms / 1000, note


def _lines(output: str, notes: Sequence[str]) -> str:
    """Join the output and what is to say about it, one remark a line."""
    body = output or "(no output)"
    newline = "" if body.endswith("\n") else "\n"
    return body + newline + "\n".join(f"({note})" for note in notes if note)


def _result(run: ForegroundRun, ctx: ToolContext, *, limit_s: float, limit_note: str) -> ToolResult:
    end, log = run.end, run.shell.log
    if end is None:
        return _moved(run)
    if run.stopped:
        return _stopped(run)
    notes = [
        f"timed out after {limit_s:g} s: the command was ended with all it started" if run.timed_out else "",
        f"exit code: {'unknown' if end.exit_code is None else end.exit_code}",
        "" if run.timed_out else signal_note(end.exit_code),
        f"still running when the command ended, and ended with it: {'; '.join(end.left)}" if end.left else "",
        *end.notes,
        limit_note,
        _where(ctx),
    ]
    return ToolResult(
        output=_lines(log.plain.text(where=log.path), notes),
        is_error=run.timed_out or end.exit_code != 0,
        data={
            **log.facts(),
            CAPPED_BY_TOOL: True,
            "exit_code": end.exit_code,
            "timed_out": run.timed_out,
            "elapsed_s": round(run.shell.elapsed_s, 2),
            "cwd": str(ctx.shell.cwd),
        },
    )


def _where(ctx: ToolContext) -> str:
    """Name the directory of the next command when it is not the project's root."""
    cwd = ctx.shell.cwd
    if cwd == ctx.workspace:
        return ""
    shown = cwd.relative_to(ctx.workspace) if cwd.is_relative_to(ctx.workspace) else cwd
    return f"working directory: {shown}"


def _stopped(run: ForegroundRun) -> ToolResult:
    """Give what it printed; that it was stopped is said by whoever stopped it."""
    log = run.shell.log
    printed = log.plain.text(where=log.path)
    return ToolResult(output=printed, is_error=True, data={**log.facts(), CAPPED_BY_TOOL: True})


def _moved(run: ForegroundRun) -> ToolResult:
    job = run.job
    job_id = job.job_id if job else ""
    log = run.shell.log
    note = f"sent to the background as {job_id}; it goes on: read with bash_output, end with bash_kill"
    return ToolResult.success(
        _lines(log.plain.text(where=log.path), [note]),
        data={**log.facts(), CAPPED_BY_TOOL: True, "job_id": job_id},
    )


def _started(job: JobView) -> ToolResult:
    log = f" Its output goes to {job.log_path}." if job.log_path else ""
    return ToolResult.success(
        f"Started in the background as {job.job_id}.{log} Read it with bash_output, end it with bash_kill.",
        data={"job_id": job.job_id, "log_path": job.log_path},
    )


def _outcome(result: ToolResult) -> str:
    """Say in a few words how it went."""
    data = result.data
    if job := data.get("job_id"):
        return f"running in the background as {job}"
    if "exit_code" not in data:
        return "stopped" if ENDED_AFTER in data else "did not run"
    return "timed out" if data.get("timed_out") else f"exit code: {data['exit_code']}"


def _footer(result: ToolResult) -> str:
    """Say how it went and how long it took."""
    data, outcome = result.data, _outcome(result)
    if "exit_code" in data:
        return f"{outcome}, {data.get('elapsed_s')} s"
    return f"{outcome} after {data[ENDED_AFTER]} s" if ENDED_AFTER in data else outcome


def _content(params: BashParams, result: ToolResult) -> DisplayResult:
    return console_display(
        params.command, result.output, result.data, footer=_footer(result), outcome=_outcome(result)
    )


class Bash(Tool[BashParams]):
    name = "bash"
    description = (
        "Run a bash command in the project (as /bin/bash -c TEXT, no terminal, no input). stdout and stderr come "
        "interleaved, the exit code is named; a non-zero one is an error. The working directory persists between "
        "calls when it stays inside the project; variables and functions do not. Output over 30,000 characters is "
        "cut in the middle and kept whole in a file. What the command leaves running is ended with it: use "
        "run_in_background for servers. Prefer read, edit, grep and glob for files."
    )
    params_type = BashParams
    timeout_s = CALL_TIMEOUT_S
    interruptible = True
    display = DisplayConfig(
        display_name="Bash",
        display_title=lambda params: params.command,
        display_content=_content,
    )

    def permissions(self, params: BashParams, ctx: ToolContext) -> Sequence[Permission]:
        own = bool(_OWN_PROGRAM.search(params.command))
        lasting = not own and "*" not in params.command and "\n" not in params.command
        return (
            Permission(
                id="command",
                kind=PermissionKind.EXECUTE,
                target=params.command,
                pattern=f"Bash({params.command})" if lasting else "",
                risk=Risk.HIGH if own else Risk.MEDIUM,
                reason="runs agent-tui itself" if own else params.description,
            ),
        )

    async def run(self, params: BashParams, ctx: ToolContext) -> ToolResult:
        if params.run_in_background:
            if ctx.jobs is None:
                raise ToolError("There are no background jobs here; run the command in the foreground.")
            return _started(await ctx.jobs.start(params.command, ctx))
        limit_s, note = _limit(params.timeout)
        return _result(
            await run_in_foreground(params.command, ctx, timeout_s=limit_s),
            ctx,
            limit_s=limit_s,
            limit_note=note,
        )

    def compact_summary(self, params: BashParams, result: ToolResult) -> str:
        words = params.command.split()
        word = words[0][:SUMMARY_CHARS] if words else ""
        ran = result.data.get("exit_code") is not None and not result.data.get("timed_out")
        state = "ok" if not result.is_error else "warn" if ran else "error"
        return f"[Bash: {word} ({state})]"
