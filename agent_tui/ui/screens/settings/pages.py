"""What the pages of the settings screen hold: rows of settings, and problems."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from textual.content import Content

from agent_tui.ui.configuring import SCOPES, SettingScope, SettingsView, SettingView
from agent_tui.ui.look import cut_middle, spans
from agent_tui.ui.render.safe import clean_line

IN_FORCE, PROBLEMS = "in force", "problems"
PAGES: tuple[str, ...] = (IN_FORCE, *SCOPES, PROBLEMS)
_TITLES = {
    IN_FORCE: "In force",
    "user": "User",
    "project": "Project",
    "project-private": "Private",
    PROBLEMS: "Problems",
}
_SHORT_TITLES = {
    IN_FORCE: "All",
    "user": "User",
    "project": "Proj",
    "project-private": "Priv",
    PROBLEMS: "Faults",
}
_BAR_CELLS = 56
_KEY_CELLS = 26
_VALUE_CELLS = 22
NARROW_CELLS = 70


@dataclass(frozen=True)
class PageRow:
    """One row of a page, and the setting it stands for, if any."""

    content: Content
    setting: SettingView | None = None


def scope_of(page: str) -> SettingScope | None:
    """Give the scope a page writes to, None for the pages that are no file."""
    return next((scope for scope in SCOPES if scope == page), None)


def bar(current: str, view: SettingsView, width: int) -> Content:
    """Give the line of page names, the open one picked out; short names where `width` is small."""
    parts: list[tuple[str, str] | str] = []
    titles = _TITLES if width >= _BAR_CELLS else _SHORT_TITLES
    for page in PAGES:
        title = titles[page]
        if page == PROBLEMS and view.problems:
            title = f"{title} ({len(view.problems)})"
        style = "bold $accent underline" if page == current else "$muted"
        if page == PROBLEMS and view.problems and page != current:
            style = "$warning"
        parts += [(title, style), "   " if width >= _BAR_CELLS else "  "]
    return spans(*parts[:-1])


def rows(page: str, view: SettingsView, query: str, width: int) -> list[PageRow]:
    """Give the rows of a page that hold `query`, for a list of `width` cells."""
    if page == PROBLEMS:
        return _problem_rows(view.problems, width)
    wanted = query.lower()
    shown = [one for one in view.settings if wanted in f"{one.key} {one.meaning} {one.value}".lower()]
    if not shown:
        return [PageRow(Content.styled("No setting holds that.", "$muted"))]
    return [PageRow(_row(one, page, width), one) for one in shown]


def _problem_rows(problems: Sequence[str], width: int) -> list[PageRow]:
    if not problems:
        return [PageRow(Content.styled("✓ Nothing is wrong in the settings files.", "$success"))]
    found: list[PageRow] = []
    for problem in problems:
        lines = textwrap.wrap(short(clean_line(problem)), max(20, width - 4)) or [""]
        found.append(PageRow(spans(("! ", "$warning"), lines[0])))
        found += [PageRow(Content(f"  {line}")) for line in lines[1:]]
    return found


def _row(setting: SettingView, page: str, width: int) -> Content:
    is_narrow = width < NARROW_CELLS
    key_cells = min(_KEY_CELLS, max(12, width // 2))
    key = cut_middle(setting.key, key_cells).ljust(key_cells)
    if page == IN_FORCE:
        value, where, is_set = setting.value, setting.origin, setting.origin != "default"
    else:
        place = setting.at(page)
        value, is_set = (place.value, True) if place is not None else ("", False)
        where = _place_words(setting, page)
    shown = clean_line(value) if value or is_set else "-"
    shown = shown or "(empty)"
    room = max(6, width - key_cells - 4) if is_narrow else _VALUE_CELLS
    text = cut_middle(shown, room)
    parts: list[tuple[str, str] | str] = [(key, "" if is_set else "$muted"), "  "]
    parts.append((text, "bold" if is_set else "$muted"))
    if not is_narrow:
        parts += [" " * (room - len(text) + 2), (short(clean_line(where)), "$muted")]
    return spans(*parts)


def _place_words(setting: SettingView, page: str) -> str:
    place = setting.at(page)
    if place is None:
        return ""
    line = place.where.rpartition(":")[2]
    where = f"line {line}" if line.isdigit() else place.where
    if not place.counts:
        return f"{where}, not trusted: does not count"
    return where if setting.origin == place.where else f"{where}, overruled by {setting.origin}"


def details(setting: SettingView, width: int) -> Content:
    """Give two lines about the marked setting: what it means, and where its value comes from."""
    words = "one of " + ", ".join(word or '""' for word in setting.choices) if setting.choices else ""
    meaning = "; ".join(part for part in (setting.meaning, words) if part)
    default = f"default {setting.default}" if setting.default else "no default"
    origin = short(clean_line(setting.origin))
    where = default if setting.origin == "default" else f"{default} · now from {origin}"
    return spans(
        (cut_end(clean_line(meaning), width), ""), "\n", (cut_end(clean_line(where), width), "$muted")
    )


def cut_end(text: str, width: int) -> str:
    """Cut a line to `width` characters."""
    return text if len(text) <= width else f"{text[: max(0, width - 1)]}…"


def short(text: str) -> str:
    """Write the person's home folder as ~."""
    home = str(Path.home())
    return text.replace(f"{home}/", "~/") if len(home) > 1 else text
