from pathlib import Path

import pytest

from agent_tui.protocol.errors import ConfigError
from agent_tui.ui.bindings import ACTIONS, DEFAULTS
from agent_tui.ui.keymap import Keymap, Pressed, read_overrides, spell


def test_every_bound_action_is_described_and_every_described_one_belongs_to_its_context() -> None:
    for context, keys in DEFAULTS.items():
        assert set(keys.values()) <= set(ACTIONS[context])


def test_the_first_context_that_knows_a_key_wins() -> None:
    keys = Keymap()

    assert keys.press(("prompt", "edit", "global"), "ctrl+x", None) == Pressed(pending="ctrl+x")
    assert keys.press(("prompt", "edit", "global"), "u", "u") == Pressed("undo_turn")
    assert keys.press(("approval",), "question_mark", "?") == Pressed("why")


def test_a_chord_that_leads_nowhere_is_dropped_with_its_last_key() -> None:
    keys = Keymap()
    keys.press(("global",), "ctrl+x", None)

    assert keys.press(("global",), "z", "z") == Pressed(pending="-")
    assert keys.press(("global",), "f1", None) == Pressed("help")


def test_a_file_rebinds_adds_chords_and_unbinds(tmp_path: Path) -> None:
    file = tmp_path / "keymap.toml"
    file.write_text('[prompt]\n"ctrl+t" = "stash"\n"ctrl+x ctrl+s" = "stash"\n"ctrl+s" = ""\n')

    keys = Keymap(read_overrides(file))

    assert keys.press(("prompt",), "ctrl+t", None) == Pressed("stash")
    assert keys.press(("prompt",), "ctrl+s", None) == Pressed()
    assert keys.keys_of("prompt", "stash") == ["Ctrl+T", "Ctrl+X Ctrl+S"]


def test_a_file_that_is_not_there_gives_the_defaults(tmp_path: Path) -> None:
    assert Keymap(read_overrides(tmp_path / "none.toml")).press(("prompt",), "enter", "\r") == Pressed(
        "submit"
    )


@pytest.mark.parametrize(
    ("text", "line", "part"),
    [
        ('[prompt]\n"enter" = "submit"\n"ctrl+t" = "stahs"\n', 3, "no action 'stahs'"),
        ('[promt]\n"a" = "submit"\n', 1, "no context 'promt'"),
        ('[global]\n\n"ctrl+c" = ""\n', 3, "reserved"),
        ('[prompt]\n"ctrl+t" = 3\n', 2, "no action 3"),
        ('[prompt]\n"ctrl+x  m" = "stash"\n', 2, "is not a key"),
    ],
)
def test_a_wrong_entry_names_file_and_line(tmp_path: Path, text: str, line: int, part: str) -> None:
    file = tmp_path / "keymap.toml"
    file.write_text(text)

    with pytest.raises(ConfigError) as caught:
        read_overrides(file)

    assert str(caught.value).startswith(f"{file}:{line}: ")
    assert part in str(caught.value)


def test_all_wrong_entries_are_named_the_first_three_in_the_text(tmp_path: Path) -> None:
    file = tmp_path / "keymap.toml"
    file.write_text("\ufeff[prompt] # keys\r\n" + "".join(f'"f{n}" = "nope"\r\n' for n in range(1, 6)))

    with pytest.raises(ConfigError) as caught:
        read_overrides(file)

    assert [f"{file}:{n + 1}: prompt.f{n}: no action 'nope'" in str(caught.value) for n in range(1, 5)] == [
        True,
        True,
        True,
        False,
    ]
    assert str(caught.value).endswith(" 2 more in the file; 'agent-tui config validate' lists all")
    assert len(caught.value.problems) == 5


def test_broken_toml_names_its_line(tmp_path: Path) -> None:
    file = tmp_path / "keymap.toml"
    file.write_text("[prompt\n")

    with pytest.raises(ConfigError, match=r"keymap\.toml:1: "):
        read_overrides(file)


@pytest.mark.parametrize(
    ("key", "spelt"),
    [
        ("ctrl+x m", "Ctrl+X m"),
        ("shift+tab", "Shift+Tab"),
        ("?", "?"),
        ("N", "N"),
        ("ctrl+underscore", "Ctrl+_"),
        ("escape", "Esc"),
    ],
)
def test_keys_are_written_as_people_read_them(key: str, spelt: str) -> None:
    assert spell(key) == spelt


def test_the_sheet_lists_only_what_has_a_key() -> None:
    keys = Keymap({"prompt": {"ctrl+s": ""}})

    assert not any("draft aside" in label for _, label in keys.sheet("prompt"))
    assert any(label.startswith("send") for _, label in keys.sheet("prompt"))
