import itertools
import random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from rich.cells import cell_len, split_graphemes
from rich.segment import Segment

from agent_tui.ui.render.rows import (
    cells,
    expand_tabs,
    fit,
    index_at,
    marked,
    slice_runs,
    source_index,
    wrap,
    wrap_runs,
)

LETTERS = "ab cd  \u00e9e\u0301日本語，。👩👍🏽🇩🇪-x"


def pieces(text: str, width: int) -> list[str]:
    return [text[start:end] for start, end, _ in wrap(text, width)]


def test_words_wrap_at_blanks_and_blanks_at_the_cut_vanish() -> None:
    assert pieces("the quick  brown fox", 10) == ["the quick", "brown fox"]


def test_a_word_longer_than_the_line_is_cut() -> None:
    assert pieces("see aaaaaaaaaaaaaaaaaaaaaaa b", 8) == ["see", "aaaaaaaa", "aaaaaaaa", "aaaaaaa", "b"]


def test_an_empty_line_is_one_piece() -> None:
    assert pieces("", 5) == [""]


def test_tu_10_wide_characters_are_never_cut_and_closing_marks_do_not_begin_a_line() -> None:
    assert pieces("日本語のテキスト", 5) == ["日本", "語の", "テキ", "スト"]
    assert pieces("abc日本語", 6) == ["abc日", "本語"]
    assert pieces("日本。語", 4) == ["日", "本。", "語"]


def test_tu_10_a_combining_mark_stays_with_its_letter() -> None:
    assert pieces("ae\u0301b", 1) == ["a", "e\u0301", "b"]


@settings(max_examples=300, deadline=None)
@given(text=st.text(alphabet=LETTERS, max_size=60), width=st.integers(1, 20))
def test_wrapped_pieces_fit_and_lose_only_blanks(text: str, width: int) -> None:
    spans = wrap(text, width)
    kept = "".join(text[start:end] for start, end, _ in spans)
    widest = max((size for _, _, size in split_graphemes(text)[0]), default=0)

    assert kept.replace(" ", "") == text.replace(" ", "")
    assert all(cell_len(text[start:end].rstrip()) <= max(width, widest) for start, end, _ in spans)
    assert spans[0].start == 0
    assert all(not text[one.end : two.start].strip() for one, two in itertools.pairwise(spans))


@settings(max_examples=200, deadline=None)
@example(text="aa ", width=1, seed=0)
@given(text=st.text(alphabet=LETTERS, max_size=60), width=st.integers(1, 20), seed=st.integers(0, 999))
def test_joined_rows_give_the_line_back(text: str, width: int, seed: int) -> None:
    chance = random.Random(seed)
    cuts = sorted(chance.randrange(len(text) + 1) for _ in range(3))
    runs = [Segment(text[a:b]) for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True) if b > a]

    rows = wrap_runs(runs, width)

    given_back = "".join(row.text + (row.join or "") for row in rows)
    assert given_back == (text if len(rows) == 1 else text[: len(given_back)])
    assert not text[len(given_back) :].strip()
    assert rows[-1].join is None
    assert all(row.join is not None for row in rows[:-1])


def test_slicing_keeps_styles_with_their_text() -> None:
    runs = [Segment("abc"), Segment("def"), Segment("ghi")]

    assert slice_runs(runs, wrap("abcdefghi", 4)) == [
        [Segment("abc"), Segment("d")],
        [Segment("ef"), Segment("gh")],
        [Segment("i")],
    ]


def test_marking_splits_runs_at_the_edges() -> None:
    from rich.style import Style

    bold = Style(bold=True)

    assert marked([Segment("abcd"), Segment("ef")], [(1, 2, bold), (3, 5, bold)]) == [
        Segment("a"),
        Segment("b", bold),
        Segment("c"),
        Segment("d", bold),
        Segment("e", bold),
        Segment("f"),
    ]


@pytest.mark.parametrize(
    ("text", "width", "shown"),
    [
        ("hello", 5, "hello"),
        ("hello", 4, "hel…"),
        ("日本語", 5, "日本…"),
        ("日本語", 4, "日…"),
        ("e\u0301e\u0301e\u0301", 2, "e\u0301…"),
        ("abc", 1, "…"),
        ("abc", 0, ""),
    ],
)
def test_tu_10_cutting_never_splits_a_cluster(text: str, width: int, shown: str) -> None:
    assert fit(text, width) == shown
    assert cell_len(fit(text, width)) <= max(0, width)


def test_tabs_go_to_the_next_stop_in_cells() -> None:
    assert expand_tabs("a\tb") == "a   b"
    assert expand_tabs("日\tb") == "日  b"
    assert expand_tabs("\t\tx") == "        x"


def test_a_column_of_the_drawn_line_leads_back_to_the_source() -> None:
    assert [source_index("a\tbc", column) for column in (0, 1, 4, 5, 9)] == [0, 1, 2, 3, 4]


def test_a_cell_leads_to_the_character_that_covers_it() -> None:
    assert [index_at("日a", cell) for cell in range(4)] == [0, 0, 1, 2]
    assert index_at("abc", 9) == 3


def test_width_counts_cells() -> None:
    assert cells([Segment("ab"), Segment("日本")]) == 6
