import asyncio

import pytest

from agent_tui.agent.answers import NOT_WAITED
from agent_tui.agent.limits import Limits
from agent_tui.protocol.errors import (
    AgentTuiError,
    Overloaded,
    StreamCut,
)
from agent_tui.protocol.events import (
    AssistantFinished,
    Notice,
    TextDelta,
    ToolDenied,
    TurnCancelled,
    TurnFailed,
    TurnFinished,
    TurnStarted,
    Usage,
)
from agent_tui.protocol.messages import (
    AssistantMessage,
    StopReason,
    TextBlock,
    TokenUsage,
    ToolResultBlock,
    UserMessage,
)
from agent_tui.protocol.permissions import Permission, PermissionKind, PermissionRequest
from agent_tui.protocol.tools import ToolCall
from agent_tui.providers.scripted import calls, text, use
from tests.support.agent_world import problems_of, result_texts, shown_text, world
from tests.support.patience import until


async def test_a_prompt_is_answered_and_told_in_order() -> None:
    w = world(text("Hello there."))
    agent = w.agent()

    result = await agent.run("hi")

    assert result.stop_reason == "end_turn"
    assert [type(e) for e in w.sink.events if not isinstance(e, TextDelta)] == [
        TurnStarted,
        Usage,
        AssistantFinished,
        TurnFinished,
    ]
    assert shown_text(w.sink) == "Hello there."
    assert len(agent.history) == 2


async def test_item_09_the_model_gets_all_results_of_a_round_at_once_in_request_order() -> None:
    w = world(calls(use("read", {"p": 1}), use("bash", {"c": 2})), text("done"))

    result = await w.agent().run("go")

    request = w.provider.requests[1]
    assert result_texts(request.messages[-1]) == ["read did it", "bash did it"]
    assert problems_of(request.messages) == []
    assert result.stop_reason == "end_turn"


async def test_p09_usage_is_summed_over_all_requests_of_the_turn() -> None:
    usage = TokenUsage(input_tokens=7, output_tokens=3)
    w = world(calls(use("read")).costing(usage), text("done").costing(usage))

    result = await w.agent().run("go")

    assert result.usage == TokenUsage(input_tokens=14, output_tokens=6)
    assert [m.role for m in result.messages] == ["user", "assistant", "user", "assistant"]


async def test_item_68_usage_is_kept_when_a_later_request_fails() -> None:
    usage = TokenUsage(input_tokens=7, output_tokens=3)
    w = world(calls(use("read")).costing(usage), Overloaded("busy"))

    result = await w.agent().run("go")

    assert (result.stop_reason, result.error, result.usage) == ("failed", "busy", usage)
    assert w.sink.of(TurnFailed)[0].usage == usage


async def test_h11_item_68_usage_is_kept_when_the_turn_is_cancelled() -> None:
    gate = asyncio.Event()
    usage = TokenUsage(input_tokens=7, output_tokens=3)
    w = world(calls(use("read")).costing(usage), text("never seen").held(gate))
    agent = w.agent()

    async with asyncio.TaskGroup() as group:
        turn = group.create_task(agent.run("go"))
        await until(lambda: len(w.provider.requests) == 2)
        agent.cancel()

    assert turn.result().stop_reason == "cancelled"
    assert turn.result().usage == usage


async def test_item_05_m13_cancel_while_streaming_records_nothing_of_the_reply() -> None:
    gate = asyncio.Event()
    w = world((text("half a thought") + calls(use("bash"))).held(gate, after=1), text("second"))
    agent = w.agent()

    async with asyncio.TaskGroup() as group:
        turn = group.create_task(agent.run("go"))
        await w.sink.until(TextDelta)
        agent.cancel()
    second = await agent.run("again")

    assert turn.result().stop_reason == "cancelled"
    assert w.sink.of(TurnCancelled)[0].prompt_returned is False
    assert w.rounds.ran == []
    assert second.stop_reason == "end_turn"
    assert problems_of(w.provider.requests[1].messages) == []


