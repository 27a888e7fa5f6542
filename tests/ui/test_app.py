import asyncio
from pathlib import Path

import pytest
from textual import events

from agent_tui.protocol.display import DisplayResult
from agent_tui.protocol.errors import AgentTuiError
from agent_tui.protocol.events import (
    Compacted,
    Notice,
    Retrying,
    RoundStarted,
    ThinkingDelta,
    ToolDenied,
    ToolFinished,
    ToolOutput,
    ToolStarted,
    TurnFailed,
)
from agent_tui.protocol.replay import ReplayBlock
from agent_tui.protocol.tools import ToolCall
from agent_tui.ui.app import AgentApp
from agent_tui.ui.backend import RuleView, SessionView, StatusView
from agent_tui.ui.commands.registry import Command, CommandHost
from agent_tui.ui.screens.confirm import Confirm
from agent_tui.ui.screens.help import Help
from agent_tui.ui.screens.picker import Picker
from agent_tui.ui.screens.rules import RulesScreen
from agent_tui.ui.settings import UiSettings
from agent_tui.ui.widgets.rows import Rows
from tests.support.fake_backend import FakeBackend, approve, bash_request, emit, fail, say, wait_for
from tests.support.screens import Clock, stage

THEMES = Path(__file__).parents[2] / "themes"


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

    app = AgentApp(load, settings=UiSettings(typing_s=0.0))
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
        while not app.transcript.document.blocks:
            await pilot.pause(0.01)
        assert app.transcript.document.blocks[0].data.text == "✗ config.toml: model: expected a name"
        await pilot.press("ctrl+q")
        await pilot.pause()
        assert app.return_value == 0


async def test_a_bug_in_a_turn_costs_one_turn_and_goes_to_the_log(workspace: Path, tmp_path: Path) -> None:
    log = tmp_path / "state" / "crash.log"
    backend = FakeBackend(workspace, script=[[fail(ValueError("oh [no"))], [say("fine")]])
    settings = UiSettings(crash_log=log, typing_s=0.0)
    async with stage(workspace, backend=backend, settings=settings) as here:
        await here.send("one")
        await here.idle()
        assert any("made a mistake" in text and str(log) in text for text in here.notices)
        await here.send("two")
        await here.idle()

        assert here.shown[-1] == ("assistant", "fine")
        assert "ValueError: oh [no" in log.read_text()
        assert log.stat().st_mode & 0o777 == 0o600


