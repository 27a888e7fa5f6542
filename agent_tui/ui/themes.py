"""Themes: TOML files that name colours, bundled ones and a user's read by the same code."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import cast

from textual.theme import Theme

from agent_tui.protocol.errors import AgentTuiError, ConfigError, ConfigErrors
from agent_tui.protocol.near_names import did_you_mean
from agent_tui.protocol.plain_reasons import unreadable
from agent_tui.protocol.small_file import read_small
from agent_tui.protocol.toml_text import TomlFault, line_of, parse_toml
from agent_tui.ui.palette import AA, Palette, contrast
from agent_tui.ui.theme_files import oddly_named, theme_file, theme_names

_HEX = re.compile(r"#[0-9a-fA-F]{6}")
_ANSI_NAMES = tuple(
    f"{bright}{name}"
    for bright in ("", "bright_")
    for name in ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")
)
_COLOURS = tuple(field.name for field in fields(Palette) if field.name not in ("is_dark", "ansi"))


@dataclass(frozen=True)
class NamedTheme:
    """A theme as a person chooses it. `name` is the file's stem; `label` what the list shows."""

    name: str
    label: str
    palette: Palette


BUILT_IN: Mapping[str, NamedTheme] = {
    "dark": NamedTheme("dark", "Dark", Palette.DARK),
    "light": NamedTheme("light", "Light", Palette.LIGHT),
}
"""What there is when no theme file can be read."""


class NoTheme(ConfigError):
    """No theme has the name that was asked for: the sentence begins with it, for no file is wrong."""

    def __init__(self, name: str, known: Sequence[str]) -> None:
        AgentTuiError.__init__(self, f"there is no theme {name!r}{did_you_mean(name, known)}")
        self.file = Path()
        self.key = "theme"


class ThemeShelf:
    """The themes found in `folders`; a later folder's file takes the place of one with the same name."""

    def __init__(self, folders: Sequence[Path] = ()) -> None:
        self._folders = folders

    def names(self) -> list[str]:
        """List the names there are, dark and light first."""
        return theme_names(self._folders)

    def problems(self) -> list[str]:
        """Give a sentence for each file that cannot be chosen, and for each wrong line of the others."""
        found = oddly_named(self._folders)
        for name in self.names():
            try:
                self.load(name)
            except ConfigError as error:
                found += error.problems
        return found

    def load(self, name: str) -> NamedTheme:
        """Read a theme by name, ignoring case. Raises ConfigError with one sentence when it cannot be used."""
        wanted = name.strip().lower()
        if (file := theme_file(wanted, self._folders)) is not None:
            return read_theme(file)
        if wanted in BUILT_IN:
            return BUILT_IN[wanted]
        raise NoTheme(name, self.names())


def read_theme(file: Path) -> NamedTheme:
    """Read one theme file: `label`, `dark`, a table `colors` and a list `ansi` of 16.

    Colours that are left out are those of the bundled dark or light theme. Raises ConfigError that names the
    file, the line, the key and what is possible, for each entry that is wrong.
    """
    try:
        text = read_small(file)
        table = parse_toml(text)
    except TomlFault as error:
        raise ConfigError(
            f"not valid TOML: {error.reason}", file=file, key="theme", line=error.line
        ) from error
    except OSError as error:
        raise ConfigError(unreadable(error), file=file, key="theme") from error
    except ValueError as error:
        raise ConfigError(str(error), file=file, key="theme") from error
    return _Reading(file, text).theme(table)


