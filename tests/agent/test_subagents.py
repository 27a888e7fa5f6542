import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from agent_tui.agent.agent_types import AgentType, tools_of
from agent_tui.agent.limits import Limits
from agent_tui.agent.subagents import MAX_AT_ONCE
from agent_tui.protocol.errors import Overloaded
from agent_tui.protocol.events import (
    ApprovalRequested,
    TextDelta,
    ToolDenied,
    ToolFinished,
    ToolStarted,
    TurnStarted,
)
from agent_tui.protocol.messages import TokenUsage, UserMessage
from agent_tui.protocol.tools import TurnResult
from agent_tui.providers.scripted import calls, text, use
from agent_tui.toolkit.testing import ScriptedApprover
from tests.support.agent_world import result_texts
from tests.support.patience import until
from tests.support.round_world import FakePolicy
from tests.support.subagent_world import SubWorld, make_sub_world, task

TOKENS = TokenUsage(input_tokens=100, output_tokens=10)


def answers(result: TurnResult) -> list[str]:
    return [words for m in result.messages if isinstance(m, UserMessage) for words in result_texts(m)]


def from_child(world: SubWorld, kind: type) -> list[object]:
    return [event for event in world.sink.of(kind) if event.origin]


async def test_sub_agent_answers_with_its_last_words_and_nothing_else_reaches_the_main_one(
    tmp_path: Path,
) -> None:
    world = make_sub_world(
        tmp_path,
        [calls(task("look")), text("done")],
        {"look": [text("I look.") + calls(use("read", {"path": "a.py"})), text("Found at a.py:3.")]},
    )

    result = await world.agent.run("go")

    assert answers(result) == ["Found at a.py:3."]
    assert len(world.agent.history) == 4
    assert [m.role for m in world.child("look").requests[0].messages] == ["user"]


async def test_h82_sub_agent_cannot_spawn_ask_or_leave_the_plan(tmp_path: Path) -> None:
    world = make_sub_world(tmp_path, [calls(task("look")), text("")], {"look": [text("done")]})

    await world.agent.run("go")

    offered = {spec.name for spec in world.child("look").requests[0].tools}
    assert offered.isdisjoint({"task", "question", "exit_plan_mode"})
    assert {"read", "write", "bash", "skill"} <= offered
    assert all(context.spawn is None and context.ask is None for context in world.worlds)


async def test_h82_call_of_task_inside_is_an_unknown_tool(tmp_path: Path) -> None:
    world = make_sub_world(
        tmp_path, [calls(task("look")), text("")], {"look": [calls(task("deeper")), text("could not")]}
    )

    result = await world.agent.run("go")

    assert answers(result) == ["could not"]
    assert [event.effect for event in world.sink.of(ToolDenied)] == ["unknown_tool"]


async def test_h82_text_of_a_sub_agent_carries_its_origin(tmp_path: Path) -> None:
    world = make_sub_world(
        tmp_path, [calls(task("look", call_id="t1")), text("main words")], {"look": [text("inner words")]}
    )

    await world.agent.run("go")

    by_origin = {event.origin: event.text for event in world.sink.of(TextDelta)}
    assert by_origin == {"t1": "inner words", "": "main words"}


async def test_x32_explore_has_readers_only(tmp_path: Path) -> None:
    world = make_sub_world(
        tmp_path, [calls(task("look", agent="explore")), text("")], {"look": [text("done")]}
    )

    await world.agent.run("go")

    request = world.child("look").requests[0]
    assert {spec.name for spec in request.tools} == {"read", "skill", "todoread"}
    assert "cannot change anything" in request.system


async def test_described_agent_has_its_own_words_tools_and_model(tmp_path: Path) -> None:
    kind = AgentType("reviewer", "Reviews.", prompt="You review.", tools=("read", "task"), model="small")
    world = make_sub_world(
        tmp_path,
        [calls(task("look", agent="reviewer")), text("")],
        {"look": [text("done")]},
        types=(kind,),
    )

    await world.agent.run("go")

    request = world.child("look").requests[0]
    assert request.system.startswith("You review.")
    assert "last message is the report" in request.system
    assert [spec.name for spec in request.tools] == ["read"]
    assert world.models == ["small"]


async def test_unknown_agent_is_answered_with_the_names_there_are(tmp_path: Path) -> None:
    world = make_sub_world(tmp_path, [calls(task("look", agent="wizard")), text("")], {})

    result = await world.agent.run("go")

    assert answers(result) == ["No agent named 'wizard'; there are general, explore."]


