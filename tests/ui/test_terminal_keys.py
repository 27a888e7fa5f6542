import pytest
from textual import events

from agent_tui.ui.terminal_keys import TerminalKeys


@pytest.mark.parametrize(
    ("sent", "keys"),
    [
        ("\x1b\r", ["alt+enter"]),
        ("a\x1b\rb\r", ["a", "alt+enter", "b", "enter"]),
        ("\x1b[27;2;13~", ["shift+enter"]),
        ("\x1b[27;3;13~", ["alt+enter"]),
        ("\x1b[27;5;13~", ["ctrl+enter"]),
        ("\x1b[27;2;65~", ["A"]),
        ("\x1b[27;2;32~", ["space"]),
        ("\x1b[13;2u", ["shift+enter"]),
        ("\x1bb", ["ctrl+left"]),
    ],
)
def test_keys_with_modifiers_arrive_whole_from_every_kind_of_terminal(sent: str, keys: list[str]) -> None:
    assert _keys(sent) == keys


@pytest.mark.parametrize("sent", ["\x1b[27;2;9999999~", "\x1b[27;999;1~", "\x1b[27;2;0~", "\x1b[9999999;2u"])
def test_an_impossible_key_of_a_terminal_ends_nothing(sent: str) -> None:
    assert _keys(f"{sent}x")[-1] == "x"


def _keys(sent: str) -> list[str]:
    parser = TerminalKeys()
    return [event.key for event in parser.feed(sent) if isinstance(event, events.Key)]
