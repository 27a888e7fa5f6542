"""Reads the settings of one run: all layers with the flags on top."""

import os
from pathlib import Path

from agent_tui.config.layers import settings_layers
from agent_tui.config.load import Loaded, load
from agent_tui.config.paths import user_paths
from agent_tui.extensions.trust import TrustStore
from agent_tui.protocol.errors import UsageError
from agent_tui.protocol.near_names import did_you_mean
from agent_tui.run.options import RunOptions


def settings_of_a_run(options: RunOptions, workspace: Path) -> Loaded:
    """Read the settings that a run here would use: those of the project count as its recorded trust says.

    Raises UsageError as `loaded_settings` does.
    """
    trusted = TrustStore(user_paths().state).verdict(workspace).trusted
    return loaded_settings(options, workspace, trusted=trusted)


def loaded_settings(options: RunOptions, workspace: Path, *, trusted: bool) -> Loaded:
    """Read the settings of the layers that count, with the profile and the flags on top.

    Raises UsageError for a profile that there is not.
    """
    layers = settings_layers(user_paths(), workspace, trusted=trusted, sources=options.counted.sources)
    loaded = load(layers, overrides=options.overrides(os.environ), profile=options.profile)
    if options.profile and options.profile not in loaded.profiles and not loaded.broken:
        meant = did_you_mean(options.profile, loaded.profiles)
        raise UsageError(
            f"--profile: no [profiles.{options.profile}] in the settings files that count{meant}"
        )
    return loaded
