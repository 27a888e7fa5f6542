"""Finds keys of a person's keymap file that make a chord impossible to press, or are such a chord."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from agent_tui.protocol.errors import ConfigError
from agent_tui.protocol.small_file import read_small
from agent_tui.ui.bindings import ACTIONS
from agent_tui.ui.keymap import Keymap, line_of_key, read_overrides, spell
from agent_tui.ui.presets import Preset

_TOGETHER = (
    ("prompt", "edit", "global"),
    ("list", "edit"),
    ("field", "edit"),
    *((context, "list") for context in ("pages", "confirm", "question", "servers", "rules", "changes")),
    ("reader",),
    ("approval",),
)
"""The contexts in which one press is looked up, in any order: whichever knows the key alone ends the press."""
_TOLD = 3


@dataclass(frozen=True)
class _Bound:
    context: str
    key: str
    action: str

    @property
    def told(self) -> str:
        return f"{spell(self.key)} ({self.context}: {ACTIONS[self.context][self.action]})"


def key_clashes(file: Path, *, preset: Preset) -> list[ConfigError]:
    """Name the clashes that the entries of `file` bring about. Raises ConfigError where it cannot be read."""
    overrides = read_overrides(file)
    if not overrides:
        return []
    mine = {(context, key) for context, keys in overrides.items() for key, action in keys.items() if action}
    keymap = Keymap(overrides, preset=preset)
    hidden: dict[_Bound, dict[_Bound, None]] = {}
    groups = [("vim", *_TOGETHER[0]), *_TOGETHER[1:]] if preset == "vim" else _TOGETHER
    for contexts in groups:
        for alone, chord in _pairs(keymap, contexts):
            if {(alone.context, alone.key), (chord.context, chord.key)} & mine:
                hidden.setdefault(alone, {})[chord] = None
    text = read_small(file)
    found: list[ConfigError] = []
    for alone, chords in hidden.items():
        by_key = (alone.context, alone.key) in mine
        for told in [list(chords)] if by_key else [[chord] for chord in chords]:
            at = alone if by_key else told[0]
            reason = _of_key(told) if by_key else _of_chord(alone)
            line = line_of_key(text, at.context, at.key)
            found.append(ConfigError(reason, file=file, key=f"{at.context}.{at.key}", line=line))
    return found


def _pairs(keymap: Keymap, contexts: Sequence[str]) -> Iterator[tuple[_Bound, _Bound]]:
    every = [_Bound(context, key, action) for context in contexts for key, action in keymap.bound(context)]
    for chord in every:
        for alone in every if " " in chord.key else ():
            if chord.key.startswith(f"{alone.key} "):
                yield alone, chord


def _of_key(chords: Sequence[_Bound]) -> str:
    named = [chord.told for chord in chords[:_TOLD]]
    more = [f"{len(chords) - _TOLD} more"] if len(chords) > _TOLD else []
    return f"begins chords that cannot be pressed any more: {', '.join([*named, *more])}"


def _of_chord(alone: _Bound) -> str:
    return f'cannot be pressed: its first keys alone are {alone.told}; take them away with "{alone.key}" = ""'
