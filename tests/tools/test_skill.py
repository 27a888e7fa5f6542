from collections.abc import Sequence
from pathlib import Path

import pytest

from agent_tui.protocol.display import ResultContentType
from agent_tui.protocol.errors import ToolError
from agent_tui.toolkit.context import SkillInfo
from tests.support.tool_world import ToolWorld, make_world


class Shelf:
    def __init__(self, *skills: SkillInfo) -> None:
        self.skills = skills
        self.loaded: list[tuple[str, str]] = []

    def all(self) -> Sequence[SkillInfo]:
        return self.skills

    def load(self, name: str, arguments: str) -> str:
        self.loaded.append((name, arguments))
        if name == "broken":
            raise ToolError("broken/SKILL.md line 2: no description")
        return f"# {name}\nDo this with {arguments}."


def info(name: str, path: str = "near") -> SkillInfo:
    return SkillInfo(name=name, description="d", path=f"/{path}/{name}/SKILL.md")


@pytest.fixture
def world(workspace: Path) -> ToolWorld:
    made = make_world(workspace)
    made.ctx.skills = Shelf(info("pdf"), info("broken"), info("pdf", "far"))
    return made


async def test_h53_a_skill_is_loaded_with_its_arguments_nearest_first(world: ToolWorld) -> None:
    result = await world.run("skill", name="pdf", arguments="a.pdf")

    assert result.output == "# pdf\nDo this with a.pdf."
    assert result.data["path"] == "/near/pdf/SKILL.md"
    assert world.shown("skill", result, name="pdf").content_type is ResultContentType.MARKDOWN
    assert world.summary("skill", result, name="pdf") == "[Skill: pdf (loaded)]"


@pytest.mark.parametrize("name", ["", " ", "../pdf", "a/b", "a\\b", "..", "pdf/..", "/etc/passwd", "x\0y"])
async def test_item_72_h53_a_name_cannot_be_a_path(world: ToolWorld, name: str) -> None:
    result = await world.run("skill", name=name)

    assert result.is_error
    assert "Skills: pdf, broken" in result.output
    assert world.ctx.skills.loaded == []


async def test_item_72_h53_an_unknown_name_lists_the_names(world: ToolWorld) -> None:
    result = await world.run("skill", name="nope")

    assert result.is_error
    assert result.output == "No skill named 'nope'. Skills: pdf, broken, pdf."


async def test_a_skill_that_cannot_be_read_says_why(world: ToolWorld) -> None:
    result = await world.run("skill", name="broken")

    assert "line 2" in result.output
    assert result.is_error


async def test_without_skills_it_says_so(workspace: Path) -> None:
    assert "no skills here" in (await make_world(workspace).run("skill", name="pdf")).output
