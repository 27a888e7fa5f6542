import sys

import pytest

from agent_tui.toolkit.api import ResultContentType
from tests.support.file_world import FileWorld
from tests.support.read_world import read
from tests.support.small_pdf import pdf


def test_the_text_of_a_pdf_comes_page_by_page(files: FileWorld) -> None:
    (files.root / "paper").write_bytes(pdf("A title\nand a line", "Page two"))

    result = read(files, "paper")

    assert result.output == "# Page 1\nA title\nand a line\n\n# Page 2\nPage two\n\n(end of file, 2 pages)"
    assert result.data["summary"] == "2 pages"
    assert files.shown("read", result, file_path="paper").content_type is ResultContentType.PLAIN_TEXT


def test_a_long_pdf_is_read_on_from_the_line_it_names(files: FileWorld) -> None:
    page = "\n".join(f"word {number} " + "x" * 80 for number in range(50))
    (files.root / "long.pdf").write_bytes(pdf(*[page] * 30))

    first = read(files, "long.pdf")
    head, _, note = first.output.rpartition("\n(")
    next_line = int(note.rpartition("=")[2].rstrip(")"))
    second = read(files, "long.pdf", offset=next_line, limit=3)

    assert "more of 30 pages" in note
    assert 45_000 < len(head) <= 50_000
    assert len(head.split("\n")) == next_line - 1
    assert second.output.split("\n")[0].startswith(("word", "# Page"))
    assert f"continue with offset={next_line + 3})" in second.output


@pytest.mark.parametrize(
    ("data", "more", "words"),
    [
        (pdf("words")[:300], {}, "bad.pdf is a PDF that cannot be read:"),
        (b"%PDF-1.7\n" + b"\xff" * 5_000, {}, "bad.pdf is a PDF that cannot be read:"),
        (pdf("words"), {"offset": 900}, "The text of bad.pdf ends before line 900."),
    ],
    ids=["cut", "noise", "past the end"],
)
def test_a_pdf_that_gives_nothing_says_why_in_one_sentence(
    files: FileWorld, capfd: pytest.CaptureFixture[str], data: bytes, more: dict[str, int], words: str
) -> None:
    (files.root / "bad.pdf").write_bytes(data)

    result = read(files, "bad.pdf", **more)

    assert result.is_error
    assert result.output.startswith(words)
    assert "\n" not in result.output
    assert capfd.readouterr() == ("", "")


def test_a_pdf_of_pictures_says_that_it_has_no_text(files: FileWorld) -> None:
    (files.root / "scan.pdf").write_bytes(pdf("", ""))

    assert "(no text in 2 pages: what they show is a picture)" in read(files, "scan.pdf").output


def test_a_pdf_without_the_extra_names_it(files: FileWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pypdf", None)  # what an import finds where it is not installed
    (files.root / "a.pdf").write_bytes(pdf("words"))

    result = read(files, "a.pdf")

    assert result.is_error
    assert result.output == (
        "a.pdf is a PDF; its text can be read once the package pypdf is installed beside agent-tui, or with pdftotext."
    )
