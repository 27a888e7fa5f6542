import json
import os
import subprocess
import time
from pathlib import Path

import pytest

from tests.support.file_world import FileWorld, edits, mode_of


def edit_of(files: FileWorld, name: str, data: bytes | str, old: str, new: str, **more: object) -> bytes:
    path = files.put(name, data)
    files.read_all(name)
    result = files.run("edit", file_path=name, old_string=old, new_string=new, **more)
    assert not result.is_error, result.output
    return path.read_bytes()


def refused(files: FileWorld, name: str, data: bytes | str, old: str, new: str, **more: object) -> str:
    raw = data.encode() if isinstance(data, str) else data
    path = files.put(name, data)
    files.read_all(name)
    before = path.stat()
    result = files.run("edit", file_path=name, old_string=old, new_string=new, **more)
    assert result.is_error, result.output
    assert path.read_bytes() == raw
    assert path.stat().st_mtime_ns == before.st_mtime_ns
    return result.output


def test_ed_02_new_lines_of_a_crlf_file_are_crlf_in_a_patch(files: FileWorld) -> None:
    path = files.put("m.vb", b"foo\r\nbar\r\n")
    files.read_all("m.vb")

    files.run("patch", patch="*** Begin Patch\n*** Update File: m.vb\n@@\n-foo\n+FOO\n+FOO2\n*** End Patch\n")

    assert path.read_bytes() == b"FOO\r\nFOO2\r\nbar\r\n"


def test_ed_02_new_lines_of_a_crlf_file_are_crlf_in_an_edit(files: FileWorld) -> None:
    assert edit_of(files, "m.vb", b"foo\r\nbar\r\n", "foo", "FOO\nFOO2") == b"FOO\r\nFOO2\r\nbar\r\n"


def test_ed_02_new_lines_of_a_crlf_file_are_crlf_in_a_unified_diff(files: FileWorld) -> None:
    path = files.put("m.vb", b"foo\r\nbar\r\n")
    files.read_all("m.vb")

    files.run("patch", patch="--- a/m.vb\n+++ b/m.vb\n@@ -1,2 +1,3 @@\n-foo\n+FOO\n+FOO2\n bar\n")

    assert path.read_bytes() == b"FOO\r\nFOO2\r\nbar\r\n"


def test_ed_02_new_lines_of_a_file_with_lone_cr_are_cr(files: FileWorld) -> None:
    assert edit_of(files, "old.mac", b"one\rtwo\r", "two", "2\n3") == b"one\r2\r3\r"


def test_ed_03_edit_of_a_crlf_file_changes_one_line(files: FileWorld) -> None:
    data = b"".join(b"line %d\r\n" % number for number in range(50))

    after = edit_of(files, "p.pas", data, "line 7\n", "line seven\n")

    assert after == data.replace(b"line 7\r\n", b"line seven\r\n")


def test_ed_03_preview_of_a_crlf_file_shows_one_line(files: FileWorld) -> None:
    files.put("p.pas", b"".join(b"line %d\r\n" % number for number in range(50)))
    files.read_all("p.pas")

    shown = files.preview("edit", file_path="p.pas", old_string="line 20", new_string="line twenty")

    assert shown.summary == "+1 -1"


def test_ed_03_write_of_lf_text_over_a_crlf_file_keeps_crlf(files: FileWorld) -> None:
    path = files.put("p.pas", b"a\r\nb\r\n")
    files.read_all("p.pas")

    files.run("write", file_path="p.pas", content="a\nB\nc\n")

    assert path.read_bytes() == b"a\r\nB\r\nc\r\n"


@pytest.mark.parametrize(
    "data", [b"a\r\nb\r\n", b"a\nb\n", b"a\rb\r", b"\xef\xbb\xbfa\nb\n", "a\nb\n".encode("utf-16")]
)
def test_ed_04_untouched_file_is_not_taken_for_modified(data: bytes, files: FileWorld) -> None:
    edit_of(files, "s.ini", data, "b", "B")


def test_ed_07_item_38_latin_1_bytes_survive_an_ascii_edit(files: FileWorld) -> None:
    data = b"x = 1;\n// caf\xe9 na\xefve\n"

    assert edit_of(files, "l1.c", data, "x = 1;", "x = 2;") == data.replace(b"1", b"2")


def test_ed_07_character_that_latin_1_cannot_hold_is_refused(files: FileWorld) -> None:
    said = refused(files, "l1.c", b"x = 1;\n// caf\xe9 na\xefve\n", "x = 1;", "x = '\u6771';")

    assert "latin-1" in said
    assert "U+6771" in said


def test_ed_07_accented_character_goes_into_latin_1_as_one_byte(files: FileWorld) -> None:
    assert edit_of(files, "l1.c", b"// caf\xe9\nx\n", "x", "\xfc") == b"// caf\xe9\n\xfc\n"


