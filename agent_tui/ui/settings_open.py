"""Opens the settings screen and lets a changed setting count at once where it can."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from agent_tui.protocol.errors import ConfigError
from agent_tui.ui.file_problems import file_problems
from agent_tui.ui.presets import preset_named
from agent_tui.ui.screens.settings.pages import IN_FORCE, PAGES
from agent_tui.ui.screens.settings.screen import SettingsScreen

if TYPE_CHECKING:
    from agent_tui.ui.app import AgentApp
    from agent_tui.ui.configuring import SettingsDesk

_SEGMENT = re.compile(r"[a-z]+|\|")


def settings_screen(app: AgentApp, desk: SettingsDesk, page: str) -> SettingsScreen:
    """Give the screen, on `page` if there is one of that name."""

    async def changed(key: str, value: str) -> None:
        apply_setting(app, key, value)

    return SettingsScreen(
        app.keys,
        desk,
        words={"ui.theme": app.shelf.names()},
        changed=changed,
        more_problems=file_problems(app.settings.keymap_file, app.shelf, preset=app.keys.preset),
        page=page if page in PAGES else IN_FORCE,
    )


def apply_setting(app: AgentApp, key: str, value: str) -> None:
    """Let a setting of the interface count now; the others count from the next start."""
    if key == "ui.keys":
        app.use_keys(preset_named(value) or "default")
    if key == "ui.status":
        app.status.choose(_SEGMENT.findall(value))
    if key != "ui.theme":
        return
    try:
        theme = app.shelf.load(value)
    except ConfigError as error:
        app.notice("error", str(error))
        return
    app.chosen_theme = theme
    app.use_theme(theme)
