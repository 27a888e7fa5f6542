import sys
from pathlib import Path

import pytest

from agent_tui.config.paths import user_paths
from agent_tui.config.settings import ExtensionSettings, Settings
from agent_tui.extensions.plugged.discover import Places, _is_named, find_extensions
from agent_tui.extensions.plugged.plug import Pace
from agent_tui.extensions.trust import TrustStore
from agent_tui.run.extensions import found_extensions
from agent_tui.run.options import RunOptions
from agent_tui.run.settings import loaded_settings
from tests.support.plug_world import plug_world, write_extension

TOOL = """
    def extend(agent):
        agent.register_tool("{tool}", "From {name}.", None, lambda arguments, ctx: "{name}")
"""


def offers(folder: Path, name: str, tool: str) -> None:
    write_extension(folder, name, TOOL.format(tool=tool, name=name))


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("def extend(agent:\n", "line 1: '(' was never closed"),
        ("import nothing_like_that\n", "ModuleNotFoundError"),
        ("x = 1\n", "has no function extend(agent)"),
        ("async def extend(agent): ...\n", "must be a plain function"),
        ("def extend(agent): raise KeyError('x')\n", "extend() failed: KeyError"),
        ("import sys\ndef extend(agent): sys.exit(3)\n", "extend() failed: SystemExit: 3"),
        ("def extend(agent): agent.on('nothing', print)\n", "there is no event 'nothing'"),
        ("import threading\ndef extend(agent): threading.Event().wait()\n", "did not load within 0.5 s"),
    ],
)
async def test_an_extension_that_fails_is_one_sentence_and_the_rest_load(
    code: str, said: str, workspace: Path, tmp_path: Path
) -> None:
    write_extension(tmp_path / "e", "a_bad", code)
    offers(tmp_path / "e", "good", "fine")

    async with plug_world(workspace, tmp_path / "e", pace=Pace(load_s=0.5)) as world:
        (notice,) = world.notices
        assert notice.startswith("The extension 'a_bad' is left out: ")
        assert said in notice
        assert str(tmp_path / "e" / "a_bad.py") in notice
        assert (await world.call("fine")).output == "good"
        assert [(row.name, bool(row.problem)) for row in world.host.rows()] == [
            ("good", False),
            ("a_bad", True),
        ]


async def test_an_extension_that_fails_half_way_has_registered_nothing(
    workspace: Path, tmp_path: Path
) -> None:
    write_extension(
        tmp_path / "e", "half", TOOL.format(tool="one", name="half") + "        raise ValueError('no')\n"
    )

    async with plug_world(workspace, tmp_path / "e") as world:
        assert list(world.tools.specs()) == []
        assert world.host.names() == []


async def test_x12_item_75_a_tool_of_a_name_that_is_taken_is_left_out_and_the_rest_stays(
    workspace: Path, tmp_path: Path
) -> None:
    offers(tmp_path / "e", "a", "same")
    write_extension(
        tmp_path / "e",
        "b",
        TOOL.format(tool="same", name="b")
        + "        agent.register_tool('own', 'Own.', None, lambda arguments, ctx: 'b')\n",
    )

    async with plug_world(workspace, tmp_path / "e") as world:
        assert (await world.call("same")).output == "a"
        assert (await world.call("own")).output == "b"

    assert world.notices == [
        "The tool 'same' of the extension 'b' is left out: extension:a has one of that name."
    ]


async def test_x16_a_projects_extension_takes_the_place_of_yours_of_the_same_name(
    workspace: Path, tmp_path: Path
) -> None:
    offers(tmp_path / "user", "same", "mine")
    offers(tmp_path / "project", "same", "theirs")

    async with plug_world(workspace, tmp_path / "user", project=tmp_path / "project") as world:
        assert [spec.name for spec in world.tools.specs()] == ["theirs"]

    (notice,) = world.notices
    assert f"of {tmp_path / 'user' / 'same.py'} is left out" in notice


