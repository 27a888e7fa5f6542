"""A set of tools behind one door: built-in files, a server, an extension."""

import json
from collections.abc import Awaitable, Sequence
from typing import Protocol

from agent_tui.protocol.display import DisplayResult
from agent_tui.protocol.errors import ToolError
from agent_tui.protocol.permissions import Permission
from agent_tui.protocol.tools import ToolResult, ToolSpec
from agent_tui.toolkit.context import ToolContext


class ToolSource(Protocol):
    """A set of tools. A composite forwards every method to the owner; a test fails if one is not forwarded.

    `args_json` is always the exact text that was shown for approval. Arguments were validated by `validate` before
    `permissions`, `preview`, `title`, `execute`, `show` or `summarize` is called.
    """

    def specs(self) -> Sequence[ToolSpec]:
        """Describe the tools, in the order the model sees them."""
        ...

    def owns(self, name: str) -> bool:
        """Tell cheaply whether `name` is one of these tools."""
        ...

    def validate(self, name: str, args_json: str) -> str | None:
        """Give the text of what is wrong with the arguments, or None."""
        ...

    def needs_approval(self, name: str) -> bool:
        """Tell whether a call must be asked for even though it declares no permission (foreign tools: yes)."""
        ...

    def readable(self, name: str) -> bool:
        """Tell whether calls have no side effects and may overlap."""
        ...

    def interruptible(self, name: str) -> bool:
        """Tell whether Esc may stop a running call."""
        ...

    def timeout_s(self, name: str) -> int:
        """Give the time limit in seconds, already clamped; 0 when the tool limits itself (bash, web, task)."""
        ...

    def display_name(self, name: str) -> str:
        """Give the name in the panel's header."""
        ...

    async def foresee(self, name: str, args_json: str) -> None:
        """Work out beforehand what `title` gives, where that takes time. At most a second; never raises."""
        ...

    def title(self, name: str, args_json: str) -> str:
        """Give the one-line title, at most 50 characters + "...", "" when none."""
        ...

    def permissions(self, name: str, args_json: str, ctx: ToolContext) -> Sequence[Permission]:
        """Say what the call needs."""
        ...

    async def preview(self, name: str, args_json: str, ctx: ToolContext) -> DisplayResult | None:
        """Show what the call would do. Raises ToolError when it cannot work."""
        ...

    async def execute(self, name: str, args_json: str, ctx: ToolContext) -> ToolResult:
        """Run the call. Raises ToolError; other exceptions are faults of the tool."""
        ...

    async def execute_json(self, name: str, args_json: str, ctx: ToolContext) -> str:
        """Run the call and give its result as JSON text: {"output", "is_error", "data"}."""
        ...

    def show(self, name: str, args_json: str, result: ToolResult) -> DisplayResult:
        """Give the panel's body; falls back to plain text."""
        ...

    def summarize(self, name: str, args_json: str, result: ToolResult) -> str:
        """Give the bracketed line for compaction; falls back to "[name: completed]"."""
        ...

    def forget(self, session_id: str) -> None:
        """Drop what is kept for a session that ended."""
        ...


async def json_result(running: Awaitable[ToolResult]) -> str:
    """Give what `execute` gives as the JSON text of `execute_json`; a ToolError is an error result."""
    try:
        result = await running
    except ToolError as error:
        result = ToolResult.error(str(error))
    return json.dumps(
        {"output": result.output, "is_error": result.is_error, "data": result.data}, ensure_ascii=False
    )
