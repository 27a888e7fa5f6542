import re
from pathlib import Path

from agent_tui.agent.agent_types import BUILT_IN, NOT_INSIDE
from agent_tui.agent.subagents import MAX_ROUNDS
from agent_tui.extensions.agents import load_agents
from agent_tui.extensions.places import FAMILIES, Folder
from agent_tui.extensions.skills import MAX_BODY_CHARS, SkillLibrary

PAGE = (Path(__file__).parents[2] / "docs" / "agents-and-skills.md").read_text()
EXAMPLES = re.findall(r"```markdown\n(.*?)```", PAGE, re.DOTALL)


def test_example_agent_loads_without_a_fault(tmp_path: Path) -> None:
    (tmp_path / "reviewer.md").write_text(EXAMPLES[0])

    (agent,), faults = load_agents([Folder(tmp_path, "user")], ["read", "grep", "glob", "list"])

    assert faults == ()
    assert (agent.name, agent.tools, agent.model) == ("reviewer", ("read", "grep", "glob", "list"), "")


def test_example_skill_loads_without_a_fault(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "SKILL.md").write_text(EXAMPLES[1])
    library = SkillLibrary([Folder(tmp_path, "user")])

    assert library.find().faults == ()
    assert "since v1.2, group" in library.load("release-notes", "v1.2")


def test_figures_and_names_of_the_page_are_those_of_the_program() -> None:
    assert f"at most {MAX_ROUNDS} rounds" in PAGE
    assert f"{MAX_BODY_CHARS:,} characters" in PAGE
    for name in (*(kind.name for kind in BUILT_IN), *NOT_INSIDE):
        assert f"`{name}`" in PAGE
    for family in FAMILIES:
        assert f"`{family}/skills`" in PAGE
        assert f"`{family}/agents`" in PAGE
