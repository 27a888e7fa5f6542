"""Replaces the todo list."""

from typing import Literal, get_args

from pydantic import BaseModel, ConfigDict, Field

from agent_tui.toolkit.api import DisplayConfig, TodoItem, Tool, ToolContext, ToolError, ToolResult, count
from agent_tui.toolkit.checklist import checklist, checklist_display, items_as_data

Status = Literal["pending", "in_progress", "completed", "cancelled", "failed", "blocked"]
Priority = Literal["critical", "high", "medium", "low"]


class TodoEntry(BaseModel):
    """One line of the list."""

    model_config = ConfigDict(extra="ignore")

    content: str = Field(min_length=1, description="What is to be done.")
    status: Status = Field(default="pending", description=f"One of {', '.join(get_args(Status))}.")
    priority: Priority = Field(default="medium", description=f"One of {', '.join(get_args(Priority))}.")


class TodoWriteParams(BaseModel):
    """Arguments of todowrite."""

    model_config = ConfigDict(extra="ignore")

    todos: list[TodoEntry] = Field(description="The whole list; it replaces the one before.")


class TodoWriteTool(Tool[TodoWriteParams]):
    """Replaces the todo list."""

    name = "todowrite"
    description = (
        "Replaces the todo list of this session with the one given. Use it for work of several steps; "
        "at most one entry is in_progress at a time."
    )
    params_type = TodoWriteParams

    def run(self, params: TodoWriteParams, ctx: ToolContext) -> ToolResult:
        active = [entry for entry in params.todos if entry.status == "in_progress"]
        if len(active) > 1:
            raise ToolError(
                f"{len(active)} todos are in_progress; only one may be. The list stays as it was."
            )
        items = tuple(TodoItem(content=e.content, status=e.status, priority=e.priority) for e in params.todos)
        ctx.todos.items = items
        text = f"The list has {count(len(items), 'item')} now.\n{checklist(items)}"
        return ToolResult.success(text, data={"todos": items_as_data(items)})

    def compact_summary(self, params: TodoWriteParams, result: ToolResult) -> str:
        return f"[todowrite: {'refused' if result.is_error else count(len(params.todos), 'item')}]"

    display = DisplayConfig[TodoWriteParams](
        display_name="Todo",
        display_title=lambda params: count(len(params.todos), "item"),
        display_content=lambda _params, result: checklist_display(result),
    )
