import asyncio
import gzip
import json
import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from agent_tui.protocol.errors import (
    AuthError,
    BadResponse,
    ContextTooLong,
    Overloaded,
    ProviderError,
    RateLimited,
    StreamCut,
)
from agent_tui.protocol.messages import AssistantMessage, TextBlock, ThinkingBlock, ToolUseBlock, UserMessage
from agent_tui.protocol.tools import ToolSpec
from agent_tui.providers.anthropic import AnthropicProvider
from agent_tui.providers.base import Completed, Delta, Provider, ProviderRequest, TextPiece, ThinkingPiece
from agent_tui.providers.models import load_table
from agent_tui.providers.openai_compatible import OpenAICompatibleProvider
from agent_tui.providers.retry import RetryingProvider, RetryPolicy
from tests.support.fake_servers import (
    Answer,
    ChatServer,
    FakeServer,
    MessagesServer,
    Tool,
    completion,
    completion_events,
    message,
    message_events,
    page,
    sse,
    status,
)

TOOLS = [Tool(f"call_{n}", "read", {"file_path": f"ä{n}.txt", "limit": n}) for n in range(3)]
SPECS = tuple(ToolSpec(name=n, description="d", input_schema={"type": "object"}) for n in ("read", "write"))
REQUEST = ProviderRequest(system="s", messages=(UserMessage(content=(TextBlock(text="hi"),)),), tools=SPECS)
TEXT, THOUGHT = "Grüße – I read three files. 🎈", "Let me see, ünïcode."


@dataclass(frozen=True)
class Wire:
    """One protocol: its server, its provider and its form of the same turn."""

    name: str
    server: Callable[..., FakeServer]
    whole: Answer
    short: Answer

    def provider(self, url: str) -> Provider:
        if self.name == "messages":
            facts = load_table().facts("anthropic", "claude-sonnet-5-5")
            return AnthropicProvider(facts, api_key="sk-secret", base_url=url)
        return OpenAICompatibleProvider(load_table().facts("x", "m"), api_key="sk-secret", base_url=url)

    @property
    def named(self) -> bool:
        return self.name == "messages"


MESSAGES = Wire(
    "messages",
    MessagesServer,
    message(TEXT, thinking=THOUGHT, signature="sig", tools=TOOLS),
    message("done"),
)
CHAT = Wire("chat", ChatServer, completion(TEXT, reasoning=THOUGHT, tools=TOOLS), completion("done"))


@pytest.fixture(params=[MESSAGES, CHAT], ids=lambda wire: wire.name)
def wire(request: pytest.FixtureRequest) -> Wire:
    return request.param


async def no_wait(seconds: float) -> None:
    """Wait not at all."""


async def ask(
    wire: Wire, *answers: Answer, into: list[Delta] | None = None, retries: bool = False
) -> AssistantMessage:
    deltas: list[Delta] = [] if into is None else into
    async with wire.server(answers) as server:
        provider = wire.provider(server.url)
        asked: Provider = RetryingProvider(provider, sleep=no_wait) if retries else provider
        try:
            async with asyncio.timeout(20), asked.stream(REQUEST) as stream:
                async for delta in stream:
                    deltas.append(delta)
        finally:
            await provider.aclose()
    last = deltas[-1]
    assert isinstance(last, Completed)
    assert server.problems == []
    return last.message


def is_the_turn(reply: AssistantMessage, deltas: list[Delta] | None = None) -> None:
    texts = [b.text for b in reply.content if isinstance(b, TextBlock)]
    thoughts = [b.text for b in reply.content if isinstance(b, ThinkingBlock)]
    uses = [
        (b.id, b.name, json.loads(b.arguments_json)) for b in reply.content if isinstance(b, ToolUseBlock)
    ]
    assert (texts, thoughts) == ([TEXT], [THOUGHT])
    assert uses == [(t.id, t.name, t.arguments) for t in TOOLS]
    assert reply.stop_reason == "tool_use"
    if deltas is not None:
        assert "".join(d.text for d in deltas if isinstance(d, TextPiece)) == TEXT
        assert "".join(d.text for d in deltas if isinstance(d, ThinkingPiece)) == THOUGHT


