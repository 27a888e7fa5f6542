import json
from typing import Any

import pytest

from agent_tui.protocol.errors import BadResponse, ProviderError, StreamCut
from agent_tui.protocol.messages import (
    AssistantMessage,
    TextBlock,
    ThinkingBlock,
    TokenUsage,
    ToolResultBlock,
    ToolUseBlock,
    UserMessage,
)
from agent_tui.providers.base import Completed, TextPiece, ThinkingPiece
from tests.support.fake_servers import completion, json_answer
from tests.support.openai_world import call, chunk, deltas_of, reply_to, request, stream, text_of, user


def uses(message: AssistantMessage) -> list[tuple[str, str]]:
    return [(b.name, b.arguments_json) for b in message.content if isinstance(b, ToolUseBlock)]


def ids(message: AssistantMessage) -> list[str]:
    return [b.id for b in message.content if isinstance(b, ToolUseBlock)]


def thinking_of(message: AssistantMessage) -> str:
    return "".join(b.text for b in message.content if isinstance(b, ThinkingBlock))


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
