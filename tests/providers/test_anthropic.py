import asyncio
import json
from collections.abc import Sequence
from typing import Any

import pytest

from agent_tui.protocol.errors import AuthError, BadResponse, StreamCut
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
from agent_tui.providers.offline import OfflineProvider
from agent_tui.providers.retry import RetryingProvider
from tests.support.fake_servers import (
    Answer,
    MessagesServer,
    Tool,
    json_answer,
    message,
    message_events,
    page,
    sse,
    status,
)

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
    return ProviderRequest(system="You help.", messages=messages, tools=TOOLS, **fields)


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


async def reply_to(answer: Answer, model: str = MODEL, **fields: object) -> AssistantMessage:
    async with MessagesServer([answer]) as server:
        provider = provider_at(server, model)
        try:
            return whole(await deltas_of(provider, request(user("go"), **fields)))
        finally:
            await provider.aclose()


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("end_turn", "end_turn"),
        ("max_tokens", "max_tokens"),
        ("stop_sequence", "stop_sequence"),
        ("pause_turn", "pause_turn"),
        ("refusal", "refusal"),
        ("model_context_window_exceeded", "context_overflow"),
        ("from_the_future", "other"),
    ],
)
async def test_every_stop_reason_is_told(given: str, expected: str) -> None:
    assert (await reply_to(message("x", stop_reason=given))).stop_reason == expected


async def test_a_reply_without_content_is_whole() -> None:
    assert (await reply_to(message("", stop_reason="refusal"))).content == ()


async def test_pr_08_a_call_cut_by_the_output_limit_keeps_its_half_arguments() -> None:
    half = Tool("toolu_1", "write", '{"path":"a.py","content":"def main():\\n    pri')

    reply = await reply_to(message(tools=[half], stop_reason="max_tokens"))

    assert reply.stop_reason == "max_tokens"
    assert reply.content == (ToolUseBlock(id="toolu_1", name="write", arguments_json=half.json),)


async def test_a_call_without_arguments_has_an_empty_object() -> None:
    reply = await reply_to(message(tools=[Tool("toolu_1", "read", "")]))

    assert reply.content == (ToolUseBlock(id="toolu_1", name="read", arguments_json="{}"),)


async def test_arguments_that_came_with_the_start_of_a_call_count() -> None:
    events = message_events(tools=[Tool("toolu_1", "read", "")])
    events[1]["content_block"]["input"] = {"file_path": "a"}

    reply = await reply_to(sse(events, named=True))

    assert reply.content == (ToolUseBlock(id="toolu_1", name="read", arguments_json='{"file_path": "a"}'),)


async def test_pr_24_a_json_message_is_taken_although_a_stream_was_asked() -> None:
    body = {
        "type": "message",
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "hm", "signature": "sig"},
            {"type": "text", "text": "Hello"},
            {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {"file_path": "a"}},
        ],
        "stop_reason": "tool_use",
        "usage": {"input_tokens": 5, "output_tokens": 2},
    }
    reply = await reply_to(json_answer(body))

    assert reply.content == (
        ThinkingBlock(text="hm", signature="sig"),
        TextBlock(text="Hello"),
        ToolUseBlock(id="toolu_1", name="read", arguments_json='{"file_path": "a"}'),
    )
    assert reply.usage == TokenUsage(input_tokens=5, output_tokens=2)


@pytest.mark.parametrize("body", [{"hello": "world"}, {"type": "message"}])
async def test_a_json_body_that_is_no_message_says_so(body: dict[str, str]) -> None:
    with pytest.raises(BadResponse, match="no message"):
        await reply_to(json_answer(body))


async def test_half_a_json_body_is_a_cut() -> None:
    with pytest.raises(StreamCut, match="cut off"):
        await reply_to(Answer(chunks=(b'{"type": "message", "content": [',)))


