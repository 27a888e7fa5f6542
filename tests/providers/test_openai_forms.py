import json
from collections.abc import Sequence
from typing import Any

import pytest

from agent_tui.protocol.errors import BadResponse, ProviderError, StreamCut
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
from agent_tui.providers.base import Completed, Delta, ProviderRequest, TextPiece, ThinkingPiece
from agent_tui.providers.models import load_table
from agent_tui.providers.openai_compatible import OpenAICompatibleProvider
from agent_tui.providers.profiles import COMPATIBLE, OPENAI, PROFILES, Profile, normal_base_url, profile_for
from tests.support.fake_servers import ChatServer, completion, completion_events, json_answer, sse

SPECS = tuple(ToolSpec(name=n, description="d", input_schema={"type": "object"}) for n in ("read", "write"))


def user(text: str) -> UserMessage:
    return UserMessage(content=(TextBlock(text=text),))


def request(*messages: UserMessage | AssistantMessage) -> ProviderRequest:
    return ProviderRequest(system="s", messages=messages or (user("hi"),), tools=SPECS)


async def deltas_of(
    answer: Any, *, asked: ProviderRequest | None = None, profile: Profile = COMPATIBLE, model: str = "m"
) -> list[Delta]:
    async with ChatServer([answer]) as server:
        facts = load_table().facts(profile.name, model)
        provider = OpenAICompatibleProvider(facts, profile=profile, base_url=server.url)
        try:
            async with provider.stream(asked or request()) as stream:
                return [delta async for delta in stream]
        finally:
            await provider.aclose()


async def reply_to(answer: Any, **fields: Any) -> AssistantMessage:
    last = (await deltas_of(answer, **fields))[-1]
    assert isinstance(last, Completed)
    return last.message


def uses(message: AssistantMessage) -> list[tuple[str, str]]:
    return [(b.name, b.arguments_json) for b in message.content if isinstance(b, ToolUseBlock)]


def ids(message: AssistantMessage) -> list[str]:
    return [b.id for b in message.content if isinstance(b, ToolUseBlock)]


def text_of(message: AssistantMessage) -> str:
    return "".join(b.text for b in message.content if isinstance(b, TextBlock))


def thinking_of(message: AssistantMessage) -> str:
    return "".join(b.text for b in message.content if isinstance(b, ThinkingBlock))


def chunk(delta: Any, finish: str | None = None) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def call(name: str | None = "read", arguments: Any = "{}", **fields: Any) -> dict[str, Any]:
    function = {k: v for k, v in (("name", name), ("arguments", arguments)) if v is not None}
    return {"type": "function", "function": function, **fields}


def stream(*events: Any, done: bool = True) -> Any:
    return sse([*events, *(["[DONE]"] if done else [])], named=False)


ODD_CHUNKS: dict[str, Any] = {
    "usage only": {"choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 1}},
    "content null": chunk({"role": "assistant", "content": None}),
    "delta null": chunk(None),
    "no delta": {"choices": [{"index": 0}]},
    "choices null": {"choices": None},
    "no choices": {"id": "x"},
    "role again": chunk({"role": "assistant", "content": ""}),
    "empty calls": chunk({"tool_calls": []}),
    "calls null": chunk({"tool_calls": None}),
    "usage null": {"choices": [], "usage": None},
}


@pytest.mark.parametrize("odd", ODD_CHUNKS.values(), ids=ODD_CHUNKS.keys())
async def test_pr_17_an_odd_chunk_changes_nothing(odd: Any) -> None:
    message = await reply_to(stream(odd, chunk({"content": "a"}), odd, chunk({"content": "b"}, "stop"), odd))

    assert message.content == (TextBlock(text="ab"),)
    assert message.stop_reason == "end_turn"


@pytest.mark.parametrize("finish", ["stop", "tool_calls", "function_call", "eos", "unknown"])
async def test_pr_17_calls_count_whatever_the_finish_reason_says(finish: str) -> None:
    message = await reply_to(stream(chunk({"tool_calls": [call(index=0, id="c1")]}), chunk({}, finish)))

    assert message.stop_reason == "tool_use"


async def test_pr_17_the_stream_may_end_by_close_after_the_finish_reason() -> None:
    message = await reply_to(stream(chunk({"content": "a"}), chunk({}, "stop"), done=False))

    assert text_of(message) == "a"


async def test_a_stream_that_closes_without_a_finish_reason_was_cut() -> None:
    with pytest.raises(StreamCut, match="in its text"):
        await reply_to(stream(chunk({"content": "a"}), done=False))


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"a": 1}, '{"a": 1}'),
        ('{"a": 1}', '{"a": 1}'),
        ("", "{}"),
        (None, "{}"),
        ("{", "{"),
        ("null", "null"),
        ('{"path":"a"}}', '{"path":"a"}}'),
    ],
)
async def test_pr_09_arguments_are_kept_as_the_model_wrote_them(arguments: Any, expected: str) -> None:
    message = await reply_to(
        stream(chunk({"tool_calls": [call(arguments=arguments, index=0, id="c1")]}, "tool_calls"))
    )

    assert uses(message) == [("read", expected)]


