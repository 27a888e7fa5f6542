import gzip
import zlib
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from typing import Any

import httpx2
import pytest

from agent_tui.protocol.errors import BadResponse, Overloaded, ProviderError
from agent_tui.protocol.messages import TextBlock, UserMessage
from agent_tui.providers import _bounded
from agent_tui.providers._bounded import ERROR_BYTES, bound
from agent_tui.providers._sse import MAX_EVENT_BYTES, TooLarge
from agent_tui.providers.anthropic import AnthropicProvider
from agent_tui.providers.base import Provider, ProviderRequest
from agent_tui.providers.models import load_table
from agent_tui.providers.openai_compatible import OpenAICompatibleProvider
from tests.support.fake_servers import Answer, ChatServer, FakeServer, MessagesServer

CHUNK, MANY = b"x" * 65_536, 1_000
REQUEST = ProviderRequest(system="s", messages=(UserMessage(content=(TextBlock(text="hi"),)),))


class Flood:
    """Chunks of a body of 64 MB, counted as they are sent."""

    def __init__(self) -> None:
        self.sent = 0

    def __iter__(self) -> Iterator[bytes]:
        for self.sent in range(MANY):
            yield CHUNK


class Body(httpx2.AsyncByteStream):
    """A body in chunks."""

    def __init__(self, *chunks: bytes) -> None:
        self._chunks = chunks

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for chunk in self._chunks:
            yield chunk


@pytest.fixture(params=["messages", "chat"])
def kind(request: pytest.FixtureRequest) -> str:
    return request.param


async def asked(kind: str, answer: Answer) -> AsyncGenerator[Any]:
    server: FakeServer = MessagesServer([answer]) if kind == "messages" else ChatServer([answer])
    async with server:
        facts = load_table().facts("anthropic", "claude-sonnet-5-5")
        provider: Provider = (
            AnthropicProvider(facts, api_key="k", base_url=server.url)
            if kind == "messages"
            else OpenAICompatibleProvider(load_table().facts("x", "m"), api_key="k", base_url=server.url)
        )
        try:
            async with provider.stream(REQUEST) as deltas:
                async for delta in deltas:
                    yield delta
        finally:
            await provider.aclose()


async def test_error_of_any_size_is_read_to_its_start_only(kind: str) -> None:
    flood: Any = Flood()
    with pytest.raises(Overloaded, match="500: xxx") as caught:
        _ = [delta async for delta in asked(kind, Answer(chunks=flood, status=500))]

    assert len(str(caught.value)) < 500
    assert flood.sent < MANY // 2


async def test_error_that_never_ends_is_told_with_what_came(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_bounded, "ERROR_S", 0.1)
    with pytest.raises(ProviderError, match="401: half of it"):
        _ = [delta async for delta in asked(kind, Answer(chunks=(b"half of it",), status=401, ending="hang"))]


async def test_packed_error_counts_by_its_unpacked_size() -> None:
    response = httpx2.Response(
        500,
        headers={"content-encoding": "gzip"},
        stream=Body(gzip.compress(bytes(8 * ERROR_BYTES))),
        request=httpx2.Request("POST", "http://h"),
    )

    await bound(response)

    assert await response.aread() == bytes(ERROR_BYTES)


async def test_list_of_any_size_is_too_much() -> None:
    response = httpx2.Response(
        200,
        headers={"content-encoding": "deflate"},
        stream=Body(zlib.compress(bytes(MAX_EVENT_BYTES + 1))),
        request=httpx2.Request("GET", "http://h/models"),
    )

    await bound(response)

    with pytest.raises(TooLarge):
        await response.aread()


async def test_list_that_is_too_large_is_one_sentence(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_bounded, "MAX_EVENT_BYTES", 10)
    async with MessagesServer() if kind == "messages" else ChatServer() as server:
        facts = load_table().facts("anthropic", "claude-sonnet-5-5")
        provider = (
            AnthropicProvider(facts, api_key="k", base_url=server.url)
            if kind == "messages"
            else OpenAICompatibleProvider(load_table().facts("x", "m"), api_key="k", base_url=server.url)
        )
        with pytest.raises(BadResponse, match=r"sent too much: a body is larger"):
            await provider.models()
        await provider.aclose()
