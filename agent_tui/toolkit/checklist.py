"""The todo list as a checklist."""

from collections.abc import Sequence

from pydantic import JsonValue

from agent_tui.protocol.display import DisplayResult
from agent_tui.protocol.tools import ToolResult
from agent_tui.toolkit.context import TodoItem
from agent_tui.toolkit.text import display_text

ICONS = {
    "pending": "☐",
    "in_progress": "▶",
    "completed": "☑",
    "cancelled": "⊘",
    "failed": "✗",
    "blocked": "⏸",
}


def checklist(items: Sequence[TodoItem]) -> str:
    """Give one line per item: an icon for its status, its text, a tag for its priority (medium has none)."""
    return "\n".join(f"{ICONS[item.status]} {item.content}{_tag(item.priority)}" for item in items)


def checklist_display(result: ToolResult) -> DisplayResult:
    """Show the list that a todo tool left in its data."""
    todos = result.data.get("todos")
    if result.is_error or not isinstance(todos, list):
        return display_text(result.output)
    items = [TodoItem.model_validate(item) for item in todos]
    done = sum(item.status == "completed" for item in items)
    return display_text(checklist(items) if items else "No todos", summary=f"{done} of {len(items)} done")


def items_as_data(items: Sequence[TodoItem]) -> list[JsonValue]:
    """Give the items as plain data."""
    return [item.model_dump() for item in items]


def _tag(priority: str) -> str:
    return "" if priority == "medium" else f" [{priority}]"
