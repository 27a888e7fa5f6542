import pytest

from agent_tui.ui.palette import Palette
from agent_tui.ui.render.inks import Inks
from agent_tui.ui.render.rows import Body
from agent_tui.ui.render.terminal import terminal_body, terminal_lines

PALETTE = Palette.DARK
INKS = Inks(PALETTE)


def drawn(text: str) -> list[str]:
    return ["".join(run.text for run in line) for line in terminal_lines(text, INKS)]


def styled(text: str) -> list[tuple[str, str]]:
    return [(run.text, str(run.style)) for line in terminal_lines(text, INKS) for run in line]


def rows(body: Body) -> list[str]:
    return [body.row(index).text for index in range(body.height)]


def test_tu_04_a_progress_bar_shows_its_last_state() -> None:
    assert drawn("".join(f"\r{n:3}%" for n in range(1, 301)) + "\n") == ["300%"]


def test_tu_04_backspaces_overwrite() -> None:
    assert drawn("abc\b\bX\n") == ["aXc"]


def test_tu_04_colours_become_styles() -> None:
    assert styled("\x1b[31mred\x1b[0m plain") == [("red", PALETTE.ansi[1]), (" plain", PALETTE.text)]


@pytest.mark.parametrize(
    ("codes", "style"),
    [
        ("1;32", f"bold {PALETTE.ansi[2]}"),
        ("3;4;9", f"italic underline strike {PALETTE.text}"),
        ("94", PALETTE.ansi[12]),
        ("7", f"reverse {PALETTE.text}"),
        ("38;5;208", "#ff8700"),
        ("38;5;9", PALETTE.ansi[9]),
        ("38;2;1;2;3", "#010203"),
        ("38:2:1:2:3", "#010203"),
        ("48;5;16", f"{PALETTE.text} on #000000"),
        ("41", f"{PALETTE.text} on {PALETTE.ansi[1]}"),
        ("103", f"{PALETTE.text} on {PALETTE.ansi[11]}"),
        ("2", PALETTE.muted),
        ("", PALETTE.text),
        ("38;5", PALETTE.text),
        ("38", PALETTE.text),
        ("999", PALETTE.text),
    ],
)
def test_sgr_sequences_select_styles(codes: str, style: str) -> None:
    assert styled(f"\x1b[{codes}mx") == [("x", style)]


def test_attributes_end_where_they_are_switched_off() -> None:
    assert styled("\x1b[1;31ma\x1b[22;39mb") == [("a", f"bold {PALETTE.ansi[1]}"), ("b", PALETTE.text)]


def test_colours_go_on_over_line_ends() -> None:
    assert styled("\x1b[31ma\nb") == [("a", PALETTE.ansi[1]), ("b", PALETTE.ansi[1])]


def test_tu_03_every_other_sequence_vanishes_with_its_text() -> None:
    text = (
        "ok\x1b]52;c;ZXZpbA==\x07\x1b]0;pwn\x07\x1b[2J\x1b[6n\x1b[10A\x1bPq\x1b\\\x1b]8;;http://evil\x07x\x1b]8;;\x07"
        "\x9b31m\x1bc\x1b(B\x1b=end"
    )

    assert drawn(text) == ["okxend"]


def test_a_cut_sequence_leaves_no_escape() -> None:
    for text in ("a\x1b", "a\x1b[", "a\x1b[31", "a\x1b]52;c;abc"):
        assert "\x1b" not in drawn(text)[0]
    assert drawn("a\x1b]0;title\nb") == ["a", "b"]


def test_erasing_and_moving_within_the_line() -> None:
    assert drawn("hello\r\x1b[Kbye") == ["bye"]
    assert drawn("abcdef\x1b[3DX") == ["abcXef"]
    assert drawn("ab\x1b[2Cc") == ["ab  c"]
    assert drawn("abc\x1b[1GX") == ["Xbc"]
    assert drawn("abc\x1b[2K\rx") == ["x"]


def test_a_hostile_move_does_not_fill_the_memory() -> None:
    assert len(drawn("a\x1b[999999999Cb")[0]) <= 4_001


def test_tabs_stop_every_eight_columns() -> None:
    assert drawn("a\tb\n\x1b[31ma\x1b[0m\tb") == ["a       b", "a       b"]


def test_crlf_is_a_line_end() -> None:
    assert drawn("a\r\nb\r\n") == ["a", "b"]


def test_long_output_wraps() -> None:
    assert rows(terminal_body("\x1b[31m" + "x" * 25, 10, INKS)) == ["x" * 10, "x" * 10, "x" * 5]


@pytest.mark.parametrize("final", ["m", "C", "D", "G", "K"])
@pytest.mark.parametrize("number", ["1" * 4400, "38;5;" + "9" * 4400])
def test_a_page_of_digits_in_a_sequence_is_no_fault(number: str, final: str) -> None:
    assert "".join(drawn(f"\x1b[{number}{final}word\n")).strip() == "word"