async def test_sub_agents_permissions_reach_the_same_approver_with_their_origin(tmp_path: Path) -> None:
    approver = ScriptedApprover()
    world = make_sub_world(
        tmp_path,
        [calls(task("change", call_id="t1")), text("")],
        {"change": [calls(use("write", {"path": "a.txt", "text": "x"})), text("written")]},
        approver=approver,
    )

    await world.agent.run("go")

    assert [request.origin for request in approver.requests] == ["general: do change"]
    assert (tmp_path / "a.txt").read_text() == "x"
    assert [event.origin for event in world.sink.of(ApprovalRequested)] == ["t1"]


async def test_grant_given_to_one_sub_agent_holds_for_the_main_agent(tmp_path: Path) -> None:
    write = {"path": "a.txt", "text": "x"}
    approver = ScriptedApprover(always=["w1"])
    world = make_sub_world(
        tmp_path,
        [calls(task("change")), calls(use("write", write, call_id="w2")), text("")],
        {"change": [calls(use("write", write, call_id="w1")), text("written")]},
        approver=approver,
    )

    await world.agent.run("go")

    assert approver.asked == [["w1"]]


async def test_calls_of_two_agents_never_have_the_same_id(tmp_path: Path) -> None:
    script = [calls(use("read", {"path": "a"}, call_id="call_0")), text("done")]
    world = make_sub_world(
        tmp_path,
        [calls(task("one", call_id="call_0"), task("two", call_id="call_1")), text("")],
        {"one": script, "two": script},
    )

    await world.agent.run("go")

    ids = [event.call_id for event in world.sink.of(ToolStarted)]
    assert len(ids) == len(set(ids)) == 4


async def test_sub_agent_has_files_and_shell_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    world = make_sub_world(
        tmp_path,
        [calls(task("move")), text("")],
        {"move": [calls(use("bash", {"command": "cd deep"})), text("moved")]},
    )

    await world.agent.run("go")

    assert world.main_context is not None
    assert world.main_context.shell.cwd == tmp_path
    assert [context.shell.cwd for context in world.worlds] == [tmp_path / "deep"]
    assert world.worlds[0].files is not world.main_context.files


async def test_x32_four_sub_agents_run_side_by_side_and_the_fifth_waits(tmp_path: Path) -> None:
    gate = asyncio.Event()
    names = [f"p{number}" for number in range(MAX_AT_ONCE + 1)]
    world = make_sub_world(
        tmp_path,
        [calls(*(task(name) for name in names)), text("all done")],
        {name: [text(f"{name} done").held(gate)] for name in names},
    )

    turn = asyncio.create_task(world.agent.run("go"))
    await until(lambda: len(world.children) == MAX_AT_ONCE)
    for _ in range(50):
        await asyncio.sleep(0)
    running = set(world.children)
    gate.set()
    result = await turn

    assert running == set(names[:MAX_AT_ONCE])
    assert answers(result) == [f"{name} done" for name in names]


async def test_writer_behind_a_task_waits_for_it(tmp_path: Path) -> None:
    gate = asyncio.Event()
    write = use("write", {"path": "a.txt", "text": "x"}, call_id="w")
    world = make_sub_world(
        tmp_path, [calls(task("look"), write), text("")], {"look": [text("done").held(gate)]}
    )

    turn = asyncio.create_task(world.agent.run("go"))
    await until(lambda: "look" in world.children)
    before = (tmp_path / "a.txt").exists()
    gate.set()
    await turn

    assert not before
    assert (tmp_path / "a.txt").exists()


async def test_x32_cancel_stops_sub_agents_and_every_call_is_answered(tmp_path: Path) -> None:
    gate = asyncio.Event()
    world = make_sub_world(
        tmp_path,
        [calls(task("slow"), task("waits"))],
        {
            "slow": [text("half").held(gate, after=1)],
            "waits": [calls(use("bash", {"command": "sleep"}, call_id="b")), text("never")],
        },
    )

    turn = asyncio.create_task(world.agent.run("go"))
    await world.log.arrival("b").wait()
    await until(lambda: any(event.origin for event in world.sink.of(TextDelta)))
    world.agent.cancel()
    result = await turn

    assert result.stop_reason == "cancelled"
    assert len(answers(result)) == 2
    assert all(journal.closed for journal in world.kept)
    assert ["turn_finished" in journal.kinds() for journal in world.kept] == [True, True]
    follow_up = await world.agent.run("again")
    assert follow_up.stop_reason in ("end_turn", "failed")