def test_ed_07_foreign_bytes_in_a_utf_8_file_survive(files: FileWorld) -> None:
    data = "grün und blau, über Österreich, äöü ßß x\n".encode() + b"\xff\nend\n"

    assert edit_of(files, "mixed.txt", data, "end", "Ende ü") == data.replace(b"end", "Ende ü".encode())


@pytest.mark.parametrize(
    "codec", ["shift_jis", "gbk", "utf-16", "utf-16-le", "utf-16-be", "utf-8-sig", "euc_kr"]
)
def test_ed_08_file_never_holds_two_encodings(codec: str, files: FileWorld) -> None:
    text = {"gbk": "名字=太郎和我们\nage=3\n", "euc_kr": "이름=철수와 영희\nage=3\n"}.get(
        codec, "名前=太郎\nage=3\n"
    )
    new = {"gbk": "age=3\n住所=北京", "euc_kr": "age=3\n주소=서울"}.get(codec, "age=3\n住所=東京")
    path = files.put("j.cfg", text.encode(codec))
    files.read_all("j.cfg")

    result = files.run("edit", file_path="j.cfg", old_string="age=3", new_string=new)

    if result.is_error:
        assert path.read_bytes() == text.encode(codec)
    else:
        assert path.read_bytes() == text.replace("age=3", new).encode(codec)
    assert not result.is_error or codec == "euc_kr"


TEMPLATE = 'log("$& \\1 \\g<0> $$ \\n ok");'


def test_ed_10_replacement_is_put_in_verbatim(files: FileWorld) -> None:
    assert edit_of(files, "d.js", 'log("done");\n', 'log("done");', TEMPLATE) == f"{TEMPLATE}\n".encode()


def test_ed_10_replacement_is_verbatim_everywhere(files: FileWorld) -> None:
    after = edit_of(files, "d.js", 'log("done");\n' * 2, 'log("done");', TEMPLATE, replace_all=True)

    assert after == f"{TEMPLATE}\n{TEMPLATE}\n".encode()


@pytest.mark.parametrize(
    ("data", "old"),
    [
        ('log("done"); \nx\n', 'log("done");\nx'),  # trailing blanks
        ('  log("done");\n  x\n', '    log("done");\n    x'),  # indentation
        ("log(\u201cdone\u201d);\nx\n", 'log("done");\nx'),  # quotes
        ('log("done");\r\nx\r\n', 'log("done");\nx'),  # line ends
    ],
)
def test_ed_10_replacement_is_verbatim_on_the_tolerant_ways(data: str, old: str, files: FileWorld) -> None:
    assert TEMPLATE.encode() in edit_of(files, "d.js", data, old, TEMPLATE)


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o755, 0o2775])
def test_ed_12_item_38_mode_survives(mode: int, files: FileWorld) -> None:
    path = files.put(".env.local.txt", "TOKEN=abc\n", mode=mode)
    files.read_all(".env.local.txt")

    files.run("edit", file_path=".env.local.txt", old_string="abc", new_string="def")

    assert path.read_bytes() == b"TOKEN=def\n"
    assert mode_of(path) == mode


def test_ed_12_owner_survives(files: FileWorld) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a file away")
    path = files.put("a.txt", "a\n")
    os.chown(path, 1234, 2345)
    files.read_all("a.txt")

    files.run("edit", file_path="a.txt", old_string="a", new_string="b")

    assert (path.stat().st_uid, path.stat().st_gid) == (1234, 2345)


def test_ed_12_attributes_survive(files: FileWorld) -> None:
    path = files.put("a.txt", "a\n")
    try:
        os.setxattr(path, "user.note", b"kept")
    except OSError:
        pytest.skip("the file system has no extended attributes")
    files.read_all("a.txt")

    files.run("edit", file_path="a.txt", old_string="a", new_string="b")

    assert os.getxattr(path, "user.note") == b"kept"


def test_ed_13_edit_through_links_changes_the_real_file(files: FileWorld) -> None:
    real = files.put("real/settings.json", '{"k":1}\n')
    (files.root / "real/host").mkdir()
    (files.root / "real/host/settings.json").symlink_to("../settings.json")
    (files.root / "synced").symlink_to("real/host")
    files.read_all("synced/settings.json")

    result = files.run("edit", file_path="synced/settings.json", old_string="1", new_string="2")

    assert not result.is_error
    assert real.read_bytes() == b'{"k":2}\n'
    assert (files.root / "real/host/settings.json").is_symlink()
    assert files.asked[0].target == str(real)
    assert "link" in files.asked[0].reason


def test_ed_13_write_through_a_link_keeps_the_link(files: FileWorld) -> None:
    real = files.put("real.txt", "a\n")
    (files.root / "link.txt").symlink_to("real.txt")
    files.read_all("link.txt")

    files.run("write", file_path="link.txt", content="b\n")

    assert (files.root / "link.txt").is_symlink()
    assert real.read_bytes() == b"b\n"


