"""Where the skills of a run are looked for."""

from pathlib import Path

from agent_tui.config.paths import user_paths
from agent_tui.extensions.places import folders
from agent_tui.extensions.skills import SkillLibrary


def skill_library(workspace: Path) -> SkillLibrary:
    """Give the skills of the project and the user's."""
    return SkillLibrary(folders("skills", workspace=workspace, home=Path.home(), config=user_paths().config))
