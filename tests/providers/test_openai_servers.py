from collections.abc import Sequence
from typing import Any

import pytest

from agent_tui.protocol.errors import ProviderError, StreamCut
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
from agent_tui.providers.base import Completed, TextPiece, ThinkingPiece
from agent_tui.providers.models import load_table
from agent_tui.providers.openai_compatible import OpenAICompatibleProvider
from agent_tui.providers.profiles import OPENAI, PROFILES, normal_base_url, profile_for
from tests.support.fake_servers import ChatServer, completion, completion_events, json_answer, sse
from tests.support.openai_world import call, chunk, deltas_of, reply_to, request, stream, text_of, user


async def test_geminis_signatures_of_calls_go_back_with_their_calls() -> None:
    signed = call(index=0, id="c1", extra_content={"google": {"thought_signature": "SIG"}})
    plain = call("write", index=1, id="c2")
    answer = stream(chunk({"tool_calls": [signed, plain]}, "tool_calls"))
    gemini = PROFILES["gemini"]
    message = await reply_to(answer, profile=gemini)
    stored = AssistantMessage.model_validate_json(message.model_dump_json())
    results = UserMessage(
        content=(
            ToolResultBlock(tool_use_id="c1", content="x"),
            ToolResultBlock(tool_use_id="c2", content="y"),
        )
    )

    async with ChatServer([completion("ok")]) as server:
        provider = OpenAICompatibleProvider(
            load_table().facts("gemini", "m"), profile=gemini, base_url=server.url
        )
        async with provider.stream(request(user("hi"), stored, results)) as deltas:
            _ = [delta async for delta in deltas]
        await provider.aclose()

    assert isinstance(message.content[0], RedactedThinkingBlock)
    calls = server.requests[0].json["messages"][2]["tool_calls"]
    assert calls[0]["extra_content"] == {"google": {"thought_signature": "SIG"}}
    assert "extra_content" not in calls[1]


async def test_the_end_mark_and_a_null_finish_reason_are_enough() -> None:
    assert text_of(await reply_to(stream(chunk({"content": "a"})))) == "a"


async def test_events_that_forget_their_blank_line_are_read() -> None:
    events: Sequence[Any] = completion_events("Hello")
    answer = stream(*events[:-1]).mapped(lambda body: body.replace(b"\n\n", b"\n"))

    assert text_of(await reply_to(answer)) == "Hello"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("http://localhost:8080", "http://localhost:8080/v1"),
        ("http://localhost:8080/", "http://localhost:8080/v1"),
        ("http://localhost:8080/v1/", "http://localhost:8080/v1"),
        ("http://localhost:8080/v1/chat/completions", "http://localhost:8080/v1"),
        ("localhost:8080", "http://localhost:8080/v1"),
        ("https://h.example/api/v2", "https://h.example/api/v2"),
        (
            "https://generativelanguage.googleapis.com/v1beta/openai/",
            "https://generativelanguage.googleapis.com/v1beta/openai",
        ),
    ],
)
def test_a_base_url_works_with_and_without_its_version(given: str, expected: str) -> None:
    assert normal_base_url(given) == expected


@pytest.mark.parametrize(
    ("provider", "url", "name"),
    [
        ("openai", "", "openai"),
        ("openai", "https://api.openai.com/v1", "openai"),
        ("openai", "http://localhost:11434/v1", "ollama"),
        ("openai", "http://127.0.0.1:1234/v1", "lmstudio"),
        ("openai", "https://openrouter.ai/api/v1", "openrouter"),
        ("openai", "https://my.example/v1", "compatible"),
        ("mistral", "", "mistral"),
    ],
)
def test_a_server_is_known_by_name_or_by_its_address(provider: str, url: str, name: str) -> None:
    assert profile_for(provider, url).name == name


async def test_models_are_listed_from_the_server() -> None:
    async with ChatServer(models=["a", "b"]) as server:
        provider = OpenAICompatibleProvider(load_table().facts("x", "a"), base_url=server.url)
        listed = await provider.models()
        await provider.aclose()

    assert listed == ["a", "b"]
    assert server.gets[0].path == "/v1/models"


