import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
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
from agent_tui.protocol.messages import TextBlock, UserMessage
from agent_tui.providers.base import (
    Completed,
    Delta,
    ProviderRequest,
    TextPiece,
    ThinkingPiece,
    ToolCallPiece,
)
from agent_tui.providers.retry import RetryingProvider, RetryNotice, RetryPolicy, joined
from agent_tui.providers.scripted import Reply, ScriptedProvider, calls, text, thinking, use

REQUEST = ProviderRequest(system="s", messages=(UserMessage(content=(TextBlock(text="hi"),)),))


class Waits:
    """Sleeps in no time and remembers for how long."""

    def __init__(self) -> None:
        self.slept: list[float] = []
        self.notices: list[RetryNotice] = []
        self.now = 0.0

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)

    async def notice(self, notice: RetryNotice) -> None:
        self.notices.append(notice)

    def wrap(self, *inner: ScriptedProvider, **policy: Any) -> RetryingProvider:
        return RetryingProvider(
            inner[0],
            fallbacks=inner[1:],
            policy=RetryPolicy(**policy),
            on_retry=self.notice,
            sleep=self.sleep,
            uniform=lambda low, high: high,
            clock=lambda: self.now,
        )


async def collect(provider: RetryingProvider, into: list[Delta] | None = None) -> list[Delta]:
    seen: list[Delta] = [] if into is None else into
    async with provider.stream(REQUEST) as deltas:
        async for delta in deltas:
            seen.append(delta)
    return seen


def scripted(*replies: Reply | ProviderError, model: str = "script") -> ScriptedProvider:
    return ScriptedProvider(replies, model=model)


@pytest.mark.parametrize(
    "error",
    [
        RateLimited("slow down", status=429),
        Overloaded("busy", status=500),
        Overloaded("busy", status=529),
        Overloaded("no network"),
        StreamCut("gone"),
    ],
)
async def test_h77_what_may_pass_is_tried_again_and_said(error: ProviderError) -> None:
    waits = Waits()

    deltas = await collect(waits.wrap(scripted(error, error, text("done"))))

    assert isinstance(deltas[-1], Completed)
    assert waits.slept == [0.5, 1.0]
    assert [(n.attempt, n.max_attempts, n.reason) for n in waits.notices] == [
        (1, 10, str(error)),
        (2, 10, str(error)),
    ]


@pytest.mark.parametrize("error", [AuthError("key"), BadResponse("no"), ContextTooLong("long")])
async def test_item_67_what_was_refused_is_not_tried_again(error: ProviderError) -> None:
    waits = Waits()

    with pytest.raises(type(error)):
        await collect(waits.wrap(scripted(error, text("never"))))

    assert waits.slept == []


async def test_item_67_waits_double_up_to_the_cap_and_end_after_ten_attempts() -> None:
    waits = Waits()

    with pytest.raises(Overloaded, match="Gave up after 10 attempts") as caught:
        await collect(waits.wrap(scripted(*[Overloaded("busy", status=503)] * 12)))

    assert waits.slept == [0.5, 1, 2, 4, 8, 16, 32, 60, 60]
    assert caught.value.status == 503


async def test_waits_are_spread_by_jitter() -> None:
    seen: list[tuple[float, float]] = []

    def uniform(low: float, high: float) -> float:
        seen.append((low, high))
        return low

    waits = Waits()
    provider = RetryingProvider(
        scripted(Overloaded("busy"), RateLimited("slow", retry_after_s=4), text("ok")),
        sleep=waits.sleep,
        uniform=uniform,
    )

    await collect(provider)

    assert seen == [(0.25, 0.5), (0.0, 0.4)]
    assert waits.slept == [0.25, 4.0]


@pytest.mark.parametrize(("after", "least"), [(2.0, 2.0), (0.5, 0.5), (60.0, 60.0), (0.0, 0.0), (None, 0.0)])
async def test_pr_11_the_servers_wait_is_the_lower_bound(after: float | None, least: float) -> None:
    waits = Waits()

    await collect(waits.wrap(scripted(RateLimited("slow", retry_after_s=after), text("ok"))))

    assert least <= waits.slept[0] <= least * 1.1 + 0.5


@pytest.mark.parametrize("after", [1_764_547_200_000, float("inf")])
async def test_a_wait_that_no_calendar_holds_is_told_as_well(after: float) -> None:
    waits = Waits()

    with pytest.raises(RateLimited, match=r"a wait of \w+ h"):
        await collect(waits.wrap(scripted(RateLimited("slow", retry_after_s=after), text("never"))))

    assert waits.slept == []


async def test_pr_11_a_wait_of_a_day_is_told_instead_of_slept() -> None:
    waits = Waits()

    with pytest.raises(RateLimited, match=r"24 h, until \d{4}-\d\d-\d\d \d\d:\d\d") as caught:
        await collect(waits.wrap(scripted(RateLimited("slow", retry_after_s=86_400), text("never"))))

    assert waits.slept == []
    assert caught.value.retry_after_s == 86_400


@pytest.mark.parametrize("shown", [text("abcdef"), thinking("abcdef")])
async def test_item_67_nothing_is_sent_again_once_something_was_shown(shown: Reply) -> None:
    waits, seen = Waits(), list[Delta]()
    inner = ScriptedProvider(
        [shown.cut(Overloaded("busy", status=529), after=2), text("never")], piece_chars=2
    )

    with pytest.raises(StreamCut, match="busy"):
        await collect(waits.wrap(inner), into=seen)

    assert len(seen) == 2
    assert len(inner.requests) == 1


