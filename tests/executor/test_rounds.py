import asyncio
from pathlib import Path

import pytest

from agent_tui.executor.registry import CompositeSource
from agent_tui.extensions.bundled import tools_dir
from agent_tui.extensions.loader import load_tools
from agent_tui.extensions.sources import ToolFileSource
from agent_tui.protocol.display import DISPLAY_LIMIT_CHARS
from agent_tui.protocol.events import RoundStarted, ToolDenied, ToolFinished, ToolOutput, ToolStarted
from agent_tui.protocol.permissions import Verdict
from agent_tui.protocol.tools import ToolCall
from agent_tui.toolkit.testing import RecordingJournal, make_context
from tests.support.round_world import (
    Approver,
    FakePolicy,
    Log,
    Read,
    call,
    effects,
    make_world,
    outcome,
    output,
)

KINDS = {
    "ok": call("ok", path="a"),
    "failed": call("failed", "faulty", how="tool-error"),
    "unknown": call("unknown", "no_such_tool_at_all"),
    "invalid": ToolCall(call_id="invalid", name="read", arguments_json='{"path": 3}'),
    "exception": call("exception", "faulty", how="exception"),
    "timeout": call("timeout", "faulty", how="hang"),
    "denied": call("denied", "write", path="b", text="x"),
    "rule": call("rule", "bash", command="ls"),
}


async def test_a19_item_01_every_id_gets_exactly_one_result_of_its_kind(workspace: Path) -> None:
    world = make_world(workspace, approver=Approver(deny=["denied"]), policy=FakePolicy(deny=["bash"]))

    batch = await world.run(*KINDS.values())

    assert effects(batch) == {
        "ok": "ran",
        "failed": "failed",
        "unknown": "unknown_tool",
        "invalid": "invalid",
        "exception": "failed",
        "timeout": "timeout",
        "denied": "denied",
        "rule": "denied",
    }
    assert [o.tool_use_id for o in batch.outcomes] == list(KINDS)
    assert sorted(o.tool_use_id for o in world.journal.outcomes()) == sorted(KINDS)


async def test_a09_h09_item_02_results_stand_in_request_order_though_the_first_is_slow(
    workspace: Path,
) -> None:
    world = make_world(workspace, approver=Approver(deny=["middle"]))
    world.log.gate("slow")

    async with asyncio.TaskGroup() as group:
        running = group.create_task(
            world.run(call("slow", path="a"), call("fast", path="b"), call("middle", "write", path="c"))
        )
        await world.sink.until(ToolFinished)
        world.log.gate("slow").set()
    batch = running.result()

    assert list(effects(batch).items()) == [("slow", "ran"), ("fast", "ran"), ("middle", "denied")]
    assert [o.tool_use_id for o in world.journal.outcomes()] == ["middle", "fast", "slow"]


async def test_a10_item_03_a_failing_call_stops_no_neighbour(workspace: Path) -> None:
    world = make_world(workspace)

    batch = await world.run(
        call("c0", path="a"), call("c1", "faulty", how="error-result"), call("c2", path="b")
    )

    assert effects(batch) == {"c0": "ran", "c1": "failed", "c2": "ran"}
    assert output(batch, "c1") == "an error result"


@pytest.mark.parametrize("how", ["cancelled", "group", "exit", "exception", "tool-error-group"])
async def test_h07_item_06_whatever_a_tool_raises_costs_only_its_own_call(workspace: Path, how: str) -> None:
    world = make_world(workspace)

    batch = await world.run(call("c0", "faulty", how=how), call("c1", path="a"))

    assert effects(batch) == {"c0": "failed", "c1": "ran"}
    assert outcome(batch, "c0").result.is_error


async def test_m20_the_text_of_a_fault_is_cut_at_500_characters(workspace: Path) -> None:
    batch = await make_world(workspace).run(call("c0", "faulty", how="exception"))

    assert 500 < len(output(batch, "c0")) < 560
    assert output(batch, "c0").startswith("The tool 'faulty' failed: ValueError: xxx")


async def test_several_tool_errors_of_one_call_are_told_together(workspace: Path) -> None:
    batch = await make_world(workspace).run(call("c0", "faulty", how="tool-error-group"))

    assert output(batch, "c0") == "first\nsecond"


async def test_item_07_readers_overlap_and_a_writer_is_a_barrier(workspace: Path) -> None:
    world = make_world(workspace, policy=FakePolicy(allow=["write"]))
    world.log.gate("r0")

    async with asyncio.TaskGroup() as group:
        group.create_task(
            world.run(
                call("r0", path="a"),
                call("r1", path="b"),
                call("w", "write", path="c"),
                call("r2", path="d"),
            )
        )
        await world.log.arrival("r1").wait()
        for _ in range(20):
            await asyncio.sleep(0)
        assert "start w" not in world.log.lines
        world.log.gate("r0").set()

    assert world.log.lines == [
        "start r0",
        "start r1",
        "end r1",
        "end r0",
        "start w",
        "end w",
        "start r2",
        "end r2",
    ]