CHUNKINGS: dict[str, Callable[[Answer], Answer]] = {
    "byte by byte": lambda a: a.chunked(lambda _: 1),
    "whole": lambda a: a.chunked(lambda _: 10_000_000),
    "three bytes": lambda a: a.chunked(lambda _: 3),
    "crlf": lambda a: a.mapped(lambda body: body.replace(b"\n", b"\r\n")),
    "crlf byte by byte": lambda a: a.mapped(lambda b: b.replace(b"\n", b"\r\n")).chunked(lambda _: 1),
    "bom": lambda a: a.mapped(lambda body: b"\xef\xbb\xbf" + body),
    "no space after the colon": lambda a: a.mapped(lambda body: body.replace(b"data: ", b"data:")),
    "comments": lambda a: a.mapped(lambda body: body.replace(b"\n\n", b"\n\n: keep-alive\n\n")),
    "no last blank line": lambda a: a.mapped(lambda body: body.rstrip(b"\n")),
    "gzip": lambda a: Answer(
        chunks=(gzip.compress(a.body),),
        headers={"content-encoding": "gzip", "content-type": "text/event-stream"},
    ),
}


@pytest.mark.parametrize("chunking", CHUNKINGS.values(), ids=CHUNKINGS.keys())
async def test_pr_24_every_chunking_gives_the_same_turn(
    wire: Wire, chunking: Callable[[Answer], Answer]
) -> None:
    deltas: list[Delta] = []

    is_the_turn(await ask(wire, chunking(wire.whole), into=deltas), deltas)


@pytest.mark.parametrize("seed", range(5))
async def test_random_chunks_give_the_same_turn(wire: Wire, seed: int) -> None:
    dice = random.Random(seed)

    is_the_turn(await ask(wire, wire.whole.chunked(lambda _: dice.randrange(1, 60))))


async def test_pr_24_a_stream_held_back_and_sent_at_once_works(wire: Wire) -> None:
    gate = asyncio.Event()
    asyncio.get_running_loop().call_later(0.05, gate.set)

    is_the_turn(await ask(wire, wire.whole.chunked(lambda _: 10_000_000).held(gate, before=0)))


async def until_cut(wire: Wire, size: int) -> tuple[AssistantMessage | StreamCut, list[Delta]]:
    deltas: list[Delta] = []
    try:
        return await ask(wire, wire.whole.cut_at(size), into=deltas), deltas
    except StreamCut as error:
        return error, deltas


