import asyncio
import io
import os
from pathlib import Path

import pytest

from agent_tui.protocol.display import DisplayResult
from agent_tui.protocol.errors import AgentTuiError
from agent_tui.protocol.events import ToolFinished, TurnFailed
from agent_tui.protocol.replay import ReplayBlock
from agent_tui.protocol.tools import TurnResult
from agent_tui.ui.backend import RuleView, SessionView
from agent_tui.ui.house import TrustLine, TrustView
from agent_tui.ui.linear.program import LinearProgram
from tests.support.fake_backend import FakeBackend, emit, say, wait_for
from tests.support.linear_world import talk
from tests.support.patience import until
from tests.support.settings_world import SettingsWorld


async def test_a_reply_comes_with_its_label_line_by_line(tmp_path: Path) -> None:
    backend = FakeBackend(tmp_path, script=[[say("First line.\nSecond \x1b[31mline.")]])

    async with talk(tmp_path, backend) as here:
        said = await here.answer("hello", "Done in")

    assert said.startswith("Working.\nAssistant:\nFirst line.\nSecond ␛[31mline.\nDone in 0 seconds")
    assert "\x1b" not in here.said
    assert backend.prompts == ["hello"]
    assert "\a" in here.said


async def test_the_prompt_of_the_start_is_sent(tmp_path: Path) -> None:
    async with talk(tmp_path, prompt="do it") as here:
        await here.until("Done in")

    assert here.backend.prompts == ["do it"]
    assert "You: do it\n" in here.said


async def test_a_session_that_is_opened_is_read_out_with_labels(tmp_path: Path) -> None:
    blocks = [
        ReplayBlock(kind="user", text="Ask."),
        ReplayBlock(kind="assistant", text="Answer."),
        ReplayBlock(kind="tool", text="x", display_name="Bash", title="ls", state="error"),
    ]
    async with talk(tmp_path, FakeBackend(tmp_path, blocks=blocks)) as here:
        assert "You: Ask.\nAssistant:\nAnswer.\nTool, Bash: ls (error)\n" in here.said


async def test_a_long_result_is_cut_and_output_reads_out_all_of_it(tmp_path: Path) -> None:
    lines = "\n".join(f"line {number}" for number in range(40))
    done = ToolFinished(
        turn_id="t",
        call_id="c1",
        tool="bash",
        display_name="Bash",
        title="seq",
        is_error=False,
        output=lines,
        display=DisplayResult(content=lines, full_length=len(lines), full_lines=40, summary="40 lines"),
    )
    backend = FakeBackend(tmp_path, script=[[emit(done)]])
    backend.full["c1"] = ReplayBlock(kind="tool", text=lines, display_name="Bash", title="seq")

    async with talk(tmp_path, backend) as here:
        said = await here.answer("go", "Done in")
        assert "Result of tool 1: 40 lines\nline 0\n" in said
        assert "28 more lines. /output 1 shows all." in said
        assert "line 39" in await here.answer("/output 1", "line 39")
        await here.answer("/output 7", "There is no output of a tool 7.")


async def test_lines_that_come_at_once_are_one_message_and_a_backslash_goes_on(tmp_path: Path) -> None:
    async with talk(tmp_path) as here:
        await here.answer("one\ntwo", "Done in")
        await here.answer("three\\", "more: ")
        await here.answer("four", "Done in")

    assert here.backend.prompts == ["one\ntwo", "three\nfour"]


async def test_what_is_written_during_a_turn_is_queued_for_it(tmp_path: Path) -> None:
    gate = asyncio.Event()
    async with talk(tmp_path, FakeBackend(tmp_path, script=[[wait_for(gate)]])) as here:
        await here.answer("go", "Working.")
        here.type("and this\n")
        await here.until("Queued")
        assert here.backend.queue == [("and this", False)]
        gate.set()
        await here.until("Done in")


@pytest.mark.parametrize(("line", "named"), [("my secret", True), ("/loop 3 never", False)])
async def test_what_was_written_and_not_sent_is_said_again_but_not_what_a_series_wrote(
    tmp_path: Path, line: str, named: bool
) -> None:
    class Refusing(FakeBackend):
        async def run_turn(self, text: str) -> TurnResult:
            await self.emit(TurnFailed(turn_id="t", error="No.", prompt_returned=True, returned=text))
            return TurnResult(stop_reason="failed", error="No.", prompt_returned=True)

    async with talk(tmp_path, Refusing(tmp_path)) as here:
        here.type(f"{line}\n")
        await here.until("Error: No.")
        await here.until(lambda: here.said.endswith("You: "))

        assert ("You had written" in here.said) is named


