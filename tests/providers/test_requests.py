import base64
import json
from collections.abc import Iterable
from typing import Any, get_type_hints

import pytest
from anthropic.types.message_create_params import MessageCreateParamsStreaming
from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming
from openai.types.responses.response_create_params import ResponseCreateParamsStreaming
from pydantic import TypeAdapter

from agent_tui.protocol.messages import (
    AssistantMessage,
    DocumentBlock,
    ImageBlock,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UserMessage,
)
from agent_tui.protocol.tools import ToolSpec
from agent_tui.providers._anthropic_request import build_body, build_messages
from agent_tui.providers._chat_request import build_chat_body
from agent_tui.providers._responses_request import build_responses_body
from agent_tui.providers.base import ProviderRequest
from agent_tui.providers.models import load_table
from agent_tui.providers.profiles import COMPATIBLE, OPENAI, PROFILES

CLAUDE, GPT = "claude-sonnet-5-5", "gpt-6.2-sol"
PNG = base64.b64encode(b"\x89PNG\r\n").decode()
PDF = base64.b64encode(b"%PDF-1.7").decode()
TOOLS = tuple(
    ToolSpec(
        name=name,
        description=f"{name} a file",
        input_schema={"type": "object", "properties": {"file_path": {"type": "string"}}},
    )
    for name in ("read", "write")
)


def user(*blocks: Any) -> UserMessage:
    return UserMessage(content=tuple(TextBlock(text=b) if isinstance(b, str) else b for b in blocks))


def reply(*blocks: Any, provider: str = "anthropic", model: str = CLAUDE) -> AssistantMessage:
    content = tuple(TextBlock(text=b) if isinstance(b, str) else b for b in blocks)
    return AssistantMessage(content=content, provider=provider, model=model)


def use(call_id: str, arguments: str = '{"file_path": "a"}') -> ToolUseBlock:
    return ToolUseBlock(id=call_id, name="read", arguments_json=arguments)


def result(call_id: str, content: str = "text", **fields: Any) -> ToolResultBlock:
    return ToolResultBlock(tool_use_id=call_id, content=content, **fields)


def history(provider: str, model: str) -> tuple[UserMessage | AssistantMessage, ...]:
    return (
        user("<environment>x</environment>", "look", ImageBlock(media_type="image/png", data=PNG)),
        reply(
            ThinkingBlock(text="hm", signature="sig"),
            RedactedThinkingBlock(data="enc"),
            "I look.",
            use("c1"),
            use("c2"),
            provider=provider,
            model=model,
        ),
        user(
            result("c1", images=(ImageBlock(media_type="image/png", data=PNG),)),
            result("c2", "no such file", is_error=True),
            "hurry",
        ),
        reply("Done.", provider=provider, model=model),
        user("and this", DocumentBlock(data=PDF, title="a.pdf")),
    )


def request(messages: Iterable[UserMessage | AssistantMessage], **fields: Any) -> ProviderRequest:
    return ProviderRequest(system="You help.", messages=tuple(messages), tools=TOOLS, **fields)


def anthropic_body(
    messages: Iterable[UserMessage | AssistantMessage], model: str = CLAUDE, **fields: Any
) -> Any:
    facts = load_table().facts("anthropic", model)
    return build_body(request(messages, **fields), facts, provider="anthropic", model=model)


def without_marks(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_marks(item) for key, item in value.items() if key != "cache_control"}
    return [without_marks(item) for item in value] if isinstance(value, list) else value


def check_against(kind: Any, body: dict[str, Any]) -> None:
    TypeAdapter(kind).validate_python(body)
    assert set(body) <= set(get_type_hints(kind))


@pytest.mark.parametrize("model", [CLAUDE, "claude-haiku-4-5", "claude-3-5-haiku-20241022", "other"])
@pytest.mark.parametrize("effort", ["", "low", "medium", "high", "max"])
def test_a_messages_request_is_of_the_sdks_type(model: str, effort: str) -> None:
    body = anthropic_body(history("anthropic", model), model=model, effort=effort)

    check_against(MessageCreateParamsStreaming, {**body, "stream": True})


@pytest.mark.parametrize("profile", [COMPATIBLE, *PROFILES.values()], ids=lambda profile: profile.name)
@pytest.mark.parametrize("effort", ["", "max"])
def test_a_chat_request_is_of_the_sdks_type(profile: Any, effort: str) -> None:
    asked = request(history(profile.name, "m"), effort=effort, max_output_tokens=100)
    body = build_chat_body(asked, load_table().facts("x", "m"), profile, provider=profile.name)
    body.pop("reasoning", None)

    check_against(CompletionCreateParamsStreaming, body)


@pytest.mark.parametrize("model", [GPT, "gpt-unknown"])
def test_a_responses_request_is_of_the_sdks_type(model: str) -> None:
    asked = request(history("openai", model), effort="high", max_output_tokens=100)
    body = build_responses_body(asked, load_table().facts("openai", model), provider="openai")

    check_against(ResponseCreateParamsStreaming, body)


