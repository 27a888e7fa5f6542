"""What code outside may do to a call: block it, rewrite it, add words, ask; and change its result."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from agent_tui.protocol.permissions import Permission
from agent_tui.protocol.tools import ToolCall, ToolResult
from agent_tui.toolkit.context import ToolContext

CONTEXT_LIMIT_CHARS = 4096


@dataclass(frozen=True)
class BeforeCall:
    """What a hook says of a call that is about to be reviewed.

    `block` is the reason not to run it, "" when there is none. `arguments_json` replaces the arguments: they are checked
    again and are what the person is shown. `context` is added to the result for the model, at most 4,096 characters.
    `ask` is a reason to ask a person although the rules would not; `allow` names who vouches for the call, which the
    policy takes for no more than an allow rule.
    """

    block: str = ""
    arguments_json: str | None = None
    context: str = ""
    ask: str = ""
    allow: str = ""


@dataclass(frozen=True)
class AfterCall:
    """What a hook says of a result: `output` replaces the text for the model, `context` is added to it."""

    output: str | None = None
    is_error: bool | None = None
    context: str = ""


class ToolHooks(Protocol):
    """Code that looks at every call, whatever executor runs it. A hook that raises counts as a block."""

    async def before(self, call: ToolCall, ctx: ToolContext) -> BeforeCall:
        """Look at a call that is valid, before its permissions are collected."""
        ...

    async def after(self, call: ToolCall, result: ToolResult, ctx: ToolContext) -> AfterCall:
        """Look at a result after it was cut to size."""
        ...


class QuestionHooks(Protocol):
    """Code that looks at a call a person is about to be asked about. One that raises counts as a block."""

    async def asked(self, call: ToolCall, permissions: Sequence[Permission], ctx: ToolContext) -> BeforeCall:
        """Block or allow the call in the person's place; only `block` and `allow` of the answer count."""
        ...


class HookChain:
    """Several hooks as one: rewrites chain in order, contexts add up, the first block wins.

    An allowance counts only for the arguments it was given for.
    """

    def __init__(self, hooks: Sequence[ToolHooks]) -> None:
        self._hooks = tuple(hooks)

    async def before(self, call: ToolCall, ctx: ToolContext) -> BeforeCall:
        """Ask every hook, each with what the one before it made of the call."""
        contexts: list[str] = []
        asks: list[str] = []
        rewritten: str | None = None
        allow = ""
        for hook in self._hooks:
            said = await hook.before(call, ctx)
            if said.block:
                return BeforeCall(block=said.block)
            if said.arguments_json is not None:
                rewritten = said.arguments_json
                call = call.model_copy(update={"arguments_json": rewritten})
                allow = ""
            allow = allow or said.allow
            contexts.append(said.context)
            asks.append(said.ask)
        ask = "; ".join(filter(None, asks))
        return BeforeCall(
            arguments_json=rewritten, context=_joined(contexts), ask=ask, allow="" if ask else allow
        )

    async def after(self, call: ToolCall, result: ToolResult, ctx: ToolContext) -> AfterCall:
        """Ask every hook, each with what the one before it made of the result."""
        contexts: list[str] = []
        output: str | None = None
        is_error: bool | None = None
        for hook in self._hooks:
            said = await hook.after(call, result, ctx)
            contexts.append(said.context)
            output = output if said.output is None else said.output
            is_error = is_error if said.is_error is None else said.is_error
            result = changed(result, said)
        return AfterCall(output=output, is_error=is_error, context=_joined(contexts))


def changed(result: ToolResult, said: AfterCall) -> ToolResult:
    """Give the result as a hook wants it; its context is not part of it."""
    return result.model_copy(
        update={
            "output": result.output if said.output is None else said.output,
            "is_error": result.is_error if said.is_error is None else said.is_error,
        }
    )


def _joined(contexts: Sequence[str]) -> str:
    """Join what several hooks added."""
    return "\n".join(filter(None, contexts))
