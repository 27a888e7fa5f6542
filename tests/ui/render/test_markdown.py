import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from agent_tui.ui.palette import Palette
from agent_tui.ui.render.inks import Inks
from agent_tui.ui.render.markdown import render
from agent_tui.ui.render.rows import Row
from agent_tui.ui.render.safe import clean

PALETTE = Palette.DARK
INKS = Inks(PALETTE)


def texts(source: str, width: int = 40) -> list[str]:
    return [row.text for row in render(clean(source), width, INKS)]


def style_of(rows: list[Row], text: str) -> str:
    for row in rows:
        for run in row.runs:
            if run.text.strip() == text:
                return str(run.style)
    raise AssertionError(f"{text!r} is not drawn")


def test_nested_lists_hang_under_their_markers() -> None:
    source = "1. one\n   - two words that have to wrap here\n     1. deep\n2. next\n"

    assert texts(source, 26) == [
        "1. one",
        "   ◦ two words that have",
        "     to wrap here",
        "     1. deep",
        "2. next",
    ]


def test_numbers_go_on_from_the_first_one() -> None:
    assert texts("9. a\n1. b\n1. c\n") == ["9. a", "10. b", "11. c"]


def test_blank_lines_between_items_are_kept_where_the_source_has_them() -> None:
    assert texts("- a\n- b\n\n- c\n") == ["• a", "• b", "", "• c"]


def test_task_lists_show_boxes() -> None:
    assert texts("- [ ] open\n- [x] done\n1. [x] third\n") == ["☐ open", "☑ done", "", "1. ☑ third"]


def test_quotes_nest() -> None:
    assert texts("> a\n> > b\n") == ["▎ a", "▎ ", "▎ ▎ b"]


def test_a_fence_is_code_in_any_language_and_never_markup() -> None:
    rows = render("```python\ndef f():\n    return '**no**'\n```", 40, INKS)

    assert [row.text for row in rows] == [" def f():", "     return '**no**'"]
    assert PALETTE.tok_keyword in style_of(rows, "def")
    assert all(row.fill is not None and row.start == 1 for row in rows)


def test_a_fence_in_a_list_is_indented() -> None:
    assert texts("- a\n  ```\n  x\n  ```\n") == ["• a", "   x"]


def test_tables_align_and_wrap() -> None:
    source = "| a | number |\n|:--|-------:|\n| x | 1 |\n| 日本 | 22 |\n"

    assert texts(source) == ["a    │ number", "─────┼───────", "x    │      1", "日本 │     22"]


def test_tu_10_every_table_row_has_the_same_width() -> None:
    source = (
        "| a | b |\n|---|---|\n| 日本語のとても長いテキスト | 👍🏽 e\u0301 🇩🇪 ok |\n| x | "
        + "y" * 50
        + " |\n"
    )

    rows = texts(source, 20)

    assert {cell_len(row) for row in rows} == {cell_len(rows[0])}
    assert cell_len(rows[0]) <= 20


def test_a_table_without_room_becomes_records() -> None:
    assert texts("| name | size |\n|---|---|\n| a | 1 |\n| b | 2 |\n", 10) == [
        "name: a",
        "size: 1",
        "",
        "name: b",
        "size: 2",
    ]


def test_headings_rules_and_breaks() -> None:
    assert texts("# One\nbody\n***\nfirst\\\nsecond\n", 6) == [
        "One",
        "",
        "body",
        "",
        "──────",
        "",
        "first",
        "second",
    ]


def test_h_p5_a_link_and_an_image_show_where_they_lead() -> None:
    assert texts("[docs](https://example.com/x) ![chart](https://evil.example/?d=SECRET)", 120) == [
        "docs (https://example.com/x) [chart] (https://evil.example/?d=SECRET)"
    ]


def test_a_link_that_is_its_own_text_is_shown_once() -> None:
    assert texts("<https://example.com/x> and https://example.com/y.") == [
        "https://example.com/x and",
        "https://example.com/y.",
    ]


def test_only_web_links_become_terminal_links() -> None:
    rows = render("[a](https://example.com) [b](javascript:x) [c](file:///etc)", 120, INKS)

    links = {run.text: run.style.link for row in rows for run in row.runs if run.style and run.style.link}
    assert links == {"a": "https://example.com"}


