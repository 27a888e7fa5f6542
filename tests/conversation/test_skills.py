from pathlib import Path

import pytest

from agent_tui.protocol.errors import AgentTuiError
from agent_tui.providers.scripted import calls, text, use
from agent_tui.toolkit.testing import ScriptedApprover
from tests.support.core_world import open_core


def skill(workspace: Path, name: str, description: str, head: str = "") -> Path:
    path = workspace / ".agents/skills" / name / "SKILL.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"---\nname: {name}\ndescription: {description}\n{head}---\nDo it for $ARGUMENTS.\n")
    return path


async def test_skills_are_looked_at_again_and_the_model_learns_so_once(workspace: Path) -> None:
    skill(workspace, "old", "Goes.")
    skill(workspace, "same", "Stays.")
    async with open_core(workspace, text("a"), text("b")) as world:
        (workspace / ".agents/skills/old/SKILL.md").unlink()
        skill(workspace, "new", "Comes.")

        said = await world.core.house.reload_skills()
        again = await world.core.house.reload_skills()
        await world.core.run_turn("hello")
        await world.core.run_turn("again")

        assert said.startswith("2 skills for the model; new or changed: new; gone: old.")
        assert again == "2 skills for the model, as before."
        first, second = world.words(0), world.words(1)
        assert "- new: Comes." in first
        assert "There is no longer: old." in first
        assert "same" not in first.partition("The skills have changed.")[2]
        assert "skills have changed" not in second


async def test_a_run_without_the_skill_tool_says_so(workspace: Path) -> None:
    async with open_core(workspace, text("a"), tools="read") as world:
        skill(workspace, "new", "Comes.")

        assert "no tool to load one" in await world.core.house.reload_skills()
        await world.core.run_turn("hello")
        assert "Comes." not in world.words()


async def test_a_skill_that_the_model_loads_brings_no_rules(workspace: Path) -> None:
    skill(workspace, "notes", "Writes notes.", "allowed-tools: Bash(touch *)\n")
    load = calls(use("skill", {"name": "notes"}, call_id="c0"))
    touch = calls(use("bash", {"command": "touch made"}, call_id="c1"))
    approver = ScriptedApprover(deny=["c1"])
    async with open_core(workspace, load, touch, text("done"), approver=approver, trust=True) as world:
        await world.core.run_turn("write notes")

        assert "Do it for" in world.results[0]
        assert approver.asked[-1] == ["c1"]
        assert not (workspace / "made").exists()


async def test_all_there_is_to_know_of_a_skill(workspace: Path) -> None:
    path = skill(workspace, "notes", "Writes notes.", "allowed-tools: Bash(git log *)\nargument-hint: TAG\n")
    (path.parent / "form.md").write_text("x")
    async with open_core(workspace) as world:
        shown = await world.core.house.skill("notes")

        for words in (
            "Writes notes.",
            str(path),
            "TAG",
            "Bash(git log *)",
            "form.md",
            "Do it for $ARGUMENTS.",
        ):
            assert words in shown
        with pytest.raises(AgentTuiError, match=r"No skill named 'zip'; there are notes\."):
            await world.core.house.skill("zip")
