"""Tells an editor what a stored session holds, as the updates it would have seen."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from acp.schema import ToolCallStart, ToolCallStatus

from agent_tui.headless.acp import calls
from agent_tui.headless.acp.updates import Update, asked, said, thought
from agent_tui.protocol.display import DisplayResult, ResultContentType
from agent_tui.protocol.replay import ReplayBlock, ToolState

_STATUSES: Mapping[ToolState, ToolCallStatus] = {
    "waiting": "pending",
    "running": "failed",
    "done": "completed",
    "error": "failed",
    "cancelled": "failed",
    "denied": "failed",
    "interrupted": "failed",
}


def replayed(blocks: Sequence[ReplayBlock], workspace: Path) -> Iterator[Update]:
    """Give the updates of `blocks`, oldest first; decisions are left out: their calls show what came of them."""
    for number, block in enumerate(blocks):
        match block.kind:
            case "user":
                yield asked(block.text)
            case "assistant":
                yield said(block.text)
            case "thinking":
                yield thought(block.text)
            case "notice":
                yield said(f"\n\n> {block.text}\n\n")
            case "tool":
                yield _call(block, number, workspace)
            case "decision":
                continue


def _call(block: ReplayBlock, number: int, workspace: Path) -> ToolCallStart:
    display = DisplayResult(
        content=block.text,
        content_type=ResultContentType(block.content_type),
        is_truncated=block.is_truncated,
        language=block.language,
    )
    contents, places = calls.contents_of(display, workspace)
    return ToolCallStart(
        session_update="tool_call",
        tool_call_id=block.call_id or f"replayed-{number}",
        title=calls.title_of(block.display_name, block.title),
        kind=calls.kind_of(block.tool),
        status=_STATUSES[block.state],
        content=list(contents) or None,
        locations=places or None,
    )