def without(events: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [event for event in events if event["type"] != kind]


@pytest.mark.parametrize(
    "kind", ["message_start", "content_block_start", "content_block_stop", "message_stop"]
)
async def test_text_without_one_kind_of_event_still_comes(kind: str) -> None:
    answer = sse(without(message_events("Hello there"), kind), named=True)

    assert (await reply_to(answer)).content == (TextBlock(text="Hello there"),)


async def test_events_in_an_impossible_order_are_one_sentence() -> None:
    call = message_events(tools=[Tool("toolu_1", "read", {"a": 1})])
    mixed = message_events("Hello")
    mixed[2]["delta"] = {"type": "input_json_delta", "partial_json": "{"}

    for events in (without(call, "content_block_start"), mixed):
        with pytest.raises(BadResponse, match="the stream sent"):
            await reply_to(sse(events, named=True))


async def test_a_block_number_that_comes_twice_is_two_blocks() -> None:
    first, second = (message_events(tools=[Tool(f"toolu_{n}", "read", {"n": n})]) for n in (1, 2))

    reply = await reply_to(sse([*first[:-2], *second[1:]], named=True))

    assert [b.id for b in reply.content if isinstance(b, ToolUseBlock)] == ["toolu_1", "toolu_2"]


async def test_pings_and_comments_change_nothing() -> None:
    ping = {"type": "ping"}
    events = [e for event in message_events("Hello") for e in (ping, event)]

    assert (await reply_to(sse(events, named=True))).content == (TextBlock(text="Hello"),)


async def test_blocks_of_the_servers_own_tools_are_skipped() -> None:
    events = message_events("Hello")
    server_tool = [
        {"type": "content_block_start", "index": 7, "content_block": {"type": "server_tool_use", "id": "s"}},
        {
            "type": "content_block_delta",
            "index": 7,
            "delta": {"type": "input_json_delta", "partial_json": "{}"},
        },
        {"type": "content_block_stop", "index": 7},
    ]

    reply = await reply_to(sse([events[0], *server_tool, *events[1:]], named=True))

    assert reply.content == (TextBlock(text="Hello"),)


async def test_thinking_tokens_are_counted_apart() -> None:
    events = message_events("Hello")
    events[-2]["usage"] = {"output_tokens": 50, "output_tokens_details": {"thinking_tokens": 40}}

    usage = (await reply_to(sse(events, named=True))).usage

    assert (usage.output_tokens, usage.reasoning_tokens) == (50, 40)


@pytest.mark.parametrize(("model", "beta"), [("claude-haiku-4-5", True), (MODEL, False)])
async def test_interleaved_thinking_is_asked_for_where_it_needs_asking(model: str, beta: bool) -> None:
    async with MessagesServer([message("ok")]) as server:
        provider = provider_at(server, model)
        await deltas_of(provider, request(user("go")))
        await provider.aclose()

    assert ("interleaved-thinking" in server.requests[0].headers.get("anthropic-beta", "")) is beta


async def test_tokens_are_counted_by_the_server() -> None:
    async with MessagesServer() as server:
        provider = provider_at(server)
        counted = await RetryingProvider(provider).count_tokens(request(user("go")))
        await provider.aclose()

    assert counted


async def test_a_server_that_does_not_count_is_no_failure() -> None:
    async with MessagesServer() as server:
        server._answer = lambda _: status(404, message="no such path")
        provider = provider_at(server)
        counted = await provider.count_tokens(request(user("go")))
        await provider.aclose()

    assert counted is None
    assert await RetryingProvider(OfflineProvider()).count_tokens(request(user("go"))) is None


async def test_models_are_listed_from_the_server() -> None:
    async with MessagesServer(models=["a", "b"]) as server:
        provider = provider_at(server)
        listed = await provider.models()
        await provider.aclose()

    assert listed == ["a", "b"]


async def test_counting_and_listing_fail_with_one_sentence() -> None:
    async with MessagesServer() as server:
        server._answer = lambda _: status(401, message="bad key")
        provider = provider_at(server)
        for ask in (provider.models(), provider.count_tokens(request(user("go")))):
            with pytest.raises(AuthError, match="did not accept the key"):
                await ask
        await provider.aclose()


@pytest.mark.parametrize(
    "answer", [page("<title>hi</title>", code=200), json_answer({"data": 3}), json_answer([])]
)
async def test_an_answer_of_another_kind_is_no_list_of_models_and_counts_nothing(answer: Answer) -> None:
    async with MessagesServer() as server:
        server._answer = lambda _: answer
        provider = provider_at(server)
        with pytest.raises(BadResponse, match=r"did not answer with a list of models\. Check the base URL"):
            await provider.models()
        assert await provider.count_tokens(request(user("go"))) is None
        await provider.aclose()


async def test_a_closed_provider_opens_again() -> None:
    async with MessagesServer([message("a"), message("b")]) as server:
        provider = provider_at(server)
        await deltas_of(provider, request(user("go")))
        await provider.aclose()
        reply = whole(await deltas_of(provider, request(user("go"))))
        await provider.aclose()

    assert reply.content == (TextBlock(text="b"),)


async def test_two_requests_at_once_do_not_mix() -> None:
    async with MessagesServer(lambda r: message(r.json["messages"][0]["content"][0]["text"] * 20)) as server:
        provider = provider_at(server)
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(deltas_of(provider, request(user(name)))) for name in "abc"]
        await provider.aclose()

    assert [whole(task.result()).content for task in tasks] == [(TextBlock(text=n * 20),) for n in "abc"]


@pytest.mark.parametrize("platform", ["bedrock", "vertex"])
def test_a_cloud_platform_is_made_without_a_key(platform: Any) -> None:
    provider = AnthropicProvider(load_table().facts("anthropic", MODEL), platform=platform)

    assert (provider.name, provider.model) == ("anthropic", MODEL)
