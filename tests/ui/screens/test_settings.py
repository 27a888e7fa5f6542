from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from agent_tui.ui.screens.settings.screen import SettingsScreen
from tests.support.fake_backend import FakeBackend
from tests.support.screens import Stage, stage
from tests.support.settings_world import SettingsWorld


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SettingsWorld:
    monkeypatch.setenv("HOME", str(tmp_path))
    return SettingsWorld(tmp_path)


@asynccontextmanager
async def settings(
    world: SettingsWorld, command: str = "/config", size: tuple[int, int] = (110, 40)
) -> AsyncIterator[Stage]:
    backend = FakeBackend(world.workspace)
    backend.house.desk = world.desk
    async with stage(world.workspace, backend=backend, size=size) as here:
        await here.send(command)
        await here.until(lambda: isinstance(here.app.screen, SettingsScreen))
        await here.until(
            lambda: "model.provider" in here.picture() or "wrong" in here.picture() or "!" in here.picture()
        )
        yield here


async def test_the_screen_shows_each_value_with_file_and_line(world: SettingsWorld) -> None:
    world.user('# mine\n[ui]\ntheme = "nord"\n')

    async with settings(world) as here:
        await here.type("theme")

        assert "~/c/config.toml:3" in here.picture()
        assert "nord" in here.picture()
        assert "default dark" in here.picture()


async def test_settings_is_the_same_command(world: SettingsWorld) -> None:
    async with settings(world, "/settings") as here:
        assert "In force" in here.picture()


async def test_a_choice_is_written_with_comments_kept(world: SettingsWorld) -> None:
    file = world.user("# mine\n[ui]  # the screen\nmouse = true # why not\n")

    async with settings(world) as here:
        await here.type("ui.mouse")
        await here.press("enter")
        await here.type("false")
        await here.press("enter")
        await here.until(lambda: "✓" in here.picture())

        assert "from the next start" in here.picture()

    assert file.read_text() == "# mine\n[ui]  # the screen\nmouse = false # why not\n"


async def test_a_theme_chosen_there_is_seen_at_once(world: SettingsWorld) -> None:
    async with settings(world) as here:
        await here.type("ui.theme")
        await here.press("enter")
        await here.type("light")
        await here.press("enter")
        await here.until(lambda: here.app.chosen_theme.name == "light")
        await here.until(lambda: "✓" in here.picture())

        assert "at once" in here.picture()

    assert 'theme = "light"' in world.paths.user_config.read_text()


async def test_a_value_that_does_not_fit_is_said_and_nothing_is_written(world: SettingsWorld) -> None:
    async with settings(world) as here:
        await here.type("max_rounds")
        await here.press("enter", "ctrl+u")
        await here.type("many")
        await here.press("enter")
        await here.until(lambda: "✗" in here.picture())

        assert "a whole number is expected" in here.picture()

    assert not world.paths.user_config.exists()


async def test_each_file_has_a_page_of_its_own(world: SettingsWorld) -> None:
    world.user('[model]\nname = "a"\n')
    world.project('[model]\nname = "b"\n')

    async with settings(world) as here:
        await here.press("tab")
        assert "line 2, overruled by ~/proj/.agent-tui/config.toml:2" in here.picture()
        await here.press("tab")
        assert "proj/.agent-tui/config.toml" in here.picture()
        await here.type("model.name")
        await here.press("enter", "ctrl+u")
        await here.type("c")
        await here.press("enter")
        await here.until(lambda: "✓" in here.picture())

    assert '"c"' in (world.workspace / ".agent-tui" / "config.toml").read_text()
    assert '"a"' in world.paths.user_config.read_text()


async def test_a_setting_is_taken_out_of_its_file(world: SettingsWorld) -> None:
    file = world.user('[model]\nname = "a"  # x\neffort = "low"\n')

    async with settings(world) as here:
        await here.press("tab")
        await here.type("model.name")
        await here.press("ctrl+d")
        await here.until(lambda: "taken out" in here.picture())

    assert file.read_text() == '[model]\neffort = "low"\n'


async def test_the_page_of_an_untrusted_project_says_that_it_does_not_count(world: SettingsWorld) -> None:
    world.trusted = False
    world.project('[model]\nname = "b"\n')

    async with settings(world) as here:
        await here.press("tab", "tab")

        assert "not trusted: does not count" in here.picture()


async def test_problems_have_a_page_with_file_and_line(world: SettingsWorld) -> None:
    world.user('[ui]\nthema = "nord"\n[limits]\nmax_rounds = "x"\n')
    world.rule_problems.append("/x/config.toml:9: no tool 'Bsh'")

    async with settings(world, "/config problems") as here:
        assert "Problems (3)" in here.picture()
        assert "~/c/config.toml:2: ui.thema: is not a setting" in here.picture()
        assert "~/c/config.toml:4: limits.max_rounds" in here.picture()
        assert "config.toml:9: no tool 'Bsh'" in here.picture()


async def test_a_broken_keymap_is_among_the_problems(world: SettingsWorld, tmp_path: Path) -> None:
    from agent_tui.ui.settings import AppSettings

    keymap = tmp_path / "keymap.toml"
    backend = FakeBackend(world.workspace)
    backend.house.desk = world.desk
    chosen = AppSettings(grace_s=0.0, typing_s=0.0, keymap_file=keymap)
    async with stage(world.workspace, backend=backend, settings=chosen, size=(110, 40)) as here:
        keymap.write_text('[global]\n"f9" = "fly"\n')
        await here.send("/config problems")
        await here.until(lambda: "no action 'fly'" in here.picture())


async def test_one_setting_is_read_and_written_in_a_line(world: SettingsWorld) -> None:
    backend = FakeBackend(world.workspace)
    backend.house.desk = world.desk
    async with stage(world.workspace, backend=backend) as here:
        await here.send("/config limits.max_rounds 7")
        await here.until(lambda: here.notices)
        await here.send("/config limits.max_rounds")
        await here.until(lambda: len(here.notices) == 2)
        await here.send("/config --project model.name m-1")
        await here.until(lambda: len(here.notices) == 3)
        await here.send("/config max_round")
        await here.until(lambda: len(here.notices) == 4)

        assert "limits.max_rounds = 7 stands in" in here.notices[0]
        assert f"limits.max_rounds = 7  ({world.paths.user_config}:2)" in here.notices[1]
        assert "proj/.agent-tui/config.toml" in here.notices[2]
        assert "did you mean 'limits.max_rounds'?" in here.notices[3]


@pytest.mark.parametrize("size", [(40, 12), (20, 5)])
async def test_the_screen_fits_a_small_terminal(world: SettingsWorld, size: tuple[int, int]) -> None:
    backend = FakeBackend(world.workspace)
    backend.house.desk = world.desk
    async with stage(world.workspace, backend=backend, size=size) as here:
        await here.send("/config")
        await here.until(lambda: isinstance(here.app.screen, SettingsScreen))
        await here.press("down", "tab", "enter", "escape", "escape")

        assert not here.app.in_dialog
