"""What the settings screen needs of the core: every setting with its places, problems, and a way to write."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

SettingScope = Literal["user", "project", "project-private"]
SCOPES: tuple[SettingScope, ...] = ("user", "project", "project-private")


@dataclass(frozen=True)
class PlaceView:
    """What one file says about a setting, as it would be written. `counts` False: the project is not trusted."""

    scope: str
    where: str
    value: str
    counts: bool


@dataclass(frozen=True)
class SettingView:
    """One setting. Values are texts as a settings file holds them; `origin` is file:line, a flag, or "default"."""

    key: str
    value: str
    default: str
    meaning: str
    origin: str
    choices: tuple[str, ...] = ()
    places: tuple[PlaceView, ...] = ()

    def at(self, scope: str) -> PlaceView | None:
        """Give what the file of `scope` says, None when it says nothing."""
        return next((place for place in self.places if place.scope == scope), None)


@dataclass(frozen=True)
class SettingsView:
    """All there is to show. `files` maps a scope to its file; `problems` are sentences with file and line."""

    settings: tuple[SettingView, ...]
    problems: tuple[str, ...] = ()
    files: tuple[tuple[str, str], ...] = ()


class SettingsDesk(Protocol):
    """Reads and writes the settings files. Nothing here blocks the event loop."""

    async def look(self) -> SettingsView: ...

    async def set(self, key: str, text: str, scope: SettingScope) -> str:
        """Write a value as a person typed it; give a sentence. Raises ConfigError, and then nothing changed."""
        ...

    async def unset(self, key: str, scope: SettingScope) -> str:
        """Take a setting out of a file; give a sentence. Raises ConfigError."""
        ...

    def where(self, scopes: Sequence[SettingScope] = SCOPES) -> Sequence[tuple[str, str]]:
        """Give (scope, file) pairs."""
        ...