async def test_a_turn_that_had_not_begun_gives_the_prompt_back() -> None:
    gate = asyncio.Event()
    w = world(text("late").held(gate), text("fresh"))
    agent = w.agent()

    async with asyncio.TaskGroup() as group:
        turn = group.create_task(agent.run("first"))
        await until(lambda: len(w.provider.requests) == 1)
        agent.cancel()
    await agent.run("second")

    assert turn.result().messages == ()
    assert w.sink.of(TurnCancelled)[0].prompt_returned is True
    assert [b.text for b in w.provider.requests[1].messages[0].content] == ["second"]


async def test_item_04_m03_cancel_in_a_round_records_results_and_sends_no_further_request() -> None:
    w = world(calls(use("bash"), use("read")), text("next turn"))
    w.rounds.hold = asyncio.Event()
    agent = w.agent()

    async with asyncio.TaskGroup() as group:
        turn = group.create_task(agent.run("go"))
        await w.rounds.started.wait()
        agent.cancel()
    assert turn.result().stop_reason == "cancelled"
    assert len(w.provider.requests) == 1
    w.rounds.cancels = 0

    after = await agent.run("and now")

    assert after.stop_reason == "end_turn"
    assert problems_of(w.provider.requests[1].messages) == []
    assert result_texts(w.provider.requests[1].messages[2]) == ["bash did it", "read did it"]


async def test_pr_02_late_results_are_dropped_and_the_request_is_valid() -> None:
    late = UserMessage(content=(ToolResultBlock(tool_use_id="gone", content="late"),))
    history = (
        UserMessage(content=(TextBlock(text="a"),)),
        AssistantMessage(content=(TextBlock(text="b"),)),
        late,
    )
    w = world(text("ok"))

    await w.agent(history=history).run("new")

    assert problems_of(w.provider.requests[0].messages) == []
    assert "late" not in str(w.provider.requests[0].messages)


async def test_pr_03_escape_does_not_reach_the_following_turns() -> None:
    w = world(calls(use("bash")), text("one"), calls(use("bash")), text("two"))
    agent = w.agent()
    agent.cancel()
    agent.cancel()

    first = await agent.run("1")
    agent.cancel()
    second = await agent.run("2")

    assert (first.stop_reason, second.stop_reason) == ("end_turn", "end_turn")
    assert len(w.rounds.ran) == 2


async def test_item_11_m16_an_empty_reply_is_not_recorded() -> None:
    w = world(text("  "), text("there"))
    agent = w.agent()

    result = await agent.run("hi")
    await agent.run("hello?")

    assert result.stop_reason == "end_turn"
    assert problems_of(w.provider.requests[1].messages) == []
    assert len(agent.history) == 3


async def test_a_turn_of_which_nothing_came_says_so_and_an_empty_end_of_work_does_not() -> None:
    w = world(text(" "), calls(use("read")), text(""))
    agent = w.agent()

    await agent.run("hi")
    told = [notice.text for notice in w.sink.of(Notice) if isinstance(notice, Notice)]
    await agent.run("read it")

    assert told == ["The model answered nothing. Ask again, or ask another with /model."]
    assert len(w.sink.of(Notice)) == 1


async def test_pr_12_a_cut_stream_keeps_what_was_shown_and_goes_on_without_repeating_it() -> None:
    words = "I will read the file and then I will change it."
    w = world(text(words).cut(StreamCut("gone"), after=1), text(words) + calls(use("read")), text("ok"))
    agent = w.agent()

    result = await agent.run("go")

    assert shown_text(w.sink) == words + "ok"
    assert len(w.rounds.ran) == 1
    assert all(problems_of(r.messages) == [] for r in w.provider.requests)
    assert result.stop_reason == "end_turn"


