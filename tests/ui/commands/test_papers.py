from pathlib import Path

from agent_tui.ui.commands.papers import changelog, terminal_advice
from agent_tui.ui.keymap import Keymap
from agent_tui.ui.screens.viewer import Viewer
from agent_tui.ui.settings import AppSettings
from tests.support.screens import stage


def with_log(folder: Path) -> AppSettings:
    return AppSettings(grace_s=0.0, typing_s=0.0, crash_log=folder / "state" / "agent-tui.log")


async def test_debug_shows_the_end_of_the_log(workspace: Path, tmp_path: Path) -> None:
    settings = with_log(tmp_path)
    assert settings.crash_log is not None
    settings.crash_log.parent.mkdir()
    settings.crash_log.write_text("x" * 300_000 + "\nTraceback: the last fault\n")
    async with stage(workspace, settings=settings) as here:
        await here.send("/debug")
        await here.until(lambda: isinstance(here.app.screen, Viewer))
        await here.press("end")
        await here.until(lambda: "the last fault" in here.picture())
        await here.press("escape")


async def test_an_empty_log_is_said(workspace: Path, tmp_path: Path) -> None:
    async with stage(workspace, settings=with_log(tmp_path)) as here:
        await here.send("/debug")
        await here.until(lambda: any("The log is empty" in text for text in here.notices))


async def test_feedback_is_a_file_and_nothing_is_sent(workspace: Path, tmp_path: Path) -> None:
    async with stage(workspace, settings=with_log(tmp_path)) as here:
        await here.send("/feedback it was too fast")
        await here.until(lambda: any("Nothing of it was sent" in text for text in here.notices))

        (report,) = (tmp_path / "state").glob("feedback-*.md")
        text = report.read_text()
        assert "it was too fast" in text
        assert "✓ python  3.11" in text


async def test_changelog_is_shown(workspace: Path) -> None:
    assert changelog().startswith("# Changelog")
    async with stage(workspace) as here:
        await here.send("/changelog")
        await here.until(lambda: isinstance(here.app.screen, Viewer))
        await here.press("escape")


async def test_review_asks_the_model_for_faults_in_a_range(workspace: Path) -> None:
    async with stage(workspace) as here:
        await here.send("/review main...HEAD")
        await here.idle()
        await here.send("/review")
        await here.idle()

        assert "git diff main...HEAD" in here.backend.prompts[0]
        assert "not committed yet" in here.backend.prompts[1]


async def test_sandbox_says_where_commands_write(workspace: Path) -> None:
    async with stage(workspace) as here:
        await here.send("/sandbox")
        await here.until(lambda: here.notices)

        assert "/proj, /more" in here.notices[-1]


async def test_memory_edit_opens_the_file_that_is_named(
    workspace: Path, tmp_path: Path, monkeypatch: object
) -> None:
    async with stage(workspace) as here:
        await here.send("/memory edit")
        await here.until(lambda: any("The model reads no instruction files" in text for text in here.notices))


def test_advice_fits_the_terminal_and_names_the_keys_in_force() -> None:
    keys = Keymap({"prompt": {"ctrl+j": "", "shift+enter": "", "f5": "newline"}})

    plain = terminal_advice({"TERM": "xterm-256color"}, keys)
    tmux = terminal_advice({"TERM": "tmux-256color", "TMUX": "/tmp/x,1,0", "COLORTERM": "truecolor"}, keys)
    apple = terminal_advice({"TERM_PROGRAM": "Apple_Terminal", "NO_COLOR": "1"}, keys)

    assert "F5" in plain
    assert "COLORTERM=truecolor" in plain
    assert "set -s extended-keys on" in tmux
    assert "Option as Meta" in apple
    assert "NO_COLOR" in apple
