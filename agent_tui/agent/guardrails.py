"""Lets code look at what goes to the model and at what comes back."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from agent_tui.executor.hooks import AfterCall, BeforeCall
from agent_tui.protocol.messages import AssistantMessage
from agent_tui.protocol.tools import ToolCall, ToolResult
from agent_tui.providers.base import ProviderRequest
from agent_tui.toolkit.context import ToolContext


@dataclass(frozen=True)
class Judgement:
    """What a guardrail says. WARN and DENY carry a `reason`; a warning is shown and work goes on."""

    action: Literal["allow", "warn", "deny"] = "allow"
    reason: str = ""


ALLOW = Judgement()


class Guardrail(Protocol):
    """Looks at four places of a turn. Derive from `OpenGuardrail` to write only the ones you need."""

    async def pre_llm(self, request: ProviderRequest) -> Judgement:
        """Look at a request before it is sent; a denial ends the turn."""
        ...

    async def post_llm(self, message: AssistantMessage) -> Judgement:
        """Look at a whole reply before anything of it runs; a denial ends the turn and runs nothing."""
        ...

    async def pre_tool(self, call: ToolCall) -> Judgement:
        """Look at a call before it is prepared; a denial is the call's error result."""
        ...

    async def post_tool(self, call: ToolCall, result: ToolResult) -> ToolResult | Judgement:
        """Look at a result after it was cut to size; give it back, a changed one, or a denial that replaces it."""
        ...


class OpenGuardrail:
    """Allows everything."""

    async def pre_llm(self, request: ProviderRequest) -> Judgement:
        """Allow the request."""
        return ALLOW

    async def post_llm(self, message: AssistantMessage) -> Judgement:
        """Allow the reply."""
        return ALLOW

    async def pre_tool(self, call: ToolCall) -> Judgement:
        """Allow the call."""
        return ALLOW

    async def post_tool(self, call: ToolCall, result: ToolResult) -> ToolResult | Judgement:
        """Give the result as it is."""
        return result


class GuardrailChain:
    """Asks several guardrails in order; the first denial wins, warnings are collected.

    A guardrail that raises counts as a denial: a check that cannot be made is a no.
    """

    def __init__(self, guardrails: Sequence[Guardrail] = ()) -> None:
        self._guardrails = tuple(guardrails)

    async def pre_llm(self, request: ProviderRequest) -> Judgement:
        """Ask all about a request."""
        return await self._ask(lambda guardrail: guardrail.pre_llm(request))

    async def post_llm(self, message: AssistantMessage) -> Judgement:
        """Ask all about a reply."""
        return await self._ask(lambda guardrail: guardrail.post_llm(message))

    async def pre_tool(self, call: ToolCall) -> Judgement:
        """Ask all about a call."""
        return await self._ask(lambda guardrail: guardrail.pre_tool(call))

    async def post_tool(self, call: ToolCall, result: ToolResult) -> ToolResult:
        """Pass a result through all; a denial or a failure becomes an error result."""
        for guardrail in self._guardrails:
            try:
                answer = await guardrail.post_tool(call, result)
            except Exception as error:  # foreign code
                answer = _failed(guardrail, error)
            if isinstance(answer, ToolResult):
                result = answer
            elif answer.action == "deny":
                return ToolResult.error(f"Blocked by a guardrail: {answer.reason}")
        return result

    async def _ask(self, question: Callable[[Guardrail], Awaitable[Judgement]]) -> Judgement:
        warnings: list[str] = []
        for guardrail in self._guardrails:
            try:
                judgement = await question(guardrail)
            except Exception as error:  # foreign code
                judgement = _failed(guardrail, error)
            if judgement.action == "deny":
                return judgement
            if judgement.action == "warn":
                warnings.append(judgement.reason)
        return Judgement("warn", "; ".join(warnings)) if warnings else ALLOW


def _failed(guardrail: Guardrail, error: Exception) -> Judgement:
    return Judgement("deny", f"{type(guardrail).__name__} failed: {error}")


class GuardrailHooks:
    """The guardrails' `pre_tool` and `post_tool` as hooks of a round. Warnings reach the model with the result."""

    def __init__(self, chain: GuardrailChain) -> None:
        self._chain = chain

    async def before(self, call: ToolCall, ctx: ToolContext) -> BeforeCall:
        """Ask about a call; a denial blocks it."""
        judgement = await self._chain.pre_tool(call)
        if judgement.action == "deny":
            return BeforeCall(block=judgement.reason or "blocked by a guardrail")
        return BeforeCall(context=f"Warning: {judgement.reason}" if judgement.action == "warn" else "")

    async def after(self, call: ToolCall, result: ToolResult, ctx: ToolContext) -> AfterCall:
        """Pass the result through."""
        new = await self._chain.post_tool(call, result)
        return AfterCall() if new == result else AfterCall(output=new.output, is_error=new.is_error)
