import random
import sys
import unicodedata

import pytest
from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from agent_tui.ui.render.safe import (
    clean,
    clean_line,
    foreign_characters,
    install,
    safe_url,
    scrub,
    vis,
)
from tests.support.unvis import unvis

ATTACKS = [
    "\x1b]52;c;ZXZpbA==\x07",
    "\x1b]0;pwn\x07",
    "\x1b]8;;http://evil\x07x\x1b]8;;\x07",
    "\x1b[2J\x1b[6n\x1b[10A",
    "\x1bPq\x1b\\",
    "\x9b31m",
    "\x1bc",
    "\x1b[?2004h",
]


def everything() -> str:
    return "".join(map(chr, range(sys.maxunicode + 1)))


def test_nothing_but_tab_and_newline_of_control_and_format_characters_passes_clean() -> None:
    shown = clean(everything())

    assert [c for c in shown if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp")] == ["\t", "\n"]


@pytest.mark.parametrize("attack", ATTACKS)
def test_h_t1_clean_leaves_a_visible_mark_of_every_sequence(attack: str) -> None:
    shown = clean(attack)

    assert "␛" in shown or "⟦9b⟧" in shown
    assert not any(c < " " or "\x7f" <= c <= "\x9f" for c in shown)


def test_h_t1_a_sequence_cut_into_single_characters_cannot_slip_through() -> None:
    attack = "".join(ATTACKS)

    assert "".join(clean(c) for c in attack) == clean(attack)


def test_clean_shows_what_reorders_and_drops_what_has_no_width() -> None:
    assert clean("a\u202eb\u2066c") == "a⟦202e⟧b⟦2066⟧c"
    assert clean("a\u200bb\ufeffc\u00add") == "abcd"
    assert clean("👩\u200d👧 ⚠\ufe0f") == "👩👧 ⚠"
    assert clean("x\r\ny\rz") == "x\ny␍z"
    assert clean("\ud800") == "\ufffd"
    assert clean("\U000e0041") == "⟦e0041⟧"


def test_clean_keeps_letters_of_all_scripts() -> None:
    text = "naïve Ελληνικά שלום مرحبا 日本語 e\u0301 \u00a0 \ue0b0"

    assert clean(text) == text


def test_clean_line_gives_one_line() -> None:
    assert clean_line("  a\n\tb\x1b  c ") == "a b␛ c"


def test_vis_is_undone_by_unvis_for_200_000_random_strings() -> None:
    chance = random.Random(20)
    odd = "⟦⟧n\n\r\x1b\u202e\u200b\u3164 0aF\\x1b\ud800\u0301\u2800é"
    for _ in range(200_000):
        size = chance.randrange(9)
        text = "".join(
            chance.choice(odd) if chance.random() < 0.8 else chr(chance.randrange(0x110000))
            for _ in range(size)
        )
        assert unvis(vis(text)) == text


def test_vis_shows_every_odd_character_and_leaves_plain_text() -> None:
    assert vis("ls -la") == "ls -la"
    assert vis("a\u202eb\x1b\u3164\u00a0e\u0301\ufe0f⟦") == "a⟦202e⟧b⟦1b⟧⟦3164⟧⟦a0⟧e⟦301⟧⟦fe0f⟧⟦27e6⟧"
    assert vis("one\ntwo") == "one⟦n⟧\ntwo"
    assert vis("\ttab") == "⟦9⟧tab"


def test_vis_leaves_nothing_invisible() -> None:
    for char in (
        everything()[:0x3000]
        + everything()[0xA000:0xB000]
        + everything()[0xE000:0x11000]
        + everything()[0xE0000:0xE0200]
    ):
        if char.isascii() or (char.isprintable() and unicodedata.category(char)[0] != "M"):
            continue
        assert vis(char) == f"⟦{ord(char):x}⟧"


def test_foreign_characters_are_named_once() -> None:
    assert foreign_characters("pаypаl") == ["U+0430 CYRILLIC SMALL LETTER A"]


@pytest.mark.parametrize(
    ("url", "result"),
    [
        ("https://example.com/a?b=c#d", "https://example.com/a?b=c#d"),
        ("mailto:a@example.com", "mailto:a@example.com"),
        ("file:///etc/passwd", ""),
        ("javascript:alert(1)", ""),
        ("https://a\x1b]52;c;x\x07", ""),
        ("https://аpple.com", ""),
        ("https://a b", ""),
        ("https://" + "x" * 3_000, ""),
    ],
)
def test_only_plain_web_and_mail_addresses_become_links(url: str, result: str) -> None:
    assert safe_url(url) == result


def test_scrub_keeps_the_width() -> None:
    assert scrub("a\x1b[31mb\tc\u202e") == "a[31mbc"
    assert scrub("日本\u00a0語") == "日本\u00a0語"


def test_an_installed_strip_writes_no_control_characters_of_its_content() -> None:
    install()
    install()
    console = Console(color_system="truecolor", force_terminal=True)
    style = Style(color="red", link="https://x\x1b]0;pwn\x07")
    strip = Strip([Segment("".join(ATTACKS)), Segment("link", style)])

    written = strip.render(console)

    assert "\x1b]" not in written
    assert "\x9b" not in written
    assert "\x07" not in written
    assert "\x1b[2J" not in written
    assert "link" in written


def test_an_installed_strip_keeps_good_links() -> None:
    install()
    strip = Strip([Segment("link", Style(link="https://example.com"))])

    assert ";https://example.com\x1b\\" in strip.render(Console(force_terminal=True))
