import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from agent_tui.protocol.errors import ProviderError
from agent_tui.protocol.messages import AssistantMessage, TextBlock, ThinkingBlock, ToolUseBlock
from agent_tui.providers._anthropic_stream import MessageFold
from agent_tui.providers._chat_stream import ChatFold
from agent_tui.providers._failures import Server
from agent_tui.providers._reading import Fold, read_reply
from agent_tui.providers.base import Completed

FOLDER = Path(__file__).parents[3] / "shared" / "streams"
SERVER = Server(name="Recorded", base_url="http://127.0.0.1", key_hint="", model="m")
STOPS = {
    "model_context_window_exceeded": "context_overflow",
    "stop": "end_turn",
    "tool_calls": "tool_use",
    "length": "max_tokens",
}


def recorded() -> list[Any]:
    index = FOLDER / "expected.jsonl"
    if not index.is_file():
        return [pytest.param(None, marks=pytest.mark.skip(reason=f"{FOLDER} is not there"))]
    rows = [json.loads(line) for line in index.read_text(encoding="utf-8").splitlines()]
    return [pytest.param(row, id=row["name"]) for row in rows]


def bytes_of(row: dict[str, Any]) -> bytes:
    return (FOLDER / f"{row['kind']}--{row['name']}.sse").read_bytes()


def fold_for(row: dict[str, Any]) -> Fold:
    if row["kind"] == "anthropic":
        return MessageFold(provider="anthropic", model="m")
    return ChatFold(provider="openai", model="m", used_ids=(), tools=())


async def read(row: dict[str, Any], sizes: int) -> AssistantMessage:
    body = bytes_of(row)

    async def chunks() -> AsyncIterator[bytes]:
        for start in range(0, len(body), sizes):
            yield body[start : start + sizes]

    last = [delta async for delta in read_reply(chunks(), fold_for(row), SERVER)][-1]
    assert isinstance(last, Completed)
    return last.message


@pytest.mark.parametrize("sizes", [7, 1_000_000])
@pytest.mark.parametrize("row", recorded())
async def test_a_recorded_stream_means_what_is_known_of_it(row: dict[str, Any], sizes: int) -> None:
    expected = row["expect"]
    if expected["error"]:
        with pytest.raises(ProviderError):
            await read(row, sizes)
        return

    message = await read(row, sizes)

    texts = "".join(b.text for b in message.content if isinstance(b, TextBlock))
    thinking = "".join(b.text for b in message.content if isinstance(b, ThinkingBlock))
    uses = [
        {"id": b.id, "name": b.name, "input": json.loads(b.arguments_json)}
        for b in message.content
        if isinstance(b, ToolUseBlock)
    ]
    assert texts == expected["text"]
    assert thinking == expected["thinking"]
    assert uses == expected["tool_uses"]
    if expected["stop_reason"]:
        assert message.stop_reason == STOPS.get(expected["stop_reason"], expected["stop_reason"])
    usage = message.usage
    assert usage.output_tokens == expected["usage"]["output_tokens"]
    assert expected["usage"]["input_tokens"] in {
        usage.input_tokens,
        usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens,
    }
