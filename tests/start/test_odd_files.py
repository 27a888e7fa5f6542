"""Pipes, devices and dangling links in the place of a person's files hold nothing up and are named."""

import os
from pathlib import Path

import pytest

from agent_tui.cli import main
from agent_tui.config.paths import user_paths
from agent_tui.run.preferences import Preferences
from tests.support.core_world import config_folder, configure


@pytest.fixture(autouse=True)
def _there(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(workspace)


def put(path: Path, kind: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    match kind:
        case "pipe":
            os.mkfifo(path)
        case "folder":
            path.mkdir()
        case _:
            path.symlink_to({"device": "/dev/zero", "nowhere": "/nowhere"}[kind])


@pytest.mark.parametrize(
    ("name", "kind", "said"),
    [
        ("config.toml", "pipe", "config.toml: is not a regular file"),
        ("config.toml", "device", "config.toml: is not a regular file"),
        ("config.toml", "folder", "config.toml: is a folder"),
        ("keymap.toml", "pipe", "keymap.toml: keymap: is not a regular file"),
        ("keymap.toml", "device", "keymap.toml: keymap: is not a regular file"),
        ("keymap.toml", "folder", "keymap.toml: keymap: is a folder"),
        ("themes/mine.toml", "pipe", "mine.toml: theme: is not a regular file"),
        ("themes/mine.toml", "nowhere", "mine.toml: theme: cannot be read: No such file or directory"),
    ],
)
def test_validate_names_a_file_that_is_none(
    name: str, kind: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    put(config_folder() / name, kind)

    assert main(["config", "validate"]) == 1
    assert said in (printed := capsys.readouterr().out)
    assert printed.endswith("1 problem\n")


@pytest.mark.parametrize("kind", ["pipe", "device", "folder", "nowhere"])
def test_the_first_frame_waits_for_no_settings_file(kind: str) -> None:
    put(config_folder() / "config.toml", kind)

    assert Preferences(user_paths()).theme({}) == "dark"


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ("ui = 3\n", "config.toml:1: ui: a table is expected, [ui], got 3; nothing of it counts"),
        ("[profiles]\nx = 3\n", "config.toml:2: profiles.x: a table is expected, [profiles.x], got 3"),
        ("[profiles.x]\nui = 3\n", "config.toml:2: ui: a table is expected, [ui], got 3"),
        ("mcp = 3\n", "config.toml:1: mcp: a table is expected"),
        ("[mcp]\nservers = 3\n", "config.toml:2: mcp.servers: a table is expected"),
        ('[ui]\nstatus = ["mode", 3]\n', "config.toml:2: ui.status: a text is expected, got 3; the default"),
    ],
)
def test_what_stands_in_the_place_of_a_table_is_told_once(
    settings: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    configure(settings)

    assert main(["config", "validate"]) == 1
    assert said in (printed := capsys.readouterr().out)
    assert printed.endswith("\n1 problem\n")
