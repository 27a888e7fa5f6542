from pathlib import Path

import pytest

from agent_tui.protocol.display import ResultContentType
from tests.support.tool_world import ToolWorld, make_world

PLAN = "# Rename the thing\n\n1. look\n2. change\n"


class FakeModes:
    def __init__(self, *, accepted: bool, words: str = "", planning: bool = True) -> None:
        self.planning = planning
        self.plans: list[str] = []
        self._answer = (accepted, words)

    async def leave_plan(self, plan: str) -> tuple[bool, str]:
        self.plans.append(plan)
        return self._answer


@pytest.fixture
def world(workspace: Path) -> ToolWorld:
    return make_world(workspace)


async def test_an_accepted_plan_leaves_plan_mode(world: ToolWorld) -> None:
    modes = world.ctx.modes = FakeModes(accepted=True, words="but keep the tests")

    result = await world.run("exit_plan_mode", plan=PLAN)

    assert not result.is_error
    assert "accepted" in result.output
    assert "but keep the tests" in result.output
    assert modes.plans == [PLAN]


async def test_a_refused_plan_is_an_error_with_the_persons_words(world: ToolWorld) -> None:
    world.ctx.modes = FakeModes(accepted=False, words="smaller steps")

    result = await world.run("exit_plan_mode", plan=PLAN)

    assert result.is_error
    assert "not accepted" in result.output
    assert "smaller steps" in result.output


@pytest.mark.parametrize(
    ("modes", "plan"),
    [
        (None, PLAN),
        (FakeModes(accepted=True, planning=False), PLAN),
        (FakeModes(accepted=True), "  "),
    ],
)
async def test_nobody_is_asked_where_there_is_nothing_to_decide(
    world: ToolWorld, modes: FakeModes | None, plan: str
) -> None:
    world.ctx.modes = modes

    result = await world.run("exit_plan_mode", plan=plan)

    assert result.is_error
    assert modes is None or modes.plans == []


async def test_panel_is_the_plan(world: ToolWorld) -> None:
    world.ctx.modes = FakeModes(accepted=True, words="go")
    result = await world.run("exit_plan_mode", plan=PLAN)

    shown = world.shown("exit_plan_mode", result, plan=PLAN)

    assert shown.content_type is ResultContentType.MARKDOWN
    assert shown.content == f"{PLAN}\n\n> go"
    assert shown.summary == "accepted, 4 lines"
    assert world.title("exit_plan_mode", plan=PLAN) == "Rename the thing"
    assert world.summary("exit_plan_mode", result, plan=PLAN) == "[Plan: Rename the thing (accepted)]"