async def test_item_08_commands_of_one_round_run_one_after_another(workspace: Path) -> None:
    world = make_world(workspace)

    await world.run(*(call(f"c{i}", "bash", command=f"echo {i}") for i in range(3)))

    assert world.log.lines == [f"{word} c{i}" for i in range(3) for word in ("start", "end")]


async def test_a18_item_09_each_result_is_told_when_ready(workspace: Path) -> None:
    world = make_world(workspace)
    world.log.gate("c0")

    async with asyncio.TaskGroup() as group:
        group.create_task(world.run(call("c0", path="a"), call("c1", path="b")))
        (first,) = await world.sink.until(ToolFinished)
        world.log.gate("c0").set()

    assert isinstance(first, ToolFinished)
    assert first.call_id == "c1"


async def test_m10_item_10_an_answer_without_a_run_tells_no_start(workspace: Path) -> None:
    world = make_world(workspace, approver=Approver(deny=["denied"]), policy=FakePolicy(deny=["bash"]))

    await world.run(*(KINDS[kind] for kind in ("unknown", "invalid", "denied", "rule")))

    assert world.sink.of(ToolStarted) == []
    assert world.sink.of(ToolFinished) == []
    assert sorted(event.call_id for event in world.sink.of(ToolDenied)) == [
        "denied",
        "invalid",
        "rule",
        "unknown",
    ]


async def test_a17_item_11_an_empty_round_does_nothing(workspace: Path) -> None:
    world = make_world(workspace)

    batch = await world.run()

    assert (batch.outcomes, world.sink.events, world.journal.records) == ((), [], [])


async def test_x05_item_56_events_of_a_call_carry_its_id_and_the_title_comes_first(workspace: Path) -> None:
    world = make_world(workspace)

    await world.run(call("c0", "bash", command="echo hi"))

    shape = [
        (type(event).__name__, getattr(event, "call_id", ""), getattr(event, "title", ""))
        for event in world.sink.events
        if isinstance(event, ToolStarted | ToolOutput | ToolFinished)
    ]
    assert shape == [
        ("ToolStarted", "c0", "echo hi"),
        ("ToolOutput", "c0", ""),
        ("ToolFinished", "c0", "echo hi"),
    ]


async def test_m02_the_round_is_told_before_anything_of_it(workspace: Path) -> None:
    world = make_world(workspace)

    await world.run(call("c0", path="a"))

    assert isinstance(world.sink.events[0], RoundStarted)
    assert world.journal.kinds() == ["round_started", "outcome"]


async def test_a08_m08_an_outcome_holds_everything_about_its_call(workspace: Path) -> None:
    batch = await make_world(workspace).run(call("c0", path="a"))

    (found,) = batch.outcomes
    assert (found.tool_use_id, found.tool_name, found.display_name, found.title) == (
        "c0",
        "read",
        "Read",
        "a",
    )
    assert found.call == call("c0", path="a")
    assert (found.result.output, found.display.content) == ("read a", "read a")


async def test_a11_h06_a_call_past_its_limit_is_an_error_that_names_it(workspace: Path) -> None:
    batch = await make_world(workspace).run(call("c0", "faulty", how="hang"))

    assert output(batch, "c0") == "Operation timed out after 1 s"
    assert outcome(batch, "c0").summary == "[faulty: timeout]"


async def test_a_tool_that_ignores_its_cancellation_is_left_behind(workspace: Path) -> None:
    world = make_world(workspace)

    batch = await world.run(call("c0", "faulty", how="deaf"), call("c1", path="a"))
    world.log.gate("deaf").set()
    await asyncio.sleep(0)

    assert effects(batch) == {"c0": "timeout", "c1": "ran"}


async def test_h04_item_13_a_misspelt_name_is_repaired_before_the_rules_see_it(workspace: Path) -> None:
    world = make_world(workspace, policy=FakePolicy(deny=["bash"]))

    batch = await world.run(call("c0", "bahs", command="ls"), call("c1", "READ", path="a"))

    assert effects(batch) == {"c0": "denied", "c1": "ran"}
    assert [o.tool_name for o in batch.outcomes] == ["bash", "read"]


