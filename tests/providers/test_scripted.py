import asyncio

import pytest

from agent_tui.protocol.errors import BadResponse, Overloaded, StreamCut
from agent_tui.protocol.messages import TextBlock, ThinkingBlock, ToolUseBlock, UserMessage
from agent_tui.providers.base import (
    Completed,
    Delta,
    ProviderRequest,
    TextPiece,
    ThinkingPiece,
    ToolCallPiece,
)
from agent_tui.providers.scripted import ScriptedProvider, calls, text, thinking, use

REQUEST = ProviderRequest(system="s", messages=(UserMessage(content=(TextBlock(text="hi"),)),))


async def collect(provider: ScriptedProvider, into: list[Delta] | None = None) -> list[Delta]:
    seen: list[Delta] = [] if into is None else into
    async with provider.stream(REQUEST) as deltas:
        async for delta in deltas:
            seen.append(delta)
    return seen


async def test_m28_script_gives_text_calls_and_errors_in_order() -> None:
    provider = ScriptedProvider(
        [
            thinking("hm", signature="sig") + text("I look.") + calls(use("read", {"file_path": "a"})),
            Overloaded("busy", status=529),
            text("done"),
        ]
    )

    first = await collect(provider)
    with pytest.raises(Overloaded):
        await collect(provider)
    third = await collect(provider)

    assert first[:-1] == [
        ThinkingPiece("hm"),
        TextPiece("I look."),
        ToolCallPiece("call_1", "read", '{"file_path": "a"}'),
    ]
    assert isinstance(first[-1], Completed)
    assert first[-1].message.stop_reason == "tool_use"
    assert first[-1].message.content == (
        ThinkingBlock(text="hm", signature="sig"),
        TextBlock(text="I look."),
        ToolUseBlock(id="call_1", name="read", arguments_json='{"file_path": "a"}'),
    )
    assert third[0] == TextPiece("done")
    assert provider.requests == [REQUEST] * 3


async def test_a_request_beyond_the_script_is_an_error() -> None:
    with pytest.raises(BadResponse, match="no reply for request 1"):
        await collect(ScriptedProvider([]))


async def test_a_gate_holds_the_stream_in_the_middle() -> None:
    gate = asyncio.Event()
    provider = ScriptedProvider([text("abcd").held(gate, after=2)], piece_chars=1)
    seen: list[Delta] = []

    async with provider.stream(REQUEST) as deltas, asyncio.TaskGroup() as group:

        async def read() -> None:
            async for delta in deltas:
                seen.append(delta)

        group.create_task(read())
        for _ in range(20):
            await asyncio.sleep(0)
        held = list(seen)
        gate.set()

    assert held == [TextPiece("a"), TextPiece("b")]
    assert isinstance(seen[-1], Completed)


async def test_a_cut_reply_raises_after_what_was_said() -> None:
    provider = ScriptedProvider([text("abcd").cut(StreamCut("gone"), after=2)], piece_chars=1)
    seen: list[Delta] = []

    with pytest.raises(StreamCut):
        await collect(provider, into=seen)

    assert seen == [TextPiece("a"), TextPiece("b")]


@pytest.mark.parametrize(("keep", "kept"), [(None, 5), (2, 2), (0, 0)])
async def test_a_long_run_keeps_only_the_newest_requests(keep: int | None, kept: int) -> None:
    provider = ScriptedProvider((text("x") for _ in range(5)), keep_requests=keep)
    for _ in range(5):
        await collect(provider)

    assert len(provider.requests) == kept
