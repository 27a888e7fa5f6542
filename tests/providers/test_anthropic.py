import json
from collections.abc import Sequence

import pytest

from agent_tui.protocol.errors import StreamCut
from agent_tui.protocol.messages import (
    AssistantMessage,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    TokenUsage,
    ToolResultBlock,
    ToolUseBlock,
    UserMessage,
)
from agent_tui.protocol.tools import ToolSpec
from agent_tui.providers.anthropic import AnthropicProvider
from agent_tui.providers.base import Completed, Delta, ProviderRequest, TextPiece, ThinkingPiece
from agent_tui.providers.models import load_table
from tests.support.fake_servers import MessagesServer, Tool, message

MODEL = "claude-sonnet-5-5"
TOOLS = tuple(
    ToolSpec(name=name, description=f"{name} it", input_schema={"type": "object", "properties": {}})
    for name in ("read", "write")
)


def provider_at(server: MessagesServer, model: str = MODEL) -> AnthropicProvider:
    return AnthropicProvider(load_table().facts("anthropic", model), api_key="sk-test", base_url=server.url)


def user(*texts: str) -> UserMessage:
    return UserMessage(content=tuple(TextBlock(text=text) for text in texts))


def request(*messages: UserMessage | AssistantMessage, **fields: object) -> ProviderRequest:
    return ProviderRequest(system="You help.", messages=messages, tools=TOOLS, **fields)  # type: ignore[arg-type]


async def deltas_of(provider: AnthropicProvider, asked: ProviderRequest) -> list[Delta]:
    async with provider.stream(asked) as deltas:
        return [delta async for delta in deltas]


def whole(deltas: Sequence[Delta]) -> AssistantMessage:
    last = deltas[-1]
    assert isinstance(last, Completed)
    return last.message


async def test_a_reply_with_thinking_text_and_four_calls_comes_whole() -> None:
    tools = [Tool(f"toolu_{n}", "read", {"file_path": f"{n}.txt"}) for n in range(4)]
    answer = message(
        "I read four files.",
        thinking="Let me look.",
        signature="sig==",
        redacted="enc",
        tools=tools,
        usage={"cache_read_input_tokens": 7, "cache_creation_input_tokens": 3},
    )
    async with MessagesServer([answer]) as server:
        provider = provider_at(server)
        deltas = await deltas_of(provider, request(user("go")))
        await provider.aclose()

    assert whole(deltas) == AssistantMessage(
        content=(
            ThinkingBlock(text="Let me look.", signature="sig=="),
            RedactedThinkingBlock(data="enc"),
            TextBlock(text="I read four files."),
            *(ToolUseBlock(id=t.id, name=t.name, arguments_json=t.json) for t in tools),
        ),
        provider="anthropic",
        model=MODEL,
        stop_reason="tool_use",
        usage=TokenUsage(input_tokens=25, output_tokens=15, cache_read_tokens=7, cache_write_tokens=3),
    )
    assert "".join(d.text for d in deltas if isinstance(d, TextPiece)) == "I read four files."
    assert "".join(d.text for d in deltas if isinstance(d, ThinkingPiece)) == "Let me look."


async def test_pr_06_thinking_goes_back_unchanged_before_its_calls() -> None:
    first = message(
        thinking="", signature="sig1", redacted="enc", tools=[Tool("toolu_1", "read", {"file_path": "a"})]
    )
    async with MessagesServer([first, message("done")]) as server:
        provider = provider_at(server)
        reply = whole(await deltas_of(provider, request(user("go"))))
        stored = AssistantMessage.model_validate_json(reply.model_dump_json())
        result = UserMessage(content=(ToolResultBlock(tool_use_id="toolu_1", content="text"),))
        await deltas_of(provider, request(user("go"), stored, result))
        await provider.aclose()

    assert server.requests[1].json["messages"][1]["content"] == [
        {"type": "thinking", "thinking": "", "signature": "sig1"},
        {"type": "redacted_thinking", "data": "enc"},
        {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {"file_path": "a"}},
    ]


async def test_a_cut_stream_is_an_error_that_says_how_far_it_came() -> None:
    answer = message("Hello there", tools=[Tool("toolu_1", "write", {"content": "x" * 50})])
    size = answer.body.index(b"partial_json") + 300
    async with MessagesServer([answer.cut_at(size)]) as server:
        provider = provider_at(server)
        with pytest.raises(StreamCut, match="in a call of 'write'"):
            await deltas_of(provider, request(user("go")))
        await provider.aclose()


async def test_the_request_is_what_the_api_expects() -> None:
    async with MessagesServer([message("ok")]) as server:
        provider = provider_at(server)
        await deltas_of(provider, request(user("go"), effort="max"))
        await provider.aclose()

    sent = server.requests[0]
    assert sent.path == "/v1/messages"
    assert sent.headers["authorization"] == "Bearer sk-test"
    assert sent.json["stream"] is True
    assert sent.json["max_tokens"] == 32_000
    assert sent.json["thinking"] == {"type": "adaptive", "display": "summarized"}
    assert sent.json["output_config"] == {"effort": "max"}
    assert json.dumps(sent.json).count("cache_control") == 3
