import json
import logging
from pathlib import Path

import pytest

from agent_tui.cli import guarded
from agent_tui.run.log_file import logging_to
from tests.e2e.conftest import Place

TOOL = '''"""Divides."""

from pydantic import BaseModel

from agent_tui.toolkit.api import Permission, Tool, ToolContext, ToolResult


class Nothing(BaseModel):
    pass


class Divide(Tool[Nothing]):
    name = "divide"
    description = "Divide."
    params_type = Nothing

    def permissions(self, params: Nothing, ctx: ToolContext) -> list[Permission]:
        return []

    def run(self, params: Nothing, ctx: ToolContext) -> ToolResult:
        return ToolResult.success(str(1 / 0))
'''


def write_tool(place: Place) -> None:
    tools = place.home / ".config/agent-tui/tools"
    tools.mkdir(parents=True)
    (tools / "divide.py").write_text(TOOL)


def log(place: Place) -> str:
    file = place.home / ".local/state/agent-tui/agent-tui.log"
    assert file.stat().st_mode & 0o777 == 0o600
    return file.read_text()


def test_fault_of_an_own_tool_is_one_sentence_and_its_traceback_is_in_the_log(place: Place) -> None:
    write_tool(place)

    alone = place.run("tool", "divide", "--yes")
    asked = place.run("-p", "call divide {}", "--yolo")

    assert "ZeroDivisionError" in json.loads(alone.stdout)["content"]
    assert "ZeroDivisionError" in asked.stderr
    assert "Traceback" not in alone.stderr + asked.stderr
    assert log(place).count("Traceback") == 2


def test_fault_of_an_own_tool_is_no_lines_for_a_screen_reader(place: Place) -> None:
    write_tool(place)

    with place.terminal("--screen-reader", "--yolo", rows=200) as terminal:
        terminal.until("You:")
        terminal.send("call divide {}\r")
        terminal.until("Done in")
        terminal.send("\x04")
        terminal.wait()

    assert "ZeroDivisionError" in terminal.text
    assert "Traceback" not in terminal.text
    assert "Traceback" in log(place)


def test_fault_of_the_program_itself_is_one_sentence_and_exit_1(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))

    code = guarded(lambda: 1 // 0)

    said = capsys.readouterr().err
    kept = tmp_path / "agent-tui/agent-tui.log"
    assert (code, said.count("\n")) == (1, 1)
    assert said.startswith("agent-tui made a mistake (ZeroDivisionError")
    assert str(kept) in said
    assert "Traceback" in kept.read_text()


def test_log_that_cannot_be_written_is_not_worth_a_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")

    with logging_to(tmp_path / "file/agent-tui.log"):
        logging.getLogger("agent_tui.some").warning("lost", exc_info=ValueError("lost"))

    assert capsys.readouterr().err == ""
