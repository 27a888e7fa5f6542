"""What is wrong with the settings files of a person and a project, as the readers that a run uses find it."""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

from agent_tui.config.choices import refused_word
from agent_tui.config.layers import settings_layers
from agent_tui.config.load import Loaded
from agent_tui.config.overview import overview
from agent_tui.config.paths import Paths, user_paths
from agent_tui.config.settings import ToolSettings
from agent_tui.conversation.known_words import known_words
from agent_tui.extensions.bundled import themes_dir
from agent_tui.extensions.hooks.settings import find_hooks
from agent_tui.extensions.trust import TrustStore
from agent_tui.run.ground import rule_book
from agent_tui.run.hook_files import hook_files
from agent_tui.run.known_lists import LISTS, known_lists, unknown_names
from agent_tui.run.known_tools import known_tools, rule_problems, tools_of_extensions
from agent_tui.run.mcp_files import configured
from agent_tui.run.options import RunOptions
from agent_tui.run.preferences import Preferences
from agent_tui.run.settings import loaded_settings


def found_problems(workspace: Path, *, inside: bool = False) -> list[str]:
    """Give a sentence for each problem: settings with all profiles, rules, hooks, MCP servers, keys, themes.

    Extensions are started to ask for the names of their tools, and tool files are run where a setting lists names that
    only they know; `inside` the running program, on a loop, neither is done.
    """
    options, paths = RunOptions(), user_paths()
    loaded = loaded_settings(options, workspace, trusted=True)
    told = loaded.broken_files
    trusted = TrustStore(paths.state).verdict(workspace).trusted
    every = loaded.settings.model_copy(update={"tools": ToolSettings()})
    known = known_tools(every, paths, workspace, trusted=trusted)
    if not known.are_all and not inside:
        more = asyncio.run(tools_of_extensions(loaded.settings, paths, workspace, trusted=trusted))
        known = replace(known, names=known.names | set(more))
    runs = [options, *(replace(options, profile=name) for name in loaded.profiles)]
    settings = [loaded_settings(run, workspace, trusted=True) for run in runs]
    lists: Mapping[str, Collection[str]] = {}
    if not inside and any(one.origins.keys() & LISTS for one in settings):
        lists = known_lists(paths, workspace, trusted=trusted, tools=known.names)
    known = replace(known, names=known.names | set(loaded.settings.tools.disable))
    hooks = find_hooks(hook_files(paths, workspace, trusted=True, counted=options.counted))
    servers = configured(options, paths, workspace, trusted=True)
    books = [rule_book(run, paths, workspace, trusted=True) for run in runs]
    found = [
        *(str(problem) for one in settings for problem in one.problems),
        *(problem for one in settings for problem in _unknown_words(one, paths, workspace, lists)),
        *(problem for book in books for problem in rule_problems(book, known, told=told)),
        *hooks.problems,
        *servers.problems_beside(told),
        *(f"{one.place()}: mcp server {one.name!r}: {one.problem}" for one in servers.servers if one.problem),
        *_of_the_interface(paths),
    ]
    return list(dict.fromkeys(found))


def _unknown_words(
    loaded: Loaded, paths: Paths, workspace: Path, lists: Mapping[str, Collection[str]]
) -> list[str]:
    """Name themes, segments of the status line, and of `lists` tools and extensions that there are not."""
    found: list[str] = []
    for setting in overview(loaded, settings_layers(paths, workspace, trusted=True)):
        if setting.key not in loaded.origins:
            continue
        given = [setting.value] if isinstance(setting.value, str) else cast("Sequence[str]", setting.value)
        if setting.key in lists:
            said = unknown_names(setting.key, given, lists[setting.key])
            found += [f"{setting.origin}: {setting.key}: {text}" for text in said]
        known = known_words(setting.key, paths)
        if known is None:
            continue
        for word in given:
            if word and word.casefold() not in {one.casefold() for one in known}:
                found.append(f"{setting.origin}: {setting.key}: {refused_word(word, known)}")
    return found


def _of_the_interface(paths: Paths) -> list[str]:
    """Name what is wrong in keymap and theme files."""
    from agent_tui.ui.file_problems import (
        file_problems,  # with Textual, 0.2 s, which no start needs from here
    )
    from agent_tui.ui.presets import preset_named
    from agent_tui.ui.themes import ThemeShelf

    preset = preset_named(Preferences(paths).keys()) or "default"
    return file_problems(paths.keymap, ThemeShelf((themes_dir(), paths.user_themes)), preset=preset)
