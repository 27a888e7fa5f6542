import os
import socket
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.file_world import FileWorld
from tests.support.read_world import png, read, rows


def test_h19_lines_are_numbered_six_wide(files: FileWorld) -> None:
    files.put("a.txt", "one\ntwo\n")

    assert read(files, "a.txt").output == "     1\tone\n     2\ttwo\n\n(end of file, 2 lines)"


def test_h19_more_lines_are_announced_with_the_next_offset(files: FileWorld) -> None:
    files.put("a.txt", "".join(f"{n}\n" for n in range(1, 11)))

    result = read(files, "a.txt", offset=3, limit=4)

    assert rows(result) == ["     3\t3", "     4\t4", "     5\t5", "     6\t6"]
    assert "(4 more lines, continue with offset=7)" in result.output


def test_item_41_note_of_more_lines_only_if_some_remain(files: FileWorld) -> None:
    files.put("a.txt", "1\n2\n3\n")

    assert "more" not in read(files, "a.txt", offset=2, limit=2).output


def test_h19_default_limit_is_2000_lines(files: FileWorld) -> None:
    files.put("a.txt", "x\n" * 2500)

    result = read(files, "a.txt")

    assert len(rows(result)) == 2000
    assert "(500 more lines, continue with offset=2001)" in result.output


@pytest.mark.parametrize(("size", "is_error"), [(262_144, False), (262_145, True)])
def test_h20_large_file_needs_offset_or_limit(size: int, is_error: bool, files: FileWorld) -> None:
    files.put("a.txt", ("x" * 99 + "\n") * (size // 100) + "y" * (size % 100))

    result = read(files, "a.txt")

    assert result.is_error == is_error
    if is_error:
        assert "262,145 bytes" in result.output
        assert "262,144 bytes" in result.output
        assert '"offset": 1' in result.output
    assert not read(files, "a.txt", limit=1).is_error


@pytest.mark.parametrize(("controls", "is_binary"), [(30, False), (31, True)])
def test_h21_more_than_30_percent_control_bytes_are_binary(
    controls: int, is_binary: bool, files: FileWorld
) -> None:
    files.put("a.bin", b"\x01" * controls + b"a" * (100 - controls))

    assert read(files, "a.bin").is_error == is_binary


def test_h21_only_the_first_4096_bytes_decide(files: FileWorld) -> None:
    files.put("a.txt", b"a" * 4096 + b"\x01" * 5000)

    assert not read(files, "a.txt").is_error


def test_h23_directory_points_to_list(files: FileWorld) -> None:
    (files.root / "sub").mkdir()

    assert 'Use list with {"path": "sub"}' in read(files, "sub").output


@pytest.mark.parametrize("asked", ["raedme.md", "README", "readme.md", "README.mkd"])
def test_h23_missing_file_names_the_sibling_meant(asked: str, files: FileWorld) -> None:
    files.put("docs/README.md", "x")

    assert "Did you mean docs/README.md?" in read(files, f"docs/{asked}").output


def test_a100_at_most_three_names_are_suggested(files: FileWorld) -> None:
    for number in range(6):
        files.put(f"file{number}.txt", "x")

    assert read(files, "file9.txt").output.count("file") == 4  # the name itself and three others


def test_h24_offset_past_the_end_says_how_many_lines_there_are(files: FileWorld) -> None:
    files.put("a.txt", "1\n2\n")

    assert "has only 2 lines" in read(files, "a.txt", offset=3).output


def test_h24_item_35_empty_file_counts_as_read(files: FileWorld) -> None:
    files.put("a.txt", b"")

    assert read(files, "a.txt").output == "(empty file)"
    assert not files.run("write", file_path="a.txt", content="now\n").is_error


@pytest.mark.parametrize("data", [b"\0binary", b"x" * 300_000])
def test_item_35_failed_read_is_no_read(data: bytes, files: FileWorld) -> None:
    files.put("a.bin", data)
    assert read(files, "a.bin").is_error

    result = files.run("write", file_path="a.bin", content="x")

    assert "has not been read yet" in result.output


def make_special(kind: str, path: Path) -> None:
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as listener:
            os.chdir(path.parent)
            listener.bind(path.name)
    else:
        path.symlink_to("/dev/zero")


@pytest.mark.parametrize(
    ("kind", "named"), [("fifo", "named pipe"), ("socket", "a socket"), ("device", "a character device")]
)
@pytest.mark.parametrize("tool", ["read", "edit", "write", "patch"])
def test_rd_01_special_file_is_refused_at_once(
    kind: str, named: str, tool: str, files: FileWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(files.root)
    make_special(kind, files.root / "special")
    arguments = {
        "read": {"file_path": "special"},
        "edit": {"file_path": "special", "old_string": "a", "new_string": "b"},
        "write": {"file_path": "special", "content": "x"},
        "patch": {"patch": "*** Begin Patch\n*** Delete File: special\n*** End Patch"},
    }[tool]

    result = files.run(tool, **arguments)

    assert result.is_error
    assert named in result.output


def test_rd_01_standard_input_is_refused(files: FileWorld) -> None:
    assert read(files, "/dev/stdin").is_error


def test_rd_01_list_shows_special_files_without_opening_them(files: FileWorld) -> None:
    os.mkfifo(files.root / "logs.pipe")

    assert "- logs.pipe" in files.run("list").output


def test_rd_02_web_page_named_png_is_text(files: FileWorld) -> None:
    files.put("pic.png", "<html>404</html>\n")

    result = read(files, "pic.png")

    assert not result.images
    assert "<html>404</html>" in result.output


def test_rd_02_image_named_txt_is_an_image(files: FileWorld) -> None:
    files.put("pic.txt", png(640, 480))

    result = read(files, "pic.txt")

    assert "image/png, 640x480 pixels" in result.output
    assert not result.images


def test_rd_02_image_goes_to_a_model_that_sees(files: FileWorld) -> None:
    files.put("pic.dat", png())
    files.ctx = replace(files.ctx, sees_images=True)

    result = read(files, "pic.dat")

    assert [image.media_type for image in result.images] == ["image/png"]


def test_rd_02_image_too_large_for_a_provider_is_described(files: FileWorld) -> None:
    files.put("pic.png", png() + b"\0" * 3_800_000)
    files.ctx = replace(files.ctx, sees_images=True)

    result = read(files, "pic.png")

    assert not result.images
    assert "too large" in result.output
