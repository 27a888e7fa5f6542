import pytest

from tests.support.file_world import FileWorld


@pytest.mark.parametrize("codec", ["utf-8-sig", "utf-16", "utf-16-be", "latin-1"])
def test_ed_17_own_changes_of_any_encoding_need_no_new_read(codec: str, files: FileWorld) -> None:
    path = files.put("k.txt", "ä one\r\nü two\r\n".encode(codec))
    files.read_all("k.txt")
    files.next_round()

    for old, new in [("one", "1"), ("two", "2\n3"), ("1", "one")]:
        assert not files.run("edit", file_path="k.txt", old_string=old, new_string=new).is_error

    assert path.read_bytes() == "ä one\r\nü 2\r\n3\r\n".encode(codec)


def test_ed_17_own_change_does_not_hide_one_of_somebody_else_behind_it(files: FileWorld) -> None:
    path = files.put("k.py", "a\nc\n")
    files.read_all("k.py")
    files.run("edit", file_path="k.py", old_string="a", new_string="b")
    path.write_text("b\nc\ntheirs\n")

    refused = files.run("edit", file_path="k.py", old_string="c", new_string="d")

    assert refused.is_error
    assert path.read_text() == "b\nc\ntheirs\n"