def test_x16_one_switch_of_the_environment_turns_all_off(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = user_paths().user_extensions
    offers(folder, "mine", "tool")

    def found() -> list[str]:
        settings = loaded_settings(RunOptions(), workspace, trusted=False).settings
        return [one.name for one in found_extensions(settings, user_paths(), workspace, trusted=False).found]

    assert found() == ["mine"]
    monkeypatch.setenv("AGENT_TUI_EXTENSIONS", "off")
    assert found() == []


def test_settings_leave_out_one_or_all(workspace: Path) -> None:
    for name in ("one", "two"):
        offers(user_paths().user_extensions, name, name)

    def found(wanted: ExtensionSettings) -> list[str]:
        settings = Settings(extensions=wanted)
        return [one.name for one in found_extensions(settings, user_paths(), workspace, trusted=True).found]

    assert found(ExtensionSettings()) == ["one", "two"]
    assert found(ExtensionSettings(disable=("two",))) == ["one"]
    assert found(ExtensionSettings(enabled=False)) == []


def test_a_projects_extensions_are_looked_at_only_when_it_is_trusted_and_stand_on_the_trust_screen(
    workspace: Path, tmp_path: Path
) -> None:
    folder = workspace / ".agent-tui" / "extensions"
    offers(folder, "theirs", "theirs")
    (folder / "prog.toml").write_text('command = ["perl", "prog.pl"]\nenv = {A = "b"}\n')
    (folder / "odd.toml").write_text("command = \n")

    def found(trusted: bool) -> list[str]:
        found = found_extensions(Settings(), user_paths(), workspace, trusted=trusted).found
        return [one.name for one in found]

    assert found(False) == []
    assert found(True) == ["theirs", "odd", "prog"]
    shown = TrustStore(tmp_path).verdict(workspace).items
    details = {item.name: item.detail for item in shown if item.kind == "extension"}
    assert details["prog.toml"] == 'runs perl prog.pl {"env": {"A": "b"}}'
    assert details["odd.toml"].startswith("cannot be read")
    assert details["theirs.py"].startswith("code of")


async def test_installed_packages_bring_extensions_by_entry_point(
    workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = tmp_path / "site"
    write_extension(site, "plugged_sample", TOOL.format(tool="packaged", name="sample"))
    info = site / "plugged_sample-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: plugged-sample\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[agent_tui.extensions]\nsample = plugged_sample:extend\nwhole = plugged_sample\ngone = plugged_sample:nothing\n"
    )
    monkeypatch.syspath_prepend(site)

    async with plug_world(workspace, tmp_path / "none", packages=True) as world:
        rows = {row.name: row for row in world.host.rows()}
        assert rows["sample"].where == "the package plugged-sample"
        assert rows["sample"].offers == rows["whole"].offers == "packaged"
        assert "AttributeError" in rows["gone"].problem
        assert (await world.call("packaged")).output == "sample"
    sys.modules.pop("plugged_sample", None)


def test_hidden_files_and_folders_are_no_extensions(tmp_path: Path) -> None:
    for name in ("_private", ".hidden", "shown"):
        offers(tmp_path, name, "t")
    (tmp_path / "_off.toml").write_text('command = ["sh"]\n')
    (tmp_path / "package").mkdir()
    offers(tmp_path / "package", "__init__", "t")
    (tmp_path / "notes.txt").write_text("x")

    assert [one.name for one in find_extensions(Places(user=tmp_path, packages=False)).found] == [
        "package",
        "shown",
    ]


async def test_what_the_project_brought_goes_when_it_is_not_trusted_any_more(
    workspace: Path, tmp_path: Path
) -> None:
    offers(tmp_path / "user", "mine", "mine")
    offers(tmp_path / "project", "theirs", "theirs")

    async with plug_world(workspace, tmp_path / "user", project=tmp_path / "project") as world:
        await world.host.drop_project()
        world.host.publish(world.tools)

        assert [spec.name for spec in world.tools.specs()] == ["mine"]
        assert world.host.names() == ["mine"]


@pytest.mark.parametrize(
    ("text", "is_named"),
    [
        ("[console_scripts]\nother = other:main\n", False),
        ("[console_scripts]\nother = other:main\n\n[agent_tui.extensions]\nother = other\n", True),
    ],
)
def test_packages_metadata_is_read_only_where_a_package_names_our_group(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, is_named: bool
) -> None:
    info = tmp_path / "site" / "other-1.0.dist-info"
    info.mkdir(parents=True)
    (tmp_path / "site" / "without-1.0.dist-info").mkdir()
    (info / "entry_points.txt").write_text(text)
    monkeypatch.setattr(sys, "path", [str(tmp_path / "gone"), str(tmp_path / "site")])

    assert _is_named() == is_named


def test_packages_metadata_is_read_where_an_archive_is_on_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "all.zip").write_bytes(b"")
    monkeypatch.setattr(sys, "path", [str(tmp_path / "all.zip")])

    assert _is_named()