async def test_pr_08_a_call_cut_by_the_output_limit_says_max_tokens() -> None:
    half = call("write", '{"path":"a.py","content":"def', index=0, id="c1")

    message = await reply_to(stream(chunk({"tool_calls": [half]}), chunk({}, "length")))

    assert message.stop_reason == "max_tokens"
    assert uses(message) == [("write", '{"path":"a.py","content":"def')]


async def test_parallel_calls_whose_deltas_are_mixed_are_put_together() -> None:
    message = await reply_to(
        stream(
            chunk({"tool_calls": [call(arguments="", index=0, id="a"), call("write", "", index=1, id="b")]}),
            chunk({"tool_calls": [call(None, '{"x"', index=1)]}),
            chunk({"tool_calls": [call(None, '{"y"', index=0), call(None, ":1}", index=1)]}),
            chunk({"tool_calls": [call(None, ":2}", index=0)]}, "tool_calls"),
        )
    )

    assert uses(message) == [("read", '{"y":2}'), ("write", '{"x":1}')]
    assert ids(message) == ["a", "b"]


@pytest.mark.parametrize(
    "calls",
    [
        [call(id=None, index=0), call(id="", index=1)],
        [call(index=0), call(index=1)],
        [call(index=0, id="call_0"), call(index=1, id="call_0")],
        [call(), call()],
        [call(id="call_0"), call(id="call_1")],
        [call(index=0, id="x"), call(index=0, id="y")],
    ],
)
async def test_pr_15_missing_and_repeated_ids_become_unique(calls: list[dict[str, Any]]) -> None:
    earlier = AssistantMessage(
        content=(ToolUseBlock(id="call_0", name="read"),), provider="openai", model="m"
    )
    results = UserMessage(content=(ToolResultBlock(tool_use_id="call_0", content="x"),))
    answer = stream(*(chunk({"tool_calls": [one]}) for one in calls), chunk({}, "tool_calls"))

    message = await reply_to(answer, asked=request(user("hi"), earlier, results))

    assert len(uses(message)) == 2
    assert len({"call_0", *ids(message)}) == 3
    assert all(ids(message))


async def test_pr_15_a_body_without_ids_gets_them() -> None:
    body = {
        "choices": [{"message": {"tool_calls": [call(id=None), call(id="")]}, "finish_reason": "tool_calls"}]
    }

    assert len(set(ids(await reply_to(json_answer(body))))) == 2


async def test_pr_24_a_json_body_is_taken_although_a_stream_was_asked() -> None:
    body = {
        "object": "chat.completion",
        "choices": [
            {
                "message": {
                    "role": "assistant",
                    "content": "Hello",
                    "reasoning_content": "hm",
                    "tool_calls": [call(arguments='{"a": 1}', id="c1")],
                },
                "finish_reason": "tool_calls",
            }
        ],
        "usage": {"prompt_tokens": 5, "completion_tokens": 2},
    }
    deltas = await deltas_of(json_answer(body))

    assert [d for d in deltas if isinstance(d, TextPiece)] == [TextPiece("Hello")]
    last = deltas[-1]
    assert isinstance(last, Completed)
    assert uses(last.message) == [("read", '{"a": 1}')]
    assert last.message.usage == TokenUsage(input_tokens=5, output_tokens=2)


@pytest.mark.parametrize("body", [{"error": {"message": "model not loaded"}}, {"error": "model not loaded"}])
async def test_an_error_body_with_status_200_is_an_error(body: Any) -> None:
    with pytest.raises(ProviderError, match="model not loaded"):
        await reply_to(json_answer(body))


async def test_a_body_that_is_no_completion_says_so() -> None:
    with pytest.raises(BadResponse, match="no chat completion"):
        await reply_to(json_answer({"hello": "world"}))