def test_h78_marks_stand_on_system_last_tool_and_last_two_user_messages() -> None:
    body = anthropic_body(history("anthropic", CLAUDE))

    assert "cache_control" in body["system"][-1]
    assert ["cache_control" in tool for tool in body["tools"]] == [False, True]
    marked = [any("cache_control" in block for block in m["content"]) for m in body["messages"]]
    assert marked == [False, False, True, False, True]
    assert "cache_control" in body["messages"][2]["content"][-1]
    assert json.dumps(body).count("cache_control") == 4


def test_two_turns_with_the_same_prefix_are_the_same_bytes_up_to_the_marks() -> None:
    messages = history("anthropic", CLAUDE)
    first, second = anthropic_body(messages[:3]), anthropic_body(messages)

    for key in ("model", "max_tokens", "system", "tools", "thinking"):
        assert json.dumps(first[key]) == json.dumps(second[key])
    before, after = (json.dumps(without_marks(body["messages"])) for body in (first, second))
    assert after.startswith(before[:-1])


@pytest.mark.parametrize("kind", ["chat", "responses"])
def test_two_openai_turns_with_the_same_prefix_are_the_same_bytes(kind: str) -> None:
    messages = history("openai", GPT)
    facts, bodies = load_table().facts("openai", GPT), []
    for part in (messages[:3], messages):
        bodies.append(
            build_chat_body(request(part), facts, OPENAI, provider="openai")
            if kind == "chat"
            else build_responses_body(request(part), facts, provider="openai")
        )
    field = "messages" if kind == "chat" else "input"

    assert json.dumps(bodies[1][field]).startswith(json.dumps(bodies[0][field])[:-1])


def test_pr_06_thinking_of_this_model_goes_back_in_order_and_unchanged() -> None:
    wire = build_messages(history("anthropic", CLAUDE), provider="anthropic", model=CLAUDE)

    assert [block["type"] for block in wire[1]["content"]] == [
        "thinking",
        "redacted_thinking",
        "text",
        "tool_use",
        "tool_use",
    ]
    assert wire[1]["content"][0] == {"type": "thinking", "thinking": "hm", "signature": "sig"}


@pytest.mark.parametrize("signer", [("anthropic", "claude-opus-5-5"), ("openai", CLAUDE)])
def test_pr_07_thinking_of_another_model_is_left_out_and_calls_stay(signer: tuple[str, str]) -> None:
    wire = build_messages(history(*signer), provider="anthropic", model=CLAUDE)

    assert [block["type"] for block in wire[1]["content"]] == ["text", "tool_use", "tool_use"]
    assert "hm" not in json.dumps(wire)


@pytest.mark.parametrize(("signer", "thinks"), [("claude-sonnet-4-5", True), ("claude-opus-4-5", False)])
def test_pr_07_a_budget_model_does_not_think_in_a_round_that_another_began(signer: str, thinks: bool) -> None:
    facts = load_table().facts("anthropic", "claude-sonnet-4-5")

    def body(*messages: Any) -> dict[str, Any]:
        asked = ProviderRequest(system="s", messages=messages)
        return build_body(asked, facts, provider="anthropic", model="claude-sonnet-4-5")

    thought = reply(ThinkingBlock(text="hm", signature="sig"), use("c1"), model=signer)

    assert ("thinking" in body(user("go"), thought, user(result("c1")))) is thinks
    assert "thinking" in body(user("go"), thought, user(result("c1")), reply("done"), user("next"))


def test_pr_07_reasoning_of_another_model_does_not_go_to_openai() -> None:
    facts = load_table().facts("openai", GPT)
    body = build_responses_body(request(history("anthropic", CLAUDE)), facts, provider="openai")

    assert "hm" not in json.dumps(body)
    assert [item.get("type") for item in body["input"]].count("function_call") == 2


