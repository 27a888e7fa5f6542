"""Which settings files count for a workspace."""

from collections.abc import Sequence
from pathlib import Path

from agent_tui.config.load import Layer
from agent_tui.config.paths import MANAGED_CONFIG, Paths, project_config, project_private_config


def settings_layers(paths: Paths, workspace: Path, *, trusted: bool) -> Sequence[Layer]:
    """Give the settings files, weakest first. A project that is not trusted may only tighten."""
    return [
        Layer("user", paths.user_config),
        Layer("project", project_config(workspace), tightens_only=not trusted),
        Layer("project-private", project_private_config(workspace), tightens_only=not trusted),
        Layer("managed", MANAGED_CONFIG),
    ]