async def test_pr_12_a_half_call_of_a_cut_stream_never_runs() -> None:
    w = world(
        (text("x" * 30) + calls(use("write", '{"path":"a'))).cut(StreamCut("gone"), after=3),
        calls(use("write", {"path": "a"})),
        text("done"),
    )

    await w.agent().run("go")

    assert [[c.arguments_json for c in r] for r in w.rounds.ran] == [['{"path": "a"}']]


async def test_pr_12_too_many_cuts_end_the_turn_and_the_next_one_works() -> None:
    w = world(*[text("abc").cut(StreamCut("gone"), after=1) for _ in range(4)], text("fine"))
    agent = w.agent()

    failed = await agent.run("go")
    after = await agent.run("continue")

    assert (failed.stop_reason, failed.error) == ("failed", "gone")
    assert after.stop_reason == "end_turn"
    assert problems_of(w.provider.requests[-1].messages) == []


async def test_pr_08_a_call_cut_by_max_tokens_is_not_run_and_asked_again_with_more_room() -> None:
    half = calls(use("write", '{"path":"a.py","content":"def main():\\n    pri')).ending("max_tokens")
    w = world(half, text("smaller then"))

    result = await w.agent().run("go")

    assert w.rounds.ran == []
    assert "output tokens" in result_texts(w.provider.requests[1].messages[-1])[0]
    assert w.provider.requests[1].max_output_tokens > w.provider.requests[0].max_output_tokens
    assert w.sink.of(ToolDenied)[0].effect == "not_run"
    assert problems_of(w.provider.requests[1].messages) == []
    assert result.stop_reason == "end_turn"


@pytest.mark.parametrize(
    ("reason", "said"),
    [("refusal", "broken off as declined"), ("context_overflow", "the context window was full")],
)
async def test_calls_of_a_reply_broken_off_for_another_reason_say_so_and_get_no_more_room(
    reason: StopReason, said: str
) -> None:
    half = calls(use("write", '{"path":"a.py","content":"def')).ending(reason)
    w = world(half, text("in short"), text("next"))
    agent = w.agent()

    await agent.run("write it")
    await agent.run("go on")

    (result,) = [r for m in agent.history if isinstance(m, UserMessage) for r in result_texts(m)]
    assert said in result
    assert "output tokens" not in result
    assert [request.max_output_tokens for request in w.provider.requests] == [0] * len(w.provider.requests)


async def test_pr_08_the_turn_ends_after_three_replies_without_room() -> None:
    half = calls(use("write", '{"path":')).ending("max_tokens")
    w = world(half, half, half)

    result = await w.agent().run("go")

    assert result.stop_reason == "max_tokens"
    assert len(w.provider.requests) == 3


async def test_pause_turn_goes_on_and_refusal_ends_with_a_sentence() -> None:
    w = world(text("thinking about it").ending("pause_turn"), text("no").ending("refusal"))

    result = await w.agent().run("go")

    assert result.stop_reason == "refusal"
    assert "refused" in w.sink.of(Notice)[0].text


async def test_item_12_m12_x22_the_round_limit_asks_and_goes_on_or_stops() -> None:
    asked: list[str] = []

    async def ask(why: str) -> bool:
        asked.append(why)
        return len(asked) < 2

    w = world(*[calls(use("read", {"n": n})) for n in range(10)])
    agent = w.agent(limits=Limits(max_rounds=2), ask_continue=ask)

    result = await agent.run("go")

    assert result.stop_reason == "round_limit"
    assert len(w.rounds.ran) == 4
    assert len(asked) == 2


async def test_x22_without_anybody_to_ask_the_round_limit_ends_the_turn() -> None:
    w = world(*[calls(use("read", {"n": n})) for n in range(70)])

    result = await w.agent().run("go")

    assert result.stop_reason == "round_limit"
    assert len(w.rounds.ran) == 64


