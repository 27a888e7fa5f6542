"""Changes a settings file: `agent-tui config set`."""

import os
from pathlib import Path

from agent_tui.config.edit import parse_value, set_value
from agent_tui.config.paths import project_config, project_private_config, user_paths
from agent_tui.protocol.errors import UsageError


def set_setting(key: str, text: str, *, scope: str, workspace: Path) -> str:
    """Write a setting and say where. Raises UsageError inside the agent, ConfigError when it cannot be written."""
    if os.environ.get("AGENT_TUI_CHILD"):
        raise UsageError("settings are changed by a person, not by a command of the agent")
    file = {
        "user": user_paths().user_config,
        "project": project_config(workspace),
        "private": project_private_config(workspace),
    }[scope]
    set_value(file, key, parse_value(key, text, file=file))
    return f"{key} is set in {file}"
