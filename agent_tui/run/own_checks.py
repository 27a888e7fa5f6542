"""Checks tool files, skills and commands for doctor: which loaded, and why others did not."""

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


def text_checks(workspace: Path) -> list[Check]:
    """Read the skills and commands of the project and the person's; a line for all that can be used, and one for each fault."""
    from agent_tui.conversation.lent_rules import lent_rules
    from agent_tui.run.counted import Counted
    from agent_tui.run.texts import command_library, skill_library

    found = skill_library(workspace).find()
    own = command_library(Counted(), workspace, project_counts=lambda: True).find()
    return [
        Check("skills", True, ", ".join(skill.name for skill in found.skills) or "none"),
        *(Check("skill", False, str(fault)) for fault in found.faults),
        *(Check("skill", False, text) for skill in found.skills for text in lent_rules(skill)[1]),
        Check("commands", True, ", ".join(f"/{command.name}" for command in own.commands) or "none"),
        *(Check("command", False, str(fault)) for fault in own.faults),
        *(Check("command", False, text) for command in own.commands for text in lent_rules(command)[1]),
    ]
