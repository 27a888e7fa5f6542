"""Answers calls that never ran, and turns outcomes into the message for the model."""

from collections.abc import Sequence

from agent_tui.protocol.display import DisplayResult
from agent_tui.protocol.messages import ToolResultBlock, ToolUseBlock, UserBlock, UserMessage
from agent_tui.protocol.tools import Effect, ToolCall, ToolCallOutcome, ToolResult
from agent_tui.toolkit.source import ToolSource

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


def unrun(call: ToolCall, text: str, effect: Effect, tools: ToolSource) -> ToolCallOutcome:
    """Answer a call that did not run with `text` as an error."""
    known = tools.owns(call.name)
    valid = known and tools.validate(call.name, call.arguments_json) is None
    return ToolCallOutcome(
        tool_use_id=call.call_id,
        tool_name=call.name,
        call=call,
        result=ToolResult.error(text),
        display=DisplayResult(content=text, full_length=len(text), full_lines=1),
        display_name=tools.display_name(call.name) if known else call.name,
        title=tools.title(call.name, call.arguments_json) if valid else "",
        effect=effect,
    )


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
