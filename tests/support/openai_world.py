from typing import Any

from agent_tui.protocol.messages import (
    AssistantMessage,
    TextBlock,
    UserMessage,
)
from agent_tui.protocol.tools import ToolSpec
from agent_tui.providers.base import Completed, Delta, ProviderRequest
from agent_tui.providers.models import load_table
from agent_tui.providers.openai_compatible import OpenAICompatibleProvider
from agent_tui.providers.profiles import COMPATIBLE, Profile
from tests.support.fake_servers import ChatServer, sse

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


def text_of(message: AssistantMessage) -> str:
    return "".join(b.text for b in message.content if isinstance(b, TextBlock))


def chunk(delta: Any, finish: str | None = None) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def call(name: str | None = "read", arguments: Any = "{}", **fields: Any) -> dict[str, Any]:
    function = {k: v for k, v in (("name", name), ("arguments", arguments)) if v is not None}
    return {"type": "function", "function": function, **fields}


def stream(*events: Any, done: bool = True) -> Any:
    return sse([*events, *(["[DONE]"] if done else [])], named=False)
