"""The tools of one MCP server as a ToolSource; every call is asked for unless a person's rule allows it."""

import json
import time
from collections.abc import Sequence

from agent_tui.extensions.arguments import arguments_line, read_arguments, wrong_arguments
from agent_tui.extensions.mcp.catalogue import McpTool
from agent_tui.extensions.mcp.results import tool_result
from agent_tui.extensions.mcp.server import Server
from agent_tui.extensions.plain import one_line, plain
from agent_tui.protocol.data import JsonObject
from agent_tui.protocol.display import DisplayResult, ResultContentType
from agent_tui.protocol.errors import ToolError
from agent_tui.protocol.permissions import Permission, PermissionKind
from agent_tui.protocol.tools import ToolResult, ToolSpec
from agent_tui.toolkit.context import ToolContext
from agent_tui.toolkit.source import json_result
from agent_tui.toolkit.text import cut_title, display_text

REPORTS_EVERY_S = 0.1


class McpSource:
    """What the model sees of a server. It stays as it is until `take` is called, so that a turn keeps its tools."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.generation = -1
        self._tools: dict[str, McpTool] = {}
        self._off: dict[str, str] = {}

    def take(self) -> tuple[list[str], list[str]]:
        """Take over what the server offers now; give the names that came and those that went."""
        offer = self.server.offer
        before = list(self._tools)
        self.generation = self.server.generation
        self._tools = {tool.name: tool for tool in offer.accepted}
        self._off = {changed.name: changed.original for changed in offer.changed}
        return [n for n in self._tools if n not in before], [n for n in before if n not in self._tools]

    def specs(self) -> Sequence[ToolSpec]:
        return [tool.spec for tool in self._tools.values()]

    def owns(self, name: str) -> bool:
        return name in self._tools or name in self._off

    def validate(self, name: str, args_json: str) -> str | None:
        if name in self._off:
            return (
                f"The MCP server {self.server.spec.name!r} describes {self._off[name]!r} differently than before. "
                "The tool is switched off until a person accepts the change (/mcp)."
            )
        return wrong_arguments(name, args_json, self._tool(name).spec.input_schema)

    def needs_approval(self, name: str) -> bool:
        return True

    def readable(self, name: str) -> bool:
        return False  # what a server says of its own tools is a hint, never a promise

    def interruptible(self, name: str) -> bool:
        return True

    def timeout_s(self, name: str) -> int:
        return 0  # the server's own limit stands still while a person answers its questions

    def display_name(self, name: str) -> str:
        return one_line(f"{self.server.spec.name}: {self._original(name)}", limit_chars=100)

    async def foresee(self, name: str, args_json: str) -> None:
        return None

    def title(self, name: str, args_json: str) -> str:
        return cut_title(plain(arguments_line(read_arguments(args_json))))

    def permissions(self, name: str, args_json: str, ctx: ToolContext) -> Sequence[Permission]:
        reason = f"tool {self._original(name)!r} of the MCP server {self.server.spec.name!r}"
        return (
            Permission(
                id="tool",
                kind=PermissionKind.TOOL,
                target=name,
                pattern=name,
                reason=one_line(reason, limit_chars=300),
            ),
        )

    async def preview(self, name: str, args_json: str, ctx: ToolContext) -> DisplayResult | None:
        text = json.dumps(read_arguments(args_json), ensure_ascii=False, indent=2)
        said = plain(self._tool(name).description).strip()
        words = (
            f"\n\n{self.server.spec.name} says of it, unchanged since you first saw it:\n{said}"
            if said
            else ""
        )
        return display_text(text + words, summary=self.display_name(name))

    async def execute(self, name: str, args_json: str, ctx: ToolContext) -> ToolResult:
        tool = self._tool(name)
        reporter = _Reporter(ctx)
        answer = await self.server.call(tool, read_arguments(args_json), reporter)
        facts: JsonObject = {"server": self.server.spec.name, "tool": tool.original}
        return tool_result(answer, ctx, facts=facts)

    async def execute_json(self, name: str, args_json: str, ctx: ToolContext) -> str:
        return await json_result(self.execute(name, args_json, ctx))

    def show(self, name: str, args_json: str, result: ToolResult) -> DisplayResult:
        text = result.output.lstrip()
        kind = ResultContentType.JSON if text.startswith(("{", "[{")) else ResultContentType.PLAIN_TEXT
        return display_text(result.output, kind)

    def summarize(self, name: str, args_json: str, result: ToolResult) -> str:
        return f"[{name}: {'error' if result.is_error else 'completed'}]"

    def forget(self, session_id: str) -> None:
        return None

    def _tool(self, name: str) -> McpTool:
        """Raises ToolError."""
        tool = self._tools.get(name)
        if tool is None:
            raise ToolError(f"No tool named {name!r}.")
        return tool

    def _original(self, name: str) -> str:
        tool = self._tools.get(name)
        return tool.original if tool else self._off.get(name, name)


class _Reporter:
    """Shows a call's progress in its panel, at most ten times a second."""

    def __init__(self, ctx: ToolContext) -> None:
        self._ctx = ctx
        self._told_at = 0.0

    async def __call__(self, progress: float, total: float | None, message: str | None) -> None:
        now = time.monotonic()
        if now - self._told_at < REPORTS_EVERY_S:
            return
        self._told_at = now
        of = f" of {total:g}" if total else ""
        words = f" {one_line(message)}" if message else ""
        await self._ctx.report(f"{progress:g}{of}{words}\n")
