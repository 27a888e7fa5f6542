"""Checks tool files and skills for doctor: which loaded, and why others did not."""

from pathlib import Path

from agent_tui.config.paths import Paths
from agent_tui.run.checks import Check


def tool_checks(workspace: Path, paths: Paths) -> list[Check]:
    """Load the person's tool files and a trusted project's as a start would; a line for each."""
    from agent_tui.extensions.loader import load_tools, plugin_units
    from agent_tui.extensions.trust import TrustStore
    from agent_tui.run.ground import PROJECT_TOOLS
    from agent_tui.run.options import RunOptions
    from agent_tui.run.settings import loaded_settings

    trusted = TrustStore(paths.state).verdict(workspace).trusted
    disabled = loaded_settings(RunOptions(), workspace, trusted=trusted).settings.tools.disable
    checks: list[Check] = []
    for source, folder in (("user", paths.user_tools), ("project", workspace / PROJECT_TOOLS)):
        if source == "project" and not trusted:
            waiting = [stem for stem, _ in plugin_units(folder)]
            if waiting:
                names = ", ".join(waiting)
                checks.append(
                    Check("project tools", False, f"not loaded, the project is not trusted: {names}")
                )
            continue
        found = load_tools(folder, source=source)
        for tool in found.tools:
            off = "; switched off by [tools] disable" if tool.name in disabled else ""
            checks.append(Check(f"tool {tool.name}", True, f"{source}, {folder}{off}"))
        checks += [Check(f"tool {one.path.stem}", False, str(one)) for one in found.failures]
    return checks or [Check("own tools", True, "none")]


def skill_checks(workspace: Path) -> list[Check]:
    """Read the skills of the project and the person's; a line for all that can be used, and one for each that cannot."""
    from agent_tui.run.texts import skill_library

    found = skill_library(workspace).find()
    names = ", ".join(skill.name for skill in found.skills)
    return [
        Check("skills", True, names or "none"),
        *(Check("skill", False, str(fault)) for fault in found.faults),
    ]
