import json
from pathlib import Path

from agent_tui.protocol.display import DisplayResult
from agent_tui.protocol.messages import (
    AssistantMessage,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UserMessage,
)
from agent_tui.protocol.permissions import Permission, PermissionKind, PermissionRequest
from agent_tui.protocol.tools import ToolCall, ToolCallOutcome, ToolResult
from agent_tui.sessions.session import Session


def user(words: str) -> UserMessage:
    return UserMessage(content=(TextBlock(text=words),))


def said(words: str) -> AssistantMessage:
    return AssistantMessage(content=(TextBlock(text=words),), provider="p", model="m")


def asks(*ids: str, arguments: str = '{"file_path": "a.txt"}', thinking: str = "") -> AssistantMessage:
    uses = tuple(ToolUseBlock(id=i, name="read", arguments_json=arguments) for i in ids)
    thought = (ThinkingBlock(text=thinking, signature="sig"),) if thinking else ()
    return AssistantMessage(content=(*thought, *uses), provider="p", model="m", stop_reason="tool_use")


def call(call_id: str, arguments: str = '{"file_path": "a.txt"}') -> ToolCall:
    return ToolCall(call_id=call_id, name="read", arguments_json=arguments)


def outcome(
    call_id: str, output: str = "hello", *, arguments: str = '{"file_path": "a.txt"}'
) -> ToolCallOutcome:
    return ToolCallOutcome(
        tool_use_id=call_id,
        tool_name="read",
        call=call(call_id, arguments),
        result=ToolResult.success(output),
        display=DisplayResult(
            content=output[:10_000], full_length=len(output), is_truncated=len(output) > 10_000
        ),
        display_name="Read",
        title="a.txt",
        summary="[Read: a.txt]",
        elapsed_s=0.25,
    )


def results(*outcomes: ToolCallOutcome, words: str = "") -> UserMessage:
    blocks = tuple(ToolResultBlock(tool_use_id=o.tool_use_id, content=o.result.output) for o in outcomes)
    return UserMessage(content=(*blocks, *((TextBlock(text=words),) if words else ())))


async def one_turn(
    session: Session, prompt: str = "hi", *, output: str = "hello"
) -> list[UserMessage | AssistantMessage]:
    n = len(prompt)
    done = outcome(f"c{n}-{prompt}", output)
    messages = [user(prompt), asks(done.tool_use_id, thinking="hm"), results(done), said("done")]
    await session.user_message(messages[0], turn_id="t", text=prompt)
    await session.assistant_message(messages[1], turn_id="t")
    await session.round_started([done.call], turn_id="t")
    await session.outcome(done, turn_id="t")
    await session.round_finished(messages[2], turn_id="t")
    await session.assistant_message(messages[3], turn_id="t")
    await session.turn_finished(turn_id="t", stop_reason="end_turn")
    return messages


def file_of(session: Session) -> Path:
    assert session.path is not None
    return session.path


def raw_records(path: Path) -> list[dict]:
    return [json.loads(line[9:]) for line in path.read_bytes().split(b"\n") if line]


def request_for(call_id: str) -> PermissionRequest:
    """Give a request to read a file, for a call."""
    return PermissionRequest(
        request_id=call_id,
        call_id=call_id,
        tool="read",
        title="",
        permissions=(Permission(id="p", kind=PermissionKind.READ, target="/x"),),
        arguments_json='{"file_path": "a.txt"}',
    )