async def test_a16_an_unknown_tool_is_an_error_for_that_call_only(workspace: Path) -> None:
    batch = await make_world(workspace).run(call("c0", "weather"), call("c1", path="a"))

    assert effects(batch) == {"c0": "unknown_tool", "c1": "ran"}
    assert output(batch, "c0").startswith("No tool named 'weather'; there are read, write")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "not valid JSON"),
        ("null", "a JSON object was expected"),
        ("[]", "a JSON object was expected"),
        ('"x"', "a JSON object was expected"),
        ('{"path":"a"}}', "not valid JSON"),
        ('{"path":"a", "text": "tab\tinside"}', "not valid JSON"),
        ('{"path":"a", "path":"b"}', "the key 'path' stands twice"),
        ('{"path": NaN}', "NaN is not JSON"),
        ("[" * 100_000, "nested too deeply"),
    ],
    ids=["cut", "null", "list", "text", "two-braces", "raw-tab", "key-twice", "nan", "deep"],
)
async def test_pr_09_arguments_that_cannot_be_read_run_nothing(
    workspace: Path, text: str, reason: str
) -> None:
    world = make_world(workspace)

    batch = await world.run(ToolCall(call_id="c0", name="write", arguments_json=text))

    assert effects(batch) == {"c0": "invalid"}
    assert reason in output(batch, "c0")
    assert world.approver.asked == []


async def test_pr_09_empty_arguments_are_an_empty_object(workspace: Path) -> None:
    batch = await make_world(workspace).run(ToolCall(call_id="c0", name="read", arguments_json=""))

    assert effects(batch) == {"c0": "ran"}
    assert outcome(batch, "c0").call.arguments_json == "{}"


async def test_h05_an_invalid_call_is_never_shown_for_approval(workspace: Path) -> None:
    world = make_world(workspace)

    batch = await world.run(
        ToolCall(call_id="c0", name="write", arguments_json='{"path": []}'), call("c1", "write", path="a")
    )

    assert effects(batch) == {"c0": "invalid", "c1": "ran"}
    assert world.approver.asked == [["c1"]]


@pytest.mark.parametrize("how", ["permissions", "permissions-tool-error"])
async def test_a14_permissions_that_cannot_be_said_are_a_no(workspace: Path, how: str) -> None:
    world = make_world(workspace)

    batch = await world.run(call("c0", "faulty", how=how))

    assert effects(batch) == {"c0": "invalid"}
    assert world.log.lines == []


async def test_pr_15_empty_and_repeated_ids_are_made_unique(workspace: Path) -> None:
    batch = await make_world(workspace).run(
        call("", path="a"),
        call("x", path="b"),
        call("x", path="c"),
        call("x_2", path="d"),
        call("", path="e"),
    )

    ids = [o.tool_use_id for o in batch.outcomes]
    assert len(set(ids)) == 5
    assert all(ids)
    assert ids[1] == "x"
    assert [o.result.output for o in batch.outcomes] == [f"read {name}" for name in "abcde"]


async def test_h08_a_long_result_keeps_its_head_and_says_what_is_missing(workspace: Path) -> None:
    batch = await make_world(workspace).run(call("c0", "faulty", how="long"))

    assert output(batch, "c0") == "é" * 32_768 + "\n\n[7,232 characters left out]"


async def test_a39_the_display_is_cut_on_its_own(workspace: Path) -> None:
    batch = await make_world(workspace).run(call("c0", "faulty", how="long"))

    shown = outcome(batch, "c0").display
    assert (shown.is_truncated, shown.full_length) == (True, 40_000)
    assert shown.content.startswith("é" * DISPLAY_LIMIT_CHARS + "\n")


async def test_a_result_its_tool_capped_is_never_cut_twice(workspace: Path) -> None:
    batch = await make_world(workspace).run(call("c0", "faulty", how="capped"))

    assert len(output(batch, "c0")) == 40_000


async def test_a51_a52_the_summary_is_made_when_the_call_ends(workspace: Path) -> None:
    world = make_world(workspace, policy=FakePolicy(deny=["bash"]))

    batch = await world.run(
        call("c0", path="a"), call("c1", "faulty", how="error-result"), call("c2", "bash", command="ls")
    )

    assert [o.summary for o in batch.outcomes] == ["[read: completed]", "[faulty: error]", "[bash: denied]"]
    assert [o.summary for o in world.journal.outcomes() if o.tool_use_id == "c0"] == ["[read: completed]"]


async def test_m17_a_result_that_cannot_be_recorded_becomes_one_that_says_so(workspace: Path) -> None:
    class OnceFull(RecordingJournal):
        async def outcome(self, outcome: object, *, turn_id: str) -> None:
            if not self.tried:
                self.tried = True
                raise OSError("disk full")
            self._keep("outcome", outcome)

        tried = False

    world = make_world(workspace, journal=OnceFull())

    batch = await world.run(call("c0", path="a"), call("c1", path="b"))

    assert "could not be recorded: disk full" in output(batch, "c0")
    assert [o.tool_use_id for o in world.journal.outcomes()] == ["c0", "c1"]
    assert outcome(batch, "c0") == world.journal.outcomes()[0]