async def test_an_unhandled_error_leaves_a_sentence_and_a_log(workspace: Path, tmp_path: Path) -> None:
    log = tmp_path / "crash.log"
    with pytest.raises(ZeroDivisionError):  # noqa: PT012 - the error leaves through the context manager
        async with stage(workspace, settings=UiSettings(crash_log=log)) as here:
            here.app.call_later(lambda: 1 // 0)
            await here.pilot.pause(0.1)

    assert "ZeroDivisionError" in log.read_text()
    assert "Details:" in here.app.crash_message


# Stopping and leaving


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


async def test_leaving_never_waits_for_a_core_that_hangs(workspace: Path) -> None:
    class Hanging(FakeBackend):
        async def aclose(self) -> None:
            await asyncio.Event().wait()

    async with stage(workspace, backend=Hanging(workspace)) as here:
        await here.press("ctrl+q")
        await here.until(lambda: here.app.return_value == 0, tries=300)


async def test_tu_13_the_farewell_says_how_to_go_on(workspace: Path) -> None:
    async with stage(workspace) as here:
        assert here.app.farewell() == "Session kept. Go on with: agent-tui --resume s-1"


# The queue


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
        assert any("agent-tui" in text for text in here.notices)
        assert backend.calls == []
        gate.set()
        await here.until(lambda: backend.calls)

        assert backend.calls == ["draft the tests"]


# Events


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
        await here.until(lambda: here.app.transcript.document.blocks[1].data.state == "running")
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


# Commands


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


async def test_a90_arguments_are_trimmed_and_completed(workspace: Path) -> None:
    async with stage(workspace) as here:
        await here.type("/mode ")
        await here.until(lambda: here.app.completion.is_open)
        assert here.app.completion.texts[:2] == ["default", "accept-edits"]
        await here.type("pl")
        await here.until(lambda: here.app.completion.texts == ["plan"])
        await here.press("tab")
        assert here.app.prompt.text == "/mode plan"
        await here.press("enter")
        assert here.backend.view.mode == "plan"
        await here.send("/mode    accept-edits   ")
        assert here.backend.view.mode == "accept-edits"


async def test_item_62_an_unknown_slash_word_is_a_sentence_and_two_slashes_are_text(workspace: Path) -> None:
    async with stage(workspace) as here:
        await here.send("/sesions now")
        await here.send("//etc/hosts is what?")
        await here.idle()

        assert here.notices[0].startswith("! There is no command /sesions. Did you mean /resume")
        assert here.backend.prompts == ["/etc/hosts is what?"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/tools", "bundled (2)\n  read  Reads a file\n  bash  Runs"),
        ("/usage", "Input "),
        ("/cost", "Input "),
        ("/status", "Model    scripted:scripted-1"),
        ("/status", "Mode     ask\n"),
        ("/context", "12k of 200k tokens (6 %)"),
        ("/permissions test git push", "git push: would ask"),
        ("/model other:big", "The model is now other:big."),
        ("/rename my work", "The session is now called my work."),
        ("/context", "Tools          ~4.0k"),
        ("/effort high", "The effort is high."),
        ("/compact undo", "The compaction is taken back."),
        ("/pin", "Nothing is pinned."),
        ("/btw why?", "Aside, answered: Forty-two."),
        ("/goal", "There is no goal."),
        ("/loop 0 x", "Write /loop N PROMPT"),
        ("/mode nope", "There is no mode 'nope'"),
        ("/resume nope", "There is no session 'nope'"),
    ],
)
async def test_commands_answer_in_the_conversation(workspace: Path, text: str, expected: str) -> None:
    async with stage(workspace) as here:
        await here.send(text)
        await here.until(lambda: here.notices)

        assert any(expected in notice for notice in here.notices)
        assert here.backend.prompts == []


@pytest.mark.parametrize("text", ["/quit", "/exit", "/q", "exit", ":q", "  /quit  "])
async def test_every_way_to_say_quit_quits(workspace: Path, text: str) -> None:
    async with stage(workspace) as here:
        await here.send(text)
        await here.until(lambda: here.app.return_value == 0)


async def test_a_mode_can_be_chosen_by_the_word_that_the_status_line_uses(workspace: Path) -> None:
    async with stage(workspace) as here:
        await here.send("/mode plan")
        await here.send("/mode ask")
        await here.until(lambda: here.backend.status().mode == "default")
        await here.send("/mode don't ask")
        await here.until(lambda: here.backend.status().mode == "dont-ask")


@pytest.mark.parametrize("text", ["/clear", "/new", "/reset", "/new-session"])
async def test_clear_starts_a_new_session(workspace: Path, text: str) -> None:
    async with stage(workspace) as here:
        await here.send("hi")
        await here.idle()
        await here.send(text)
        await here.until(lambda: here.backend.calls)

        assert here.backend.calls == ["new_session"]
        assert here.shown == []


async def test_a_session_is_picked_by_a_few_letters(workspace: Path) -> None:
    backend = FakeBackend(workspace)
    backend.session_views = [
        SessionView("s-1", "", 10.0, 1, "fix the parser"),
        SessionView("s-2", "docs", 20.0, 4, "write docs"),
    ]
    async with stage(workspace, backend=backend) as here:
        await here.send("/sessions")
        await here.until(lambda: isinstance(here.app.screen, Picker))
        await here.type("doc")
        await here.press("enter")
        await here.until(lambda: backend.calls)

        assert backend.calls == ["resume s-2"]
        await here.send("/resume s-1")
        await here.until(lambda: len(backend.calls) == 2)


