import json
import subprocess
import time

import pytest

from tests.support.edit_world import edit_of, refused
from tests.support.file_world import FileWorld, edits


def test_ed_22_match_that_ends_in_newline_leaves_the_next_line(files: FileWorld) -> None:
    after = edit_of(files, "i.py", "if ok:\n  foo()\n  bar()\n", "    foo()\n", "    baz()\n")

    assert after == b"if ok:\n  baz()\n  bar()\n"


def test_ed_22_several_lines_are_indented_by_one_rule(files: FileWorld) -> None:
    data = "class A:\n\tdef f(self):\n\t\tif x:\n\t\t\treturn 1\n\tdef g(self): ...\n"

    after = edit_of(
        files,
        "i.py",
        data,
        "    if x:\n        return 1\n",
        "    if x:\n        y = 1\n        if y:\n            return y\n",
    )

    assert after.decode() == data.replace("\t\t\treturn 1\n", "\t\t\ty = 1\n\t\t\tif y:\n\t\t\t\treturn y\n")


def test_ed_22_indentation_that_follows_no_rule_is_not_matched(files: FileWorld) -> None:
    refused(files, "i.py", "  a\n      b\n    a\n", "a\nb\n  a", "x")


def test_ed_23_blanks_alone_are_only_found_exactly(files: FileWorld) -> None:
    started = time.process_time()

    said = refused(files, "ws.txt", "a  b\n\n\n  c\n", "   ", "", replace_all=True)

    assert "0 matches" in said
    assert time.process_time() - started < 5


def test_ed_23_newlines_can_be_removed_everywhere(files: FileWorld) -> None:
    assert edit_of(files, "ws.txt", "a  b\n\n\n  c\n", "\n", "", replace_all=True) == b"a  b  c"


def test_ed_23_newlines_can_be_removed_from_a_crlf_file(files: FileWorld) -> None:
    assert edit_of(files, "ws.txt", b"a\r\n\r\nb\r\n", "\n\n", "\n") == b"a\r\nb\r\n"


def test_ed_24_list_of_edits_is_all_or_nothing(files: FileWorld) -> None:
    path = files.put("q.txt", "one\ntwo\n")
    files.read_all("q.txt")

    result = files.run("edit", file_path="q.txt", edits=edits(("one", "ONE"), ("zzz", "YYY")))

    assert "edit 2 of 2: old_string was not found" in result.output
    assert path.read_bytes() == b"one\ntwo\n"


def test_ed_24_same_old_and_new_is_nothing_to_change(files: FileWorld) -> None:
    assert "nothing to change" in refused(files, "q.txt", "one\ntwo\n", "two", "two")


def test_ed_24_list_of_edits_is_made_together(files: FileWorld) -> None:
    path = files.put("q.txt", "one\ntwo\nthree\n")
    files.read_all("q.txt")

    files.run("edit", file_path="q.txt", edits=edits(("three", "3"), ("one", "1")))

    assert path.read_bytes() == b"1\ntwo\n3\n"


NASTY = b"a\rb\r\nc\x0cd\ne\xc2\x85f\n\xe2\x80\xa8g\n"


def test_ed_26_lines_end_at_newline_only(files: FileWorld) -> None:
    files.put("nl.txt", NASTY)

    result = files.run("read", file_path="nl.txt")

    assert "(end of file, 4 lines)" in result.output


def test_ed_26_other_bytes_survive_an_edit(files: FileWorld) -> None:
    assert edit_of(files, "nl.txt", NASTY, "d", "D") == NASTY.replace(b"d", b"D")


def test_ed_26_patch_across_a_form_feed(files: FileWorld) -> None:
    path = files.put("nl.txt", NASTY)
    files.read_all("nl.txt")

    files.run("patch", patch="--- a/nl.txt\n+++ b/nl.txt\n@@ -2,2 +2,2 @@\n-c\x0cd\n+c\x0cD\n e\x85f\n")

    assert path.read_bytes() == NASTY.replace(b"d", b"D")


