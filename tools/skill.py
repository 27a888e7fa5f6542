"""Loads a skill: instructions written for a kind of task."""

from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict, Field

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
    display_text,
)


class SkillParams(BaseModel):
    """Arguments of skill."""

    model_config = ConfigDict(extra="ignore")

    name: str = Field(description="Name of the skill.")
    arguments: str = Field(default="", description="What the skill is to be used for.")


def _checked_name(params: SkillParams, ctx: ToolContext) -> str:
    """Give the name, which must be one and not a path. Raises ToolError that lists the names there are."""
    name = params.name.strip()
    if not name:
        raise ToolError(f"The name of the skill is empty. {_names(ctx)}")
    if "/" in name or "\\" in name or ".." in name or "\0" in name:
        raise ToolError(f"{name!r} is a path, not the name of a skill. {_names(ctx)}")
    return name


def _names(ctx: ToolContext) -> str:
    known = ctx.skills.all() if ctx.skills is not None else ()
    return f"Skills: {', '.join(skill.name for skill in known)}." if known else "There are no skills here."


def _content(params: SkillParams, result: ToolResult) -> DisplayResult:
    kind = ResultContentType.PLAIN_TEXT if result.is_error else ResultContentType.MARKDOWN
    return display_text(result.output, kind, summary=f"skill {params.name}")


class Skill(Tool[SkillParams]):
    name = "skill"
    description = "Load the instructions of a skill by its name; do what they say for the task at hand."
    params_type = SkillParams
    readable = True
    display = DisplayConfig(
        display_name="Skill", display_title=lambda params: params.name, display_content=_content
    )

    def permissions(self, params: SkillParams, ctx: ToolContext) -> Sequence[Permission]:
        rule = f"Skill({_checked_name(params, ctx)})"
        return (Permission(id="skill", kind=PermissionKind.TOOL, target=rule, pattern=rule, risk=Risk.LOW),)

    async def run(self, params: SkillParams, ctx: ToolContext) -> ToolResult:
        name = _checked_name(params, ctx)
        if ctx.skills is None:
            raise ToolError("There are no skills here.")
        known = {skill.name: skill for skill in reversed(ctx.skills.all())}
        if name not in known:
            raise ToolError(f"No skill named {name!r}. {_names(ctx)}")
        text = ctx.skills.load(name, params.arguments)
        return ToolResult.success(text, data={"name": name, "path": known[name].path})

    def compact_summary(self, params: SkillParams, result: ToolResult) -> str:
        return f"[Skill: {params.name} ({'error' if result.is_error else 'loaded'})]"
