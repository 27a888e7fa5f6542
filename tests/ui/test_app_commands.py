from pathlib import Path

import pytest

from agent_tui.protocol.replay import ReplayBlock
from agent_tui.ui.backend import RuleView, SessionView, StatusView
from agent_tui.ui.commands.builtin import builtin_commands
from agent_tui.ui.commands.registry import Command, CommandHost
from agent_tui.ui.screens.confirm import Confirm
from agent_tui.ui.screens.help import Help
from agent_tui.ui.screens.picker import Picker
from agent_tui.ui.screens.rules import RulesScreen
from agent_tui.ui.settings import AppSettings
from agent_tui.ui.widgets.rows import Rows
from tests.support.app_world import THEMES
from tests.support.fake_backend import FakeBackend
from tests.support.screens import stage


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


async def test_enter_on_an_empty_prompt_opens_the_marked_panel(workspace: Path) -> None:
    blocks = [
        ReplayBlock("tool", "\n".join("abcdefgh"), call_id="c1", tool="bash", display_name="Bash", title="ls")
    ]
    async with stage(workspace, backend=FakeBackend(workspace, blocks=blocks)) as here:
        document = here.app.transcript.document
        before = document.blocks[0].open
        await here.press("enter")
        assert document.blocks[0].open is before
        await here.press("alt+up", "enter")
        assert document.blocks[0].open is not before
        await here.press("enter")
        assert document.blocks[0].open is before
        assert here.backend.prompts == []


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


async def test_a_list_says_whether_it_is_empty_or_nothing_matches(workspace: Path) -> None:
    async with stage(workspace) as here:
        await here.send("/rewind")
        await here.until(lambda: isinstance(here.app.screen, Picker))
        await here.settle()
        assert "Nothing was said yet." in here.picture()

        await here.type("zz")
        await here.settle()
        assert "Nothing matches what is typed." in here.picture()
        assert "Nothing was said yet." not in here.picture()


async def test_reports_of_several_lines_stand_apart_and_short_notices_together(workspace: Path) -> None:
    async with stage(workspace) as here:
        for text in ("one", "two", "a  1\nb  2", "c  3\nd  4"):
            here.app.notice("info", text)
        await here.settle()
        lines = [line.strip() for line in here.picture().split("\n")]
        first = lines.index("one")

        assert lines[first : first + 8] == ["one", "two", "", "a  1", "b  2", "", "c  3", "d  4"]


async def test_models_that_the_server_does_not_tell_are_missed_with_the_reason(workspace: Path) -> None:
    made = FakeBackend(workspace)
    made.models_problem = "The server's other models are not known: nothing answers at 127.0.0.1."
    async with stage(workspace, backend=made) as here:
        await here.send("/model")
        await here.until(lambda: isinstance(here.app.screen, Picker))

        assert any("nothing answers at 127.0.0.1" in notice for notice in here.notices)


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
    settings = AppSettings(
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


@pytest.mark.parametrize("name", [command.name for command in builtin_commands() if command.name != "quit"])
async def test_every_command_without_arguments_shows_or_says_something(workspace: Path, name: str) -> None:
    async with stage(workspace) as here:

        def state() -> tuple[object, ...]:
            return here.shown, here.app.screen, here.app.status.render().plain, here.backend.prompts

        await here.send("help")
        await here.idle()
        before = state()
        here.app.actions.submit(f"/{name}")
        await here.until(lambda: state() != before)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("rename", "Write /rename name"),
        ("add-dir", "Write /add-dir PATH"),
        ("btw", "Write /btw question"),
        ("search", "Write what to find in the conversation"),
    ],
)
async def test_a_command_that_lacks_its_text_says_so_and_waits_in_the_prompt(
    workspace: Path, name: str, hint: str
) -> None:
    async with stage(workspace) as here:
        await here.send(f"/{name}")
        await here.until(lambda: here.app.status.render().plain.strip() == hint)

        assert here.app.prompt.text == f"/{name} "
