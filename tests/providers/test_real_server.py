import os
from urllib.parse import urlsplit

import pytest

from agent_tui.protocol.messages import TextBlock, ToolResultBlock, ToolUseBlock, UserMessage
from agent_tui.protocol.tools import ToolSpec
from agent_tui.providers.base import Completed, Provider, ProviderRequest
from agent_tui.providers.connect import ProviderSpec, connect, list_models

URL = os.environ.get("AGENT_TUI_TEST_OPENAI_URL", "")
IS_LOCAL = (urlsplit(URL).hostname or "").startswith(("127.", "localhost", "::1"))
TOOL = ToolSpec(
    name="weather",
    description="Tell the weather of a city. Always use it when asked for the weather.",
    input_schema={"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
)


async def ask(provider: Provider, request: ProviderRequest) -> Completed:
    async with provider.stream(request) as deltas:
        last = [delta async for delta in deltas][-1]
    assert isinstance(last, Completed)
    return last


@pytest.mark.skipif(not IS_LOCAL, reason="AGENT_TUI_TEST_OPENAI_URL names no server on this machine")
async def test_a_turn_with_a_real_server_on_this_machine_works() -> None:
    model = (
        os.environ.get("AGENT_TUI_TEST_OPENAI_MODEL") or (await list_models(ProviderSpec(base_url=URL)))[0]
    )
    provider = connect(ProviderSpec(base_url=URL, model=model))
    prompt = UserMessage(content=(TextBlock(text="What is the weather in Paris? Use the tool."),))
    first = (
        await ask(provider, ProviderRequest(system="Be brief.", messages=(prompt,), tools=(TOOL,)))
    ).message
    results = UserMessage(
        content=tuple(
            ToolResultBlock(tool_use_id=block.id, content="Sunny, 21 degrees.")
            for block in first.content
            if isinstance(block, ToolUseBlock)
        )
    )
    messages = (prompt, first, results) if results.content else (prompt, first, prompt)
    second = (
        await ask(provider, ProviderRequest(system="Be brief.", messages=messages, tools=(TOOL,)))
    ).message
    await provider.aclose()

    assert first.content
    assert second.content
