from pathlib import Path

import pytest

from agent_tui.ui.rulings import DecisionView
from agent_tui.ui.screens.confirm import Confirm
from agent_tui.ui.screens.picker import Picker
from agent_tui.ui.screens.rules import RulesScreen
from agent_tui.ui.screens.secret import SecretScreen
from tests.support.fake_backend import FakeBackend
from tests.support.screens import stage


@pytest.mark.parametrize(
    ("written", "call"),
    [
        ("/permissions add allow Bash(git *)", ("add_rule", "allow", "Bash(git *)", "session")),
        (
            "/permissions add deny Read(/secret/**) --project",
            ("add_rule", "deny", "Read(/secret/**)", "project"),
        ),
        ("/permissions add --user ask WebFetch", ("add_rule", "ask", "WebFetch", "user")),
        ("/add-dir ../more", ("add_folder", "../more")),
        ("/cd src", ("change_folder", "src")),
        ("/cd", ("change_folder", "")),
        ("/logout openai", ("forget_key", "openai")),
    ],
)
async def test_what_is_kept_is_what_was_written(
    workspace: Path, written: str, call: tuple[object, ...]
) -> None:
    async with stage(workspace) as here:
        await here.send(written)
        await here.until(lambda: here.notices)

        assert here.backend.house.keeping.calls == [call]
        assert here.notices[-1].startswith("Done:")


@pytest.mark.parametrize(
    "written", ["/permissions add", "/permissions add maybe X", "/permissions add allow"]
)
async def test_a_rule_that_is_not_whole_says_how_it_is_written(workspace: Path, written: str) -> None:
    async with stage(workspace) as here:
        await here.send(written)
        await here.until(lambda: any("Write /permissions add" in text for text in here.notices))

        assert here.backend.house.keeping.calls == []


async def test_a_refusal_is_one_sentence(workspace: Path) -> None:
    backend = FakeBackend(workspace)
    backend.house.keeping.problem = "There is no folder 'x'."
    async with stage(workspace, backend=backend) as here:
        await here.send("/add-dir x")
        await here.until(lambda: here.notices)

        assert here.notices == ["✗ There is no folder 'x'."]


async def test_reset_asks_before_it_takes_grants_back(workspace: Path) -> None:
    async with stage(workspace) as here:
        await here.send("/permissions reset")
        await here.until(lambda: isinstance(here.app.screen, Confirm))
        await here.press("n")
        assert here.backend.house.keeping.calls == []
        await here.send("/permissions reset")
        await here.until(lambda: isinstance(here.app.screen, Confirm))
        await here.press("y")
        await here.until(lambda: here.backend.house.keeping.calls == [("forget_session_rules",)])


async def test_the_log_lists_decisions_oldest_first(workspace: Path) -> None:
    backend = FakeBackend(workspace)
    backend.rulings.views = [
        DecisionView(2, "10:02", "deny", "bash: rm", "rm", "person", "once"),
        DecisionView(1, "10:01", "allow", "edit: a.py", "a.py", "rule x", "once"),
    ]
    async with stage(workspace, backend=backend) as here:
        await here.send("/permissions log")
        await here.until(lambda: here.notices)

        lines = here.notices[-1].splitlines()
        assert lines[0].split() == ["10:01", "allow", "edit:", "a.py", "(rule", "x)"]
        assert lines[1].split()[1] == "deny"


async def test_permissions_without_words_opens_the_rules(workspace: Path) -> None:
    async with stage(workspace) as here:
        await here.send("/permissions show")
        await here.until(lambda: isinstance(here.app.screen, RulesScreen))
        await here.press("escape")
        await here.send("/permissions whatever")
        await here.until(lambda: any("/permissions knows" in text for text in here.notices))


async def test_a_key_is_never_shown_and_never_kept_as_a_prompt(workspace: Path) -> None:
    async with stage(workspace) as here:
        await here.send("/login")
        await here.until(lambda: isinstance(here.app.screen, Picker))
        assert "the keyring" in here.picture()
        await here.press(*"openai", "enter")
        await here.until(lambda: isinstance(here.app.screen, SecretScreen))
        await here.type("sk-12")
        assert "•••••" in here.picture()
        assert "sk-12" not in here.picture()
        await here.press("enter")
        await here.until(lambda: here.backend.house.keeping.calls)

        assert here.backend.house.keeping.calls == [("store_key", "openai", "sk-12")]
        assert not any("sk-12" in text for text in here.backend.remembered)


async def test_a_key_of_another_provider_says_how_its_models_are_asked(workspace: Path) -> None:
    async with stage(workspace) as here:
        await here.send("/login anthropic")
        await here.until(lambda: isinstance(here.app.screen, SecretScreen))
        await here.press(*"abc", "enter")
        await here.until(lambda: any("/model anthropic:NAME asks it" in text for text in here.notices))


async def test_leaving_the_key_keeps_none(workspace: Path) -> None:
    async with stage(workspace) as here:
        await here.send("/login anthropic")
        await here.until(lambda: isinstance(here.app.screen, SecretScreen))
        await here.press(*"abc", "escape")
        await here.until(lambda: "No key was kept." in here.notices)
        await here.send("/login nobody")
        await here.until(lambda: any("No provider 'nobody'" in text for text in here.notices))

        assert here.backend.house.keeping.calls == []