async def test_a_model_is_picked_and_the_status_line_shows_it(workspace: Path) -> None:
    async with stage(workspace) as here:
        await here.send("/model")
        await here.until(lambda: isinstance(here.app.screen, Picker))
        await here.press("down", "enter")
        await here.until(lambda: here.notices)

        assert here.backend.view.model == "scripted-2"
        assert "scripted-2" in here.picture()


async def test_a94_item_63_themes_preview_live_and_escape_puts_the_old_one_back(workspace: Path) -> None:
    remembered: list[tuple[str, str]] = []
    settings = UiSettings(
        theme_folders=(THEMES,), typing_s=0.0, remember=lambda key, value: remembered.append((key, value))
    )
    async with stage(workspace, settings=settings) as here:
        dark = here.app.palette
        await here.send("/theme")
        await here.until(lambda: isinstance(here.app.screen, Picker))
        await here.press("down")
        assert not here.app.palette.is_dark
        await here.press("escape")
        assert here.app.palette == dark

        await here.send("/theme NORD")
        await here.until(lambda: here.app.chosen_theme.name == "nord")
        assert remembered == [("theme", "nord")]
        await here.send("/theme nope")
        await here.until(lambda: here.notices)
        assert here.app.chosen_theme.name == "nord"
        assert "no theme 'nope'" in here.notices[0]


async def test_rules_are_listed_and_a_grant_is_revoked(workspace: Path) -> None:
    backend = FakeBackend(workspace)
    backend.rule_views = [
        RuleView("r1", "deny", "Bash(rm *)", "user", "config.toml:3"),
        RuleView("r2", "allow", "Edit(/src/**)", "session", "this session", removable=True),
    ]
    async with stage(workspace, backend=backend) as here:
        await here.send("/approvals")
        await here.until(lambda: isinstance(here.app.screen, RulesScreen))
        await here.press("ctrl+d")
        assert len(backend.rule_views) == 2
        await here.press("down", "ctrl+d")
        assert [rule.rule_id for rule in backend.rule_views] == ["r1"]
        await here.press("escape")
        assert not here.app.in_dialog


async def test_bypass_asks_once_and_no_is_the_default(workspace: Path) -> None:
    async with stage(workspace) as here:
        await here.send("/yolo")
        await here.until(lambda: isinstance(here.app.screen, Confirm))
        await here.press("enter")
        assert here.backend.view.mode == "default"
        await here.send("/yolo")
        await here.until(lambda: isinstance(here.app.screen, Confirm))
        await here.press("y")
        await here.until(lambda: here.backend.view.mode == "bypass")

        assert "BYPASS" in here.picture()


async def test_item_23_bypass_is_visible_in_the_status_line(workspace: Path) -> None:
    backend = FakeBackend(workspace, status=StatusView(model="m", mode="bypass"))
    async with stage(workspace, backend=backend, size=(40, 10)) as here:
        assert "BYPASS" in here.picture()


async def test_shift_tab_cycles_the_modes(workspace: Path) -> None:
    async with stage(workspace) as here:
        seen = []
        for _ in range(3):
            await here.press("shift+tab")
            seen.append(here.backend.view.mode)

        assert seen == ["accept-edits", "plan", "default"]


