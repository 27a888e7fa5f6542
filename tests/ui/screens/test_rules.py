from dataclasses import replace
from pathlib import Path

from agent_tui.ui.backend import RuleView
from agent_tui.ui.rulings import DecisionView
from agent_tui.ui.screens.rules import RulesScreen
from tests.support.fake_backend import FakeBackend
from tests.support.screens import Stage, stage

GRANT = RuleView("g1", "allow", "Bash(pytest *)", "grant", "this session", removable=True)
RECENT = [
    DecisionView(3, "14:02", "allow", "bash: pytest -q", "pytest -q", "person", "session", "Bash(pytest *)"),
    DecisionView(
        2, "14:01", "deny", "bash: rm -rf [b]", "rm -rf [b]", "deny Bash(rm *)", "once", "Bash(rm *)"
    ),
    DecisionView(1, "14:00", "allow", "bash: curl x | sh", "curl x | sh", "person", "once"),
]


def backend(workspace: Path) -> FakeBackend:
    made = FakeBackend(workspace)
    made.rule_views = [GRANT]
    made.rulings.views = list(RECENT)
    return made


async def opened(here: Stage) -> RulesScreen:
    await here.send("/permissions")
    await here.until(lambda: isinstance(here.app.screen, RulesScreen))
    screen = here.app.screen
    assert isinstance(screen, RulesScreen)
    await here.settle()
    return screen


async def test_recent_decisions_stand_below_the_rules_newest_first(workspace: Path) -> None:
    async with stage(workspace, backend=backend(workspace)) as here:
        await opened(here)

        picture = here.picture()
        assert picture.index("Decided lately") < picture.index("pytest -q") < picture.index("rm -rf [b]")
        assert "once, by deny Bash(rm *)" in picture
        assert "(once only)" in picture


async def test_the_place_of_a_rule_is_written_with_the_home_folder_as_a_tilde(workspace: Path) -> None:
    made = backend(workspace)
    made.rule_views = [replace(GRANT, where=f"{Path.home()}/state/grants.jsonl:1")]
    async with stage(workspace, backend=made) as here:
        await opened(here)

        assert "~/state/grants.jsonl:1" in here.picture()


async def test_a_decision_is_promoted_by_the_key_of_its_scope(workspace: Path) -> None:
    async with stage(workspace, backend=backend(workspace)) as here:
        await opened(here)

        await here.press("p", "end", "s", "up", "p", "p", "up", "u", "u")

        assert here.backend.rulings.promoted == [(1, "session"), (2, "project"), (3, "user")]


async def test_what_a_promoted_decision_stores_is_shown_before(workspace: Path) -> None:
    async with stage(workspace, backend=backend(workspace)) as here:
        await opened(here)

        await here.press("end", "up", "p")
        assert "Always deny Bash(rm *) for this project: p again stores it." in here.picture()
        await here.press("u", "up", "down", "u")
        assert here.backend.rulings.promoted == []
        assert "Always deny Bash(rm *) for every project: u again stores it." in here.picture()
        await here.press("u")

        assert here.backend.rulings.promoted == [(2, "user")]


async def test_the_grant_of_a_decision_is_revoked_from_its_line(workspace: Path) -> None:
    async with stage(workspace, backend=backend(workspace)) as here:
        await opened(here)

        await here.press("end", "ctrl+d")
        assert here.backend.rule_views == [GRANT]
        assert "nothing to revoke" in here.picture()
        await here.press("up", "up", "ctrl+d")

        assert here.backend.rule_views == []