class _Reading:
    """Turns the tables of a theme file into a theme, or says which lines are wrong."""

    def __init__(self, file: Path, text: str) -> None:
        self._file, self._text = file, text
        self._wrong: list[ConfigError] = []

    def theme(self, table: Mapping[str, object]) -> NamedTheme:
        """Raises ConfigError."""
        dark = table.get("dark", True) is True
        if not isinstance(table.get("dark", True), bool):
            self._note("dark", f"expected true or false, found {table['dark']!r}")
        known = ("label", "dark", "colors", "ansi")
        for unknown in sorted(table.keys() - set(known)):
            self._note(unknown, f"a theme has no such key{did_you_mean(unknown, known)}")
        colours, ansi = self._colours(table.get("colors", {})), self._ansi(table.get("ansi"))
        if self._wrong:
            raise self._wrong[0] if len(self._wrong) == 1 else ConfigErrors(self._wrong)
        palette = replace(Palette.DARK if dark else Palette.LIGHT, is_dark=dark, **colours, **ansi)
        return NamedTheme(self._file.stem, str(table.get("label", self._file.stem)), palette)

    def _colours(self, table: object) -> dict[str, str]:
        if not isinstance(table, dict):
            self._note("colors", f"expected a table, found {table!r}")
            return {}
        found: dict[str, str] = {}
        for key, value in cast("dict[str, object]", table).items():
            if key in _COLOURS:
                found[key] = self._colour(f"colors.{key}", value)
            else:
                self._note(f"colors.{key}", f"no such colour{did_you_mean(key, _COLOURS)}")
        return found

    def _ansi(self, value: object) -> dict[str, tuple[str, ...]]:
        if value is None:
            return {}
        entries = cast("list[object]", value) if isinstance(value, list) else []
        if len(entries) != 16:
            self._note("ansi", "expected a list of 16 colours")
        return {"ansi": tuple(self._colour(f"ansi.{index}", entry) for index, entry in enumerate(entries))}

    def _colour(self, key: str, value: object) -> str:
        if isinstance(value, str) and (_HEX.fullmatch(value) or value == "default" or value in _ANSI_NAMES):
            return value
        self._note(key, f'expected a colour such as "#1a2b3c", found {value!r}')
        return ""

    def _note(self, key: str, message: str) -> None:
        line = line_of(self._text.replace("\r\n", "\n"), key)
        self._wrong.append(ConfigError(message, file=self._file, key=key, line=line))


def textual_theme(theme: NamedTheme) -> Theme:
    """Give the theme as Textual reads it. Every colour of the palette is a CSS variable of its own name."""
    palette = theme.palette
    values = asdict(palette)
    colours = {name: _css(values[name]) for name in _COLOURS}
    return Theme(
        name=f"agent-{theme.name}",
        primary=colours["accent"],
        secondary=colours["muted"],
        accent=colours["accent"],
        warning=colours["warning"],
        error=colours["error"],
        success=colours["success"],
        foreground=colours["text"],
        background=colours["background"],
        surface=colours["surface"],
        panel=colours["panel"],
        dark=palette.is_dark,
        ansi="default" in (palette.background, palette.text),
        variables=_variables(colours),
    )


def _ansi_variables(colours: Mapping[str, str]) -> dict[str, str]:
    """Name what Textual's own style sheets want of a theme with the terminal's colours."""
    if colours["background"].startswith("#"):
        return {}
    return {
        "ansi-background": "ansi_default",
        "ansi-foreground": "ansi_default",
        "border-blurred": colours["border"],
        "input-cursor-background": "ansi_white",
        "input-cursor-foreground": "ansi_black",
        "input-selection-background": "ansi_bright_black",
    }


def _variables(colours: Mapping[str, str]) -> dict[str, str]:
    own = {name.replace("_", "-"): colour for name, colour in colours.items() if name not in _THEME_NAMES}
    return {
        **own,
        "cursor-row": _row_behind(colours),
        "marked-row": colours["panel"],
        "banner": colours["panel"],
        "line": colours["border"],
        "scrollbar": colours["scrollbar_thumb"],
        "scrollbar-hover": colours["muted"],
        "scrollbar-active": colours["accent"],
        "scrollbar-background": colours["scrollbar"],
        "scrollbar-background-hover": colours["scrollbar"],
        "scrollbar-background-active": colours["scrollbar"],
        "input-cursor-background": colours["text"],
        "input-cursor-foreground": colours["background"],
        "input-cursor-text-style": "none",
        "input-selection-background": colours["selection"],
        "input-selection-foreground": colours["text"],
        **_ansi_variables(colours),
    }


_ROW_TEXTS = ("text", "muted", "accent", "success", "warning", "error")

_THEME_NAMES = frozenset(
    {"accent", "warning", "error", "success", "background", "surface", "panel", "text", "scrollbar", "border"}
)


def _row_behind(colours: Mapping[str, str]) -> str:
    """Give the strongest mix of selection and surface that every text of a row can be read on."""
    surface, selection = colours["surface"], colours["selection"]
    if not (surface.startswith("#") and selection.startswith("#")):
        return surface  # the bar and bold text mark the row: nobody knows what the terminal's colours are
    texts = [colours[name] for name in _ROW_TEXTS]
    low = min(contrast(text, surface) for text in texts)
    for share in range(20, 2, -1):
        mixed = _mix(selection, surface, share / 20)
        if min(contrast(text, mixed) for text in texts) >= min(AA, low):
            return mixed
    return colours["panel"]


def _mix(one: str, other: str, share: float) -> str:
    pairs = [(int(one[at : at + 2], 16), int(other[at : at + 2], 16)) for at in (1, 3, 5)]
    return "#" + "".join(f"{round(a * share + b * (1 - share)):02x}" for a, b in pairs)


def _css(colour: str) -> str:
    return colour if colour.startswith("#") else f"ansi_{colour}"
