"""A background job as the model and the panel read it."""

from agent_tui.protocol.data import JsonObject
from agent_tui.protocol.tools import ToolResult
from agent_tui.toolkit.context import JobView
from agent_tui.toolkit.shell import signal_note
from agent_tui.toolkit.text import CAPPED_BY_TOOL


def job_result(job: JobView, *, is_kill: bool = False) -> ToolResult:
    """Give what is new of `job` and how it is. A job that failed by itself is an error, one that was ended is not."""
    body = job.output or "(no new output)"
    newline = "" if body.endswith("\n") else "\n"
    if job.running:
        notes = [f"{job.job_id} is running"]
    else:
        code = "unknown" if job.exit_code is None else job.exit_code
        notes = [f"{job.job_id} has ended", f"exit code: {code}", signal_note(job.exit_code)]
    if job.log_path:
        notes.append(f"whole output: {job.log_path}")
    data: JsonObject = {
        CAPPED_BY_TOOL: True,
        "job_id": job.job_id,
        "command": job.command,
        "running": job.running,
        "exit_code": job.exit_code,
        "output": job.output,
        "log_path": job.log_path,
    }
    return ToolResult(
        output=body + newline + "\n".join(f"({note})" for note in notes if note),
        is_error=not is_kill and not job.running and job.exit_code != 0,
        data=data,
    )


def job_footer(data: JsonObject) -> str:
    """Say in a few words how the job is."""
    if data.get("running"):
        return "running"
    if "exit_code" not in data:
        return "unknown job"
    return f"exit code: {data['exit_code']}"
