import json
import os
import struct
import time
import zipfile
from pathlib import Path

import pytest

from agent_tui.protocol.display import ResultContentType
from agent_tui.protocol.permissions import Risk
from tests.support.file_world import FileWorld
from tests.support.read_world import read, rows


@pytest.mark.parametrize(
    ("head", "said"),
    [
        (b"GIF89a" + struct.pack("<HH", 10, 20) + b"\0" * 20, "image/gif, 10x20"),
        (
            b"\xff\xd8\xff\xe0\0\x04ab\xff\xc0\0\x11\x08" + struct.pack(">HH", 30, 40) + b"\0" * 9,
            "image/jpeg, 40x30",
        ),
        (b"RIFF\0\0\0\0WEBPVP8X" + b"\0" * 8 + b"\x09\0\0\x13\0\0" + b"\0" * 9, "image/webp, 10x20"),
    ],
)
def test_images_are_known_by_their_first_bytes(head: bytes, said: str, files: FileWorld) -> None:
    files.put("x", head)

    assert said in read(files, "x").output


def test_rd_04_one_long_line_is_cut_with_a_mark(files: FileWorld) -> None:
    files.put("min.js", "x" * 1_700_000 + "\n")

    assert "1,700,001 bytes" in read(files, "min.js").output
    result = read(files, "min.js", limit=1)

    assert rows(result) == ["     1\t" + "x" * 2000 + "..."]
    assert "line 1 was cut at 2,000 characters; it has 1,700,000 bytes" in result.output


def test_rd_04_total_is_capped_and_says_where_to_go_on(files: FileWorld) -> None:
    files.put("wide.txt", ("é" * 1500 + "\n") * 80)

    result = read(files, "wide.txt")

    assert len(rows(result)) == 33
    assert "(47 more lines, continue with offset=34)" in result.output


def test_h22_rd_04_line_of_exactly_2000_characters_is_whole(files: FileWorld) -> None:
    files.put("a.txt", "ü" * 2000 + "\n" + "ü" * 2001 + "\n")

    first, second = rows(read(files, "a.txt"))

    assert first == "     1\t" + "ü" * 2000
    assert second == "     2\t" + "ü" * 2000 + "..."


def test_rd_07_office_file_and_nul_are_binary(files: FileWorld) -> None:
    with zipfile.ZipFile(files.root / "a.ods", "w") as archive:
        archive.writestr("x", "y")
    files.put("nul.txt", b"a\0b\n")

    assert "binary file" in read(files, "a.ods").output
    assert "binary file (4 bytes)" in read(files, "nul.txt").output


def test_rd_07_nul_behind_the_head_never_reaches_the_model(files: FileWorld) -> None:
    files.put("late.txt", b"a\n" * 5000 + b"x\0y\n")

    result = read(files, "late.txt", offset=5001)

    assert "\0" not in result.output
    assert "x\ufffdy" in result.output


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be", "utf-16"])
def test_rd_08_utf_16_is_read_and_edited_as_such(codec: str, files: FileWorld) -> None:
    data = "// hi\r\nint a;\r\n".encode(codec)
    path = files.put("u.cpp", data)

    assert rows(read(files, "u.cpp")) == ["     1\t// hi", "     2\tint a;"]
    files.run("edit", file_path="u.cpp", old_string="int a;", new_string="int b;\nint c;")

    bom = data[:2] if codec == "utf-16" else b""
    assert path.read_bytes() == bom + "// hi\r\nint b;\r\nint c;\r\n".encode(
        "utf-16-le" if codec == "utf-16" else codec
    )


def test_rd_08_encoding_is_told(files: FileWorld) -> None:
    files.put("u.txt", "abc\n".encode("utf-16"))

    assert "(encoding: utf-16-le with BOM)" in read(files, "u.txt").output


