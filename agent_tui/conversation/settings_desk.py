"""The settings files for the interface: what each says, what is wrong in them, and changing one setting."""

import asyncio
import json
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from agent_tui.config.layers import settings_layers
from agent_tui.config.load import Loaded
from agent_tui.config.overview import Place, Setting, overview
from agent_tui.config.paths import Paths
from agent_tui.conversation.known_words import known_words
from agent_tui.protocol.errors import ConfigError
from agent_tui.ui.configuring import SCOPES, PlaceView, SettingScope, SettingsView, SettingView

_LATER = "It counts from the next start."
_NOW = "It counts at once."
_AT_ONCE = ("ui.theme", "ui.keys", "ui.status")
_UNTRUSTED = "This project is not trusted, so it does not count before /trust accepts it."
_CHANGED = "This changed what you trusted: /trust accepts it as it is now."


@dataclass(frozen=True)
class SettingsFiles:
    """Implements `ui.configuring.SettingsDesk`.

    `load` reads all layers for a project that is trusted or not; `trusted` judges it as it is now; `more_problems`
    gives what readers of other keys found wrong, without those files of which it is told that they cannot be read.
    """

    paths: Paths
    workspace: Path
    load: Callable[[bool], Loaded]
    trusted: Callable[[], bool]
    more_problems: Callable[[Collection[str]], Sequence[str]]

    async def look(self) -> SettingsView:
        return await asyncio.to_thread(self._look)

    def _look(self) -> SettingsView:
        trusted = self.trusted()
        loaded = self.load(trusted)
        layers = settings_layers(self.paths, self.workspace, trusted=trusted)
        problems = [*map(str, loaded.problems), *self.more_problems(loaded.broken_files)]
        return SettingsView(
            settings=tuple(_view(setting) for setting in overview(loaded, layers)),
            problems=tuple(dict.fromkeys(problems)),
            files=tuple((layer.name, str(layer.file)) for layer in layers),
        )

    def where(self, scopes: Sequence[SettingScope] = SCOPES) -> Sequence[tuple[str, str]]:
        return [(scope, str(self._file(scope))) for scope in scopes]

    def _file(self, scope: SettingScope) -> Path:
        layers = settings_layers(self.paths, self.workspace, trusted=True)
        return next(layer.file for layer in layers if layer.name == scope)

    async def set(self, key: str, text: str, scope: SettingScope) -> str:
        file = self._file(scope)
        return await asyncio.to_thread(self._set, key, text, scope, file)

    def _set(self, key: str, text: str, scope: SettingScope, file: Path) -> str:
        from agent_tui.config.edit import parse_value, set_value  # tomlkit: 10 ms, when something is changed

        value = parse_value(key, text, file=file, known=known_words(key, self.paths))
        trusted = self.trusted()
        set_value(file, key, value)
        return f"{key} = {_text(value)} stands in {file}. {self._when(key, scope, trusted)}"

    async def unset(self, key: str, scope: SettingScope) -> str:
        file = self._file(scope)
        return await asyncio.to_thread(self._unset, key, scope, file)

    def _unset(self, key: str, scope: SettingScope, file: Path) -> str:
        trusted = self.trusted()
        from agent_tui.config.edit import unset_value

        if not unset_value(file, key):
            raise ConfigError("does not stand there", file=file, key=key)
        return f"{key} is taken out of {file}. {self._when(key, scope, trusted)}"

    def _when(self, key: str, scope: SettingScope, trusted: bool) -> str:
        """Say from when on a change counts, and what stands in its way."""
        now = self.load(self.trusted())
        counts = _NOW if key in _AT_ONCE else _LATER
        stronger = now.origins.get(key, "")
        if scope == "user":
            if stronger and stronger != str(self._file(scope)):
                return f"{stronger} says otherwise and is stronger."
            return counts
        if not trusted:
            return _UNTRUSTED
        return counts if self.trusted() else _CHANGED


def _view(setting: Setting) -> SettingView:
    return SettingView(
        key=setting.key,
        value=_text(setting.value),
        default=_text(setting.default),
        meaning=setting.meaning,
        origin=setting.origin,
        choices=setting.choices,
        places=tuple(_place(place) for place in setting.places),
    )


def _place(place: Place) -> PlaceView:
    where = f"{place.file}:{place.line}" if place.line else str(place.file)
    return PlaceView(place.layer, where, _text(place.value), place.counts)


def _text(value: object) -> str:
    """Write a value as a person types it: words bare, lists and tables as JSON; "" for what has no value."""
    if value is None or value == "":
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