@pytest.mark.parametrize(
    "delta",
    [
        {"reasoning": "hm"},
        {"reasoning_content": "hm"},
        {"reasoning": "hm", "reasoning_content": "hm"},
        {"thinking": "hm"},
        {"reasoning_details": [{"type": "reasoning.text", "text": "hm"}]},
        {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}]},
    ],
)
async def test_reasoning_is_found_in_every_field_once(delta: Any) -> None:
    deltas = await deltas_of(stream(chunk(delta), chunk({"content": "ok"}, "stop")))

    assert [d for d in deltas if isinstance(d, ThinkingPiece)] == [ThinkingPiece("hm")]
    assert isinstance(deltas[-1], Completed)
    assert text_of(deltas[-1].message) == "ok"


async def test_a_list_of_content_parts_is_text() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "reference", "ids": [1]}, {"type": "text", "text": "b"}]

    assert text_of(await reply_to(stream(chunk({"content": parts}, "stop")))) == "ab"


async def test_a_refusal_is_shown_and_named() -> None:
    message = await reply_to(stream(chunk({"refusal": "I cannot."}), chunk({}, "stop")))

    assert text_of(message) == "I cannot."
    assert message.stop_reason == "refusal"


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"prompt_tokens": 9, "completion_tokens": 2}, TokenUsage(input_tokens=9, output_tokens=2)),
        (
            {
                "prompt_tokens": 9,
                "completion_tokens": 2,
                "prompt_tokens_details": {"cached_tokens": 4},
                "completion_tokens_details": {"reasoning_tokens": 1},
            },
            TokenUsage(input_tokens=5, output_tokens=2, cache_read_tokens=4, reasoning_tokens=1),
        ),
        (
            {"prompt_tokens": 9, "completion_tokens": 2, "prompt_cache_hit_tokens": 3},
            TokenUsage(input_tokens=6, output_tokens=2, cache_read_tokens=3),
        ),
        ({"prompt_tokens": None}, TokenUsage()),
    ],
)
async def test_usage_is_read_in_every_form(usage: Any, expected: TokenUsage) -> None:
    assert (await reply_to(completion("a", usage=usage))).usage == expected


async def test_no_usage_is_no_error() -> None:
    assert (await reply_to(completion("a"))).usage == TokenUsage()


@pytest.mark.parametrize("piece", [1, 5, 1000])
@pytest.mark.parametrize(
    "written",
    [
        '<tool_call>\n{"name": "read", "arguments": {"file_path": "a"}}\n</tool_call>',
        '<tool_call>{"name": "read", "parameters": {"file_path": "a"}}</tool_call>',
        '<tool_call>{"name": "read", "arguments": "{\\"file_path\\": \\"a\\"}"}</tool_call>',
        "<tool_call>\n<function=read>\n<parameter=file_path>\na\n</parameter>\n</function>\n</tool_call>",
        '<tool_call>{"name": "read", "arguments": {"file_path": "a"}}',
    ],
)
async def test_a_call_written_into_the_text_is_a_call(written: str, piece: int) -> None:
    message = await reply_to(completion(f"I look.\n{written}", piece=piece))

    assert text_of(message).strip() == "I look."
    assert [(name, json.loads(arguments)) for name, arguments in uses(message)] == [
        ("read", {"file_path": "a"})
    ]
    assert message.stop_reason == "tool_use"


@pytest.mark.parametrize("piece", [1, 4, 1000])
@pytest.mark.parametrize(
    "text",
    [
        'Use <tool_call>{"name": "rm", "arguments": {}}</tool_call> so.',
        "a < b and <tool_ is no tag",
        "<tool_call>not json</tool_call>",
        "half <tool_call>{",
        "an open <tool_ca",
        "x <think>is no start</think>",
        "ends with <",
    ],
)
async def test_text_that_only_looks_like_a_call_stays_text(text: str, piece: int) -> None:
    deltas = await deltas_of(completion(text, piece=piece))

    assert "".join(d.text for d in deltas if isinstance(d, TextPiece)) == text
    assert isinstance(deltas[-1], Completed)
    assert uses(deltas[-1].message) == []


@pytest.mark.parametrize("piece", [1, 6, 1000])
async def test_think_tags_at_the_start_are_reasoning(piece: int) -> None:
    message = await reply_to(completion("<think>\nhm <b> hm</think>\n\nAnswer <i>", piece=piece))

    assert thinking_of(message).strip() == "hm <b> hm"
    assert text_of(message) == "Answer <i>"


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
