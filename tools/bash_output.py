"""Reads what a background job printed since it was last read."""

from pydantic import BaseModel, ConfigDict, Field

from agent_tui.toolkit.api import DisplayConfig, DisplayResult, Tool, ToolContext, ToolError, ToolResult
from agent_tui.toolkit.console import console_display
from agent_tui.toolkit.job_text import job_footer, job_result


class BashOutputParams(BaseModel):
    """Arguments of bash_output."""

    model_config = ConfigDict(extra="ignore")

    job_id: str = Field(description="The id that bash gave.")
    pattern: str = Field(
        default="", description="Regular expression: only lines that match; the rest counts as read."
    )


def _content(params: BashOutputParams, result: ToolResult) -> DisplayResult:
    command = result.data.get("command")
    output = result.data.get("output")
    return console_display(
        command if isinstance(command, str) else params.job_id,
        output if isinstance(output, str) else result.output,
        {},
        footer=job_footer(result.data),
    )


class BashOutput(Tool[BashOutputParams]):
    name = "bash_output"
    description = "Read what a background job printed since the last read, and whether it still runs."
    params_type = BashOutputParams
    readable = True
    display = DisplayConfig(
        display_name="Bash output", display_title=lambda params: params.job_id, display_content=_content
    )

    async def run(self, params: BashOutputParams, ctx: ToolContext) -> ToolResult:
        if ctx.jobs is None:
            raise ToolError("There are no background jobs here.")
        return job_result(await ctx.jobs.read(params.job_id, pattern=params.pattern))

    def compact_summary(self, params: BashOutputParams, result: ToolResult) -> str:
        return f"[BashOutput: {params.job_id} ({'error' if result.is_error else job_footer(result.data)})]"