def test_html_is_shown_as_it_is() -> None:
    assert texts("<div class='x'>\n<b>hi</b>\n</div>\n\nx <i>y</i>") == [
        "<div class='x'>",
        "<b>hi</b>",
        "</div>",
        "",
        "x <i>y</i>",
    ]


def test_h_t3_markup_of_the_framework_is_shown_as_it_is() -> None:
    source = "[link=https://evil]x[/link] and [@click=app.quit]x[/] [/"

    assert texts(source, 80) == [source]


def test_an_entity_cannot_smuggle_an_escape() -> None:
    assert texts("&#27;]0;x&#7; &#x9b;31m &#x202e;") == ["\ufffd]0;x\ufffd \ufffd31m ⟦202e⟧"]
    assert texts("```\n&#27;\n```") == [" &#27;"]


def test_very_long_words_are_cut_at_the_edge() -> None:
    rows = texts("https://example.com/" + "x" * 100, 30)

    assert "".join(rows) == "https://example.com/" + "x" * 100
    assert all(len(row) <= 30 for row in rows)


def test_rtl_and_combining_text_stays_in_order() -> None:
    assert texts("שלום עולם e\u0301") == ["שלום עולם e\u0301"]


def test_emphasis_sets_attributes() -> None:
    rows = render("*a* **b** ~~c~~ `d` ***e***", 80, INKS)

    assert "italic" in style_of(rows, "a")
    assert "bold" in style_of(rows, "b")
    assert "strike" in style_of(rows, "c")
    assert PALETTE.inline_code in style_of(rows, "d")
    assert "bold italic" in style_of(rows, "e")


def test_copying_a_wrapped_paragraph_gives_its_one_line() -> None:
    rows = render("the quick brown fox jumps", 10, INKS)

    assert "".join(row.text + (row.join or "") for row in rows) == "the quick brown fox jumps"
    assert rows[-1].join is None


HOSTILE = [
    "",
    "\n" * 500,
    "```" * 300,
    ">" * 400 + "x",
    "- " * 300 + "x",
    "[" * 500 + "]" * 500,
    "*" * 999,
    "`" * 999 + "x",
    "|" * 300 + "\n" + "|-" * 150,
    "| a |\n|---|\n" + "|" * 80,
    "|---|\n|---|",
    "[a]: <" + "x" * 999,
    "&" * 400 + "#x110000; &#0; &#xd800;",
    "\ud800\udfff",
    "<!--" * 200,
    "\x00\x1b[31m\x9b",
    "1" * 12 + ". x",
    "999999999. x\n\n1. y",
    "\t- a\n\t\t- b",
    "![](){}[]()" * 50,
    "a\n=\n-\n#\n" * 50,
    "![[[[](((()",
    "[x](<" + "y" * 3000 + ">)",
    "e" + "\u0301" * 3000,
    "👩‍" * 400,
]


@pytest.mark.parametrize("source", HOSTILE)
@pytest.mark.parametrize("width", [1, 3, 40])
def test_hostile_markdown_never_raises_and_never_overflows(source: str, width: int) -> None:
    rows = render(clean(source), width, INKS)

    assert all(cell_len(row.text) <= max(width, 40) for row in rows)


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 1 << 30), width=st.integers(1, 50))
def test_random_markup_never_raises(seed: int, width: int) -> None:
    chance = random.Random(seed)
    parts = [
        "*",
        "_",
        "`",
        "~~",
        "[",
        "](",
        ")",
        "!",
        "<",
        ">",
        "#",
        "-",
        "1.",
        "|",
        "\n",
        "\n\n",
        "    ",
        "\t",
        "&#",
    ]
    parts += ["a", " b ", "日", "\\", "```", "~~~", ":--", "http://x.y", "\x1b", ";"]

    render(clean("".join(chance.choice(parts) for _ in range(120))), width, INKS)


def test_a_bare_address_ends_where_the_sentence_goes_on() -> None:
    rows = render(
        '見てhttps://example.com/a.。次 (https://example.com/b), "https://example.com/c"', 120, INKS
    )

    links = [run.text for row in rows for run in row.runs if run.style and run.style.link]
    assert links == ["https://example.com/a", "https://example.com/b", "https://example.com/c"]