async def test_pr_12_every_cut_point_is_a_cut_or_the_whole_turn(wire: Wire) -> None:
    body = wire.whole.body
    places = sorted({*range(0, len(body), max(1, len(body) // 40)), len(body) - 1, len(body) - 2})
    ends = [await until_cut(wire, size) for size in places]

    for end, deltas in ends:
        if isinstance(end, AssistantMessage):
            is_the_turn(end, deltas)
        else:
            assert "\n" not in str(end)
            assert not any(isinstance(delta, Completed) for delta in deltas)
            assert TEXT.startswith("".join(d.text for d in deltas if isinstance(d, TextPiece)))
    assert 1 <= sum(isinstance(end, AssistantMessage) for end, _ in ends) < 5


async def test_pr_12_a_cut_before_the_first_byte_is_tried_again(wire: Wire) -> None:
    is_the_turn(await ask(wire, Answer(ending="reset"), wire.whole.cut_at(0), wire.whole, retries=True))


async def test_pr_12_a_stop_reason_without_the_final_event_is_a_whole_turn(wire: Wire) -> None:
    marker = b"event: message_stop" if wire.named else b"data: [DONE]"

    is_the_turn(await ask(wire, wire.whole.cut_at(wire.whole.body.index(marker))))


@pytest.mark.parametrize("code", [408, 429, 500, 502, 503, 504, 529])
@pytest.mark.parametrize(
    "headers", [{}, {"retry-after": "1"}, {"retry-after-ms": "20"}, {"retry-after": "soon"}]
)
async def test_h77_a_passing_failure_is_followed_by_the_turn(
    wire: Wire, code: int, headers: dict[str, str]
) -> None:
    is_the_turn(await ask(wire, status(code, headers=headers), wire.whole, retries=True))


@pytest.mark.parametrize(
    ("code", "kind"),
    [(401, AuthError), (403, AuthError), (404, BadResponse), (413, ContextTooLong), (400, BadResponse)],
)
async def test_a_refusal_is_one_clear_sentence_and_one_request(
    wire: Wire, code: int, kind: type[ProviderError]
) -> None:
    with pytest.raises(kind) as caught:
        await ask(wire, status(code, message="it says so", kind="x"), retries=True)

    assert "it says so" in str(caught.value)
    assert str(code) in str(caught.value)
    assert "sk-secret" not in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("code", [429, 529])
async def test_retry_after_reaches_the_error(wire: Wire, code: int) -> None:
    with pytest.raises((RateLimited, Overloaded)) as caught:
        await ask(wire, status(code, headers={"retry-after": "7"}))

    assert caught.value.retry_after_s == 7.0


async def test_an_error_page_is_named_by_its_title_and_tried_again(wire: Wire) -> None:
    html = "<html><head><title>502 Bad Gateway</title></head><body>" + "x" * 5000 + "</body></html>"
    with pytest.raises(Overloaded, match="502 Bad Gateway") as caught:
        await ask(wire, page(html))

    assert len(str(caught.value)) < 300
    is_the_turn(await ask(wire, page(html), wire.whole, retries=True))


async def test_a_web_page_with_status_200_says_to_check_the_address(wire: Wire) -> None:
    with pytest.raises(BadResponse, match=r"web page .*Sign in.*Check the base URL"):
        await ask(wire, page("<!doctype html><title>Sign in</title>", code=200))


async def test_a_body_that_is_not_gzip_although_it_says_so_is_one_sentence(wire: Wire) -> None:
    broken = Answer(chunks=(b"no gzip",), headers={"content-encoding": "gzip"})
    with pytest.raises(ProviderError) as caught:
        await ask(wire, broken)

    assert "\n" not in str(caught.value)


async def test_half_json_in_an_event_is_one_sentence(wire: Wire) -> None:
    broken = wire.whole.mapped(
        lambda body: body.replace(b'"type"', b'"type', 3).replace(b'"choices"', b'"choices', 3)
    )
    with pytest.raises(BadResponse, match="no JSON"):
        await ask(wire, broken)


async def test_an_empty_answer_is_tried_again(wire: Wire) -> None:
    is_the_turn(await ask(wire, Answer(), wire.whole, retries=True))


async def test_unknown_events_and_fields_are_skipped(wire: Wire) -> None:
    events: list[Any] = message_events("ok") if wire.named else completion_events("ok")
    odd = [{"type": "from_the_future", "x": [1]}, {"object": "other", "choices": None}, {"type": 7}]

    reply = await ask(wire, sse([*odd, *events[:2], *odd, *events[2:]], named=wire.named))

    assert reply.content == (TextBlock(text="ok"),)


async def test_the_connection_is_used_again_and_survives_a_dropped_stream(wire: Wire) -> None:
    async with wire.server([wire.whole, wire.short]) as server:
        provider = wire.provider(server.url)
        async with provider.stream(REQUEST) as stream:
            await anext(stream)
        async with provider.stream(REQUEST) as stream:
            last = [delta async for delta in stream][-1]
        await provider.aclose()

    assert isinstance(last, Completed)
    assert last.message.content == (TextBlock(text="done"),)


async def test_pr_13_a_server_that_goes_silent_is_cut_and_asked_again(wire: Wire) -> None:
    silent = Answer(ending="hang")
    pings = Answer(chunks=(b": ping\n\n", b'event: ping\ndata: {"type": "ping"}\n\n') * 3, ending="hang")
    async with wire.server([silent, pings, wire.whole]) as server:
        inner = wire.provider(server.url)
        provider = RetryingProvider(inner, policy=RetryPolicy(idle_s=0.1), sleep=no_wait)
        async with asyncio.timeout(10), provider.stream(REQUEST) as stream:
            last = [delta async for delta in stream][-1]
        await provider.aclose()

    assert isinstance(last, Completed)
    is_the_turn(last.message)
    assert len(server.requests) == 3


async def test_cancelling_in_the_middle_closes_the_connection(wire: Wire) -> None:
    async with wire.server([Answer(chunks=wire.whole.chunks[:4], ending="hang"), wire.whole]) as server:
        provider = wire.provider(server.url)

        async def read() -> None:
            async with provider.stream(REQUEST) as stream:
                async for _ in stream:
                    began.set()

        began = asyncio.Event()
        task = asyncio.create_task(read())
        async with asyncio.timeout(5):
            await began.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        async with provider.stream(REQUEST) as stream:
            last = [delta async for delta in stream][-1]
        await provider.aclose()

    assert isinstance(last, Completed)
    is_the_turn(last.message)


async def test_a_server_that_is_not_there_is_one_sentence() -> None:
    async with MessagesServer() as server:
        url = server.url
    for provider in (MESSAGES.provider(url), CHAT.provider(url)):
        with pytest.raises(BadResponse, match=r"No server listens at http://127\.0\.0\.1"):
            async with provider.stream(REQUEST) as stream:
                await anext(stream)
        await provider.aclose()


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("overloaded_error", Overloaded),
        ("rate_limit_error", RateLimited),
        ("invalid_request_error", BadResponse),
    ],
)
async def test_an_error_inside_the_stream_is_raised_as_its_class(
    wire: Wire, kind: str, expected: type[ProviderError]
) -> None:
    events: list[Any] = message_events("Hello") if wire.named else completion_events("Hello")
    error = {"type": "error", "error": {"type": kind, "message": "so sorry"}}

    with pytest.raises(expected, match="so sorry"):
        await ask(wire, sse([*events[:3], error], named=wire.named))


async def test_an_overload_before_the_first_word_is_tried_again_after_it_is_a_cut(wire: Wire) -> None:
    events: list[Any] = message_events("Hello") if wire.named else completion_events("Hello")
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}
    early, late = sse([*events[:1], error], named=wire.named), sse([*events[:3], error], named=wire.named)

    is_the_turn(await ask(wire, early, wire.whole, retries=True))
    with pytest.raises(StreamCut, match="busy"):
        await ask(wire, late, wire.whole, retries=True)


async def test_a_slow_drip_is_waited_for(wire: Wire) -> None:
    is_the_turn(await ask(wire, replace(wire.whole, pause_s=0.002)))


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
async def test_a_redirect_carries_no_conversation_to_another_server(wire: Wire, code: int) -> None:
    async with wire.server([wire.whole]) as other:
        moved = status(code, message="moved", headers={"location": f"{other.url}/elsewhere"})
        with pytest.raises(BadResponse, match="sends the request on to") as caught:
            await ask(wire, moved, retries=True)

    assert f"{other.url}/elsewhere" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert other.requests == []


async def test_a_redirect_on_the_same_server_is_not_followed_either(wire: Wire) -> None:
    with pytest.raises(BadResponse, match="set it as the base URL"):
        await ask(wire, status(307, headers={"location": "/v2/messages"}), wire.whole)


@pytest.mark.parametrize("half", ["\\ud800", "\\udc00", "\\uD83D"])
async def test_half_a_surrogate_pair_in_the_text_is_replaced(wire: Wire, half: str) -> None:
    fresh = message("a QQ b") if wire.named else completion("a QQ b")
    broken = fresh.mapped(lambda body: body.replace(b"QQ", half.encode() + rb"\ud83c\udf88"))

    reply = await ask(wire, broken)

    assert [block for block in reply.content if isinstance(block, TextBlock)] == [
        TextBlock(text="a \ufffd🎈 b")
    ]


async def test_bytes_that_are_no_characters_are_replaced(wire: Wire) -> None:
    fresh = message("a QQ b") if wire.named else completion("a QQ b")
    broken = fresh.mapped(lambda body: body.replace(b"QQ", b"caf\xe9"))

    reply = await ask(wire, broken)

    assert [block for block in reply.content if isinstance(block, TextBlock)] == [
        TextBlock(text="a caf\ufffd b")
    ]
