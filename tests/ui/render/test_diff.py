import pytest
from rich.cells import cell_len

from agent_tui.ui.palette import Palette
from agent_tui.ui.render.diff import DiffBody, DiffView
from agent_tui.ui.render.diff_parse import changed_words, parse_diff

PALETTE = Palette.DARK
DIFF = """--- a/src/greet.py
+++ b/src/greet.py
@@ -8,5 +8,6 @@ def main
 import sys
-def greet(name):
-    print("Hello, " + name)
+def greet(name: str):
+    print(f"Hello, {name}")
+    return name

 greet(1)
"""


def rows(body: DiffBody) -> list[str]:
    return [body.row(index).text for index in range(body.height)]


def test_numbers_and_signs_stand_before_the_text() -> None:
    assert rows(DiffView(DIFF).body(80)) == [
        "@@ -8,5 +8,6 @@ def main",
        " 8  8   import sys",
        " 9    - def greet(name):",
        '10    -     print("Hello, " + name)',
        "    9 + def greet(name: str):",
        '   10 +     print(f"Hello, {name}")',
        "   11 +     return name",
        "11 12   ",
        "12 13   greet(1)",
    ]


def test_a_narrow_diff_has_one_column_of_numbers() -> None:
    assert rows(DiffView(DIFF).body(40))[1:4] == [
        " 8   import sys",
        " 9 - def greet(name):",
        '10 -     print("Hello, " + name)',
    ]


def test_counts_hunks_and_files() -> None:
    view = DiffView(DIFF)

    assert (view.added, view.removed, list(view.files)) == (3, 2, ["src/greet.py"])
    assert [(hunk.path, hunk.added, hunk.removed) for hunk in view.hunks] == [("src/greet.py", 3, 2)]
    assert view.body(80).row_of_line(view.hunks[0].line) == 0


def test_changed_words_stand_out_and_code_is_coloured() -> None:
    view = DiffView(DIFF)
    body = view.body(80)

    added = body.row(4)
    marked = [run.text for run in added.runs if run.style and run.style.bgcolor]
    keyword = next(run for run in added.runs if run.text == "def")

    assert "".join(marked) == ": str"
    assert str(keyword.style) == PALETTE.tok_keyword
    assert str(added.fill) == f"on {PALETTE.diff_add_bg}"
    assert str(body.row(2).fill) == f"on {PALETTE.diff_del_bg}"


def test_lines_with_nothing_in_common_are_not_compared_word_by_word() -> None:
    assert changed_words("alpha beta", "123456 = x(y)") == ((), ())
    assert changed_words("a" * 700, "a" * 700 + "b") == ((), ())


def test_changed_words_are_character_ranges() -> None:
    assert changed_words("x = old(1)", "x = newer(1)") == (((4, 7),), ((4, 9),))


def test_side_by_side_puts_the_new_line_beside_the_old_one() -> None:
    body = DiffView(DIFF).body(81, side_by_side=True)
    drawn = rows(body)

    assert drawn[2].split("│")[0].rstrip() == " 9 - def greet(name):"
    assert drawn[2].split("│")[1].rstrip() == "  9 + def greet(name: str):"
    assert drawn[4].split("│")[0].strip() == ""
    assert {cell_len(row) for row in drawn[1:]} == {81}


def test_wrapped_lines_lose_nothing_and_unwrapped_ones_say_that_they_were_cut() -> None:
    long = "@@ -1 +1 @@\n-x\n+" + "word " * 30 + "\n"
    wrapped, cut = DiffView(long).body(40), DiffView(long).body(40, wrap=False)

    added = list(rows(wrapped)[2:])
    assert " ".join(part[4:].strip() for part in added) == ("word " * 30).strip()
    assert all(len(row) <= 40 for row in added)
    assert cut.height == 3
    assert cut.row(2).text.endswith("…")


def test_a_removed_line_that_looks_like_a_file_head_stays_a_line() -> None:
    diff = parse_diff("--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n--- old\n+++ new\n same\n")

    assert [(line.kind, line.text) for line in diff.lines[2:]] == [
        ("del", "-- old"),
        ("add", "++ new"),
        ("context", "same"),
    ]


def test_several_files_show_their_names() -> None:
    text = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n--- /dev/null\n+++ b/new.py\n@@ -0,0 +1 @@\n+hi\n--- a/old\n+++ /dev/null\n@@ -1 +0,0 @@\n-by\n"

    view = DiffView(text)

    assert list(view.files) == ["x", "new.py", "old"]
    assert "new.py" in rows(view.body(80))


def test_a_missing_newline_is_noted() -> None:
    text = "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n"

    assert [line.kind for line in parse_diff(text).lines] == ["hunk", "del", "note", "add"]
    assert parse_diff(text).lines[1].mate == 3


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no diff at all",
        "@@ -1,9 +1,9 @@\n-a",
        "+++ x\n--- y\n@@",
        "@@ -1 +1 @@\nodd\n",
        "\x1b[31m",
        "-a\n+b",
        "diff --git a b",
    ],
)
def test_any_text_gives_rows(text: str) -> None:
    for width in (1, 12, 80):
        for two in (False, True):
            body = DiffView(text).body(width, side_by_side=two)
            assert len(rows(body)) == body.height


def test_escapes_in_a_diff_are_shown() -> None:
    body = DiffView("@@ -1 +1 @@\n-a\n+\x1b]0;x\x07\u202e\n").body(60)

    assert body.row(2).text.endswith("␛]0;x␇⟦202e⟧")


def test_strips_fill_the_width() -> None:
    strips = DiffView(DIFF, palette=Palette.LIGHT).body(60).strips(2, 5)

    assert [strip.cell_length for strip in strips] == [60, 60, 60]


def test_5_000_lines_are_laid_out_without_colouring_them() -> None:
    text = "@@ -1,5000 +1,5000 @@\n" + "".join(f"-old {n}\n+new {n}\n" for n in range(2_500))
    body = DiffView(text, path="x.py").body(100)

    assert body.height == 5_001
    assert body.row(4_900).text.endswith("+ new 2449")


def test_a_page_of_digits_in_a_hunk_is_text() -> None:
    header = f"@@ -{'1' * 5000} +1 @@"
    assert header in [line.text for line in parse_diff(f"--- a\n+++ b\n{header}\n-x\n+y\n").lines]
