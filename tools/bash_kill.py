"""Ends a background job with everything it started."""

from pydantic import BaseModel, ConfigDict, Field

from agent_tui.toolkit.api import DisplayConfig, DisplayResult, Tool, ToolContext, ToolError, ToolResult
from agent_tui.toolkit.console import console_display
from agent_tui.toolkit.job_text import job_footer, job_result


class BashKillParams(BaseModel):
    """Arguments of bash_kill."""

    model_config = ConfigDict(extra="ignore")

    job_id: str = Field(description="The id that bash gave.")


def _content(params: BashKillParams, result: ToolResult) -> DisplayResult:
    command, output = result.data.get("command"), result.data.get("output")
    return console_display(
        command if isinstance(command, str) else params.job_id,
        output if isinstance(output, str) else result.output,
        {},
        footer=job_footer(result.data),
    )


class BashKill(Tool[BashKillParams]):
    name = "bash_kill"
    description = "End a background job and all its processes; gives what it printed since the last read."
    params_type = BashKillParams
    display = DisplayConfig(
        display_name="Bash kill", display_title=lambda params: params.job_id, display_content=_content
    )

    async def run(self, params: BashKillParams, ctx: ToolContext) -> ToolResult:
        if ctx.jobs is None:
            raise ToolError("There are no background jobs here.")
        return job_result(await ctx.jobs.kill(params.job_id), is_kill=True)

    def compact_summary(self, params: BashKillParams, result: ToolResult) -> str:
        return f"[BashKill: {params.job_id} ({'error' if result.is_error else 'ended'})]"
