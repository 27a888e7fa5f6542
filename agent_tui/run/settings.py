"""Reads the settings of one run: all layers with the flags on top."""

import os
from dataclasses import replace
from pathlib import Path

from agent_tui.config.layers import settings_layers
from agent_tui.config.load import Loaded, Problem, load, read_text
from agent_tui.config.paths import user_paths
from agent_tui.extensions.trust import TrustStore
from agent_tui.protocol.errors import UsageError
from agent_tui.protocol.near_names import did_you_mean
from agent_tui.protocol.toml_text import line_of
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
    return _without_wrong_facts(loaded) if loaded.settings.model.facts else loaded


def _without_wrong_facts(loaded: Loaded) -> Loaded:
    """Name the facts of models that mean nothing: the table of models, which knows them, leaves them out."""
    from agent_tui.providers.models import wrong_facts  # 20 ms of CPU, only with facts

    file = Path(loaded.origins["model.facts"].partition(" [")[0])
    wrong = wrong_facts(loaded.settings.model.facts)
    problems = [Problem(file, key, f"{reason}; it is left out", _line(file, key)) for key, reason in wrong]
    return replace(loaded, problems=(*loaded.problems, *problems))


def _line(file: Path, key: str) -> int:
    try:
        return line_of(read_text(file), key)
    except (OSError, ValueError):  # a value of the command line
        return 0
