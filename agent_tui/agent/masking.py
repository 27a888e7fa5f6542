"""Keeps the program's own keys out of what the model reads."""

from collections.abc import Callable

from agent_tui.executor.hooks import AfterCall, BeforeCall
from agent_tui.protocol.tools import ToolCall, ToolResult
from agent_tui.toolkit.context import ToolContext


class SecretsMasked:
    """A hook of rounds: every result passes through `mask`, wherever it came from.

    Only values that are known to be secret are masked: code that merely looks like a key must reach the model as it is.
    """

    def __init__(self, mask: Callable[[str], str]) -> None:
        self._mask = mask

    async def before(self, call: ToolCall, ctx: ToolContext) -> BeforeCall:
        """Let every call pass."""
        return BeforeCall()

    async def after(self, call: ToolCall, result: ToolResult, ctx: ToolContext) -> AfterCall:
        """Mask the text of a result."""
        output = self._mask(result.output)
        return AfterCall() if output == result.output else AfterCall(output=output)
