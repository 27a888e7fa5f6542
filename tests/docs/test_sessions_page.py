from pathlib import Path

import pytest

from agent_tui.subcommands.root import root_command
from agent_tui.ui.commands.past import past_commands

PAGE = (Path(__file__).parents[2] / "docs" / "sessions.md").read_text()


@pytest.mark.parametrize("name", [command.name for command in past_commands()])
def test_every_command_about_the_past_stands_on_the_page(name: str) -> None:
    assert f"`/{name}" in PAGE


@pytest.mark.parametrize(
    "flag", ["--fork-session", "--session-id", "--no-session-persistence", "--on-approval"]
)
def test_every_flag_on_the_page_is_one(flag: str) -> None:
    assert flag in PAGE
    assert any(flag in parameter.opts for parameter in root_command(lambda _: 0).params)