async def test_cancel_takes_the_questions_of_sub_agents_back(tmp_path: Path) -> None:
    class Never(ScriptedApprover):
        async def review(self, requests: Sequence[object]) -> dict[str, object]:
            asked.set()
            try:
                await asyncio.Event().wait()
            finally:
                taken_back.set()
            return {}

    asked, taken_back = asyncio.Event(), asyncio.Event()
    world = make_sub_world(
        tmp_path,
        [calls(task("change"))],
        {"change": [calls(use("write", {"path": "a.txt", "text": "x"}))]},
        approver=Never(),
    )

    turn = asyncio.create_task(world.agent.run("go"))
    await asked.wait()
    world.agent.cancel()
    await turn

    assert taken_back.is_set()
    assert not (tmp_path / "a.txt").exists()


async def test_usage_of_sub_agents_counts_into_turn_and_session(tmp_path: Path) -> None:
    world = make_sub_world(
        tmp_path,
        [calls(task("a"), task("b")).costing(TOKENS), text("").costing(TOKENS)],
        {"a": [text("x").costing(TOKENS)], "b": [text("y").costing(TOKENS)]},
    )

    result = await world.agent.run("go")

    assert result.usage.input_tokens == 400
    assert world.agent.usage.input_tokens == 400


async def test_token_budget_of_the_session_holds_for_sub_agents(tmp_path: Path) -> None:
    read = calls(use("read", {"path": "a"})).costing(TOKENS)
    world = make_sub_world(
        tmp_path,
        [calls(task("look")).costing(TOKENS), text("")],
        {"look": [read, read, read, text("never")]},
        limits=Limits(max_tokens=300),
    )

    result = await world.agent.run("go")

    assert len(world.child("look").requests) == 2
    assert "It reached the budget of the session." in answers(result)[0]
    assert result.stop_reason == "budget"


async def test_rounds_of_a_sub_agent_are_limited(tmp_path: Path) -> None:
    script = [calls(use("read", {"path": str(n)})) for n in range(5)]
    world = make_sub_world(
        tmp_path, [calls(task("look")), text("")], {"look": script}, limits=Limits(max_rounds=2)
    )

    result = await world.agent.run("go")

    assert "It reached its limit of rounds." in answers(result)[0]
    assert len(world.child("look").requests) == 2


async def test_sub_agent_that_fails_costs_its_call_and_not_the_turn(tmp_path: Path) -> None:
    world = make_sub_world(
        tmp_path,
        [calls(task("look")), text("I go on.")],
        {"look": [Overloaded("the server is full")]},
    )

    result = await world.agent.run("go")

    assert result.stop_reason == "end_turn"
    assert "the server is full" in answers(result)[0]


async def test_transcript_of_a_sub_agent_is_kept(tmp_path: Path) -> None:
    world = make_sub_world(
        tmp_path,
        [calls(task("look", call_id="t1")), text("")],
        {"look": [calls(use("read", {"path": "a"})), text("seen")]},
    )

    await world.agent.run("go")

    [journal] = world.kept
    assert (journal.call_id, journal.title, journal.closed) == ("t1", "general: do look", True)
    assert journal.kinds() == [
        "user_message",
        "assistant_message",
        "round_started",
        "outcome",
        "round_finished",
        "assistant_message",
        "turn_finished",
    ]
    finished = [e for e in world.sink.of(ToolFinished) if not e.origin]
    assert finished[0].display.content == "seen"
    assert finished[0].display.content_type == "markdown"
    assert finished[0].display.summary == "1 tool call, 30 tokens"


async def test_rule_against_an_agent_answers_its_call(tmp_path: Path) -> None:
    world = make_sub_world(tmp_path, [calls(task("look")), text("")], {}, policy=FakePolicy(deny=["task"]))

    result = await world.agent.run("go")

    assert answers(result) == ["Permission denied for tool task by rule deny task"]
    assert not from_child(world, TurnStarted)


@pytest.mark.parametrize("name", ["task", "question", "exit_plan_mode"])
def test_no_kind_can_name_what_no_sub_agent_has(tmp_path: Path, name: str) -> None:
    world = make_sub_world(tmp_path, [], {})

    assert not tools_of(AgentType("a", "A.", tools=(name, "read")), world.tools).owns(name)
