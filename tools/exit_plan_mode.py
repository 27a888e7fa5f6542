"""Shows the plan and asks to leave plan mode."""

from pydantic import BaseModel, ConfigDict, Field

from agent_tui.toolkit.api import (
    DisplayConfig,
    DisplayResult,
    ResultContentType,
    Tool,
    ToolContext,
    ToolError,
    ToolResult,
    count_lines,
    display_text,
)

TITLE_CHARS = 50
CALL_TIMEOUT_S = 3_600  # a person may take any time; this is the longest a call can have


class ExitPlanModeParams(BaseModel):
    """Arguments of exit_plan_mode."""

    model_config = ConfigDict(extra="ignore")

    plan: str = Field(description="The plan in markdown: what will be changed, where, and how it is checked.")


def _title(params: ExitPlanModeParams) -> str:
    """Give the plan's first line that holds words."""
    lines = (line.strip("#*- \t") for line in params.plan.splitlines())
    return next((line for line in lines if line), "plan")


def _content(params: ExitPlanModeParams, result: ToolResult) -> DisplayResult:
    accepted = result.data.get("accepted")
    state = "accepted" if accepted else "not accepted"
    words = result.data.get("words")
    said = f"\n\n> {words}" if isinstance(words, str) and words else ""
    return display_text(
        f"{params.plan}{said}",
        ResultContentType.MARKDOWN,
        summary=f"{state}, {count_lines(params.plan)} lines",
    )


class ExitPlanMode(Tool[ExitPlanModeParams]):
    name = "exit_plan_mode"
    description = (
        "In plan mode: show the finished plan for approval. Only when it is accepted may files be changed and "
        "commands be run. Not for questions, and not outside plan mode."
    )
    params_type = ExitPlanModeParams
    timeout_s = CALL_TIMEOUT_S
    interruptible = True
    display = DisplayConfig(display_name="Plan", display_title=_title, display_content=_content)

    async def run(self, params: ExitPlanModeParams, ctx: ToolContext) -> ToolResult:
        if not params.plan.strip():
            raise ToolError("The plan is empty.")
        if ctx.modes is None:
            raise ToolError("Plan mode cannot be left here: there is nobody to accept the plan.")
        if not ctx.modes.planning:
            raise ToolError("Plan mode is not on; go on with the work.")
        accepted, words = await ctx.modes.leave_plan(params.plan)
        data = {"accepted": accepted, "words": words}
        said = f" The person says: {words}" if words.strip() else ""
        if accepted:
            return ToolResult.success(
                f"The plan was accepted; plan mode is off. Carry it out.{said}", data={**data}
            )
        return ToolResult.error(
            f"The plan was not accepted; plan mode stays on. Revise it.{said}", data={**data}
        )

    def compact_summary(self, params: ExitPlanModeParams, result: ToolResult) -> str:
        state = (
            "error"
            if "accepted" not in result.data
            else "accepted"
            if not result.is_error
            else "not accepted"
        )
        return f"[Plan: {_title(params)[:TITLE_CHARS]} ({state})]"
