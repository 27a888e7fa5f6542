import asyncio
import gc
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from agent_tui.protocol.errors import (
    AuthError,
    BadResponse,
    ContextTooLong,
    Overloaded,
    ProviderError,
    RateLimited,
    SessionError,
    StreamCut,
)
from agent_tui.protocol.events import Notice, Retrying, TurnFailed
from agent_tui.protocol.journal import NullJournal
from agent_tui.providers.retry import RetryingProvider, RetryPolicy
from agent_tui.providers.scripted import Reply, calls, text, thinking, use
from tests.support.agent_world import problems_of, shown_text, world

RECORDED = (
    thinking("let me see", signature="s")
    + text("I will read three files at once. ")
    + calls(use("read", {"n": 1}), use("read", {"n": 2}), use("bash", {"n": 3}))
)
DELTAS = 7


@pytest.mark.parametrize("point", range(DELTAS))
async def test_a_turn_survives_a_cut_at_every_point(point: int) -> None:
    w = world(RECORDED.cut(StreamCut("gone"), after=point), RECORDED, text("done"))

    result = await w.agent().run("go")

    assert result.stop_reason == "end_turn"
    assert len(w.rounds.ran) == 1
    assert shown_text(w.sink) == "I will read three files at once. done"
    assert all(
        problems_of(r.messages, provider="scripted", model="script") == [] for r in w.provider.requests
    )


async def test_half_a_surrogate_pair_in_arguments_is_no_text_that_goes_on() -> None:
    bad = use("read", r'{"file_path": "a\ud800b", "kept": "\ud83c\udf3b \\ud800"}')
    w = world(calls(bad), text("done"))

    await w.agent().run("go")

    assert w.rounds.ran[0][0].arguments_json == r'{"file_path": "a\ufffdb", "kept": "\ud83c\udf3b \\ud800"}'


@pytest.mark.parametrize(
    "error",
    [
        AuthError("401", status=401),
        RateLimited("429", status=429),
        Overloaded("529", status=529),
        ContextTooLong("413", status=413),
        BadResponse("400", status=400),
        StreamCut("cut"),
        ProviderError("odd"),
    ],
)
async def test_whatever_error_the_session_takes_the_next_turn(error: ProviderError) -> None:
    w = world(calls(use("read")), *[error] * 4, text("fine"), text("fine"))
    agent = w.agent()

    failed = await agent.run("go")
    while True:
        after = await agent.run("next")
        if after.stop_reason == "end_turn":
            break

    assert failed.stop_reason == "failed"
    assert len(w.sink.of(TurnFailed)) >= 1
    assert problems_of(w.provider.requests[-1].messages) == []
    assert len(w.rounds.ran) == 1


