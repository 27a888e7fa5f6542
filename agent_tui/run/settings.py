"""Reads the settings of one run: all layers with the flags on top."""

import os
from pathlib import Path

from agent_tui.config.layers import settings_layers
from agent_tui.config.load import Loaded, load
from agent_tui.config.paths import user_paths
from agent_tui.run.options import RunOptions


def loaded_settings(options: RunOptions, workspace: Path, *, trusted: bool) -> Loaded:
    """Read the settings of all layers with the flags on top."""
    return load(
        settings_layers(user_paths(), workspace, trusted=trusted), overrides=options.overrides(os.environ)
    )
