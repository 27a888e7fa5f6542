from collections.abc import Callable, Sequence
from typing import Any

import pytest

from agent_tui.agent.refused_tools import MAX_DROPPED, refused_tool
from agent_tui.protocol.events import Notice
from agent_tui.protocol.tools import ToolSpec
from agent_tui.providers.anthropic import AnthropicProvider
from agent_tui.providers.base import Provider
from agent_tui.providers.models import load_table
from agent_tui.providers.openai_compatible import OpenAICompatibleProvider
from agent_tui.providers.retry import RetryingProvider, RetryPolicy
from tests.support.agent_world import FakeTools, shown_text, world
from tests.support.fake_servers import (
    Answer,
    ChatServer,
    FakeServer,
    MessagesServer,
    Recorded,
    completion,
    json_answer,
    message,
)

MODELS = load_table()
NAMES = ("read", "mcp__db__query", "bash")


def messages_refusal(index: int, _name: str) -> Answer:
    text = f"tools.{index}.custom.input_schema: JSON schema is invalid"
    return json_answer(
        {"type": "error", "error": {"type": "invalid_request_error", "message": text}}, code=400
    )


def chat_refusal(index: int, name: str) -> Answer:
    error = {
        "message": f"Invalid schema for function '{name}': schema must be an object.",
        "type": "invalid_request_error",
        "param": f"tools[{index}].function.parameters",
    }
    return json_answer({"error": error}, code=400)


def placed_refusal(index: int, _name: str) -> Answer:
    return json_answer({"error": {"message": "schema is bad", "param": f"tools[{index}].function"}}, code=400)


def anthropic(url: str) -> Provider:
    return AnthropicProvider(MODELS.facts("anthropic", "claude-sonnet-5-5"), api_key="k", base_url=url)


def openai(url: str) -> Provider:
    return OpenAICompatibleProvider(MODELS.facts("x", "m"), api_key="k", base_url=url)


def names_of(request: Recorded) -> list[str]:
    return [tool.get("name") or tool["function"]["name"] for tool in request.json.get("tools", [])]


WIRES = [
    pytest.param(MessagesServer, anthropic, messages_refusal, message("Done."), id="messages"),
    pytest.param(ChatServer, openai, chat_refusal, completion("Done."), id="chat"),
    pytest.param(ChatServer, openai, placed_refusal, completion("Done."), id="chat-param"),
]


async def turn_with(
    server: Callable[..., FakeServer],
    provider: Callable[[str], Provider],
    answer: Callable[[Recorded], Answer],
    *,
    names: Sequence[str] = NAMES,
    prompts: Sequence[str] = ("go",),
) -> tuple[list[Recorded], list[Any], str]:
    w = world()
    w.tools = FakeTools(names)
    async with server(answer) as live:
        model = RetryingProvider(provider(live.url), policy=RetryPolicy(attempts=1))
        agent = w.agent(provider=model)
        try:
            for prompt in prompts:
                result = await agent.run(prompt)
        finally:
            await model.aclose()
        return live.requests, [result, *w.sink.events], shown_text(w.sink)


@pytest.mark.parametrize(("server", "provider", "refusal", "whole"), WIRES)
async def test_mc_08_a_tool_that_a_400_names_is_dropped_for_the_turn_and_the_person_is_told(
    server: Any, provider: Any, refusal: Any, whole: Answer
) -> None:
    def answer(request: Recorded) -> Answer:
        names = names_of(request)
        return refusal(names.index(NAMES[1]), NAMES[1]) if NAMES[1] in names else whole

    requests, told, text = await turn_with(server, provider, answer)

    assert [names_of(request) for request in requests] == [list(NAMES), ["read", "bash"]]
    assert told[0].stop_reason == "end_turn"
    assert text == "Done."
    notices = [event.text for event in told[1:] if isinstance(event, Notice)]
    assert len(notices) == 1
    assert "does not take the tool mcp__db__query" in notices[0]


@pytest.mark.parametrize(("server", "provider", "refusal", "whole"), WIRES[:2])
async def test_mc_08_the_next_turn_offers_the_dropped_tool_again(
    server: Any, provider: Any, refusal: Any, whole: Answer
) -> None:
    def answer(request: Recorded) -> Answer:
        names = names_of(request)
        return refusal(1, NAMES[1]) if NAMES[1] in names else whole

    requests, _, _ = await turn_with(server, provider, answer, prompts=("one", "two"))

    assert [len(names_of(request)) for request in requests] == [3, 2, 3, 2]


@pytest.mark.parametrize(("server", "provider", "refusal", "whole"), WIRES[:2])
async def test_mc_08_a_server_that_refuses_every_tool_ends_the_turn_and_not_the_program(
    server: Any, provider: Any, refusal: Any, whole: Answer
) -> None:
    names = [f"t{n}" for n in range(MAX_DROPPED + 4)]

    requests, told, _ = await turn_with(
        server, provider, lambda request: refusal(0, names_of(request)[0]), names=names
    )

    assert len(requests) == MAX_DROPPED + 1
    assert told[0].stop_reason == "failed"


def test_a_refusal_names_a_tool_by_its_place_or_by_its_name() -> None:
    tools = [ToolSpec(name=name, description="", input_schema={}) for name in NAMES]

    assert refused_tool("refused (400: tools.2.custom.input_schema: bad)", tools) == "bash"
    assert refused_tool("tools[0].function.parameters: bad", tools) == "read"
    assert refused_tool("Invalid schema for function 'mcp__db__query': bad", tools) == "mcp__db__query"
    assert refused_tool("tools.9: bad", tools) == ""
    assert refused_tool("Invalid schema for function 'other'", tools) == ""
    assert refused_tool("messages.3.content.0: bad", tools) == ""