async def test_pr_12_a_cut_in_a_call_that_was_not_shown_is_asked_again_unseen() -> None:
    waits = Waits()
    half = calls(use("write", {"content": "x"})).cut(StreamCut("gone"), after=1)

    deltas = await collect(waits.wrap(scripted(half, text("whole"))))

    assert [delta for delta in deltas if isinstance(delta, TextPiece)] == [TextPiece("whole")]


async def test_pr_12_a_stream_that_always_breaks_ends_in_one_error() -> None:
    inner = scripted(*[StreamCut("gone")] * 10)

    with pytest.raises(Overloaded, match=r"gone Gave up after 10 attempts"):
        await collect(Waits().wrap(inner))

    assert len(inner.requests) == 10


async def test_pr_13_silence_ends_the_wait_and_is_tried_again() -> None:
    waits, never = Waits(), asyncio.Event()

    deltas = await collect(waits.wrap(scripted(text("x").held(never), text("done")), idle_s=0.02))

    assert isinstance(deltas[-1], Completed)
    assert "sent nothing for" in waits.notices[0].reason


async def test_pr_13_silence_after_words_is_a_cut() -> None:
    never = asyncio.Event()
    inner = ScriptedProvider([text("abcd").held(never, after=1)], piece_chars=2)

    with pytest.raises(StreamCut, match="sent nothing"):
        await collect(Waits().wrap(inner, idle_s=0.02))


async def test_cancelling_ends_a_wait_at_once() -> None:
    started = asyncio.Event()

    async def forever(seconds: float) -> None:
        started.set()
        await asyncio.Event().wait()

    provider = RetryingProvider(scripted(Overloaded("busy"), text("never")), sleep=forever)
    task = asyncio.create_task(collect(provider))
    await started.wait()
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task


async def test_an_overloaded_model_is_replaced_by_the_fallback_and_said() -> None:
    waits = Waits()
    first = scripted(*[Overloaded("busy", status=529)] * 3, text("back"), model="big")
    second = scripted(text("from small"), text("again small"), model="small")
    provider = waits.wrap(first, second)

    await collect(provider)

    assert provider.model == "small"
    assert waits.notices[-1].fallback == "small"
    assert [len(p.requests) for p in (first, second)] == [3, 1]


async def test_the_first_model_gets_its_place_back_after_a_while() -> None:
    waits = Waits()
    first = scripted(*[Overloaded("busy", status=529)] * 3, text("back"), model="big")
    second = scripted(text("one"), text("two"), model="small")
    provider = waits.wrap(first, second)
    await collect(provider)

    waits.now = 100
    await collect(provider)
    waits.now = 1000
    await collect(provider)

    assert [len(p.requests) for p in (first, second)] == [4, 2]


async def test_a_wait_that_is_too_long_goes_to_the_fallback_at_once() -> None:
    waits = Waits()
    first = scripted(RateLimited("slow", retry_after_s=3600), model="big")

    await collect(waits.wrap(first, scripted(text("ok"), model="small")))

    assert waits.slept == []


@pytest.mark.parametrize("error", [BadResponse("no"), AuthError("key")])
async def test_a_refusal_does_not_go_to_the_fallback(error: ProviderError) -> None:
    second = scripted(text("never"), model="small")

    with pytest.raises(type(error)):
        await collect(Waits().wrap(scripted(error, model="big"), second))

    assert second.requests == []


def models_of(provider: RetryingProvider) -> Sequence[object]:
    return [provider.name, provider.model, provider.context_tokens, provider.info.name]


async def test_it_looks_like_the_provider_it_wraps() -> None:
    inner = scripted(model="m1")
    provider = RetryingProvider(inner)
    await provider.aclose()

    assert models_of(provider) == ["scripted", "m1", 200_000, "m1"]
    assert await provider.models() == ["m1"]
    assert inner.closed


def test_pieces_of_one_kind_that_come_together_are_one() -> None:
    deltas: list[Delta] = [
        ThinkingPiece("a "),
        ThinkingPiece("thought"),
        TextPiece("Some "),
        TextPiece("words"),
        ToolCallPiece("c1", "read"),
        ToolCallPiece("c1", "read", "{}"),
        TextPiece("."),
    ]

    assert joined(deltas) == [
        ThinkingPiece("a thought"),
        TextPiece("Some words"),
        ToolCallPiece("c1", "read"),
        ToolCallPiece("c1", "read", "{}"),
        TextPiece("."),
    ]


class AtOnce(ScriptedProvider):
    """Has its whole reply there at once, as after one read from the network."""

    @asynccontextmanager
    async def stream(self, request: ProviderRequest) -> AsyncGenerator[AsyncIterator[Delta]]:
        async with super().stream(request) as deltas:
            got = [delta async for delta in deltas]

        async def give() -> AsyncGenerator[Delta]:
            for delta in got:
                yield delta

        async with aclosing(give()) as given:
            yield given


async def test_a_reply_that_is_there_at_once_is_given_in_few_pieces() -> None:
    words = "word " * 2_000

    deltas = await collect(Waits().wrap(AtOnce([text(words)], piece_chars=5)))
    pieces = [delta.text for delta in deltas if isinstance(delta, TextPiece)]

    assert "".join(pieces) == words
    assert len(pieces) < 500
    assert isinstance(deltas[-1], Completed)