async def test_x07_x12_a_command_of_others_can_ask_tell_and_send_and_replaces_nothing(
    workspace: Path,
) -> None:
    async def run(host: CommandHost, args: str) -> None:
        if await host.confirm("Ship it?", f"Really {args}?"):
            host.notice("info", "shipped")
            host.submit("tell me more")

    ship = Command("ship", "ship it", run, usage="what", needs_args=True, source="my-extension")
    taken = Command("help", "mine", run, source="my-extension")
    async with stage(workspace, commands=[ship, taken]) as here:
        assert "The command /help of my-extension is left out" in here.notices[0]
        await here.send("/ship")
        assert here.app.prompt.text == "/ship "
        await here.type("v1")
        await here.press("escape", "enter")
        await here.until(lambda: isinstance(here.app.screen, Confirm))
        await here.press("y")
        await here.until(lambda: here.backend.prompts)

        assert here.backend.prompts == ["tell me more"]
        assert "shipped" in here.notices


async def test_help_lists_every_command_and_every_key_that_works(workspace: Path) -> None:
    async with stage(workspace, size=(100, 40)) as here:
        await here.send("/help")
        await here.until(lambda: isinstance(here.app.screen, Help))
        assert isinstance(here.app.screen, Help)
        text = "\n".join(line.plain for line in here.app.screen.lines(""))

        for command in here.app.registry.all():
            assert f"/{command.name}" in text
        assert "Shift+Tab" in text
        assert "allow once" in text
        await here.type("paste no such thing")
        assert "Nothing found" in here.picture()


@pytest.mark.parametrize("width", [40, 60, 80, 120])
async def test_the_help_cuts_no_description_at_any_width(workspace: Path, width: int) -> None:
    async with stage(workspace, size=(width, 40)) as here:
        here.app.actions.show_help("")
        await here.until(lambda: isinstance(here.app.screen, Help))
        await here.settle()
        assert isinstance(here.app.screen, Help)
        rows = here.app.screen.query_one(Rows)
        lines = [line.plain for line in here.app.screen.lines("")]

        assert rows.texts == lines
        assert max(map(len, lines)) < rows.scrollable_content_region.width
        words = " ".join(" ".join(lines).split())
        for command in here.app.registry.all():
            assert command.summary in words


async def test_the_palette_runs_what_is_chosen(workspace: Path) -> None:
    async with stage(workspace) as here:
        await here.press("ctrl+k")
        await here.until(lambda: isinstance(here.app.screen, Picker))
        await here.type("versi")
        await here.press("enter")
        await here.until(lambda: here.notices)

        assert here.notices[0].startswith("agent-tui ")


async def test_ctrl_r_finds_an_earlier_prompt(workspace: Path) -> None:
    backend = FakeBackend(workspace)
    backend.history = ["write tests", "fix the bug", "explain"]
    async with stage(workspace, backend=backend) as here:
        await here.press("ctrl+r")
        await here.until(lambda: isinstance(here.app.screen, Picker))
        await here.type("bug")
        await here.press("enter")
        await here.until(lambda: here.app.prompt.text == "fix the bug")


async def test_a_whole_result_can_be_opened(workspace: Path) -> None:
    backend = FakeBackend(workspace)
    backend.full["c1"] = ReplayBlock(
        kind="tool",
        text="\n".join(f"line {n}" for n in range(500)),
        call_id="c1",
        display_name="Read",
        full_lines=500,
    )
    async with stage(workspace, backend=backend) as here:
        here.app.actions.open_full("c1")
        await here.until(lambda: here.app.in_dialog)
        assert "500 lines" in here.picture()
        await here.press("end")
        await here.until(lambda: "line 499" in here.picture())
        await here.press("escape")
        here.app.actions.open_full("c2")
        await here.until(lambda: here.notices)
        assert here.notices == ["! The whole output was not kept."]


async def test_keys_pressed_while_nothing_has_focus_go_to_the_prompt(workspace: Path) -> None:
    async with stage(workspace) as here:
        here.app.screen.set_focus(None)
        await here.press("a", "b")

        assert here.app.prompt.text == "ab"


async def test_typing_warms_the_core_up(workspace: Path) -> None:
    async with stage(workspace) as here:
        assert here.backend.warmed == 0
        await here.type("a")
        await here.until(lambda: here.backend.warmed)


