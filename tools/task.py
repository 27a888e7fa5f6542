"""Gives a piece of work to a sub-agent."""

from collections.abc import Sequence

from pydantic import AliasChoices, BaseModel, ConfigDict, Field

from agent_tui.toolkit.api import (
    DisplayConfig,
    DisplayResult,
    Permission,
    PermissionKind,
    ResultContentType,
    Risk,
    Tool,
    ToolContext,
    ToolError,
    ToolResult,
    count,
    display_text,
)

DEFAULT_AGENT = "general"
SUMMARY_CHARS = 60
LIMITS_ITSELF = -1  # a sub-agent ends by its own limits of rounds and money


class TaskParams(BaseModel):
    """Arguments of task."""

    model_config = ConfigDict(extra="ignore", populate_by_name=True)

    description: str = Field(min_length=1, description="The work in three to six words.")
    prompt: str = Field(
        min_length=1,
        description="All the agent must know: it sees nothing of this conversation. Say what to report back.",
    )
    agent: str = Field(
        default=DEFAULT_AGENT,
        validation_alias=AliasChoices("agent", "subagent_type"),
        description="Which agent: general, explore (only reads) or another one that is listed.",
    )


def _agent(params: TaskParams) -> str:
    return params.agent.strip() or DEFAULT_AGENT


def _title(params: TaskParams) -> str:
    kind = _agent(params)
    return params.description if kind == DEFAULT_AGENT else f"{kind}: {params.description}"


def _content(params: TaskParams, result: ToolResult) -> DisplayResult:
    calls = result.data.get("calls")
    if not isinstance(calls, int):
        return display_text(result.output)
    tokens = result.data.get("tokens")
    spent = f", {tokens:,} tokens" if isinstance(tokens, int) else ""
    return display_text(
        result.output, ResultContentType.MARKDOWN, summary=f"{count(calls, 'tool call')}{spent}"
    )


class Task(Tool[TaskParams]):
    name = "task"
    description = (
        "Give a self-contained piece of work to a sub-agent, which works with a conversation of its own and answers "
        "with one report. Good for wide searches and for parts that do not depend on each other: calls of task in "
        "one reply run side by side, up to four. Not for what a call or two of your own can do."
    )
    params_type = TaskParams
    timeout_s = LIMITS_ITSELF
    interruptible = True
    display = DisplayConfig(display_name="Task", display_title=_title, display_content=_content)

    def permissions(self, params: TaskParams, ctx: ToolContext) -> Sequence[Permission]:
        rule = f"Task({_agent(params)})"
        return (Permission(id="task", kind=PermissionKind.TOOL, target=rule, pattern=rule, risk=Risk.LOW),)

    async def run(self, params: TaskParams, ctx: ToolContext) -> ToolResult:
        if ctx.spawn is None:
            raise ToolError("There are no sub-agents here; do the work yourself.")
        done = await ctx.spawn(
            call_id=ctx.call_id,
            description=params.description,
            prompt=params.prompt,
            agent=_agent(params),
        )
        parts = [done.reply or "(no reply)", f"({done.problem})" if done.problem else ""]
        return ToolResult(
            output="\n\n".join(part for part in parts if part),
            is_error=bool(done.problem),
            data={
                "agent": _agent(params),
                "calls": done.calls,
                "tokens": done.tokens,
                "transcript": done.transcript,
            },
        )

    def compact_summary(self, params: TaskParams, result: ToolResult) -> str:
        state = "failed" if result.is_error else "done"
        return f"[Task: {params.description[:SUMMARY_CHARS]} ({state})]"