def test_h28_a102_item_37_old_text_that_is_there_twice_is_refused_with_its_lines(files: FileWorld) -> None:
    said = refused(files, "a.txt", "x\ny\nx\n", "x", "z")

    assert "found 2 times" in said
    assert "lines 1, 3" in said


def test_h28_overlapping_occurrences_are_two(files: FileWorld) -> None:
    assert "found 2 times" in refused(files, "a.txt", "aaa\n", "aa", "b")


def test_h28_item_37_text_that_is_not_there_shows_what_is_near(files: FileWorld) -> None:
    said = refused(files, "a.py", "def first():\n    return compute(1)\n", "return compute(2)", "x")

    assert "0 matches" in said
    assert "     2\t    return compute(1)" in said


def test_h29_checks_come_in_order(files: FileWorld) -> None:
    missing = files.run("edit", file_path="nix.txt", old_string="a", new_string="a")
    files.put("a.txt", "b\n")
    idle = files.run("edit", file_path="a.txt", old_string="a", new_string="a")
    unread = files.run("edit", file_path="a.txt", old_string="a", new_string="c")
    files.read_all("a.txt")
    absent = files.run("edit", file_path="a.txt", old_string="a", new_string="c")

    assert "does not exist" in missing.output
    assert "nothing to change" in idle.output
    assert "has not been read yet" in unread.output
    assert "0 matches" in absent.output


def test_h30_result_shows_two_lines_around(files: FileWorld) -> None:
    files.put("a.txt", "".join(f"l{number}\n" for number in range(1, 10)))
    files.read_all("a.txt")

    result = files.run("edit", file_path="a.txt", old_string="l5", new_string="L5\nl5b")

    assert result.output.split("\n")[1:] == [
        "     3\tl3",
        "     4\tl4",
        "     5\tL5",
        "     6\tl5b",
        "     7\tl6",
        "     8\tl7",
    ]


def test_a103_overlapping_edits_are_refused_by_their_numbers(files: FileWorld) -> None:
    files.put("a.txt", "one two three\n")
    files.read_all("a.txt")

    result = files.run("edit", file_path="a.txt", edits=edits(("one two", "1"), ("two three", "2")))

    assert "edits 1 and 2 overlap" in result.output
    assert files.files() == {"a.txt": b"one two three\n"}


def test_a103_edits_are_looked_for_in_the_file_as_it_was(files: FileWorld) -> None:
    files.put("a.txt", "a b\n")
    files.read_all("a.txt")

    files.run("edit", file_path="a.txt", edits=edits(("a", "b"), ("b", "a")))

    assert files.files() == {"a.txt": b"b a\n"}


@pytest.mark.parametrize(
    ("data", "old", "label"),
    [
        ("a \nb\n", "a\nb", "line ends and trailing blanks"),
        ("\ta\n\tb\n", "a\n  b\n", ""),
        ("    a\n    b\n", "  a\n  b\n", "indentation"),
        ("it\u2019s \u2014 so\n", "it's - so", "the form of quotes, dashes and spaces"),
        ("a\r\nb\r\n", "a\nb", "line ends"),
    ],
)
def test_match_that_is_not_exact_is_labelled(data: str, old: str, label: str, files: FileWorld) -> None:
    files.put("a.txt", data)
    files.read_all("a.txt")
    if not label:
        assert files.run("edit", file_path="a.txt", old_string=old, new_string="x").is_error
        return

    shown = files.preview("edit", file_path="a.txt", old_string=old, new_string="x")
    result = files.run("edit", file_path="a.txt", old_string=old, new_string="x")

    assert f"matched ignoring {label}" in shown.note
    assert f"matched ignoring {label}" in result.output


def test_exact_match_has_no_label(files: FileWorld) -> None:
    files.put("a.txt", "a\nb\n")
    files.read_all("a.txt")

    assert files.preview("edit", file_path="a.txt", old_string="a\nb", new_string="x").note == ""


