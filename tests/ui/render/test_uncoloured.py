from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.filter import ANSIToTruecolor, Monochrome

from agent_tui.ui.render.uncoloured import Uncoloured, without_greys

DARK = Color.parse("#15171c")


def drawn(style: str) -> Style | None:
    return Uncoloured().apply([Segment("x", Style.parse(style))], DARK)[0].style


def test_tu_16_colours_are_left_out_and_attributes_stay() -> None:
    assert drawn("bold italic #ff0000 on #15171c") == Style(bold=True, italic=True)


def test_tu_16_what_stands_out_by_its_ground_is_reversed() -> None:
    assert drawn("#15171c on #d8dce4") == Style(reverse=True)


def test_tu_16_a_tinted_ground_is_not() -> None:
    assert drawn("#d8dce4 on #1d2a1d") == Style.null()


def test_tu_16_a_light_ground_works_the_other_way() -> None:
    segments = [Segment("x", Style.parse("white on #102030"))]

    assert Uncoloured().apply(segments, Color.parse("#ffffff"))[0].style == Style(reverse=True)


def test_links_and_meta_are_kept() -> None:
    style = Style.from_meta({"offset": (1, 2)}) + Style(color="red", link="https://example.org")
    kept = Uncoloured().apply([Segment("x", style)], DARK)[0].style

    assert kept is not None
    assert (kept.meta, kept.link, kept.color) == ({"offset": (1, 2)}, "https://example.org", None)


def test_it_takes_the_place_of_the_filter_that_writes_greys() -> None:
    other = ANSIToTruecolor.__new__(ANSIToTruecolor)

    found = without_greys([other, Monochrome()])

    assert (found[0], type(found[1])) == (other, Uncoloured)