async def test_ctrl_c_stops_the_turn(tmp_path: Path) -> None:
    gate = asyncio.Event()
    async with talk(tmp_path, FakeBackend(tmp_path, script=[[wait_for(gate)]])) as here:
        await here.answer("go", "Working.")
        here.program._interrupt()
        await here.until("Stopped.")
        await here.until(lambda: here.said.endswith("You: "))


async def test_the_commands_of_the_screen_speak_too(tmp_path: Path) -> None:
    backend = FakeBackend(tmp_path)
    backend.rule_views = [RuleView("r1", "allow", "Bash(ls *)", "user", "/c/config.toml:3")]
    backend.session_views = [SessionView("s-2", "parser", 0.0, 3, "Fix it", str(tmp_path))]
    backend.house.desk = SettingsWorld(tmp_path).desk
    async with talk(tmp_path, backend) as here:
        await here.answer("/help mode", "/mode [name]: permission mode")
        await here.answer("/status", "scripted:scripted-1")
        await here.answer("/permissions", "allow Bash(ls *), user, /c/config.toml:3")
        await here.answer("/config", "ui.theme = dark, from default")
        await here.answer("/plan", "Mode: plan.")
        await here.answer("/mode", "Mode: default.")
        await here.answer("/doctor", "python")
        await here.answer("/nope", "There is no command /nope.")
        await here.answer("/rename", "Write /rename name.")
        await here.answer("/model", "2. scripted-2")
        await here.answer("2", "The model is now scripted-2.")
        await here.answer("/resume", "1. ")
        await here.answer("1", "You: ")

    assert "resume s-2" in backend.calls


async def test_what_is_not_there_yet_is_said_without_the_word_error(tmp_path: Path) -> None:
    async with talk(tmp_path) as here:
        said = await here.answer("/fork", "There is nothing to copy yet.")

    assert "Error" not in said


async def test_a_search_reads_out_the_entries_that_hold_the_text(tmp_path: Path) -> None:
    blocks = [ReplayBlock(kind="user", text="A Needle."), ReplayBlock(kind="assistant", text="hay\nneedles")]
    async with talk(tmp_path, FakeBackend(tmp_path, blocks=blocks)) as here:
        said = await here.answer("/search needle", "entries hold")
        assert "You: A Needle.\nAssistant: needles\n2 entries hold 'needle'." in said
        await here.answer("/search Needle", "1 entries hold")
        await here.answer("/search straw", "'straw' is not in the conversation.")


async def test_a_project_with_configuration_is_asked_about_and_enter_is_no(tmp_path: Path) -> None:
    backend = FakeBackend(tmp_path)
    backend.house.trust_view = TrustView(
        lines=(TrustLine("run", "server", "evil --now", ".mcp.json"),), digest="d"
    )
    async with talk(tmp_path, backend) as here:
        await here.until("1. No")
        assert "run: server\n    evil --now\n    in .mcp.json" in here.said
        await here.answer("", "left out")

    assert backend.house.calls == []


async def test_a_shell_line_runs_and_says_its_output(tmp_path: Path) -> None:
    async with talk(tmp_path) as here:
        await here.answer("!ls", "shown")
        await here.answer("!!ls", "shown")

    assert [call for call in here.backend.house.calls if call[0] == "run_shell"] == [
        ("run_shell", "ls", False),
        ("run_shell", "ls", True),
    ]


async def test_the_end_of_the_input_leaves_and_says_how_to_go_on(tmp_path: Path) -> None:
    async with talk(tmp_path) as here:
        here.type("\x04")
        await here.until("agent-tui --resume s-1")

    assert here.backend.closed


async def test_a_start_that_fails_says_what_was_not_sent() -> None:
    gate = asyncio.Event()

    async def load() -> FakeBackend:
        await gate.wait()
        raise AgentTuiError("config.toml: model: expected a name")

    keyboard, terminal = os.openpty()
    out = io.StringIO()
    program = LinearProgram(load, fd=terminal, out=out, grace_s=0.0)
    try:
        async with asyncio.TaskGroup() as group:
            running = group.create_task(program.run())
            os.write(keyboard, b"count petals\n")
            await until(lambda: program.driver.early)
            gate.set()
            code = await running
    finally:
        os.close(keyboard)
        os.close(terminal)

    assert code == 1
    assert "Error: config.toml: model: expected a name\nNot sent:\ncount petals\n" in out.getvalue()
