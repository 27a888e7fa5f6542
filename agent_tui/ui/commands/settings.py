"""The slash command for settings: the screen, or one setting in a line."""

from __future__ import annotations

from collections.abc import Sequence

from agent_tui.protocol.near_names import did_you_mean
from agent_tui.ui.commands.registry import Command, CommandHost
from agent_tui.ui.configuring import SCOPES, SettingScope


async def _config(host: CommandHost, args: str) -> None:
    scope, rest = _scope(args)
    key, _, value = rest.partition(" ")
    if not key or key == "problems":
        await host.show_settings(key)
        return
    desk = host.backend.house.settings
    if key == "unset" and value.strip():
        host.notice("info", await desk.unset(value.strip(), scope))
        await host.setting_changed(value.strip())
        return
    view = await desk.look()
    setting = next((one for one in view.settings if one.key == key), None)
    if setting is None:
        meant = did_you_mean(key, [one.key for one in view.settings], otherwise="; /config lists them.")
        host.notice("warning", f"There is no setting {key!r}{meant}")
    elif value.strip():
        host.notice("info", await desk.set(key, value.strip(), scope))
        await host.setting_changed(key)
    else:
        shown = setting.value or "(empty)"
        host.notice("info", f"{key} = {shown}  ({setting.origin})\n{setting.meaning}".rstrip())


def _scope(args: str) -> tuple[SettingScope, str]:
    """Split a leading --user, --project or --private from the rest."""
    word, _, rest = args.partition(" ")
    if word.startswith("--"):
        name = "project-private" if word == "--private" else word[2:]
        for scope in SCOPES:
            if scope == name:
                return scope, rest.strip()
    return "user", args


async def _keys(host: CommandHost, _typed: str) -> Sequence[str]:
    return [one.key for one in (await host.backend.house.settings.look()).settings]


def settings_commands() -> list[Command]:
    """Give the command."""
    return [
        Command(
            "config",
            "settings with where they come from; change one",
            _config,
            aliases=("settings",),
            usage="[key [value] | unset key]",
            while_busy=True,
            complete=_keys,
        )
    ]
