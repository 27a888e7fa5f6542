"""Choices made in the interface that the next start should know, such as the theme."""

import contextlib
import json
from collections.abc import Mapping
from pathlib import Path

from agent_tui.config.paths import Paths
from agent_tui.protocol.json_text import parse_json
from agent_tui.protocol.private_file import write_private
from agent_tui.protocol.small_file import read_small
from agent_tui.protocol.toml_text import parse_toml


class Preferences:
    """A small state file, mode 0600. A setting in a settings file wins over it; losing it loses nothing.

    `profile` is laid over the settings; without `counts` the settings file says nothing. `given` are the settings of
    the command line, by their dotted keys, which win over the file.
    """

    def __init__(
        self,
        paths: Paths,
        *,
        profile: str = "",
        counts: bool = True,
        given: Mapping[str, tuple[str, object]] | None = None,
    ) -> None:
        self._path = paths.state / "preferences.json"
        self._config = paths.user_config
        self._profile = profile
        self._counts = counts
        self._given = given or {}

    def theme(self, environment: Mapping[str, str], *, flag: str = "") -> str:
        """Give the theme for the first paint: command line, environment, settings file, last choice; validates nothing."""
        configured = self.configured("theme")
        named = flag or ("" if "ui.theme" in self._given else environment.get("AGENT_TUI_THEME", ""))
        return (
            named
            or (configured if isinstance(configured, str) else "")
            or self._read().get("theme", "")
            or "dark"
        )

    def keys(self) -> str:
        """Give the preset of the keymap: settings file, last choice, the default."""
        configured = self.configured("keys")
        return (
            (configured if isinstance(configured, str) else "") or self._read().get("keys", "") or "default"
        )

    def status(self) -> tuple[str, ...]:
        """Give the segments of the status line: settings file, last choice; none for the usual."""
        configured = self.configured("status")
        if isinstance(configured, list) and configured:
            return tuple(str(name) for name in configured)  # pyright: ignore[reportUnknownVariableType,reportUnknownArgumentType]  # TOML is untyped
        return tuple(self._read().get("status", "").split())

    def is_first_run(self, *, sessions: Path) -> bool:
        """Tell whether nothing of an earlier start is there: no choice, no settings, no session."""
        return not (self._path.exists() or self._config.exists() or sessions.exists())

    def configured(self, name: str) -> object:
        """Give a value of [ui] of the command line or in the user's settings as it stands there, None when there is none.

        The first paint cannot wait for pydantic (110 ms of CPU); the loader names what is wrong afterwards.
        """
        if f"ui.{name}" in self._given:
            return self._given[f"ui.{name}"][1]
        if not self._counts:
            return None
        try:
            data: object = parse_toml(read_small(self._config))
        except (OSError, ValueError):
            return None
        profile = _inner(_inner(data, "profiles"), self._profile)
        found = _inner(_inner(profile, "ui"), name)
        return _inner(_inner(data, "ui"), name) if found is None else found

    def remember(self, key: str, value: str) -> None:
        """Store a choice; a disk that refuses is not worth a word."""
        kept = {**self._read(), key: value}
        with contextlib.suppress(OSError):
            write_private(self._path, json.dumps(kept).encode(), waits=False)

    def _read(self) -> dict[str, str]:
        try:
            data: object = parse_json(read_small(self._path))
        except (OSError, ValueError):
            return {}
        if not isinstance(data, dict):
            return {}
        items: dict[object, object] = data  # pyright: ignore[reportUnknownVariableType]  # JSON is untyped
        return {key: value for key, value in items.items() if isinstance(key, str) and isinstance(value, str)}


def _inner(table: object, name: str) -> object:
    """Give what stands under a name, None where there is no table."""
    return table.get(name) if isinstance(table, dict) else None  # pyright: ignore[reportUnknownMemberType,reportUnknownVariableType]  # TOML is untyped
