"""The presets of the keymap: what each changes in the default keys."""

from __future__ import annotations

from typing import Literal, get_args

Preset = Literal["default", "emacs", "vim"]
PRESET_NAMES: tuple[Preset, ...] = get_args(Preset)


def preset_named(name: str) -> Preset | None:
    """Give the preset of this name, None when there is none."""
    return next((preset for preset in PRESET_NAMES if preset == name.lower()), None)


PRESETS: dict[Preset, dict[str, dict[str, str]]] = {
    "default": {},
    "emacs": {
        "global": {
            "alt+x": "palette",
            "ctrl+x ctrl+c": "quit",
            "ctrl+x ctrl+f": "sessions",
            "ctrl+x u": "",
            "ctrl+x r": "",
            "ctrl+v": "page_down",
            "alt+v": "page_up",
            "alt+less_than_sign": "top",
            "alt+greater_than_sign": "bottom",
            "alt+s": "search",
            "ctrl+b": "",
            "ctrl+f": "",
            "ctrl+t": "",
            "alt+t": "",
            "ctrl+x ctrl+t": "tasks",
            "alt+w": "copy_selection",
        },
        "prompt": {
            "ctrl+g": "escape",
            "ctrl+s": "",
            "ctrl+x ctrl+s": "stash",
            "ctrl+p": "up",
            "ctrl+n": "down",
            "ctrl+o": "newline",
            "alt+p": "previous",
            "alt+n": "next",
            "ctrl+v": "",
            "alt+v": "",
            "ctrl+x ctrl+y": "paste_image",
        },
        "edit": {
            "ctrl+f": "right",
            "ctrl+b": "left",
            "ctrl+x u": "undo",
            "ctrl+slash": "undo",
            "alt+underscore": "redo",
            "ctrl+t": "transpose",
            "alt+t": "transpose_words",
            "alt+m": "line_start",
        },
        "list": {
            "ctrl+g": "cancel",
            "ctrl+v": "page_down",
            "alt+v": "page_up",
            "alt+less_than_sign": "first",
            "alt+greater_than_sign": "last",
        },
        "field": {"ctrl+g": "cancel", "ctrl+x ctrl+e": "outside"},
    },
    "vim": {},
}
"""Overrides by context, as a keymap file would write them. The vim preset adds its modes to the default keys."""
