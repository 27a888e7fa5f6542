import asyncio
from pathlib import Path

import pytest

from agent_tui.protocol.display import DisplayResult
from agent_tui.protocol.errors import AgentTuiError
from agent_tui.protocol.events import (
    Compacted,
    Notice,
    Retrying,
    RoundStarted,
    TextDelta,
    ThinkingDelta,
    ToolDenied,
    ToolFinished,
    ToolOutput,
    ToolStarted,
    TurnFailed,
    TurnFinished,
)
from agent_tui.protocol.messages import TokenUsage
from agent_tui.protocol.replay import ReplayBlock
from agent_tui.protocol.tools import ToolCall
from agent_tui.protocol.version import version_line
from agent_tui.ui.app import AgentApp
from agent_tui.ui.settings import AppSettings
from agent_tui.ui.terminal_driver import TerminalLost
from agent_tui.ui.turn import UNSETTLED
from tests.support.approval_requests import bash_request
from tests.support.fake_backend import FakeBackend, Step, approve, emit, fail, say, wait_for
from tests.support.patience import until
from tests.support.screens import Stage, stage


async def test_a_prompt_runs_a_turn_and_shows_it(workspace: Path) -> None:
    async with stage(workspace, backend=FakeBackend(workspace, script=[[say("Hello **there**.")]])) as here:
        await here.send("hi")
        await here.idle()

        assert here.backend.prompts == ["hi"]
        assert here.shown == [("user", "hi"), ("assistant", "Hello **there**.")]
        assert not here.app.activity.display


async def test_text_typed_before_the_core_is_there_is_kept_and_sent(workspace: Path) -> None:
    gate = asyncio.Event()
    backend = FakeBackend(workspace)

    async def load() -> FakeBackend:
        await gate.wait()
        return backend

    app = AgentApp(load, settings=AppSettings(typing_s=0.0))
    async with app.run_test() as pilot:
        await pilot.press(*"one", "enter", *"two")
        assert app.prompt.text == "two"
        gate.set()
        while not backend.prompts or app.driver.busy:
            await pilot.pause(0.01)

        assert backend.prompts == ["one"]
        assert app.prompt.text == "two"


async def test_an_initial_prompt_is_sent_at_once(workspace: Path) -> None:
    async with stage(workspace, initial_prompt="start with this") as here:
        await here.until(lambda: here.backend.prompts)
        assert here.backend.prompts == ["start with this"]


async def test_a_core_that_cannot_start_is_one_sentence(workspace: Path) -> None:
    async def load() -> FakeBackend:
        raise AgentTuiError("config.toml: model: expected a name")

    app = AgentApp(load)
    async with app.run_test() as pilot:
        while app.is_running:
            await pilot.pause(0.01)

    assert app.return_value == 1
    assert str(app.leaving.failure) == "config.toml: model: expected a name"


async def test_a_core_that_cannot_start_gives_back_what_was_sent_and_what_was_typed(workspace: Path) -> None:
    gate = asyncio.Event()

    async def load() -> FakeBackend:
        await gate.wait()
        raise ValueError("broken")

    app = AgentApp(load, settings=AppSettings(typing_s=0.0))
    async with app.run_test() as pilot:
        await pilot.press(*"one", "enter", *"two")
        gate.set()
        while app.is_running:
            await pilot.pause(0.01)

    assert app.leaving.farewell() == "Typed and not sent:\none\ntwo"


