"""A ToolSource over tools made from plugin files: arguments, schema, display, threads."""

import inspect
import logging
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from agent_tui.extensions.schema import explain, input_schema
from agent_tui.extensions.threads import in_daemon_thread
from agent_tui.protocol.display import DISPLAY_LIMIT_CHARS, DisplayResult
from agent_tui.protocol.errors import ToolError
from agent_tui.protocol.permissions import Permission
from agent_tui.protocol.tools import ToolResult, ToolSpec
from agent_tui.toolkit.context import ToolContext
from agent_tui.toolkit.source import json_result
from agent_tui.toolkit.text import cut_title, display_text
from agent_tui.toolkit.tool import Tool, clamped_timeout_s, is_async

T = TypeVar("T")

_REMEMBERED_PARSES = 64
_LOG = logging.getLogger(__name__)


class ToolFileSource:
    """Tools of one origin. `source_name` is "bundled", "user", "project" or an extension's name.

    `asks` says that a call which declares no permission must be asked for nevertheless; by default that holds for
    everything that did not come with the program. Of two tools with one name the first counts.
    """

    def __init__(
        self, tools: Sequence[Tool[Any]], source_name: str = "bundled", *, asks: bool | None = None
    ) -> None:
        self.source_name = source_name
        self._asks = source_name != "bundled" if asks is None else asks
        self._specs: dict[str, ToolSpec] = {}
        self._parsed: OrderedDict[tuple[str, str], BaseModel] = OrderedDict()
        self._hold(tools)

    def _hold(self, tools: Sequence[Tool[Any]]) -> None:
        self._tools: Mapping[str, Tool[Any]] = {tool.name: tool for tool in reversed(tools)}
        self._order = tuple(dict.fromkeys(tool.name for tool in tools))

    def specs(self) -> Sequence[ToolSpec]:
        return [self._spec(name) for name in self._order]

    def owns(self, name: str) -> bool:
        return name in self._tools

    def validate(self, name: str, args_json: str) -> str | None:
        try:
            self._params(name, args_json)
        except ToolError as error:
            return str(error)
        return None

    def needs_approval(self, name: str) -> bool:
        return self._asks

    def readable(self, name: str) -> bool:
        return self._tool(name).readable

    def interruptible(self, name: str) -> bool:
        tool = self._tool(name)
        return tool.interruptible or tool.readable

    def timeout_s(self, name: str) -> int:
        limit_s = self._tool(name).timeout_s
        return 0 if limit_s < 0 else clamped_timeout_s(limit_s)

    def display_name(self, name: str) -> str:
        return self._tool(name).display.display_name or name

    async def foresee(self, name: str, args_json: str) -> None:
        return None

    def title(self, name: str, args_json: str) -> str:
        tool = self._tool(name)
        try:
            return cut_title(tool.display.display_title(self._params(name, args_json)))
        except Exception:  # display callable: foreign code, the run goes on without a title
            _LOG.debug("display_title of %s failed", name, exc_info=True)
            return ""

    def permissions(self, name: str, args_json: str, ctx: ToolContext) -> Sequence[Permission]:
        return tuple(self._tool(name).permissions(self._params(name, args_json), ctx))

    async def preview(self, name: str, args_json: str, ctx: ToolContext) -> DisplayResult | None:
        return await self._tool(name).preview(self._params(name, args_json), ctx)

    async def execute(self, name: str, args_json: str, ctx: ToolContext) -> ToolResult:
        # parsed anew: a run that changes its parameters must not change a later call with the same text
        tool, params = self._tool(name), self._parse(name, args_json)
        if is_async(tool):
            answer = tool.run(params, ctx)
        else:
            answer = await in_daemon_thread(lambda: tool.run(params, ctx), name=f"tool-{name}")
        return _checked(await answer if inspect.isawaitable(answer) else answer, ToolResult, "run")

    async def execute_json(self, name: str, args_json: str, ctx: ToolContext) -> str:
        return await json_result(self.execute(name, args_json, ctx))

    def show(self, name: str, args_json: str, result: ToolResult) -> DisplayResult:
        tool = self._tool(name)
        try:
            shown = tool.display.display_content(self._params(name, args_json), result)
            return _within_limit(_checked(shown, DisplayResult, "display_content"))
        except Exception:  # display callable: foreign code, plain text shows the same facts
            _LOG.debug("display_content of %s failed", name, exc_info=True)
            return display_text(result.output)

    def summarize(self, name: str, args_json: str, result: ToolResult) -> str:
        try:
            line = self._tool(name).compact_summary(self._params(name, args_json), result)
            return " ".join(line.split())
        except Exception:  # foreign code: a summary is never worth losing a result for
            _LOG.debug("compact_summary of %s failed", name, exc_info=True)
            return f"[{name}: {'error' if result.is_error else 'completed'}]"

    def forget(self, session_id: str) -> None:
        self._parsed.clear()

    def _tool(self, name: str) -> Tool[Any]:
        """Find a tool. Raises ToolError."""
        tool = self._tools.get(name)
        if tool is None:
            raise ToolError(f"No tool named {name!r}.")
        return tool

    def _spec(self, name: str) -> ToolSpec:
        """Describe one tool; made once."""
        if name not in self._specs:
            tool = self._tools[name]
            self._specs[name] = ToolSpec(
                name=name, description=tool.description, input_schema=input_schema(tool.params_type)
            )
        return self._specs[name]

    def _params(self, name: str, args_json: str) -> BaseModel:
        """Parse the arguments, or take the last parse of the same text. Raises ToolError that says what is wrong."""
        key = (name, args_json)
        known = self._parsed.get(key)
        if known is not None:
            self._parsed.move_to_end(key)
            return known
        params = self._parse(name, args_json)
        self._parsed[key] = params
        if len(self._parsed) > _REMEMBERED_PARSES:
            self._parsed.popitem(last=False)
        return params

    def _parse(self, name: str, args_json: str) -> BaseModel:
        """Parse the arguments. Raises ToolError that says what is wrong."""
        tool = self._tool(name)
        try:
            return tool.params_type.model_validate_json(args_json.strip() or "{}")
        except ValidationError as error:
            raise ToolError(explain(name, error, self._spec(name).input_schema)) from error


def _checked(value: object, expected: type[T], method: str) -> T:
    """Check what foreign code returned. Raises TypeError."""
    if not isinstance(value, expected):
        raise TypeError(f"{method}() returned {type(value).__name__} instead of {expected.__name__}")
    return value


def _within_limit(shown: DisplayResult) -> DisplayResult:
    """Cut a body that its tool did not cut, and fill in the totals it left out."""
    if not shown.is_truncated and len(shown.content) > DISPLAY_LIMIT_CHARS:
        cut = display_text(shown.content)
        return shown.model_copy(
            update={
                "content": cut.content,
                "is_truncated": True,
                "full_length": shown.full_length or cut.full_length,
                "full_lines": shown.full_lines or cut.full_lines,
            }
        )
    if shown.full_length == 0 and shown.content:
        whole = display_text(shown.content)
        return shown.model_copy(
            update={"full_length": whole.full_length, "full_lines": shown.full_lines or whole.full_lines}
        )
    return shown