def response_events(items: list[dict[str, Any]], *, status: str = "completed", why: str = "") -> list[Any]:
    events: list[Any] = [{"type": "response.created", "response": {"status": "in_progress", "error": None}}]
    for index, item in enumerate(items):
        at = {"output_index": index, "item_id": item.get("id", "")}
        empty = {**item, "arguments": "", "content": [], "summary": []}
        events.append({"type": "response.output_item.added", **at, "item": empty})
        match item["type"]:
            case "message":
                for part in item["content"]:
                    events.extend(
                        {"type": "response.output_text.delta", **at, "delta": c} for c in part["text"]
                    )
            case "reasoning":
                for part in item["summary"]:
                    events.append({"type": "response.reasoning_summary_part.added", **at})
                    events.append(
                        {"type": "response.reasoning_summary_text.delta", **at, "delta": part["text"]}
                    )
            case _:
                for piece in (item["arguments"][:5], item["arguments"][5:]):
                    events.append({"type": "response.function_call_arguments.delta", **at, "delta": piece})
        events.append({"type": "response.output_item.done", **at, "item": item})
    usage = {
        "input_tokens": 20,
        "output_tokens": 9,
        "input_tokens_details": {"cached_tokens": 8, "cache_write_tokens": 2},
        "output_tokens_details": {"reasoning_tokens": 4},
    }
    final = {"object": "response", "status": status, "output": items, "usage": usage, "error": None}
    events.append(
        {"type": f"response.{status}", "response": {**final, "incomplete_details": {"reason": why}}}
    )
    return events


ITEMS: list[dict[str, Any]] = [
    {
        "type": "reasoning",
        "id": "rs_1",
        "summary": [{"type": "summary_text", "text": "first"}, {"type": "summary_text", "text": "second"}],
        "encrypted_content": "enc",
    },
    {
        "type": "message",
        "id": "m_1",
        "role": "assistant",
        "content": [{"type": "output_text", "text": "Hello"}],
    },
    {
        "type": "function_call",
        "id": "fc_1",
        "call_id": "call_1",
        "name": "read",
        "arguments": '{"file_path": "a"}',
    },
    {"type": "function_call", "id": "fc_2", "call_id": "call_2", "name": "write", "arguments": "{}"},
]


@pytest.mark.parametrize("as_body", [False, True])
async def test_a_response_with_reasoning_text_and_calls_comes_whole(as_body: bool) -> None:
    events = response_events(ITEMS)
    answer = json_answer(events[-1]["response"]) if as_body else sse(events, named=True)

    deltas = await deltas_of(answer, profile=OPENAI, model="gpt-6.2-sol")

    last = deltas[-1]
    assert isinstance(last, Completed)
    assert last.message == AssistantMessage(
        content=(
            ThinkingBlock(text="first\n\nsecond", signature='{"id": "rs_1", "encrypted_content": "enc"}'),
            TextBlock(text="Hello"),
            ToolUseBlock(id="call_1", name="read", arguments_json='{"file_path": "a"}'),
            ToolUseBlock(id="call_2", name="write", arguments_json="{}"),
        ),
        provider="openai",
        model="gpt-6.2-sol",
        stop_reason="tool_use",
        usage=TokenUsage(
            input_tokens=10, output_tokens=9, cache_read_tokens=8, cache_write_tokens=2, reasoning_tokens=4
        ),
    )
    assert "".join(d.text for d in deltas if isinstance(d, TextPiece)) == "Hello"
    assert "".join(d.text for d in deltas if isinstance(d, ThinkingPiece)) == "first\n\nsecond"


@pytest.mark.parametrize(
    ("why", "stop"), [("max_output_tokens", "max_tokens"), ("content_filter", "refusal"), ("new", "other")]
)
async def test_an_incomplete_response_says_why(why: str, stop: str) -> None:
    answer = sse(response_events(ITEMS[1:2], status="incomplete", why=why), named=True)

    assert (await reply_to(answer, profile=OPENAI, model="gpt-6.2-sol")).stop_reason == stop


async def test_a_failed_response_is_an_error_of_its_class() -> None:
    failed = {
        "type": "response.failed",
        "response": {"status": "failed", "error": {"code": "server_error", "message": "it broke"}},
    }
    with pytest.raises(ProviderError, match="it broke"):
        await reply_to(sse([failed], named=True), profile=OPENAI, model="gpt-6.2-sol")


async def test_a_response_cut_in_a_call_is_a_cut() -> None:
    events = response_events(ITEMS)[:-4]
    with pytest.raises(StreamCut, match="in a call of 'write'"):
        await reply_to(sse(events, named=True), profile=OPENAI, model="gpt-6.2-sol")


@pytest.mark.parametrize(
    ("model", "path"), [("gpt-6.2-sol", "/v1/responses"), ("gpt-unknown", "/v1/responses")]
)
async def test_openais_own_models_are_asked_through_the_responses_api(model: str, path: str) -> None:
    async with ChatServer([sse(response_events(ITEMS[1:2]), named=True)]) as server:
        provider = OpenAICompatibleProvider(
            load_table().facts("openai", model), profile=OPENAI, base_url=server.url, api_key="k"
        )
        async with provider.stream(request()) as deltas:
            _ = [delta async for delta in deltas]
        await provider.aclose()

    assert server.requests[0].path == path
    assert server.requests[0].json["store"] is False
    assert server.requests[0].headers["authorization"] == "Bearer k"
