import asyncio
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from agent_tui.agent.loop import Agent
from agent_tui.protocol.events import Notice, TurnFailed
from agent_tui.protocol.tools import TurnResult
from agent_tui.providers.anthropic import AnthropicProvider
from agent_tui.providers.base import Provider
from agent_tui.providers.models import load_table
from agent_tui.providers.openai_compatible import OpenAICompatibleProvider
from agent_tui.providers.retry import RetryingProvider, RetryPolicy
from tests.support.agent_world import World, problems_of, shown_text, world
from tests.support.fake_servers import (
    Answer,
    ChatServer,
    FakeServer,
    MessagesServer,
    Recorded,
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
TEXT, THOUGHT = "Grüße – I read three files now. 🎈", "Let me see, ünïcode."
MODELS = load_table()


@dataclass(frozen=True)
class Wire:
    name: str
    server: Callable[..., FakeServer]
    reply: Callable[..., Answer]
    whole: Answer

    def provider(self, url: str) -> Provider:
        if self.name == "messages":
            return AnthropicProvider(
                MODELS.facts("anthropic", "claude-sonnet-5-5"), api_key="sk-secret", base_url=url
            )
        return OpenAICompatibleProvider(MODELS.facts("x", "m"), api_key="sk-secret", base_url=url)

    def events(self) -> list[Any]:
        if self.name == "messages":
            return message_events(TEXT, thinking=THOUGHT, signature="sig", tools=TOOLS)
        return completion_events(TEXT, reasoning=THOUGHT, tools=TOOLS)

    def played(self, events: Sequence[Any]) -> Answer:
        return sse(list(events), named=self.name == "messages")


# 1 cuts after every byte and takes 12 minutes.
CUT_STEP_BYTES = int(os.environ.get("AGENT_TUI_TEST_CUT_STEP", "10000"))
MESSAGES = Wire(
    "messages", MessagesServer, message, message(TEXT, thinking=THOUGHT, signature="sig", tools=TOOLS)
)
CHAT = Wire("chat", ChatServer, completion, completion(TEXT, reasoning=THOUGHT, tools=TOOLS))
WIRES = pytest.mark.parametrize("wire", [MESSAGES, CHAT], ids=lambda wire: wire.name)


class Trouble:
    """Answers first with `faults`, then as a model would: three calls, and "done" once it has their results."""

    def __init__(self, wire: Wire, *faults: Answer) -> None:
        self.wire = wire
        self.faults = list(faults)

    def __call__(self, request: Recorded) -> Answer:
        if self.faults:
            return self.faults.pop(0)
        last = request.json["messages"][-1]
        has_results = "tool_result" in json.dumps(last) or last["role"] == "tool"
        if "next turn" in json.dumps(last):
            return self.wire.reply("a normal answer")
        return self.wire.reply("done") if has_results else self.wire.whole


async def play(
    wire: Wire, *faults: Answer, during: Callable[[Agent, World], Any] | None = None, **policy: Any
) -> tuple[World, TurnResult, TurnResult]:
    async def no_wait(_seconds: float) -> None:
        return None

    w = world()
    async with wire.server(Trouble(wire, *faults)) as server:
        provider = RetryingProvider(wire.provider(server.url), policy=RetryPolicy(**policy), sleep=no_wait)
        agent = w.agent(provider=provider)
        try:
            async with asyncio.timeout(30):
                async with asyncio.TaskGroup() as group:
                    turn = group.create_task(agent.run("go"))
                    if during is not None:
                        await during(agent, w)
                first = turn.result()
                told = len(w.sink.events)
                after = await agent.run("next turn")
        finally:
            await provider.aclose()
        assert server.problems == []
    check(w, first, after, told)
    return w, first, after


def check(w: World, first: TurnResult, after: TurnResult, told: int) -> None:
    """What holds whatever went wrong."""
    ends = [e for e in w.sink.events[:told] if e.type in ("turn_finished", "turn_failed", "turn_cancelled")]
    ran = [(call.name, call.arguments_json) for calls in w.rounds.ran for call in calls]
    shown = "".join(e.text for e in w.sink.events[:told] if e.type == "text_delta")
    assert len(ends) == 1
    assert len(ran) == len(set(ran))
    assert shown.count(TEXT[:20]) <= 1
    assert shown.count("done") <= 1
    assert after.stop_reason == "end_turn"
    assert shown_text(w.sink).endswith("a normal answer")
    if first.stop_reason == "failed":
        (failed,) = w.sink.of(TurnFailed)
        assert 0 < len(failed.error) < 700
        assert "\n" not in failed.error
        assert "sk-secret" not in failed.error
        assert "Traceback" not in failed.error


def is_json(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False


def finished(w: World, first: TurnResult) -> None:
    assert first.stop_reason == "end_turn"
    assert [len(calls) for calls in w.rounds.ran] == [3]
    assert shown_text(w.sink) == f"{TEXT}donea normal answer"


@WIRES
@pytest.mark.parametrize(
    "wait", [None, {"retry-after": "0"}, {"retry-after-ms": "1"}, {"retry-after": "soon"}]
)
@pytest.mark.parametrize("code", [408, 429, 500, 502, 503, 504, 529])
async def test_h77_item_67_a_failure_that_passes_costs_nothing(
    wire: Wire, code: int, wait: dict[str, str] | None
) -> None:
    w, first, _ = await play(wire, *[status(code, headers=wait or {})] * 2)

    finished(w, first)


@WIRES
@pytest.mark.parametrize("code", [400, 401, 403, 404, 413, 422])
async def test_item_67_a_failure_for_good_is_one_sentence(wire: Wire, code: int) -> None:
    w, first, _ = await play(wire, status(code))

    assert first.stop_reason == "failed"
    assert str(code) in first.error
    assert w.rounds.ran == []


@WIRES
async def test_pr_11_a_wait_of_a_day_is_told_instead_of_slept(wire: Wire) -> None:
    _, first, _ = await play(wire, status(429, headers={"retry-after": "86400"}))

    assert first.stop_reason == "failed"
    assert "24 h" in first.error


@WIRES
@pytest.mark.parametrize("part", range(0, 101, 5))
async def test_pr_12_a_turn_survives_a_cut_at_every_place(wire: Wire, part: int) -> None:
    size = len(wire.whole.body)
    for at in range(size * part // 100, min(size, size * (part + 5) // 100 - 1) + 1, CUT_STEP_BYTES):
        w, first, _ = await play(wire, wire.whole.cut_at(at))

        finished(w, first)


def inside(wire: Wire, where: str) -> int:
    """Where the third piece of the thinking, the text or a call's arguments has begun."""
    marks = {
        "messages": {"thinking": b"thinking_delta", "text": b"text_delta", "tool": b"input_json_delta"},
        "chat": {"thinking": b'"reasoning_content"', "text": b'"content"', "tool": b'"arguments"'},
    }
    at = 0
    for _ in range(3):
        at = wire.whole.body.index(marks[wire.name][where], at) + 1
    return at


@WIRES
@pytest.mark.parametrize("where", ["thinking", "text", "tool"])
async def test_pr_12_two_cuts_in_a_row_repeat_nothing(wire: Wire, where: str) -> None:
    at = inside(wire, where)
    w, first, _ = await play(wire, wire.whole.cut_at(at), wire.whole.cut_at(at))

    finished(w, first)


@WIRES
async def test_a_reset_before_the_first_byte_is_tried_again(wire: Wire) -> None:
    w, first, _ = await play(wire, Answer(ending="reset"), Answer(ending="reset"))

    finished(w, first)


@WIRES
async def test_cf_07_a_web_page_is_one_sentence_with_the_address(wire: Wire) -> None:
    _, first, _ = await play(wire, page("<html><title>Log in</title></html>", code=200))

    assert first.stop_reason == "failed"
    assert "Log in" in first.error
    assert "http://127.0.0.1" in first.error


@WIRES
@pytest.mark.parametrize("code", [407, 502])
async def test_cf_07_a_web_page_with_a_status_ends_or_passes(wire: Wire, code: int) -> None:
    w, first, _ = await play(wire, page("<html><h1>Proxy says no</h1></html>", code=code))

    if code == 502:
        finished(w, first)
    else:
        assert "Proxy says no" in first.error


@WIRES
async def test_half_a_json_body_is_asked_for_again(wire: Wire) -> None:
    half = Answer(chunks=(b'{"type": "message", "con',), headers={"content-type": "application/json"})
    w, first, _ = await play(wire, half)

    finished(w, first)


@WIRES
@pytest.mark.parametrize("form", ["byte by byte", "crlf", "comments", "unknown events", "one chunk"])
async def test_pr_24_every_form_of_the_stream_is_the_same_turn(wire: Wire, form: str) -> None:
    whole = wire.whole
    forms: dict[str, Callable[[], Answer]] = {
        "byte by byte": lambda: whole.chunked(lambda _: 1),
        "crlf": lambda: whole.mapped(lambda body: body.replace(b"\n", b"\r\n")),
        "comments": lambda: whole.mapped(lambda body: body.replace(b"\n\n", b"\n\n: keep-alive\n\n")),
        "unknown events": lambda: whole.mapped(lambda body: b'data: {"type": "news", "x": [1]}\n\n' + body),
        "one chunk": lambda: whole.mapped(lambda body: body),
    }
    w, first, _ = await play(wire, forms[form]())

    finished(w, first)


@WIRES
async def test_pr_15_calls_with_one_id_each_run_once_and_get_their_own_result(wire: Wire) -> None:
    same = [Tool("call_0", tool.name, json.loads(tool.json)) for tool in TOOLS]
    w, first, _ = await play(wire, wire.reply(TEXT, tools=same))

    assert first.stop_reason == "end_turn"
    assert len({call.call_id for call in w.rounds.ran[0]}) == 3
    assert problems_of(first.messages) == []


@WIRES
async def test_events_out_of_order_never_run_half_a_call(wire: Wire) -> None:
    events = wire.events()
    middle = len(events) // 2
    w, first, _ = await play(wire, wire.played([*events[middle:], *events[:middle]]))

    assert first.stop_reason in ("end_turn", "failed")
    whole = {tool.json for tool in TOOLS}
    assert {
        call.arguments_json for calls in w.rounds.ran for call in calls if is_json(call.arguments_json)
    } <= whole


@WIRES
async def test_pr_13_m13_esc_ends_a_turn_that_hangs(wire: Wire) -> None:
    hanging = Answer(chunks=(wire.whole.body[: inside(wire, "text")],), ending="hang")

    async def stop(agent: Agent, w: World) -> None:
        while not shown_text(w.sink):
            await asyncio.sleep(0.01)
        agent.cancel()

    w, first, _ = await play(wire, hanging, during=stop)

    assert first.stop_reason == "cancelled"
    assert w.rounds.ran == []


@WIRES
async def test_pr_13_silence_is_ended_by_the_watchdog(wire: Wire) -> None:
    w, first, _ = await play(wire, Answer(ending="hang"), idle_s=0.3)

    finished(w, first)


@WIRES
async def test_m15_a_deadline_is_another_end_than_a_stop(wire: Wire) -> None:
    w, first, _ = await play(wire, *[Answer(ending="hang")] * 2, idle_s=0.2, attempts=2)

    assert first.stop_reason == "failed"
    assert "sent nothing for" in first.error
    assert [e for e in w.sink.events if e.type == "turn_cancelled"] == []


@WIRES
async def test_item_67_a_server_that_never_comes_back_is_given_up(wire: Wire) -> None:
    w, first, _ = await play(wire, *[status(529)] * 10)

    assert first.stop_reason == "failed"
    assert "Gave up after 10 attempts" in first.error
    assert w.sink.of(Notice) == []
