"""Gives the todo list."""

from pydantic import BaseModel, ConfigDict

from agent_tui.toolkit.api import DisplayConfig, Tool, ToolContext, ToolResult, count
from agent_tui.toolkit.checklist import checklist, checklist_display, items_as_data


class TodoReadParams(BaseModel):
    """todoread takes no arguments."""

    model_config = ConfigDict(extra="ignore")


class TodoReadTool(Tool[TodoReadParams]):
    """Gives the todo list."""

    name = "todoread"
    description = "Gives the todo list of this session."
    params_type = TodoReadParams
    readable = True

    def run(self, params: TodoReadParams, ctx: ToolContext) -> ToolResult:
        items = ctx.todos.items
        text = checklist(items) if items else "No todos"
        return ToolResult.success(text, data={"todos": items_as_data(items)})

    def compact_summary(self, params: TodoReadParams, result: ToolResult) -> str:
        todos = result.data.get("todos")
        return f"[todoread: {count(len(todos) if isinstance(todos, list) else 0, 'item')}]"

    display = DisplayConfig[TodoReadParams](
        display_name="Todo",
        display_content=lambda _params, result: checklist_display(result),
    )
