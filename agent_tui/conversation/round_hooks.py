"""Lets hooks look at tool calls: before the rules, before a person is asked, and after the run."""

import json
from collections.abc import Sequence
from typing import cast

from agent_tui.executor.hooks import AfterCall, BeforeCall
from agent_tui.extensions.hooks.bus import Hooks
from agent_tui.extensions.hooks.events import EventName, HookEvent
from agent_tui.protocol.data import JsonObject
from agent_tui.protocol.permissions import Permission
from agent_tui.protocol.tools import ToolCall, ToolResult
from agent_tui.toolkit.context import ToolContext


class RoundHooks:
    """Implements the executor's ToolHooks and QuestionHooks for the main agent and its sub-agents."""

    def __init__(self, hooks: Hooks) -> None:
        self._hooks = hooks
        self._halted = ""

    def halted(self) -> str:
        """Give, once, why a hook wants the turn to end."""
        why, self._halted = self._halted, ""
        return why

    async def before(self, call: ToolCall, ctx: ToolContext) -> BeforeCall:
        """Pass a call through the hooks of pre_tool."""
        if not self._hooks.any(EventName.PRE_TOOL, call.name):
            return BeforeCall()
        said = await self._hooks.fire(HookEvent(EventName.PRE_TOOL, _facts(call, ctx), call.name))
        if said.decision == "deny":
            return BeforeCall(block=said.reason)
        return BeforeCall(
            arguments_json=None if said.arguments is None else json.dumps(said.arguments, ensure_ascii=False),
            context=said.context,
            ask=_words(said.reason, said.by) if said.decision == "ask" else "",
            allow=_words(said.reason, said.by) if said.decision == "allow" else "",
        )

    async def asked(self, call: ToolCall, permissions: Sequence[Permission], ctx: ToolContext) -> BeforeCall:
        """Pass a call that a person would be asked about through the hooks of approval."""
        if not self._hooks.any(EventName.APPROVAL, call.name):
            return BeforeCall()
        needs = [permission.model_dump(mode="json") for permission in permissions]
        facts: JsonObject = {**_facts(call, ctx), "permissions": cast("list[JsonObject]", needs)}  # type: ignore[dict-item]  # a list of JSON objects is JSON
        said = await self._hooks.fire(HookEvent(EventName.APPROVAL, facts, call.name))
        if said.decision == "deny":
            return BeforeCall(block=said.reason)
        return BeforeCall(allow=_words(said.reason, said.by) if said.decision == "allow" else "")

    async def after(self, call: ToolCall, result: ToolResult, ctx: ToolContext) -> AfterCall:
        """Pass a result through the hooks of post_tool; a denial stands in its place."""
        if not self._hooks.any(EventName.POST_TOOL, call.name):
            return AfterCall()
        facts: JsonObject = {
            **_facts(call, ctx),
            "tool_response": result.output,
            "is_error": result.is_error,
        }
        said = await self._hooks.fire(HookEvent(EventName.POST_TOOL, facts, call.name))
        if said.decision == "deny":
            return AfterCall(
                output=f"The call ran, but a hook withheld its result: {said.reason}", is_error=True
            )
        self._halted = self._halted or said.stop
        return AfterCall(output=said.output, context=said.context)


def _words(reason: str, by: str) -> str:
    return f"{reason} [{by}]" if reason else by


def _facts(call: ToolCall, ctx: ToolContext) -> JsonObject:
    """Give what a hook reads of a call whose arguments are valid."""
    return {
        "session_id": ctx.session_id,
        "turn_id": ctx.turn_id,
        "cwd": str(ctx.cwd),
        "tool_name": call.name,
        "tool_input": cast("JsonObject", json.loads(call.arguments_json)),
        "call_id": call.call_id,
    }
