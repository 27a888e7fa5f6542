"""Changes a settings file: `agent-tui config set` and `agent-tui config unset`."""

import os
from pathlib import Path

from agent_tui.config.edit import parse_value, set_value, unset_value
from agent_tui.config.load import setting_keys
from agent_tui.config.paths import project_config, project_private_config, user_paths
from agent_tui.conversation.known_words import known_words
from agent_tui.protocol.errors import ConfigError, UsageError
from agent_tui.protocol.near_names import did_you_mean


def set_setting(key: str, text: str, *, scope: str, workspace: Path) -> str:
    """Write a setting and say where. Raises UsageError inside the agent, ConfigError when it cannot be written."""
    file = _file(scope, workspace)
    set_value(file, key, parse_value(key, text, file=file, known=known_words(key, user_paths())))
    return f"{key} is set in {file}"


def unset_setting(key: str, *, scope: str, workspace: Path) -> str:
    """Take a setting out of a file and say what counts then.

    Raises UsageError inside the agent, ConfigError when it does not stand there or cannot be taken out.
    """
    from agent_tui.run.options import RunOptions
    from agent_tui.run.settings import settings_of_a_run

    file = _file(scope, workspace)
    if not unset_value(file, key):
        known = key in setting_keys()
        meant = "" if known else did_you_mean(key, setting_keys(), otherwise="")
        raise ConfigError(f"does not stand there{meant}", file=file, key=key)
    origin = settings_of_a_run(RunOptions(), workspace).origins.get(key, "")
    return f"{key} is taken out of {file}; {f'what {origin} says counts' if origin else 'the default counts'}"


def _file(scope: str, workspace: Path) -> Path:
    if os.environ.get("AGENT_TUI_CHILD"):
        raise UsageError("settings are changed by a person, not by a command of the agent")
    return {
        "user": user_paths().user_config,
        "project": project_config(workspace),
        "private": project_private_config(workspace),
    }[scope]
