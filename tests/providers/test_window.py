from typing import Any

import pytest

from agent_tui.protocol.messages import TextBlock, UserMessage
from agent_tui.providers.base import ProviderRequest
from agent_tui.providers.models import load_table
from agent_tui.providers.openai_compatible import OpenAICompatibleProvider
from agent_tui.providers.profiles import COMPATIBLE, PROFILES
from tests.support.fake_servers import Answer, ChatServer, Recorded, completion, json_answer

REQUEST = ProviderRequest(system="s", messages=(UserMessage(content=(TextBlock(text="hi"),)),))


class LocalServer(ChatServer):
    """Answers what a kind of local server tells of its model beside chat completions."""

    def __init__(self, told: dict[str, list[dict[str, Any]]]) -> None:
        super().__init__(lambda _request: completion("hi"))
        self.told = told
        self.asked: list[str] = []

    def _answer(self, request: Recorded) -> Answer:
        if request.path.endswith("/chat/completions"):
            return super()._answer(request)
        self.asked.append(request.path)
        answers = self.told.get(request.path)
        if not answers:
            return json_answer({"error": "unknown path"}, code=404)
        return json_answer(answers.pop(0) if len(answers) > 1 else answers[0])


async def windows(
    kind: str, told: dict[str, list[dict[str, Any]]], *, turns: int = 1
) -> tuple[list[int], list[str]]:
    async with LocalServer(told) as server:
        profile = PROFILES.get(kind, COMPATIBLE)
        provider = OpenAICompatibleProvider(
            load_table().facts(profile.name, "qwen3"), profile=profile, base_url=server.url
        )
        seen: list[int] = []
        for _ in range(turns):
            async with provider.stream(REQUEST) as deltas:
                assert [delta async for delta in deltas]
            seen.append(provider.context_tokens)
        assert provider.info.context_tokens in (None, provider.context_tokens)
        await provider.aclose()
    return seen, server.asked


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        ("llamacpp", {"/props": [{"default_generation_settings": {"n_ctx": 8192}}]}),
        ("vllm", {"/v1/models": [{"data": [{"id": "other"}, {"id": "qwen3", "max_model_len": 8192}]}]}),
        ("lmstudio", {"/api/v0/models": [{"data": [{"id": "qwen3", "loaded_context_length": 8192}]}]}),
        ("ollama", {"/api/ps": [{"models": [{"name": "qwen3:latest", "context_length": 8192}]}]}),
        ("ollama", {"/api/ps": [{"models": []}], "/api/show": [{"parameters": "stop x\nnum_ctx    8192"}]}),
        ("compatible", {"/v1/models": [{"data": [{"id": "qwen3", "max_model_len": 8192}]}]}),
        ("compatible", {"/props": [{"default_generation_settings": {"n_ctx": 8192}}]}),
    ],
)
async def test_the_window_is_asked_from_the_server_once(kind: str, told: dict[str, list[Any]]) -> None:
    seen, asked = await windows(kind, told, turns=2)

    assert seen == [8192, 8192]
    assert len(asked) == len(set(asked))


async def test_a_model_that_is_not_loaded_yet_is_asked_about_again() -> None:
    later = {"models": [{"name": "qwen3", "model": "qwen3", "context_length": 4096}]}

    seen, _ = await windows("ollama", {"/api/ps": [{"models": []}, later]}, turns=2)

    assert seen == [0, 4096]


@pytest.mark.parametrize("told", [{}, {"/props": [{"n_ctx": "many"}]}, {"/v1/models": [{"data": [3]}]}])
async def test_a_server_that_does_not_say_is_not_known_and_not_asked_for_ever(
    told: dict[str, list[Any]],
) -> None:
    seen, asked = await windows("compatible", told, turns=5)

    assert seen == [0] * 5
    assert len(asked) == 6


async def test_hosted_services_are_not_asked() -> None:
    seen, asked = await windows("deepseek", {})

    assert (seen, asked) == ([0], [])
