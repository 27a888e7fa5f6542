"""Which settings files count for a workspace."""

from collections.abc import Collection, Sequence
from pathlib import Path

from agent_tui.config.load import Layer
from agent_tui.config.paths import MANAGED_CONFIG, SOURCES, Paths, project_config, project_private_config


def settings_layers(
    paths: Paths, workspace: Path, *, trusted: bool, sources: Collection[str] = SOURCES
) -> Sequence[Layer]:
    """Give the settings files, weakest first. A project that is not trusted, and a source left out, may only tighten."""
    project, private = project_config(workspace), project_private_config(workspace)
    return [
        Layer("user", paths.user_config, tightens_only="user" not in sources),
        Layer("project", project, tightens_only=not trusted or "project" not in sources),
        Layer("project-private", private, tightens_only=not trusted or "private" not in sources),
        Layer("managed", MANAGED_CONFIG, managed=True),
    ]
