import re

import pytest

from tests.e2e.conftest import Place
from tests.e2e.test_offline import READY

COLOUR = re.compile(rb"(?:^|;)(38|48|3[0-7]|4[0-7]|9[0-7]|10[0-7])(?=;|$)")


def sequences(place: Place, *arguments: str, **env: str) -> list[bytes]:
    """Give the parameters of every SGR of a start."""
    with place.terminal(*arguments, **env) as terminal:
        terminal.until(READY)
        terminal.until("offline")
        terminal.quiet(0.5)
        raw = bytes(terminal.raw)
    return sorted(set(re.findall(rb"\x1b\[([0-9;]*)m", raw)))


def test_the_terminal_theme_uses_the_terminals_own_colours(place: Place) -> None:
    found = sequences(place, "--theme", "terminal", COLORTERM="truecolor")

    # The prompt that stands before anything is loaded is drawn with no colour at all.
    assert not [one for one in found if re.search(rb"(?:38|48);[25];", one)]
    assert [one for one in found if COLOUR.search(one)]


@pytest.mark.parametrize(
    ("env", "wanted", "refused"),
    [
        ({"TERM": "xterm-256color", "COLORTERM": "truecolor"}, rb"[34]8;2;", rb"[34]8;5;"),
        ({"TERM": "xterm-256color"}, rb"[34]8;5;", rb"[34]8;2;"),
        ({"TERM": "xterm"}, rb"(?:^|;)(?:3[0-7]|4[0-7]|9[0-7]|10[0-7])(?:;|$)", rb"[34]8;[25];"),
        ({"TERM": "linux"}, rb"(?:^|;)(?:3[0-7]|4[0-7]|9[0-7]|10[0-7])(?:;|$)", rb"[34]8;[25];"),
    ],
)
def test_a_terminal_gets_no_more_colours_than_it_has(
    place: Place, env: dict[str, str], wanted: bytes, refused: bytes
) -> None:
    found = sequences(place, **env)

    assert [one for one in found if re.search(wanted, one)]
    assert not [one for one in found if re.search(refused, one)]


@pytest.mark.parametrize("theme", ["dark", "terminal"])
@pytest.mark.parametrize("by", ["flag", "variable"])
def test_without_colours_there_are_none(place: Place, theme: str, by: str) -> None:
    arguments = ["--theme", theme, *(["--no-color"] if by == "flag" else [])]
    found = sequences(place, *arguments, **({"NO_COLOR": "1"} if by == "variable" else {}))

    assert not [one for one in found if COLOUR.search(one)]
    assert [one for one in found if one in (b"1", b"7") or b"1" in one.split(b";")]