async def test_retries_are_told_with_their_turn_and_escape_ends_the_wait() -> None:
    waits: list[float] = []
    asleep = asyncio.Event()

    async def sleep(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 2:
            asleep.set()
            await asyncio.Event().wait()

    w = world(Overloaded("busy"), Overloaded("busy"), text("late"))
    agent = w.agent(provider=RetryingProvider(w.provider, policy=RetryPolicy(), sleep=sleep))

    async with asyncio.TaskGroup() as group:
        turn = group.create_task(agent.run("go"))
        await asleep.wait()
        agent.cancel()

    assert turn.result().stop_reason == "cancelled"
    assert [e.attempt for e in w.sink.of(Retrying)] == [1, 2]
    assert {e.turn_id for e in w.sink.of(Retrying)} != {""}


async def test_a_fallback_model_is_announced() -> None:
    w = world(*[Overloaded("busy")] * 3, model="first")
    other = world(text("from the second"), model="second")

    async def no_sleep(_seconds: float) -> None:
        return None

    agent = w.agent(provider=RetryingProvider(w.provider, fallbacks=[other.provider], sleep=no_sleep))
    result = await agent.run("go")

    assert result.stop_reason == "end_turn"
    assert any("second takes over" in e.text for e in w.sink.of(Notice))


class Full(NullJournal):
    def __init__(self, place: str) -> None:
        self.place = place

    async def user_message(self, message, *, turn_id, text) -> None:
        self._maybe("user")

    async def assistant_message(self, message, *, turn_id) -> None:
        self._maybe("assistant")

    async def round_finished(self, message, *, turn_id) -> None:
        self._maybe("results")

    async def turn_finished(self, *, turn_id, stop_reason) -> None:
        self._maybe("end")

    def _maybe(self, place: str) -> None:
        if place == self.place:
            raise SessionError("no space left", path=Path("/x"))


@pytest.mark.parametrize("place", ["user", "assistant", "results", "end"])
async def test_m17_a_journal_that_fails_ends_the_turn_and_breaks_no_pair(place: str) -> None:
    w = world(calls(use("read")), text("done"), text("fine"), text("fine"))
    agent = w.agent(journal=Full(place))

    failed = await agent.run("go")
    agent.journal = NullJournal()
    after = await agent.run("next")

    assert (failed.stop_reason, after.stop_reason) == ("failed", "end_turn")
    assert problems_of(w.provider.requests[-1].messages) == []


@pytest.mark.parametrize("stage", ["before", "text", "round", "after"])
async def test_m14_escape_at_every_stage_is_followed_by_a_normal_turn(stage: str) -> None:
    gate = asyncio.Event()
    w = world(
        (text("working on it. ") + calls(use("bash"))).held(
            gate, after={"before": 0, "text": 1}.get(stage, 99)
        ),
        text("more").held(gate),
        text("fine"),
    )
    w.rounds.hold = asyncio.Event()
    agent = w.agent()
    ready: dict[str, Callable[[], bool]] = {
        "before": lambda: len(w.provider.requests) == 1,
        "text": lambda: bool(shown_text(w.sink)),
        "round": lambda: bool(w.rounds.ran),
        "after": lambda: len(w.provider.requests) == 2,
    }

    async with asyncio.TaskGroup() as group:
        turn = group.create_task(agent.run("go"))
        if stage in ("round", "after"):
            gate.set()
            await w.rounds.started.wait()
            if stage == "after":
                gate.clear()
                w.rounds.hold.set()
        while not ready[stage]():
            await asyncio.sleep(0)
        agent.cancel()
    w.rounds.cancels = 0
    gate.set()
    seen = len(w.provider.requests)
    while (after := await agent.run("next")).stop_reason == "failed":
        pass

    assert turn.result().stop_reason == "cancelled"
    assert after.stop_reason == "end_turn"
    assert problems_of(w.provider.requests[seen].messages) == []


async def test_p09_m09_exactly_one_end_is_told_for_every_turn() -> None:
    script: list[Reply | ProviderError] = [text("a"), AuthError("no"), text("b")]
    w = world(*script)
    agent = w.agent()

    for _ in script:
        await agent.run("go")

    ends = [e.type for e in w.sink.events if e.type in ("turn_finished", "turn_failed", "turn_cancelled")]
    assert ends == ["turn_finished", "turn_failed", "turn_finished"]


async def test_a_thousand_turns_need_no_more_memory_than_their_text() -> None:
    turns = 1000
    w = world(*[reply for n in range(turns) for reply in (calls(use("read", {"n": n})), text("ok"))])

    class Forgetful(list):
        def append(self, item: object) -> None:
            if len(self) < 2:
                super().append(item)

    w.provider.requests = Forgetful()
    agent = w.agent()
    sizes: list[int] = []
    tracemalloc.start()
    try:
        for number in range(turns):
            await agent.run("go")
            w.sink.events.clear()
            w.rounds.ran.clear()
            if number in (99, turns - 1):
                gc.collect()
                sizes.append(tracemalloc.get_traced_memory()[0])
    finally:
        tracemalloc.stop()
    per_turn = (sizes[1] - sizes[0]) / (turns - 100)

    assert len(agent.history) == turns * 4
    assert per_turn < 12_000
