import os

from agent_tui.config.paths import user_paths
from agent_tui.run.given_settings import settings_given
from agent_tui.run.options import RunOptions
from agent_tui.run.preferences import Preferences
from tests.support.core_world import configure


def test_settings_of_the_command_line_win_over_the_environment_and_the_file() -> None:
    configure('[ui]\ntheme = "light"\nmouse = true\n')
    given = settings_given('{"ui": {"mouse": false}}', ["ui.theme=nord"])
    environment = {"AGENT_TUI_THEME": "dracula"}

    preferences = Preferences(user_paths(), given=given)

    assert preferences.theme(environment) == "nord"
    assert preferences.theme(environment, flag="monokai") == "monokai"
    assert preferences.configured("mouse") is False
    assert Preferences(user_paths()).theme(environment) == "dracula"
    assert Preferences(user_paths()).theme({}) == "light"


def test_settings_from_a_pipe_are_read_once() -> None:
    reader, writer = os.pipe()
    os.write(writer, b'{"ui": {"theme": "nord"}}')
    os.close(writer)
    options = RunOptions(settings=f"/dev/fd/{reader}")

    first = dict(options.given)
    os.close(reader)

    assert options.overrides({}) == first == {"ui.theme": ("--settings", "nord")}
