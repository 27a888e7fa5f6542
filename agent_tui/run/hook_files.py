"""Which settings files hold hooks that count in a run."""

from pathlib import Path

from agent_tui.config.paths import MANAGED_CONFIG, Paths, project_config, project_private_config
from agent_tui.extensions.hooks.settings import PROJECT, HookFile
from agent_tui.run.counted import Counted


def hook_files(paths: Paths, workspace: Path, *, trusted: bool, counted: Counted) -> list[HookFile]:
    """Give the files in the order in which their hooks run; those that the machine manages always count."""
    files = {
        "user": HookFile(paths.user_config, "user"),
        "project": HookFile(project_config(workspace), PROJECT),
        "private": HookFile(project_private_config(workspace), PROJECT),
    }
    found = [HookFile(MANAGED_CONFIG, "managed")]
    if counted.code:
        found += [
            file for name, file in files.items() if name in counted.sources and (trusted or name == "user")
        ]
    return found
