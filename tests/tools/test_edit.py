import os
from pathlib import Path

import pytest

from tests.support.edit_world import edit_of, refused
from tests.support.file_world import FileWorld, edits, mode_of


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