def test_alias_names_are_taken(files: FileWorld) -> None:
    files.put("a.txt", "a\n")
    files.read_all("a.txt")

    assert not files.run("edit", path="a.txt", old="a", new="b").is_error


def test_edit_of_a_notebook_leaves_the_rest(files: FileWorld) -> None:
    raw = b'{\n "cells": [\n  {"cell_type": "code", "source": ["x = 1\\n", "y"], "outputs": []}\n ],\n "nbformat": 4\n}'
    path = files.put("nb.ipynb", raw)
    files.read_all("nb.ipynb")

    result = files.run("edit", file_path="nb.ipynb", old_string="x = 1", new_string="x = 2")

    assert not result.is_error, result.output
    assert path.read_bytes() == raw.replace(b"x = 1", b"x = 2")


CELLS_LIST = """{
 "cells": [
  {
   "cell_type": "code",
   "source": [
    "x = \\"ü\\"\\n",
    "print(x)\\n",
    "y = 1"
   ],
   "outputs": []
  },
  {
   "cell_type": "code",
   "source": [],
   "outputs": []
  }
 ],
 "nbformat": 4
}
"""


CELLS_TEXT = '{"cells": [{"cell_type": "code", "source": "x = \\\\"ü\\\\"\\\\nprint(x)\\\\ny = 1"}], "nbformat": 4}'.replace(
    "\\\\", "\\"
)


@pytest.mark.parametrize("raw", [CELLS_LIST, CELLS_TEXT], ids=["list", "text"])
def test_rd_10_lines_of_a_cell_are_edited_as_they_were_shown(raw: str, files: FileWorld) -> None:
    path = files.put("nb.ipynb", raw)
    files.read_all("nb.ipynb")

    result = files.run(
        "edit", file_path="nb.ipynb", old_string='x = "ü"\nprint(x)', new_string='x = "ö"\nz = 2\nprint(x, z)'
    )

    assert not result.is_error, result.output
    source = json.loads(path.read_text())["cells"][0]["source"]
    assert "".join(source) == 'x = "ö"\nz = 2\nprint(x, z)\ny = 1'
    assert isinstance(source, list) == (raw == CELLS_LIST)
    if raw == CELLS_LIST:
        assert path.read_text() == raw.replace("ü", "ö").replace(
            '    "print(x)\\n",', '    "z = 2\\n",\n    "print(x, z)\\n",'
        )


def test_rd_10_edit_that_would_break_the_notebook_is_refused(files: FileWorld) -> None:
    assert "would not be a notebook" in refused(
        files, "nb.ipynb", CELLS_LIST, '"nbformat": 4', '"nbformat": '
    )


def test_ten_megabytes_are_edited_fast(files: FileWorld) -> None:
    path = files.put("big.txt", b"".join(b"line number %d of a file\n" % n for n in range(400_000)))
    files.run("read", file_path="big.txt", offset=1, limit=5)
    started = time.process_time()

    result = files.run("edit", file_path="big.txt", old_string="line number 399998 of", new_string="LINE")

    assert not result.is_error, result.output
    assert time.process_time() - started < 10
    assert path.read_bytes().endswith(b"LINE a file\nline number 399999 of a file\n")


def test_git_sees_one_changed_line(files: FileWorld) -> None:
    files.put("p.pas", b"".join(b"line %d\r\n" % number for number in range(50)))
    for command in (
        ["init", "-q"],
        ["config", "core.autocrlf", "false"],
        ["add", "."],
        ["commit", "-qm", "x"],
    ):
        subprocess.run(["git", *command], cwd=files.root, check=True)
    files.read_all("p.pas")

    files.run("edit", file_path="p.pas", old_string="line 8\n", new_string="line eight\n")

    stat = subprocess.run(["git", "diff", "--numstat"], cwd=files.root, check=True, capture_output=True)
    assert stat.stdout == b"1\t1\tp.pas\n"