async def test_a_journal_that_is_gone_still_leaves_every_id_answered(workspace: Path) -> None:
    world = make_world(workspace, journal=RecordingJournal(fail=["outcome"]))

    batch = await world.run(call("c0", path="a"), call("c1", path="b"))

    assert len(batch.outcomes) == 2


async def test_a_round_that_cannot_be_recorded_runs_nothing(workspace: Path) -> None:
    world = make_world(workspace, journal=RecordingJournal(fail=["round_started"]))

    batch = await world.run(call("c0", path="a"), call("c1", "write", path="b"))

    assert effects(batch) == {"c0": "not_run", "c1": "not_run"}
    assert world.log.lines == []
    assert world.approver.asked == []


async def test_live_output_is_told_under_the_call(workspace: Path) -> None:
    world = make_world(workspace)

    await world.run(call("c0", "bash", command="echo hi"))

    (event,) = world.sink.of(ToolOutput)
    assert event == ToolOutput(turn_id="t0", call_id="c0", text="$ echo hi")


async def test_a_sub_agents_events_carry_its_origin(workspace: Path) -> None:
    world = make_world(workspace, origin="call_7", agent_name="explorer")

    await world.run(call("c0", "write", path="a"))

    assert {event.origin for event in world.sink.events} == {"call_7"}
    assert [request.origin for request in world.approver.requests] == ["explorer"]


async def test_p07_a_source_that_knows_no_tools_answers_every_call(workspace: Path) -> None:
    batch = await make_world(workspace, tools=CompositeSource()).run(call("c0"))

    assert effects(batch) == {"c0": "unknown_tool"}
    assert output(batch, "c0") == "No tool named 'read'; there are none."


async def test_verdicts_of_other_calls_change_nothing(workspace: Path) -> None:
    class Confused(Approver):
        async def review(self, requests):
            verdicts = await super().review(requests)
            return {"c0": verdicts["c1"], "c1": verdicts["c1"], "ghost": Verdict(call_id="ghost")}

    world = make_world(workspace, approver=Confused())

    batch = await world.run(call("c0", "write", path="a"), call("c1", "write", path="b"))

    assert effects(batch) == {"c0": "denied", "c1": "ran"}


async def test_a03_m29_one_call_or_a_batch_take_the_same_way_to_the_tool(workspace: Path) -> None:
    world = make_world(workspace)
    ctx = make_context(workspace)

    alone = await world.rounds.tools.execute("read", '{"path": "a"}', ctx)
    batch = await world.run(call("c0", path="a"), call("c1", path="a"))

    assert [o.result for o in batch.outcomes] == [alone, alone]


async def test_a13_a_call_gets_a_context_of_its_own(workspace: Path) -> None:
    seen: list[tuple[str, str, str]] = []

    class Curious(Read):
        async def run(self, params, ctx):
            seen.append((ctx.session_id, ctx.turn_id, ctx.call_id))
            return await super().run(params, ctx)

    world = make_world(workspace, tools=ToolFileSource([Curious(Log())]))

    await world.run(call("c0", path="a"), call("c1", path="a"), turn_id="t7")

    assert seen == [("s0", "t7", "c0"), ("s0", "t7", "c1")]


async def test_a15_a_tool_that_asks_the_person_itself_is_not_asked_for(workspace: Path) -> None:
    world = make_world(workspace)

    batch = await world.run(call("c0", "task"))

    assert effects(batch) == {"c0": "ran"}
    assert world.approver.asked == []


async def test_m11_logs_hold_sizes_and_never_the_content(
    workspace: Path, caplog: pytest.LogCaptureFixture
) -> None:
    world = make_world(workspace)

    with caplog.at_level("DEBUG", logger="agent_tui"):
        await world.run(call("c0", path="a-secret-name"))

    assert "18 characters" in caplog.text
    assert "a-secret-name" not in caplog.text


async def test_m23_item_74_limits_default_to_30_s_and_bash_keeps_its_own_600_s() -> None:
    source = ToolFileSource(load_tools(tools_dir(), source="bundled").tools)

    assert source.timeout_s("read") == 30
    assert source.timeout_s("bash") == 0 or source.timeout_s("bash") > 600


async def test_an_answer_takes_its_time_into_account(workspace: Path) -> None:
    world = make_world(workspace)

    batch = await world.run(call("c0", "faulty", how="hang"), call("c1", "nonsense_tool"))

    assert outcome(batch, "c0").elapsed_s >= 1.0
    assert outcome(batch, "c1").elapsed_s == 0.0