@pytest.mark.parametrize("change", ["utf16", "directory", "gone", "unreadable"])
@pytest.mark.parametrize("tool", ["read", "edit", "write"])
def test_rd_09_file_that_became_something_else_is_a_plain_answer(
    change: str, tool: str, files: FileWorld
) -> None:
    path = files.put("e.txt", "hello\n")
    files.read_all("e.txt")
    path.unlink()
    if change == "utf16":
        path.write_bytes("hello\n".encode("utf-16"))
    elif change == "directory":
        path.mkdir()
    elif change == "unreadable":
        path.write_text("hello\n")
        path.chmod(0)
    arguments = {
        "read": {},
        "edit": {"old_string": "hello", "new_string": "bye"},
        "write": {"content": "bye\n"},
    }[tool]

    result = files.run(tool, file_path="e.txt", **arguments)

    assert "Traceback" not in result.output
    assert tool == "read" or result.is_error


def notebook(source: object, *, minor: int = 5) -> str:
    picture = {
        "output_type": "display_data",
        "data": {"image/png": "A" * 2_800_000, "text/plain": ["<Figure>"]},
    }
    cells = [
        {"cell_type": "markdown", "metadata": {}, "source": "# Title"},
        {"cell_type": "code", "metadata": {}, "source": source, "outputs": [picture], "execution_count": 1},
    ]
    if minor == 5:
        for number, cell in enumerate(cells):
            cell["id"] = f"cell{number}"
    return json.dumps({"cells": cells, "nbformat": 4, "nbformat_minor": minor})


@pytest.mark.parametrize("source", ["x = 1\ny = 2", ["x = 1\n", "y = 2"]])
@pytest.mark.parametrize("minor", [4, 5])
def test_rd_10_notebook_is_shown_as_cells(source: object, minor: int, files: FileWorld) -> None:
    files.put("nb.ipynb", notebook(source, minor=minor))

    result = read(files, "nb.ipynb")

    assert len(result.output) < 1000
    assert "# Title" in result.output
    assert "x = 1\ny = 2" in result.output
    assert "# Output: image image/png, 2.1 MB" in result.output
    assert "# Output: <Figure>" in result.output


def test_rd_10_broken_notebook_is_plain_text(files: FileWorld) -> None:
    files.put("nb2.ipynb", "not json\n")

    result = read(files, "nb2.ipynb")

    assert rows(result) == ["     1\tnot json"]
    assert "not a notebook that" in result.output


@pytest.mark.parametrize("name", ["src/(app)/[id]/index.tsx", "a b*?.txt", "{x}.txt", "-dash.txt"])
def test_se_08_odd_names_are_paths_not_patterns(name: str, files: FileWorld) -> None:
    files.put(name, "hi\n")

    assert rows(read(files, name)) == ["     1\thi"]


@pytest.mark.parametrize(
    "name", [".env", ".env.local", "id_rsa", "x.pem", "sub/credentials", ".netrc", "auth.json"]
)
def test_h_f6_secret_is_read_only_after_a_question(name: str, files: FileWorld) -> None:
    files.put(name, "TOKEN=1\n")

    read(files, name)

    assert files.asked[0].risk is Risk.HIGH
    assert files.asked[0].pattern == ""


def test_read_inside_the_workspace_is_low_and_outside_medium(files: FileWorld, tmp_path: Path) -> None:
    files.put("a.txt", "x")
    (tmp_path / "other.txt").write_text("x")

    read(files, "a.txt")
    assert files.asked[0].risk is Risk.LOW
    read(files, "../other.txt")
    assert files.asked[0].risk is Risk.MEDIUM
    assert files.asked[0].pattern == f"Read(/{tmp_path}/**)"
    assert files.asked[0].target == str(tmp_path / "other.txt")


def test_own_output_files_are_readable_without_a_question(files: FileWorld) -> None:
    output = files.ctx.data_dir / "output.txt"
    output.write_text("all of it\n")

    result = read(files, str(output))

    assert files.asked[0].risk is Risk.LOW
    assert "all of it" in result.output


def test_display_is_code_with_true_line_numbers(files: FileWorld) -> None:
    files.put("a.py", "a = 1\nb = 2\nc = 3\n")

    shown = files.shown("read", read(files, "a.py", offset=2), file_path="a.py")

    assert shown.content == "b = 2\nc = 3"
    assert shown.content_type is ResultContentType.CODE
    assert shown.first_line == 2
    assert shown.path == "a.py"


