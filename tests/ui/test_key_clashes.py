from pathlib import Path

import pytest

from agent_tui.ui.key_clashes import key_clashes
from agent_tui.ui.presets import PRESET_NAMES, Preset


def clashes(tmp_path: Path, text: str, *, preset: Preset = "default") -> list[str]:
    file = tmp_path / "keymap.toml"
    file.write_text(text)
    return [str(clash).removeprefix(f"{file}:") for clash in key_clashes(file, preset=preset)]


@pytest.mark.parametrize("preset", PRESET_NAMES)
def test_no_preset_clashes_with_itself_or_with_a_free_key(tmp_path: Path, preset: Preset) -> None:
    text = '[global]\n"f9 f9" = "models"\n[approval]\n"f9" = "submit"\n'

    assert clashes(tmp_path, text, preset=preset) == []


def test_a_key_that_begins_chords_is_told_with_them(tmp_path: Path) -> None:
    text = '[prompt]\n"f9" = "stash"\n[global]\n"f9 a" = "models"\n"f9 b" = "sessions"\n'

    assert clashes(tmp_path, text) == [
        "2: prompt.f9: begins chords that cannot be pressed any more: F9 a (global: choose a model), "
        "F9 b (global: choose a session)"
    ]


def test_a_chord_behind_a_key_that_does_something_is_told_with_it(tmp_path: Path) -> None:
    assert clashes(tmp_path, '# mine\n[prompt]\n"ctrl+s x" = "escape"\n') == [
        "3: prompt.ctrl+s x: cannot be pressed: its first keys alone are Ctrl+S (prompt: put the draft aside or bring "
        'it back); take them away with "ctrl+s" = ""'
    ]


def test_a_key_that_was_taken_away_clashes_with_nothing(tmp_path: Path) -> None:
    assert clashes(tmp_path, '[prompt]\n"ctrl+s" = ""\n"ctrl+s x" = "escape"\n') == []


def test_keys_of_normal_mode_count_in_the_vim_preset_only(tmp_path: Path) -> None:
    text = '[prompt]\n"g g x" = "stash"\n'

    assert clashes(tmp_path, text) == []
    assert len(clashes(tmp_path, text, preset="vim")) == 1
