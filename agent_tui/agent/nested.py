"""Shows the model a subfolder's instruction files when it first touches a file there."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import cast

from agent_tui.agent.instructions import Instructions, tagged
from agent_tui.executor.hooks import AfterCall, BeforeCall
from agent_tui.protocol.json_text import parse_json
from agent_tui.protocol.tools import ToolCall, ToolResult
from agent_tui.toolkit.context import ToolContext

_PATH_KEYS = ("file_path", "path")


class NestedInstructions:
    """A hook of rounds: adds AGENTS.md files that lie nearer to a file than those loaded at the start.

    `loaded` gives what was loaded; None while nothing was.
    """

    def __init__(self, loaded: Callable[[], Instructions | None]) -> None:
        self._loaded = loaded

    async def before(self, call: ToolCall, ctx: ToolContext) -> BeforeCall:
        """Let every call pass."""
        return BeforeCall()

    async def after(self, call: ToolCall, result: ToolResult, ctx: ToolContext) -> AfterCall:
        """Add the files that were not shown yet."""
        instructions, path = self._loaded(), _path_of(call)
        if instructions is None or not path or result.is_error:
            return AfterCall()
        target = Path(path) if Path(path).is_absolute() else ctx.workspace / path
        new = await asyncio.to_thread(instructions.nested, target)
        return AfterCall(context="\n\n".join(tagged(file, instructions.root) for file in new))


def _path_of(call: ToolCall) -> str:
    try:
        arguments = parse_json(call.arguments_json)
    except ValueError:
        return ""
    if not isinstance(arguments, dict):
        return ""
    values = (cast("dict[str, object]", arguments).get(key) for key in _PATH_KEYS)
    return next((value for value in values if isinstance(value, str)), "")