def test_unsigned_thinking_empty_text_and_empty_messages_are_left_out() -> None:
    wire = build_messages(
        [user("a"), reply(ThinkingBlock(text="x")), user(" ", "b"), reply("", "c")],
        provider="anthropic",
        model=CLAUDE,
    )

    assert without_marks(wire) == [
        {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
        {"role": "assistant", "content": [{"type": "text", "text": "c"}]},
    ]


def test_pr_09_arguments_that_are_no_object_go_back_as_an_empty_one() -> None:
    for broken in ("", "{", "null", "[]", '"x"', '{"a": 1}}'):
        messages = [user("a"), reply(use("c1", broken)), user(result("c1"))]
        claude = build_messages(messages, provider="anthropic", model=CLAUDE)
        chat = build_chat_body(request(messages), load_table().facts("x", "m"), COMPATIBLE, provider="x")

        assert claude[1]["content"][0]["input"] == {}
        assert chat["messages"][2]["tool_calls"][0]["function"]["arguments"] == "{}"


def test_an_empty_error_and_an_empty_result_say_so() -> None:
    wire = build_messages(
        [user("a"), reply(use("c1")), user(result("c1", "", is_error=True))], provider="a", model="m"
    )

    assert wire[2]["content"][0]["content"] == "(no output)"
    assert wire[2]["content"][0]["is_error"] is True


def test_ids_of_other_servers_are_made_acceptable_on_both_sides() -> None:
    messages = [user("a"), reply(use("functions.read:0")), user(result("functions.read:0"))]
    wire = build_messages(messages, provider="a", model="m")

    assert wire[1]["content"][0]["id"] == wire[2]["content"][0]["tool_use_id"] == "functions_read_0"


def test_mistral_gets_ids_of_nine_characters_that_stay_the_same() -> None:
    messages = [
        user("a"),
        reply(use("toolu_01ABC"), use("abcDEF123")),
        user(result("toolu_01ABC"), result("abcDEF123")),
    ]
    facts = load_table().facts("mistral", "m")
    wire = build_chat_body(request(messages), facts, PROFILES["mistral"], provider="mistral")["messages"]

    ids = [call["id"] for call in wire[2]["tool_calls"]]
    assert [len(call_id) for call_id in ids] == [9, 9]
    assert ids[1] == "abcDEF123"
    assert [wire[3]["tool_call_id"], wire[4]["tool_call_id"]] == ids


def test_nul_and_lone_surrogates_never_reach_a_request() -> None:
    bad = "a\x00b\ud800c"
    call = use("c1").model_copy(update={"arguments_json": r'{"path": "a\ud800b"}'})
    messages = [user(bad), reply(call), user(result("c1", bad))]

    for body in (
        anthropic_body(messages),
        build_chat_body(request(messages), load_table().facts("x", "m"), COMPATIBLE, provider="x"),
        build_responses_body(request(messages), load_table().facts("openai", GPT), provider="openai"),
    ):
        raw = json.dumps(body, ensure_ascii=False).encode()
        assert b"\\u0000" not in raw


def test_effort_becomes_a_budget_with_the_header_or_a_word() -> None:
    old = anthropic_body([user("a")], model="claude-sonnet-4-5", effort="high")
    new = anthropic_body([user("a")], model=CLAUDE, effort="high")
    capped = anthropic_body([user("a")], model="claude-sonnet-4-6", effort="max")
    small = anthropic_body([user("a")], model="claude-sonnet-4-5", max_output_tokens=1500)

    assert old["thinking"] == {"type": "enabled", "budget_tokens": 20_000}
    assert new["output_config"] == {"effort": "high"}
    assert capped["output_config"] == {"effort": "high"}
    assert "thinking" not in small


def test_output_limits_follow_the_table_and_the_request() -> None:
    assert anthropic_body([user("a")])["max_tokens"] == 32_000
    assert anthropic_body([user("a")], max_output_tokens=500_000)["max_tokens"] == 128_000
    assert anthropic_body([user("a")], model="other")["max_tokens"] == 8_192


def test_openrouter_gets_reasoning_its_own_way_and_its_details_back() -> None:
    details = [{"type": "reasoning.encrypted", "data": "enc"}]
    mine = reply(
        ThinkingBlock(text="hm", signature=json.dumps(details)), use("c1"), provider="openrouter", model="m"
    )
    asked = request([user("a"), mine, user(result("c1"))], effort="max")
    body = build_chat_body(
        asked, load_table().facts("openrouter", "m"), PROFILES["openrouter"], provider="openrouter"
    )

    assert body["reasoning"] == {"effort": "high"}
    assert body["messages"][2]["reasoning_details"] == details


def test_deepseek_gets_its_reasoning_back_and_other_servers_do_not() -> None:
    for name, expected in (("deepseek", "hm"), ("gemini", None)):
        mine = reply(ThinkingBlock(text="hm"), use("c1"), provider=name, model="m")
        facts = load_table().facts(name, "m")
        body = build_chat_body(
            request([user("a"), mine, user(result("c1"))]), facts, PROFILES[name], provider=name
        )

        assert body["messages"][2].get("reasoning_content") == expected


def test_reasoning_that_led_nowhere_is_not_sent_to_the_responses_api() -> None:
    kept = ThinkingBlock(text="hm", signature=json.dumps({"id": "rs_1", "encrypted_content": "enc"}))
    facts = load_table().facts("openai", GPT)
    whole = [user("a"), reply(kept, use("c1"), provider="openai", model=GPT), user(result("c1"))]
    dangling = [user("a"), reply("x", kept, provider="openai", model=GPT), user("b")]

    sent = build_responses_body(request(whole), facts, provider="openai")["input"]
    cut = build_responses_body(request(dangling), facts, provider="openai")["input"]

    assert sent[1] == {
        "type": "reasoning",
        "id": "rs_1",
        "summary": [{"type": "summary_text", "text": "hm"}],
        "encrypted_content": "enc",
    }
    assert all(item.get("type") != "reasoning" for item in cut)
