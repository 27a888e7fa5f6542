"""Which key does what: every binding as data, with a user's overrides and chords."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from agent_tui.protocol.errors import ConfigError, ConfigErrors
from agent_tui.protocol.near_names import did_you_mean
from agent_tui.protocol.small_file import read_small
from agent_tui.protocol.toml_text import TomlFault, parse_toml
from agent_tui.ui.bindings import ACTIONS, DEFAULTS, RESERVED
from agent_tui.ui.presets import PRESETS, Preset

_FUNCTION = re.compile(r"f[0-9]+")
_NAMES = {
    "ctrl": "Ctrl",
    "alt": "Alt",
    "shift": "Shift",
    "enter": "Enter",
    "escape": "Esc",
    "tab": "Tab",
    "space": "Space",
    "up": "↑",
    "down": "↓",
    "left": "←",
    "right": "→",
    "pageup": "PgUp",
    "pagedown": "PgDn",
    "home": "Home",
    "end": "End",
    "backspace": "Backspace",
    "delete": "Del",
    "underscore": "_",
    "backslash": "\\",
    "slash": "/",
    "less_than_sign": "<",
    "greater_than_sign": ">",
    "question_mark": "?",
}


@dataclass(frozen=True)
class Action:
    """What a key can do in one context: its id, and the words of the shortcut sheet."""

    context: str
    name: str
    label: str


@dataclass(frozen=True)
class Pressed:
    """What a key press came to.

    `action` is the id of what to do, "" when nothing is bound; `pending` holds the keys of an unfinished chord;
    `context` says where the action was found.
    """

    action: str = ""
    pending: str = ""
    context: str = field(default="", compare=False)


Overrides = Mapping[str, Mapping[str, str]]
"""Action by key by context; "" unbinds."""


class Keymap:
    """The bindings in force. A press is looked up in the contexts given, the first that knows it wins."""

    def __init__(self, overrides: Overrides | None = None, *, preset: Preset = "default") -> None:
        self._overrides: Overrides = overrides or {}
        self.preset: Preset = preset
        self._bound: dict[str, dict[str, str]] = {}
        self._pending = ""
        self._build()

    def _build(self) -> None:
        self._bound = {name: dict(keys) for name, keys in DEFAULTS.items()}
        for layer in (PRESETS[self.preset], self._overrides):
            for context, keys in layer.items():
                for key, action in keys.items():
                    self._bind(context, key, action)
        self._pending = ""

    def change(self, *, overrides: Overrides | None = None, preset: Preset | None = None) -> None:
        """Bind anew, for everything that holds this keymap; what is not given stays."""
        self._overrides = self._overrides if overrides is None else overrides
        self.preset = preset or self.preset
        self._build()

    def _bind(self, context: str, key: str, action: str) -> None:
        if action:
            self._bound[context][key] = action
        else:
            self._bound[context].pop(key, None)

    def press(self, contexts: Sequence[str], *names: str | None) -> Pressed:
        """Say what a press means. `names` are the key's names, such as "question_mark" and "?".

        A key that begins a chord is kept until the next press, which either ends the chord or is dropped.
        """
        prefix, self._pending = self._pending, ""
        for name in (name for name in names if name):
            chord = f"{prefix} {name}" if prefix else name
            for context in contexts:
                if action := self._bound[context].get(chord):
                    return Pressed(action, context=context)
            if self._begins_chord(contexts, chord):
                self._pending = chord
                return Pressed(pending=chord)
        return Pressed(pending="-") if prefix else Pressed()

    def _begins_chord(self, contexts: Iterable[str], chord: str) -> bool:
        start = f"{chord} "
        return any(key.startswith(start) for context in contexts for key in self._bound[context])

    @property
    def pending(self) -> str:
        """The keys of a chord that was begun, "" when there is none."""
        return self._pending

    def bound(self, context: str) -> list[tuple[str, str]]:
        """List (key, action) of a context as a keymap file writes them."""
        return list(self._bound[context].items())

    def keys_of(self, context: str, action: str) -> list[str]:
        """List the keys that do `action`, as a person reads them, such as "Ctrl+X m"."""
        return [spell(key) for key, bound in self._bound[context].items() if bound == action]

    def hint(self, context: str, action: str) -> str:
        """Give the first key that does `action`, or ""."""
        return next(iter(self.keys_of(context, action)), "")

    def legend(self, *parts: tuple[str, str, str]) -> str:
        """Join (context, action, words) as "key words · key words"; what has no key is left out."""
        said = [(self.hint(context, action), words) for context, action, words in parts]
        return " · ".join(f"{key} {words}".strip() for key, words in said if key)

    def sheet(self, context: str) -> list[tuple[str, str]]:
        """List (keys, words) of a context in the order of the table; what has no key is left out."""
        rows = [
            (" · ".join(self.keys_of(context, action.name)), action.label) for action in actions_of(context)
        ]
        return [(keys, label) for keys, label in rows if keys]


def actions_of(context: str) -> list[Action]:
    """List the actions of a context."""
    return [Action(context, name, label) for name, label in ACTIONS[context].items()]


def spell(key: str) -> str:
    """Write a key as a person reads it: "ctrl+x m" becomes "Ctrl+X m"."""
    return " ".join(_spell_one(one) for one in key.split(" "))


def _spell_one(key: str) -> str:
    *modifiers, last = key.split("+") if len(key) > 1 else [key]
    named = _NAMES.get(last, last.upper() if modifiers or _FUNCTION.fullmatch(last) else last)
    return "+".join([*(_NAMES.get(modifier, modifier) for modifier in modifiers), named])


def read_overrides(file: Path) -> Overrides:
    """Read a user's `keymap.toml`: a table per context, `"key" = "action"`, and "" to unbind.

    A file that does not exist gives nothing. Raises ConfigError that names file, line and what is possible, for
    each entry that is wrong.
    """
    try:
        text = read_small(file)
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise ConfigError(str(error), file=file, key="keymap") from error
    try:
        tables = parse_toml(text)
    except TomlFault as error:
        raise ConfigError(
            f"not valid TOML: {error.reason}", file=file, key="keymap", line=error.line
        ) from error
    return _Check(file, text).overrides(tables)


def line_of_key(text: str, context: str, key: str) -> int:
    """Give the 1-based line of an entry of a keymap file, without `key` of a table; 0 when it is not found."""
    inside = False
    for number, line in enumerate(text.splitlines(), start=1):
        stripped = line.strip()
        if stripped.startswith("["):
            inside = stripped.split("#")[0].strip("[] \t\"'") == context
            if inside and not key:
                return number
        elif inside and key and stripped.split("=")[0].strip().strip("\"'") == key:
            return number
    return 0


def _unknown_modifier(key: str) -> bool:
    *modifiers, last = key.split("+") if len(key) > 1 else [key]
    return not last or any(modifier not in ("ctrl", "alt", "shift") for modifier in modifiers)


class _Check:
    """Turns the tables of a file into overrides, or says which lines are wrong."""

    def __init__(self, file: Path, text: str) -> None:
        self._file = file
        self._text = text
        self._wrong: list[ConfigError] = []

    def overrides(self, tables: Mapping[str, object]) -> dict[str, dict[str, str]]:
        """Raises ConfigError."""
        found: dict[str, dict[str, str]] = {}
        for context, keys in tables.items():
            if context not in DEFAULTS or not isinstance(keys, dict):
                self._note(context, "", f"no context {context!r}{did_you_mean(context, DEFAULTS)}")
                continue
            found[context] = {
                key: self._action(context, key, value)
                for key, value in cast("Mapping[str, object]", keys).items()
            }
        if self._wrong:
            raise self._wrong[0] if len(self._wrong) == 1 else ConfigErrors(self._wrong)
        return found

    def _action(self, context: str, key: str, value: object) -> str:
        if key in RESERVED:
            self._note(context, key, f"{spell(key)} is reserved, so that the program can always be left")
        elif not isinstance(value, str) or (value and value not in ACTIONS[context]):
            others = f"; {context} has {', '.join(ACTIONS[context])}"
            meant = did_you_mean(str(value), ACTIONS[context], otherwise=others)
            self._note(context, key, f"no action {value!r}{meant}")
        elif not re.fullmatch(r"\S+( \S+)*", key) or any(_unknown_modifier(one) for one in key.split(" ")):
            self._note(context, key, f'{key!r} is not a key; write it like "ctrl+x m"')
        return str(value)

    def _note(self, context: str, key: str, message: str) -> None:
        where = f"{context}.{key}" if key else context
        error = ConfigError(message, file=self._file, key=where, line=line_of_key(self._text, context, key))
        self._wrong.append(error)