def test_a33_a34_display_is_cut_and_tells_the_total(files: FileWorld) -> None:
    files.put("a.txt", ("é" * 99 + "\n") * 200)

    result = read(files, "a.txt")
    shown = files.shown("read", result, file_path="a.txt")

    assert shown.is_truncated
    assert shown.full_length == 19_999
    assert "19,999" in shown.content[10_000:]
    assert len(result.output) > 20_000  # what the model reads is not cut


def test_a50_summary_names_file_and_lines(files: FileWorld) -> None:
    files.put("a.txt", "x\n" * 30)
    result = read(files, "a.txt", limit=10)
    tool = files.tools["read"]

    assert (
        tool.compact_summary(tool.params_type(file_path="a.txt"), result) == "[read: a.txt, lines 1-10 of 30]"
    )


def test_file_that_is_being_written_is_shown_but_does_not_count_as_read(
    files: FileWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = files.put("app.log", "first\n")
    real_pread = os.pread

    def growing(descriptor: int, size: int, offset: int) -> bytes:
        head = real_pread(descriptor, size, offset)
        with path.open("ab") as log:
            log.write(b"more\n")
        return head

    monkeypatch.setattr(os, "pread", growing)
    result = read(files, "app.log")
    monkeypatch.undo()

    assert "first" in result.output
    assert "another program is writing this file" in result.output
    assert files.run("edit", file_path="app.log", old_string="first", new_string="x").is_error


def test_names_outside_are_not_given_away_before_approval(files: FileWorld, tmp_path: Path) -> None:
    (tmp_path / "secret1.txt").write_text("x")

    result = files.run("edit", file_path="../secret2.txt", old_string="a", new_string="b")

    assert "secret1" not in result.output


def test_sparse_file_of_20_gigabytes_is_answered_at_once(files: FileWorld) -> None:
    with (files.root / "huge").open("wb") as file:
        file.truncate(20 * 1024**3)
    started = time.process_time()

    assert "21,474,836,480 bytes" in read(files, "huge").output
    assert "binary" in read(files, "huge", offset=1, limit=5).output
    assert files.run("edit", file_path="huge", old_string="a", new_string="b").is_error
    assert time.process_time() - started < 2


def test_a_line_that_the_scan_does_not_reach_is_said_and_never_offered_again(files: FileWorld) -> None:
    with (files.root / "huge.log").open("wb") as file:
        file.write(b"some words\n" * 2_000)
        file.truncate(20 * 1024**3)

    begin = read(files, "huge.log", offset=1, limit=2)
    beyond = read(files, "huge.log", offset=5_000, limit=2)

    assert rows(begin)[0] == "     1\tsome words"
    assert "too large to count them; continue with offset=3" in begin.output
    assert beyond.is_error
    assert "Line 5000 of huge.log was not reached" in beyond.output
    assert "hold 2,001 lines" in beyond.output
    assert "offset=" not in beyond.output


def test_line_of_50_megabytes_costs_no_memory(files: FileWorld) -> None:
    path = files.root / "line.txt"
    with path.open("wb") as file:
        for _ in range(50):
            file.write(b"x" * 1_000_000)
        file.write(b"\nnext\n")

    result = read(files, "line.txt", offset=1, limit=2)

    assert [row[:10] for row in rows(result)] == ["     1\txxx", "     2\tnex"]
    assert "it has 50,000,000 bytes" in result.output


def test_lines_near_the_end_of_a_large_file_are_right(files: FileWorld) -> None:
    path = files.root / "large.txt"
    with path.open("wb") as file:
        for start in range(0, 1_000_000, 10_000):
            file.write(b"".join(b"line %d\n" % number for number in range(start + 1, start + 10_001)))

    result = read(files, "large.txt", offset=999_990, limit=5)

    assert rows(result) == [f"{number:>6}\tline {number}" for number in range(999_990, 999_995)]
    assert "(6 more lines, continue with offset=999995)" in result.output
