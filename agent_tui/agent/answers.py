"""Answers calls that never ran, and turns outcomes into the message for the model."""

import logging
from collections.abc import Sequence

from agent_tui.protocol.display import DisplayResult
from agent_tui.protocol.messages import StopReason, ToolResultBlock, ToolUseBlock, UserBlock, UserMessage
from agent_tui.protocol.tools import Effect, ToolCall, ToolCallOutcome, ToolResult
from agent_tui.toolkit.source import ToolSource

_LOG = logging.getLogger(__name__)

CANCELLED = "Cancelled by user before it started."
NOT_WAITED = "Not run: it waited for an approval, and the person went on without giving one."
STOPPED_LOOP = (
    "Not run: the same calls were made several rounds in a row and the person did not want to go on."
)
REPEATED = (
    "Not run: you made exactly the same calls with the same arguments several rounds in a row. "
    "The result will not change. Try something else, or say what is in the way."
)


def calls_of(uses: Sequence[ToolUseBlock]) -> tuple[ToolCall, ...]:
    """Give the calls of a reply as a round takes them."""
    return tuple(ToolCall(call_id=use.id, name=use.name, arguments_json=use.arguments_json) for use in uses)


def cut_off(stop_reason: StopReason, output_tokens: int) -> str:
    """Say why the calls of a reply that was broken off were not run, and what would help."""
    nothing = "so nothing of it was run and no file was changed."
    match stop_reason:
        case "refusal":
            return f"Not run: your reply was broken off as declined, {nothing}"
        case "context_overflow":
            return (
                f"Not run: the context window was full before your reply was whole, {nothing} Make the call again, and "
                "keep it and what it gives back short."
            )
        case _:
            return (
                f"Not run: your reply reached its limit of about {output_tokens:,} output tokens inside a tool call, "
                f"{nothing} Make the call again in smaller parts, for example by writing a long file in several edits."
            )


def unrun(call: ToolCall, text: str, effect: Effect, tools: ToolSource) -> ToolCallOutcome:
    """Answer a call that did not run with `text` as an error."""
    known = tools.owns(call.name)
    return ToolCallOutcome(
        tool_use_id=call.call_id,
        tool_name=call.name,
        call=call,
        result=ToolResult.error(text),
        display=DisplayResult(content=text, full_length=len(text), full_lines=1),
        display_name=tools.display_name(call.name) if known else call.name,
        title=_title(call, tools) if known else "",
        effect=effect,
    )


def _title(call: ToolCall, tools: ToolSource) -> str:
    try:
        valid = tools.validate(call.name, call.arguments_json) is None
        return tools.title(call.name, call.arguments_json) if valid else ""
    except Exception:  # foreign code: no call stays without an answer for its title
        _LOG.debug("the title of %s failed", call.name, exc_info=True)
        return ""


def results_message(outcomes: Sequence[ToolCallOutcome], words: Sequence[UserBlock] = ()) -> UserMessage:
    """Put all results into one message, in request order, followed by what the person said meanwhile."""
    content: list[UserBlock] = [
        ToolResultBlock(
            tool_use_id=outcome.tool_use_id,
            content=outcome.result.output,
            is_error=outcome.result.is_error,
            images=outcome.result.images,
        )
        for outcome in outcomes
    ]
    content.extend(words)
    return UserMessage(content=tuple(content))