async def test_a_core_that_cannot_start_leaves_its_sentence_on_a_page(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def load() -> FakeBackend:
        app.early.opening()
        raise AgentTuiError("config.toml: model: expected a name")

    monkeypatch.setattr(AgentApp, "is_web", True)
    app = AgentApp(load)
    async with app.run_test() as pilot:
        while not app.transcript.document.blocks:
            await pilot.pause(0.01)
        await pilot.pause()

        assert app.transcript.document.blocks[0].data.text == "✗ config.toml: model: expected a name"
        assert "Opening" not in Stage(app, pilot, FakeBackend(workspace)).picture()
        assert app.is_running


async def test_a_bug_in_a_turn_costs_one_turn_and_goes_to_the_log(workspace: Path, tmp_path: Path) -> None:
    log = tmp_path / "state" / "crash.log"
    backend = FakeBackend(workspace, script=[[fail(ValueError("oh [no"))], [say("fine")]])
    settings = AppSettings(crash_log=log, typing_s=0.0)
    async with stage(workspace, backend=backend, settings=settings) as here:
        await here.send("one")
        await here.idle()
        assert any("made a mistake" in text and str(log) in text for text in here.notices)
        await here.send("two")
        await here.idle()

        assert here.shown[-1] == ("assistant", "fine")
        assert "ValueError: oh [no" in log.read_text()
        assert log.stat().st_mode & 0o777 == 0o600


async def test_a_reply_after_a_bug_in_the_middle_of_another_is_a_block_of_its_own(workspace: Path) -> None:
    half = emit(TextDelta(turn_id="t", text="half"))
    backend = FakeBackend(workspace, script=[[half, fail(ValueError("oh"))], [say("fine")]])
    async with stage(workspace, backend=backend) as here:
        for prompt in ("one", "two"):
            await here.send(prompt)
            await here.idle()

        assert [shown for shown in here.shown if shown[0] == "assistant"] == [
            ("assistant", "half"),
            ("assistant", "fine"),
        ]


@pytest.mark.parametrize(
    "end", [fail(ValueError("oh")), emit(TurnFailed(turn_id="t", error="The disk is full."))]
)
async def test_a_turn_that_ends_without_the_results_of_its_calls_settles_their_panels(
    workspace: Path, end: Step
) -> None:
    both = (ToolCall(call_id="c1", name="task"), ToolCall(call_id="c2", name="bash"))
    steps = [
        emit(RoundStarted(turn_id="t", round_index=0, calls=both)),
        emit(ToolStarted(turn_id="t", call_id="c1", tool="task", display_name="Task", title="look")),
        emit(ToolStarted(turn_id="s", call_id="n", tool="grep", display_name="Grep", title="x", origin="c1")),
        end,
    ]
    async with stage(workspace, backend=FakeBackend(workspace, script=[steps])) as here:
        await here.send("one")
        await here.idle()

        panels = [block for block in here.app.transcript.document.blocks if block.data.kind == "tool"]
        assert [panel.data.state for panel in panels] == ["interrupted", "interrupted"]
        assert [panel.live for panel in panels] == [f"Grep: x\n{UNSETTLED}", UNSETTLED]
        assert not here.app.transcript.spins


async def test_calls_that_wait_for_approvals_are_not_settled_with_their_turn(workspace: Path) -> None:
    steps = [
        emit(RoundStarted(turn_id="t", round_index=0, calls=(ToolCall(call_id="c1", name="bash"),))),
        emit(TurnFinished(turn_id="t", stop_reason="pending_approvals", usage=TokenUsage())),
    ]
    async with stage(workspace, backend=FakeBackend(workspace, script=[steps])) as here:
        await here.send("one")
        await here.idle()

        assert here.app.transcript.document.blocks[1].data.state == "waiting"


async def test_a_round_that_waited_goes_on_in_the_panels_it_has(workspace: Path) -> None:
    both = (ToolCall(call_id="c1", name="read"), ToolCall(call_id="c2", name="bash"))
    async with stage(workspace) as here:
        here.app.transcript.load(
            [
                ReplayBlock("user", "an old one"),
                ReplayBlock("tool", "old", "c2", "bash", state="interrupted"),
                ReplayBlock("user", "go"),
                ReplayBlock("tool", "read it", "c1", "read", state="done"),
                ReplayBlock("tool", "Waits.", "c2", "bash", state="waiting"),
            ]
        )
        assert here.app.link is not None
        await here.app.link.turn(RoundStarted(turn_id="t", round_index=0, calls=both))

        panels = [b.data for b in here.app.transcript.document.blocks if b.data.kind == "tool"]
        assert [(p.text, p.state) for p in panels] == [
            ("old", "interrupted"),
            ("read it", "done"),
            ("", "waiting"),
        ]


async def test_a_call_with_the_id_of_one_before_the_last_prompt_has_a_panel_of_its_own(
    workspace: Path,
) -> None:
    again = (ToolCall(call_id="c1", name="read"),)
    backend = FakeBackend(workspace, script=[[emit(RoundStarted(turn_id="t", round_index=0, calls=again))]])
    async with stage(workspace, backend=backend) as here:
        here.app.transcript.load([ReplayBlock("tool", "old", "c1", "read", state="interrupted")])
        await here.send("one")
        await here.idle()

        panels = [b.data.text for b in here.app.transcript.document.blocks if b.data.kind == "tool"]
        assert panels == ["old", ""]


async def test_an_unhandled_error_leaves_a_sentence_and_a_log(workspace: Path, tmp_path: Path) -> None:
    log = tmp_path / "crash.log"
    with pytest.raises(ZeroDivisionError):  # noqa: PT012 - the error leaves through the context manager
        async with stage(workspace, settings=AppSettings(crash_log=log)) as here:
            here.app.call_later(lambda: 1 // 0)
            await until(lambda: here.app._exception)

    assert "ZeroDivisionError" in log.read_text()
    assert "Details:" in here.app.crash_message


async def test_escape_stops_the_turn_and_the_next_one_works(workspace: Path) -> None:
    backend = FakeBackend(workspace, script=[[say("part"), wait_for(asyncio.Event())], [say("again")]])
    async with stage(workspace, backend=backend) as here:
        await here.send("one")
        await here.until(lambda: here.app.driver.busy)
        await here.press("escape")
        await here.idle()
        await here.send("two")
        await here.idle()

        assert ("notice", "Stopped.") in here.shown
        assert here.shown[-1] == ("assistant", "again")


async def test_a93_ctrl_c_interrupts_then_clears_then_asks_twice(workspace: Path) -> None:
    backend = FakeBackend(workspace, script=[[wait_for(asyncio.Event())]])
    async with stage(workspace, backend=backend) as here:
        await here.send("one")
        await here.type("draft")
        await here.press("ctrl+c")
        await here.idle()
        assert here.app.prompt.text == "draft"

        await here.press("ctrl+c")
        assert here.app.prompt.text == ""
        await here.press("up")
        assert here.app.prompt.text == "draft"
        await here.press("ctrl+c", "ctrl+c")
        assert "again to quit" in here.app.status.hint
        await here.press("ctrl+c")
        await here.until(lambda: here.app.return_value == 0)


async def test_a92_ctrl_d_twice_quits_on_an_empty_prompt_and_another_key_resets(workspace: Path) -> None:
    async with stage(workspace) as here:
        await here.press("ctrl+d")
        assert here.app.status.hint == "Press Ctrl+D again to quit"
        await here.press("left")
        assert here.app.status.hint == ""
        await here.press("ctrl+d")
        assert here.app.return_value is None
        await here.press("ctrl+d")
        await here.until(lambda: here.app.return_value == 0)


async def test_a92_ctrl_d_deletes_a_character_when_there_is_text(workspace: Path) -> None:
    async with stage(workspace) as here:
        await here.type("abc")
        await here.press("home", "ctrl+d", "ctrl+d")

        assert here.app.prompt.text == "c"
        assert here.app.return_value is None


async def test_item_61_escape_never_quits_and_twice_clears_the_draft_into_history(workspace: Path) -> None:
    async with stage(workspace) as here:
        await here.press("escape", "escape", "escape")
        await here.type("abc")
        await here.press("escape")
        assert here.app.prompt.text == "abc"
        await here.press("escape")
        assert here.app.prompt.text == ""
        await here.press("up")

        assert here.app.prompt.text == "abc"
        assert here.app.return_value is None


@pytest.mark.parametrize("keys", [["?"], ["ctrl+p"], ["ctrl+x", "t"], ["ctrl+r"], ["f1"]])
async def test_a85_item_61_ctrl_q_quits_from_any_dialog(workspace: Path, keys: list[str]) -> None:
    async with stage(workspace) as here:
        await here.press(*keys)
        await here.until(lambda: here.app.in_dialog)
        await here.press("ctrl+q")
        await here.until(lambda: here.app.return_value == 0)

        assert here.backend.closed


async def test_a_terminal_that_is_lost_denies_what_waits_as_unasked(workspace: Path) -> None:
    class Answering(FakeBackend):
        def cancel_turn(self) -> None:
            """Let the open question be answered before the turn ends."""

    backend = Answering(workspace, script=[[approve(bash_request("c1"))]])
    async with stage(workspace, backend=backend) as here:
        await here.send("go")
        await here.approval()

        here.app.post_message(TerminalLost())
        await here.until(lambda: here.app.return_value == 0)

    assert [verdict.unasked for given in backend.verdicts for verdict in given.values()] == [True]


async def test_leaving_never_waits_for_a_core_that_hangs(workspace: Path) -> None:
    class Hanging(FakeBackend):
        async def aclose(self) -> None:
            await asyncio.Event().wait()

    async with stage(workspace, backend=Hanging(workspace)) as here:
        await here.press("ctrl+q")
        await here.until(lambda: here.app.return_value == 0)


async def test_tu_13_the_farewell_says_how_to_go_on(workspace: Path) -> None:
    async with stage(workspace) as here:
        assert here.app.leaving.farewell() == "Session kept. Go on with: agent-tui --resume s-1"


async def test_what_is_written_during_a_turn_waits_and_up_takes_it_back(workspace: Path) -> None:
    gate = asyncio.Event()
    backend = FakeBackend(workspace, script=[[wait_for(gate)]])
    async with stage(workspace, backend=backend, size=(100, 30)) as here:
        await here.send("one")
        await here.send("steer")
        await here.type("later")
        await here.press("tab")
        assert backend.queue == [("steer", False), ("later", True)]
        await here.until(lambda: "after this turn" in here.picture())
        assert "» steer" in here.picture()

        await here.press("up")
        assert here.app.prompt.text == "later"
        await here.press("ctrl+c")
        await here.press("ctrl+u")
        gate.set()
        await here.idle()
        assert backend.prompts == ["one", "steer"]


async def test_a_command_that_must_wait_runs_after_the_turn(workspace: Path) -> None:
    gate = asyncio.Event()
    backend = FakeBackend(workspace, script=[[wait_for(gate)]])
    async with stage(workspace, backend=backend) as here:
        await here.send("one")
        await here.send("/compact the tests")
        await here.send("/version")
        assert version_line() in here.notices
        assert backend.calls == []
        gate.set()
        await here.until(lambda: backend.calls)

        assert backend.calls == ["draft the tests"]


async def test_item_56_the_panel_has_its_title_before_the_tool_ends(workspace: Path) -> None:
    gate = asyncio.Event()
    started = ToolStarted(turn_id="t", call_id="c1", tool="bash", display_name="Bash", title="pytest -q")
    finished = ToolFinished(
        turn_id="t",
        call_id="c1",
        tool="bash",
        display_name="Bash",
        title="pytest -q",
        is_error=True,
        output="2 failed",
        display=DisplayResult(content="2 failed", full_length=8, full_lines=1, summary="failed"),
        elapsed_s=1.5,
    )
    steps = [
        emit(RoundStarted(turn_id="t", round_index=0, calls=(ToolCall(call_id="c1", name="bash"),))),
        emit(started),
        emit(ToolOutput(turn_id="t", call_id="c1", text="collecting\n")),
        wait_for(gate),
        emit(finished),
    ]
    async with stage(workspace, backend=FakeBackend(workspace, script=[steps])) as here:
        await here.send("go")
        await here.until(lambda: len(here.app.transcript.document.blocks) == 2)
        await here.until(
            lambda: (
                here.app.transcript.document.blocks[1:2]
                and here.app.transcript.document.blocks[1].data.state == "running"
            )
        )
        panel = here.app.transcript.document.blocks[1].data
        assert (panel.display_name, panel.title) == ("Bash", "pytest -q")
        gate.set()
        await here.idle()

        panel = here.app.transcript.document.blocks[1]
        assert len(here.app.transcript.document.blocks) == 2
        assert (panel.data.state, panel.data.text, panel.data.elapsed_s) == ("error", "2 failed", 1.5)
        assert panel.open


async def test_events_become_blocks_and_sentences(workspace: Path) -> None:
    steps = [
        emit(ThinkingDelta(turn_id="t", text="hm")),
        say("So."),
        emit(ToolDenied(turn_id="t", call_id="c9", tool="rm", display_name="Remove", title="x", reason="no")),
        emit(Retrying(turn_id="t", attempt=1, max_attempts=10, wait_s=2, reason="overloaded")),
        emit(Compacted(turn_id="t", tokens_before=90_000, tokens_after=12_000)),
        emit(Compacted(turn_id="t", origin="c9", tokens_before=9_000, tokens_after=1_000)),
        emit(Notice(turn_id="t", level="warning", text="a result was missing")),
        emit(TurnFailed(turn_id="t", error="The key is not valid. Set ANTHROPIC_API_KEY.")),
    ]
    async with stage(workspace, backend=FakeBackend(workspace, script=[steps])) as here:
        await here.send("go")
        await here.idle()

        assert here.shown == [
            ("user", "go"),
            ("thinking", "hm"),
            ("assistant", "So."),
            ("tool", "no"),
            ("notice", "The context was compacted from 90k to 12k tokens."),
            ("notice", "! a result was missing"),
            ("notice", "✗ The key is not valid. Set ANTHROPIC_API_KEY."),
        ]


async def test_a_decision_is_one_line_with_its_rule_and_words(workspace: Path) -> None:
    script = [[approve(bash_request("c1"), bash_request("c2", "rm x", pattern=""))]]
    async with stage(workspace, backend=FakeBackend(workspace, script=script), size=(120, 40)) as here:
        await here.send("go")
        screen = await here.approval()
        await here.until(lambda: screen.round.rows[0].read)
        await here.press("a", "c")
        await here.type("use git rm")
        await here.press("enter", "n", "enter")
        await here.idle()

        lines = [text for kind, text in here.shown if kind == "decision"]
        assert lines == [
            "allowed for this session (Bash(pytest *)): Bash: pytest -q",
            "denied Bash: rm x “use git rm”",
        ]


async def test_the_session_is_shown_again_with_its_notices(workspace: Path) -> None:
    blocks = [ReplayBlock(kind="user", text="old"), ReplayBlock(kind="assistant", text="answer")]
    backend = FakeBackend(workspace, blocks=blocks, notices=["No key: the offline model answers."])
    async with stage(workspace, backend=backend) as here:
        assert here.shown == [
            ("user", "old"),
            ("assistant", "answer"),
            ("notice", "No key: the offline model answers."),
        ]


async def test_a90_the_list_filters_while_typing_and_enter_runs_the_first(workspace: Path) -> None:
    async with stage(workspace) as here:
        await here.type("/")
        everything = here.app.completion.count
        await here.type("ver")
        assert 0 < here.app.completion.count < everything
        await here.press("enter")

        assert here.app.prompt.text == ""
        await here.until(lambda: here.notices)
        assert here.notices[0].startswith("agent-tui ")
