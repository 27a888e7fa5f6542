"""The tools of one extension as a ToolSource; every call is asked for unless a person's rule allows it."""

import asyncio
import json
import logging
from collections import OrderedDict
from collections.abc import Sequence

from agent_tui.extensions.arguments import arguments_line, read_arguments, wrong_arguments
from agent_tui.extensions.plain import plain
from agent_tui.extensions.plugged.offers import ToolOffer
from agent_tui.extensions.plugged.plug import Pace, Plug
from agent_tui.protocol.data import JsonObject
from agent_tui.protocol.display import DisplayResult
from agent_tui.protocol.errors import ToolError
from agent_tui.protocol.permissions import Permission, PermissionKind
from agent_tui.protocol.tools import ToolResult, ToolSpec
from agent_tui.toolkit.context import ToolContext
from agent_tui.toolkit.extension import ToolReply
from agent_tui.toolkit.source import json_result
from agent_tui.toolkit.text import cut_title, display_text

MAX_KEPT_CHARS = 200_000
"""Of a body that differs from what the model reads so much is kept with the session."""
_REMEMBERED_TITLES = 256
_SHOWN = "shown"
_LOG = logging.getLogger(__name__)


class PluggedSource:
    """What the model sees of an extension. `tools` are those of its offer that nobody else has."""

    def __init__(self, plug: Plug, tools: Sequence[ToolOffer], *, pace: Pace) -> None:
        self._plug = plug
        self._tools = {tool.name: tool for tool in tools}
        self._pace = pace
        self._details: OrderedDict[tuple[str, str], str] = OrderedDict()

    def specs(self) -> Sequence[ToolSpec]:
        return [tool.spec for tool in self._tools.values()]

    def owns(self, name: str) -> bool:
        return name in self._tools

    def validate(self, name: str, args_json: str) -> str | None:
        return wrong_arguments(name, args_json, self._tool(name).spec.input_schema)

    def needs_approval(self, name: str) -> bool:
        return True

    def readable(self, name: str) -> bool:
        return self._tool(name).readable

    def interruptible(self, name: str) -> bool:
        return True

    def timeout_s(self, name: str) -> int:
        return self._tool(name).timeout_s

    def display_name(self, name: str) -> str:
        return name

    async def foresee(self, name: str, args_json: str) -> None:
        key = (name, args_json)
        if not self._tool(name).has_detail or key in self._details:
            return
        try:
            async with asyncio.timeout(self._pace.detail_s):
                detail = await self._plug.detail(name, read_arguments(args_json))
        except Exception:  # foreign code: a call without its line still runs
            _LOG.debug("detail of %s failed", name, exc_info=True)
            detail = ""
        self._details[key] = plain(detail)
        if len(self._details) > _REMEMBERED_TITLES:
            self._details.popitem(last=False)

    def title(self, name: str, args_json: str) -> str:
        detail = self._details.get((name, args_json), "")
        if not detail and not self._tool(name).has_detail:
            detail = plain(arguments_line(read_arguments(args_json)))
        return cut_title(detail)

    def permissions(self, name: str, args_json: str, ctx: ToolContext) -> Sequence[Permission]:
        reason = f"tool {name!r} of the extension {self._plug.name!r}"
        return (Permission(id="tool", kind=PermissionKind.TOOL, target=name, pattern=name, reason=reason),)

    async def preview(self, name: str, args_json: str, ctx: ToolContext) -> DisplayResult | None:
        text = plain(json.dumps(read_arguments(args_json), ensure_ascii=False, indent=2))
        words = (
            f"\n\n{self._plug.name} ({self._plug.origin}) says of it:\n{self._tool(name).spec.description}"
        )
        return display_text(text + words, summary=name)

    async def execute(self, name: str, args_json: str, ctx: ToolContext) -> ToolResult:
        self._tool(name)
        answer = await self._plug.call(name, read_arguments(args_json), ctx)
        return answer if isinstance(answer, ToolResult) else _result(answer, self._plug.name)

    async def execute_json(self, name: str, args_json: str, ctx: ToolContext) -> str:
        return await json_result(self.execute(name, args_json, ctx))

    def show(self, name: str, args_json: str, result: ToolResult) -> DisplayResult:
        shown = result.data.get(_SHOWN)
        facts = shown if isinstance(shown, dict) else {}
        detail = " ".join(str(facts.get("detail", "")).split())
        body = display_text(str(facts.get("output") or result.output), summary=detail)
        return body.model_copy(update={"starts_open": True}) if facts.get("expanded") is True else body

    def summarize(self, name: str, args_json: str, result: ToolResult) -> str:
        return f"[{name}: {'error' if result.is_error else 'completed'}]"

    def forget(self, session_id: str) -> None:
        self._details.clear()

    def _tool(self, name: str) -> ToolOffer:
        """Raises ToolError."""
        tool = self._tools.get(name)
        if tool is None:
            raise ToolError(f"No tool named {name!r}.")
        return tool


def _result(reply: ToolReply, extension: str) -> ToolResult:
    """Give what the model reads; what only the screen shows travels in the facts."""
    shown: JsonObject = {}
    if reply.detail:
        shown["detail"] = plain(reply.detail)[:1_000]
    if reply.output and reply.output != reply.content:
        shown["output"] = reply.output[:MAX_KEPT_CHARS]
    if reply.expanded:
        shown["expanded"] = True
    data: JsonObject = {"extension": extension}
    if shown:
        data[_SHOWN] = shown
    return ToolResult(output=reply.content, is_error=reply.is_error, data=data)
