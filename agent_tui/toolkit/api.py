"""Everything a tool's author needs, in one place."""

from agent_tui.protocol.data import JsonObject
from agent_tui.protocol.display import ChangePreview, DisplayResult, ResultContentType
from agent_tui.protocol.errors import ToolError
from agent_tui.protocol.messages import ImageBlock
from agent_tui.protocol.permissions import Permission, PermissionKind, Risk
from agent_tui.protocol.tools import ToolResult
from agent_tui.toolkit.context import TodoItem, ToolContext
from agent_tui.toolkit.text import cap_output, count, count_lines, cut_title, display_text
from agent_tui.toolkit.tool import DisplayConfig, Tool

__all__ = [
    "ChangePreview",
    "DisplayConfig",
    "DisplayResult",
    "ImageBlock",
    "JsonObject",
    "Permission",
    "PermissionKind",
    "ResultContentType",
    "Risk",
    "TodoItem",
    "Tool",
    "ToolContext",
    "ToolError",
    "ToolResult",
    "cap_output",
    "count",
    "count_lines",
    "cut_title",
    "display_text",
]