def test_ed_13_loop_of_links_is_an_error(files: FileWorld) -> None:
    (files.root / "loop").symlink_to("loop")

    result = files.run("edit", file_path="loop", old_string="a", new_string="b")

    assert result.is_error


@pytest.mark.parametrize("everywhere", [True, False])
def test_ed_15_empty_old_text_is_refused(everywhere: bool, files: FileWorld) -> None:
    assert "must not be empty" in refused(files, "e.txt", "abc", "", "X", replace_all=everywhere)


def test_ed_15_empty_old_text_in_a_list_names_the_edit(files: FileWorld) -> None:
    files.put("e.txt", "abc")
    files.read_all("e.txt")

    result = files.run("edit", file_path="e.txt", edits=edits(("a", "b"), ("", "X")))

    assert "edit 2 of 2: old_string must not be empty" in result.output


def test_ed_17_second_edit_of_a_round_needs_no_new_read(files: FileWorld) -> None:
    path = files.put("k.py", "a\nc\n")
    files.read_all("k.py")
    files.next_round()

    first = files.run_in_round("edit", file_path="k.py", old_string="a", new_string="b")
    second = files.run_in_round("edit", file_path="k.py", old_string="c", new_string="d")

    assert not first.is_error
    assert not second.is_error
    assert path.read_bytes() == b"b\nd\n"


def test_ed_17_edit_after_an_own_write_or_patch_needs_no_read(files: FileWorld) -> None:
    files.run("write", file_path="k.py", content="a\nb\nc\n")
    assert not files.run("edit", file_path="k.py", old_string="a", new_string="A").is_error
    patch = "--- a/k.py\n+++ b/k.py\n@@ -1,3 +1,3 @@\n A\n-b\n+B\n c\n"
    assert not files.run("patch", patch=patch).is_error
    assert not files.run("write", file_path="k.py", content="all new\n").is_error


def append(path: Path) -> None:
    with path.open("a") as file:
        file.write("user line\n")


@pytest.mark.parametrize("name", ["write", "edit", "patch"])
def test_ed_18_change_of_somebody_else_is_not_overwritten(name: str, files: FileWorld) -> None:
    path = files.put("u.txt", "one\ntwo\n")
    files.read_all("u.txt")
    append(path)
    arguments = {
        "write": {"file_path": "u.txt", "content": "ONE\ntwo\n"},
        "edit": {"file_path": "u.txt", "old_string": "one", "new_string": "ONE"},
        "patch": {"patch": "--- a/u.txt\n+++ b/u.txt\n@@ -1,2 +1,2 @@\n-one\n+ONE\n two\n"},
    }[name]

    result = files.run(name, **arguments)

    assert result.is_error
    assert "modified since it was read" in result.output
    assert path.read_text() == "one\ntwo\nuser line\n"


def test_item_34_change_of_the_same_size_within_a_tick_is_noticed(files: FileWorld) -> None:
    path = files.put("u.txt", "one\n")
    files.read_all("u.txt")
    before = path.stat()
    path.write_text("two\n")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    assert files.run("edit", file_path="u.txt", old_string="o", new_string="0").is_error


def test_file_that_was_only_touched_is_not_modified(files: FileWorld) -> None:
    path = files.put("u.txt", "one\n")
    files.read_all("u.txt")
    os.utime(path, ns=(1, 1))

    assert not files.run("edit", file_path="u.txt", old_string="one", new_string="two").is_error


def test_ed_20_only_the_matched_line_changes_or_the_edit_is_refused(files: FileWorld) -> None:
    data = "def foo():\n    x = 1\n    y = 2\n    return x + y\n"

    refused(files, "g.py", data, "    x  =  1", "    x = 100")


def test_ed_20_lines_around_a_match_by_indentation_keep_theirs(files: FileWorld) -> None:
    data = "def foo():\n    x = 1\n    y = 2\n    return x + y\n"

    after = edit_of(files, "g.py", data, "x = 1\ny = 2", "x = 100\ny = 200")

    assert after.decode() == data.replace("1", "100").replace("y = 2", "y = 200")


def test_ed_20_trailing_blanks_elsewhere_stay(files: FileWorld) -> None:
    after = edit_of(files, "g.py", "a  \nb  \nc\t\nd\n", "b\nc", "B\nC")

    assert after == b"a  \nB\nC\t\nd\n"


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
    started = time.monotonic()

    said = refused(files, "ws.txt", "a  b\n\n\n  c\n", "   ", "", replace_all=True)

    assert "0 matches" in said
    assert time.monotonic() - started < 5


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
    started = time.monotonic()

    result = files.run("edit", file_path="big.txt", old_string="line number 399998 of", new_string="LINE")

    assert not result.is_error, result.output
    assert time.monotonic() - started < 10
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
