import sys

import pytest

from agent_tui.toolkit.api import ResultContentType
from tests.support.file_world import FileWorld
from tests.support.read_world import read


def pdf(*pages: str) -> bytes:
    """A PDF as small as one can be, with the lines of each page."""
    font = "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"
    objects = ["<< /Type /Catalog /Pages 2 0 R >>", "", font]
    kids: list[int] = []
    for page in pages:
        lines = "\n".join(f"({line}) Tj T*" for line in page.split("\n") if line)
        stream = f"BT /F1 12 Tf 14 TL 72 720 Td\n{lines}\nET"
        objects.append(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream")
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {len(objects)} 0 R "
            "/Resources << /Font << /F1 3 0 R >> >> >>"
        )
        kids.append(len(objects))
    objects[1] = f"<< /Type /Pages /Kids [{' '.join(f'{kid} 0 R' for kid in kids)}] /Count {len(kids)} >>"
    out, places = b"%PDF-1.4\n", list[int]()
    for number, text in enumerate(objects, start=1):
        places.append(len(out))
        out += f"{number} 0 obj\n{text}\nendobj\n".encode()
    table = "".join(f"{place:010d} 00000 n \n" for place in places)
    end = f"trailer\n<< /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{len(out)}\n%%EOF\n"
    return out + f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}{end}".encode()


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
        "a.pdf is a PDF; its text can be read once agent-tui[pdf] is installed, or with pdftotext."
    )