async def test_x23_files_are_offered_after_an_at_sign(workspace: Path) -> None:
    (workspace / "src").mkdir()
    (workspace / "src" / "parser.py").write_text("")
    (workspace / "notes with space.md").write_text("")
    (workspace / ".gitignore").write_text("*.log\n")
    (workspace / "x.log").write_text("")
    async with stage(workspace) as here:
        await here.type("look at @par")
        await here.until(lambda: "src/parser.py" in here.app.completion.texts)
        await here.press("tab")
        assert here.app.prompt.text == "look at @src/parser.py "
        await here.type("@")
        await here.until(lambda: here.app.completion.is_open)
        assert "x.log" not in here.app.completion.texts
        await here.type("space")
        await here.until(lambda: here.app.completion.texts == ["notes with space.md"])
        await here.press("enter")
        assert here.app.prompt.text == 'look at @src/parser.py @"notes with space.md" '


async def test_enter_sends_once_the_mentioned_folder_stands_there(workspace: Path) -> None:
    (workspace / "calc").mkdir()
    (workspace / "calc" / "core.py").write_text("")
    async with stage(workspace) as here:
        await here.type("read @ca")
        await here.until(lambda: "calc/" in here.app.completion.texts)
        await here.press("tab")
        assert here.app.prompt.text == "read @calc/"
        await here.until(lambda: here.app.completion.is_open)
        await here.press("enter")
        await here.until(lambda: here.backend.prompts == ["read @calc/"])
        await here.idle()
        assert not here.app.completion.is_open


async def test_a_waiting_call_shows_what_it_is_about(workspace: Path) -> None:
    gate = asyncio.Event()
    calls = (ToolCall(call_id="c1", name="write", arguments_json='{"file_path": "a.py", "content": "x"}'),)
    steps = [emit(RoundStarted(turn_id="t", round_index=0, calls=calls)), wait_for(gate)]
    async with stage(workspace, backend=FakeBackend(workspace, script=[steps])) as here:
        await here.send("go")
        await here.until(lambda: len(here.app.transcript.document.blocks) == 2)
        panel = here.app.transcript.document.blocks[1].data
        assert (panel.display_name, panel.title, panel.state) == ("Write", "a.py", "waiting")
        gate.set()
        await here.idle()


async def test_the_queue_says_that_up_takes_back_only_while_it_does(workspace: Path) -> None:
    gate = asyncio.Event()
    async with stage(workspace, backend=FakeBackend(workspace, script=[[wait_for(gate)]])) as here:
        await here.send("go")
        await here.send("later")
        await here.until(lambda: here.app.queue_view.display)
        assert "↑ takes back" in here.app.queue_view.render().plain
        await here.type("draft")
        assert "takes back" not in here.app.queue_view.render().plain
        await here.press("up")
        assert here.app.driver.queued()
        gate.set()
        await here.idle()


async def test_tu_20_an_at_sign_in_a_folder_that_cannot_be_read_leaves_keys_working(workspace: Path) -> None:
    backend = FakeBackend(workspace / "gone")
    async with stage(workspace, backend=backend) as here:
        await here.type("@a")
        await here.press("backspace", "escape")
        await here.type("b")

        assert here.app.prompt.text == "@b"


async def test_a_bad_keymap_or_theme_is_a_sentence_and_the_default_stays(
    workspace: Path, tmp_path: Path
) -> None:
    keymap = tmp_path / "keymap.toml"
    keymap.write_text('[prompt]\n"enter" = "nope"\n')
    settings = UiSettings(theme="nope", theme_folders=(THEMES,), keymap_file=keymap)
    async with stage(workspace, settings=settings) as here:
        assert any("line 2" in text and "default keys" in text for text in here.notices)
        assert any("no theme 'nope'" in text for text in here.notices)
        assert here.app.palette.is_dark