async def test_h10_item_69_equal_rounds_trip_the_loop_guard_whatever_the_order_of_keys() -> None:
    w = world(
        calls(use("read", '{"a": 1, "b": 2}')),
        calls(use("read", '{"b": 2, "a": 1}')),
        calls(use("read", '{"a":1,"b":2}')),
        text("I see"),
    )

    result = await w.agent().run("go")

    assert len(w.rounds.ran) == 2
    assert "same calls" in result_texts(w.provider.requests[3].messages[-1])[0]
    assert result.stop_reason == "end_turn"


async def test_item_69_a_different_round_between_resets_the_loop_guard() -> None:
    same = calls(use("read", {"a": 1}))
    w = world(same, same, calls(use("bash")), same, same, text("done"))

    await w.agent().run("go")

    assert len(w.rounds.ran) == 5


@pytest.mark.parametrize("names", [("read",), ("read", "bash")])
async def test_pr_25_a_model_that_repeats_itself_is_stopped(names: tuple[str, ...]) -> None:
    w = world(*[calls(use(names[n % len(names)])) for n in range(500)])

    result = await w.agent(limits=Limits(max_rounds=0)).run("go")

    assert result.stop_reason == "round_limit"
    assert len(w.rounds.ran) <= 12


async def test_p05_p10_pending_approvals_end_the_turn_and_a_redrive_runs_the_calls() -> None:
    request = PermissionRequest(
        request_id="c1",
        call_id="c1",
        tool="bash",
        title="",
        permissions=(Permission(id="p", kind=PermissionKind.EXECUTE, target="ls"),),
    )
    w = world(calls(use("bash", call_id="c1")), text("done"))
    w.rounds.pending = (request,)
    agent = w.agent()

    paused = await agent.run("go")
    w.rounds.pending = ()
    resumed = await agent.redrive()

    assert (paused.stop_reason, paused.pending_approvals) == ("pending_approvals", (request,))
    assert resumed.stop_reason == "end_turn"
    assert problems_of(w.provider.requests[1].messages) == []
    assert result_texts(w.provider.requests[1].messages[-1]) == ["bash did it"]


async def test_a_prompt_after_pending_approvals_answers_the_waiting_calls() -> None:
    w = world(calls(use("bash", call_id="c1")), text("ok"))
    w.rounds.pending = (
        PermissionRequest(request_id="c1", call_id="c1", tool="bash", title="", permissions=()),
    )
    agent = w.agent()

    await agent.run("go")
    await agent.run("forget it")

    assert problems_of(w.provider.requests[1].messages) == []
    (told,) = w.sink.of(ToolDenied)
    assert (told.call_id, told.effect, told.reason) == ("c1", "not_run", NOT_WAITED)
    assert w.sink.events.index(told) < w.sink.events.index(w.sink.of(TurnStarted)[1])


async def test_nothing_is_pinned_behind_calls_that_wait() -> None:
    w = world(calls(use("bash", call_id="c1")), text("ok"))
    w.rounds.pending = (
        PermissionRequest(request_id="c1", call_id="c1", tool="bash", title="", permissions=()),
    )
    agent = w.agent()
    await agent.run("go")

    with pytest.raises(AgentTuiError, match="/pending"):
        await agent.pin("tabs")

    assert list(agent.open_calls) == ["c1"]


async def test_a_prompt_in_a_restored_session_keeps_what_some_of_the_open_calls_came_to() -> None:
    w = world(text("ok"))
    asked = UserMessage(content=(TextBlock(text="go"),))
    reply = AssistantMessage(content=(use("bash", call_id="c1"), use("bash", call_id="c2")))
    ran = w.rounds._outcome(ToolCall(call_id="c1", name="bash"))

    await w.agent(history=(asked, reply), known={"c1": ran}).run("something else")

    ran_text, waited = result_texts(w.provider.requests[0].messages[2])
    assert ran_text == "bash did it"
    assert waited == NOT_WAITED
    assert [told.call_id for told in w.sink.of(ToolDenied)] == ["c2"]