async def test_a_keymap_file_changes_what_keys_do(workspace: Path, tmp_path: Path) -> None:
    keymap = tmp_path / "keymap.toml"
    keymap.write_text('[prompt]\n"ctrl+t" = "stash"\n')
    async with stage(workspace, settings=UiSettings(keymap_file=keymap, typing_s=0.0)) as here:
        await here.type("draft")
        await here.press("ctrl+t")

        assert here.app.prompt.text == ""


async def test_tu_02_markup_in_anything_the_status_line_shows_is_text(workspace: Path) -> None:
    status = StatusView(model="z [b +", branch="[/", session_name="a\\")
    async with stage(workspace, backend=FakeBackend(workspace, status=status), size=(120, 20)) as here:
        last = here.picture().rstrip("\n").split("\n")[-1]

        assert "z [b +" in last
        assert "git [/" in last
        assert "a\\" in last


@pytest.mark.parametrize("size", [(20, 5), (10, 3), (1, 1), (300, 90)])
async def test_tu_15_every_size_takes_a_prompt(workspace: Path, size: tuple[int, int]) -> None:
    async with stage(workspace, size=size) as here:
        await here.send("hi")
        await here.idle()

        assert here.backend.prompts == ["hi"]


async def test_tu_15_a_storm_of_resizes_while_streaming_breaks_nothing(workspace: Path) -> None:
    text = "word " * 400
    async with stage(workspace, backend=FakeBackend(workspace, script=[[say(text)]])) as here:
        await here.send("go")
        for width in range(100):
            await here.app._on_resize(
                events.Resize(*[here.app.size.__class__(20 + width, 5 + width % 40)] * 2)
            )
        await here.idle()

        assert here.shown[-1] == ("assistant", text)


async def test_tu_25_dialogs_opened_and_closed_while_streaming_break_nothing(workspace: Path) -> None:
    gate = asyncio.Event()
    async with stage(
        workspace, backend=FakeBackend(workspace, script=[[say("x" * 700), wait_for(gate), say("end")]])
    ) as here:
        await here.send("go")
        for _ in range(5):
            await here.press("f1", "escape")
        gate.set()
        await here.idle()

        assert here.shown[-1] == ("assistant", "end")


async def test_context_is_shown_by_how_full_it_is(workspace: Path) -> None:
    status = StatusView(model="m", context_tokens=195_000, context_limit_tokens=200_000)
    async with stage(workspace, backend=FakeBackend(workspace, status=status)) as here:
        assert "context 98 % !!! /compact" in here.picture()


async def test_a_repeated_quit_key_is_forgotten_after_two_seconds(workspace: Path) -> None:
    async with stage(workspace, settings=UiSettings(clock=Clock())) as here:
        await here.press("ctrl+d")
        here.app.presses.disarm()
        await here.press("ctrl+d")

        assert here.app.return_value is None


async def test_every_bundled_theme_can_be_put_on(workspace: Path) -> None:
    async with stage(workspace, settings=UiSettings(theme_folders=(THEMES,), typing_s=0.0)) as here:
        for name in here.app.shelf.names():
            await here.app.actions.switch_theme(name)
            await here.settle()
            assert here.app.chosen_theme.name == name

        assert here.notices == []


async def test_history_search_goes_through_its_scopes(workspace: Path) -> None:
    backend = FakeBackend(workspace)
    backend.history, backend.history_here = ["far away", "near by"], ["near by"]
    async with stage(workspace, backend=backend) as here:
        await here.send("just now")
        await here.idle()
        await here.press("ctrl+r")
        await here.until(lambda: "Earlier prompts · everywhere" in here.picture())
        assert "far away" in here.picture()
        await here.press("ctrl+s")
        assert "· this project" in here.picture()
        assert "far away" not in here.picture()
        assert "near by" in here.picture()
        await here.press("ctrl+s")
        assert "near by" not in here.picture().split("Earlier prompts")[1]
        await here.press("ctrl+s", *"away", "enter")
        await here.until(lambda: here.app.prompt.text == "far away")
