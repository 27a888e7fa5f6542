import errno
import os
import time
from collections.abc import Callable
from typing import Any

import pytest

from agent_tui.protocol.display import ResultContentType
from tests.support.file_world import FileWorld, mode_of


def hunk(name: str, body: str) -> str:
    return f"--- a/{name}\n+++ b/{name}\n{body}"


def applied(files: FileWorld, before: dict[str, str], patch: str) -> dict[str, str]:
    for name, text in before.items():
        files.put(name, text)
    files.read_all(*before)
    result = files.run("patch", patch=patch)
    assert not result.is_error, result.output
    return {name: data.decode() for name, data in files.files().items()}


def refused(files: FileWorld, before: dict[str, str], patch: str) -> str:
    for name, text in before.items():
        files.put(name, text)
    files.read_all(*before)
    result = files.run("patch", patch=patch)
    assert result.is_error, result.output
    assert {name: data.decode() for name, data in files.files().items()} == before
    return result.output


def numbers(count: int) -> str:
    return "".join(f"{number}\n" for number in range(1, count + 1))


def test_h31_h36_one_patch_changes_several_files(files: FileWorld) -> None:
    patch = hunk("a.txt", "@@ -1 +1,2 @@\n-a\n+A\n+AA\n") + hunk("b.txt", "@@ -1 +1 @@\n-b\n+B\n")
    for name in ("a", "b"):
        files.put(f"{name}.txt", f"{name}\n")
    files.read_all("a.txt", "b.txt")

    result = files.run("patch", patch=patch)

    assert result.output.split("\n") == [
        "Patched 2 files: 3 additions, 2 removals.",
        "Changed a.txt (+2 -1)",
        "Changed b.txt (+1 -1)",
    ]


def test_h31_hunks_are_applied_in_one_pass(files: FileWorld) -> None:
    patch = hunk("a.txt", "@@ -2 +2,2 @@\n-2\n+two\n+more\n@@ -18,2 +19,2 @@\n 18\n-19\n+nineteen\n")

    after = applied(files, {"a.txt": numbers(20)}, patch)

    assert after["a.txt"] == numbers(20).replace("2\n", "two\nmore\n", 1).replace("19\n", "nineteen\n")


@pytest.mark.parametrize(
    "header",
    [
        "--- a/x.txt\n+++ b/x.txt\n",
        "--- x.txt\n+++ x.txt\n",
        "--- x.txt\t2024-01-01 10:00:00.0 +0000\n+++ x.txt\t2024-01-02 10:00:00.0 +0000\n",
        "diff --git a/x.txt b/x.txt\nindex 123..456 100644\n--- a/x.txt\n+++ b/x.txt\n",
        "From: me\nSubject: change\n\n---\n x.txt | 2 +-\n\ndiff --git a/x.txt b/x.txt\n--- a/x.txt\n+++ b/x.txt\n",
        "--- old/x.txt\n+++ new/x.txt\n",
        "```diff\n--- a/x.txt\n+++ b/x.txt\n",
    ],
)
def test_h32_prefixes_and_time_stamps_are_no_part_of_the_name(header: str, files: FileWorld) -> None:
    assert applied(files, {"x.txt": "a\n"}, f"{header}@@ -1 +1 @@\n-a\n+b\n") == {"x.txt": "b\n"}


def test_h32_dev_null_is_a_new_or_a_deleted_file(files: FileWorld) -> None:
    patch = "--- /dev/null\n+++ b/sub/new.txt\n@@ -0,0 +1,2 @@\n+a\n+b\n--- a/old.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"

    assert applied(files, {"old.txt": "x\n"}, patch) == {"sub/new.txt": "a\nb\n"}


@pytest.mark.parametrize("name", ["../x", "a/../../x", "/etc/passwd", "~/x"])
@pytest.mark.parametrize("form", ["unified", "envelope", "rename"])
def test_m24_h37_item_39_name_that_leads_out_is_refused(name: str, form: str, files: FileWorld) -> None:
    patch = {
        "unified": f"--- {name}\n+++ {name}\n@@ -1 +1 @@\n-a\n+b\n",
        "envelope": f"*** Begin Patch\n*** Add File: {name}\n+b\n*** End Patch\n",
        "rename": f"diff --git a/a.txt b/b.txt\nrename from a.txt\nrename to {name}\n",
    }[form]

    assert "must" in refused(files, {"a.txt": "a\n"}, patch)


def test_h33_new_file_must_not_be_there_unless_it_was_read(files: FileWorld) -> None:
    files.put("a.txt", "theirs\n")

    result = files.run("patch", patch="--- /dev/null\n+++ b/a.txt\n@@ -0,0 +1 @@\n+mine\n")

    assert result.is_error
    assert files.files() == {"a.txt": b"theirs\n"}


def test_h33_h37_bad_hunk_in_the_second_file_leaves_the_first(files: FileWorld) -> None:
    patch = hunk("a.txt", "@@ -1 +1 @@\n-a\n+A\n") + hunk("b.txt", "@@ -1 +1 @@\n-nope\n+B\n")

    said = refused(files, {"a.txt": "a\n", "b.txt": "b\n"}, patch)

    assert "b.txt: hunk 1 (line 1) does not fit" in said


def test_h34_hunks_may_come_in_any_order(files: FileWorld) -> None:
    patch = hunk("a.txt", "@@ -9 +9 @@\n-9\n+nine\n@@ -1 +1 @@\n-1\n+one\n")

    assert applied(files, {"a.txt": numbers(10)}, patch)["a.txt"].split("\n")[::8] == ["one", "nine"]


def test_h34_overlapping_hunks_are_refused(files: FileWorld) -> None:
    patch = hunk("a.txt", "@@ -1,3 +1,3 @@\n 1\n-2\n+two\n 3\n@@ -3,2 +3,2 @@\n-3\n+three\n 4\n")

    assert "hunks 1 and 2 overlap" in refused(files, {"a.txt": numbers(5)}, patch)


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("a  \nb\nc\n", "line ends and trailing blanks"),
        ("  a\n  b\n  c\n", "indentation"),
        ("a\n\u201cb\u201d\nc\n", "the form of quotes"),
    ],
)
def test_h34_context_that_is_nearly_right_is_taken_from_the_file(
    text: str, label: str, files: FileWorld
) -> None:
    middle = '"b"' if "\u201c" in text else "b"
    patch = hunk("a.txt", f"@@ -1,3 +1,3 @@\n a\n {middle}\n-c\n+C\n")
    files.put("a.txt", text)
    files.read_all("a.txt")

    result = files.run("patch", patch=patch)

    lines = text.split("\n")
    assert files.files()["a.txt"].decode().split("\n")[:2] == lines[:2]
    assert label in result.output


def test_offset_is_found_and_told(files: FileWorld) -> None:
    files.put("a.txt", "new first\n" + numbers(10))
    files.read_all("a.txt")

    result = files.run("patch", patch=hunk("a.txt", "@@ -5 +5 @@\n-5\n+five\n"))

    assert "hunk 1 found at line 6, not 5" in result.output


def test_nearest_of_several_places_is_taken(files: FileWorld) -> None:
    text = "x\n" * 3 + "y\n" + "x\n" * 3

    after = applied(files, {"a.txt": text}, hunk("a.txt", "@@ -6 +6 @@\n-x\n+z\n"))

    assert after["a.txt"] == "x\nx\nx\ny\nx\nz\nx\n"


def test_h35_hunk_past_the_end_is_refused(files: FileWorld) -> None:
    assert "past the end" in refused(files, {"a.txt": numbers(3)}, hunk("a.txt", "@@ -9,0 +10 @@\n+x\n"))
    assert "past the end" in refused(files, {"a.txt": numbers(3)}, hunk("a.txt", "@@ -9 +9 @@\n-nine\n+x\n"))


def test_h35_item_38_missing_final_newline_stays_missing(files: FileWorld) -> None:
    after = applied(files, {"a.txt": "1\n2"}, hunk("a.txt", "@@ -1,2 +1,2 @@\n 1\n-2\n+two\n"))

    assert after["a.txt"] == "1\ntwo"


def test_h35_line_put_behind_a_last_line_without_newline(files: FileWorld) -> None:
    after = applied(files, {"a.txt": "1\n2"}, hunk("a.txt", "@@ -1,2 +1,3 @@\n 1\n 2\n+3\n"))

    assert after["a.txt"] == "1\n2\n3"


def test_h35_no_newline_mark_is_obeyed(files: FileWorld) -> None:
    body = "@@ -1 +1 @@\n-1\n\\ No newline at end of file\n+one\n"

    assert applied(files, {"a.txt": "1"}, hunk("a.txt", body))["a.txt"] == "one\n"


def test_h35_line_without_a_sign_is_context(files: FileWorld) -> None:
    after = applied(files, {"a.txt": "1\n\n3\n"}, hunk("a.txt", "@@ -1,3 +1,3 @@\n1\n\n-3\n+three\n"))

    assert after["a.txt"] == "1\n\nthree\n"


@pytest.mark.parametrize("patch", ["", "hello", hunk("a.txt", ""), "diff --git a/a.txt b/a.txt\n"])
def test_h36_patch_without_hunks_is_an_error(patch: str, files: FileWorld) -> None:
    refused(files, {"a.txt": "a\n"}, patch)


def test_h37_crlf_stays_crlf(files: FileWorld) -> None:
    after = applied(files, {"a.txt": "1\r\n2\r\n3\r\n"}, hunk("a.txt", "@@ -1,3 +1,3 @@\n 1\n-2\n+two\n 3\n"))

    assert after["a.txt"] == "1\r\ntwo\r\n3\r\n"


def test_h37_file_named_twice_is_refused(files: FileWorld) -> None:
    patch = hunk("a.txt", "@@ -1 +1 @@\n-1\n+one\n") + hunk("a.txt", "@@ -2 +2 @@\n-2\n+two\n")

    assert "in the patch twice" in refused(files, {"a.txt": numbers(2)}, patch)


def test_file_named_twice_through_a_link_is_refused(files: FileWorld) -> None:
    files.put("real/a.txt", numbers(2))
    (files.root / "ln").symlink_to("real")
    files.read_all("real/a.txt")
    patch = hunk("real/a.txt", "@@ -1 +1 @@\n-1\n+one\n") + hunk("ln/a.txt", "@@ -2 +2 @@\n-2\n+two\n")

    assert "in the patch twice" in files.run("patch", patch=patch).output


def test_rename_with_change_and_mode(files: FileWorld) -> None:
    files.put("old name.sh", "echo 1\n", mode=0o640)
    files.read_all("old name.sh")
    patch = (
        "diff --git a/old name.sh b/new/name.sh\nold mode 100644\nnew mode 100755\nsimilarity index 50%\n"
        "rename from old name.sh\nrename to new/name.sh\n--- a/old name.sh\n+++ b/new/name.sh\n@@ -1 +1 @@\n-echo 1\n+echo 2\n"
    )

    result = files.run("patch", patch=patch)

    assert files.files() == {"new/name.sh": b"echo 2\n"}, result.output
    assert mode_of(files.root / "new/name.sh") == 0o750
    assert "Moved old name.sh to new/name.sh (+1 -1)" in result.output


def test_new_file_can_be_executable(files: FileWorld) -> None:
    patch = "diff --git a/run.sh b/run.sh\nnew file mode 100755\n--- /dev/null\n+++ b/run.sh\n@@ -0,0 +1 @@\n+echo\n"

    files.run("patch", patch=patch)

    assert mode_of(files.root / "run.sh") & 0o100


def test_quoted_name_is_unquoted(files: FileWorld) -> None:
    patch = '--- "a/\\303\\274\\t.txt"\n+++ "b/\\303\\274\\t.txt"\n@@ -1 +1 @@\n-a\n+b\n'

    assert applied(files, {"ü\t.txt": "a\n"}, patch) == {"ü\t.txt": "b\n"}


def test_byte_order_mark_can_be_removed_by_a_patch(files: FileWorld) -> None:
    body = "@@ -1 +0,0 @@\n-\ufeffbom\n"

    assert applied(files, {"a.txt": "\ufeffbom\n \n"}, hunk("a.txt", body)) == {"a.txt": " \n"}


def test_byte_order_mark_that_a_patch_does_not_name_stays(files: FileWorld) -> None:
    after = applied(files, {"a.txt": "\ufeffone\ntwo\n"}, hunk("a.txt", "@@ -1,2 +1,2 @@\n-one\n+1\n two\n"))

    assert after == {"a.txt": "\ufeff1\ntwo\n"}


@pytest.mark.parametrize(
    "patch",
    [
        "diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+/etc\n\\ No newline at end of file\n",
        "diff --git a/x b/x\nindex 1..2 100644\nGIT binary patch\nliteral 1\nIcmZPo\n",
        "diff --git a/x b/x\nindex 1..2 100644\nBinary files a/x and b/x differ\n",
    ],
)
def test_links_and_binary_patches_are_refused(patch: str, files: FileWorld) -> None:
    refused(files, {"x": "a\n"}, patch)


def test_deletion_whose_lines_are_not_those_of_the_file_is_refused(files: FileWorld) -> None:
    patch = "--- a/a.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-1\n"

    assert "holds more than the patch deletes" in refused(files, {"a.txt": numbers(2)}, patch)


@pytest.mark.parametrize("failing", [1, 2, 3])
def test_failure_while_writing_puts_everything_back(
    failing: int, files: FileWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b", "gone"):
        files.put(f"{name}.txt", f"{name}\n")
    os.link(files.root / "a.txt", files.root / "a.link")
    files.read_all("a.txt", "b.txt", "gone.txt")
    before, inode = files.files(), (files.root / "a.txt").stat().st_ino
    patch = (
        hunk("a.txt", "@@ -1 +1 @@\n-a\n+A\n")
        + "--- a/gone.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone\n"
        + hunk("b.txt", "@@ -1 +1 @@\n-b\n+B\n")
    )
    monkeypatch.setattr(os, "rename", failing_at(failing, os.rename))

    result = files.run("patch", patch=patch)

    assert result.is_error
    assert "Nothing was changed" in result.output
    assert files.files() == before
    assert (files.root / "a.txt").stat().st_ino == inode


def failing_at(number: int, real: Callable[..., None]) -> Callable[..., None]:
    calls = 0

    def rename(source: str, target: str, **folders: Any) -> None:
        nonlocal calls
        calls += 1
        if calls == number:
            raise OSError(errno.ENOSPC, "No space left on device")
        real(source, target, **folders)

    return rename


def test_permissions_name_every_file_that_changes(files: FileWorld) -> None:
    patch = (
        "diff --git a/a.txt b/sub/b.txt\nrename from a.txt\nrename to sub/b.txt\n"
        "--- /dev/null\n+++ b/.git/hooks/x\n@@ -0,0 +1 @@\n+x\n"
    )
    tool = files.tools["patch"]

    needs = tool.permissions(tool.params_type(patch=patch), files.call_context())

    root = str(files.root)
    assert [need.target for need in needs] == [f"{root}/a.txt", f"{root}/sub/b.txt", f"{root}/.git/hooks/x"]
    assert len({need.id for need in needs}) == 3
    assert [need.risk.value for need in needs] == ["medium", "medium", "high"]


def test_display_is_one_diff_per_file(files: FileWorld) -> None:
    for name in ("a", "b"):
        files.put(f"{name}.txt", f"{name}\n")
    files.read_all("a.txt", "b.txt")
    patch = hunk("a.txt", "@@ -1 +1 @@\n-a\n+A\n") + hunk("b.txt", "@@ -1 +1 @@\n-b\n+B\n")

    shown = files.shown("patch", files.run("patch", patch=patch), patch=patch)

    assert shown.content_type is ResultContentType.DIFF
    assert shown.content.count("diff --git") == 2
    assert shown.summary == "2 files, +2 -2"


def test_title_names_the_file_or_the_number_of_files(files: FileWorld) -> None:
    tool = files.tools["patch"]

    def title(patch: str) -> str:
        return tool.display.display_title(tool.params_type(patch=patch))

    one = hunk("a.txt", "@@ -1 +1 @@\n-a\n+A\n")
    assert title(one) == "a.txt"
    assert title(one + one.replace("a.txt", "b.txt")) == "2 files: a.txt, b.txt"
    assert title("nonsense") == "Unknown files"


def test_200_files_are_patched_fast(files: FileWorld) -> None:
    names = [f"d{number % 10}/f{number}.txt" for number in range(200)]
    for name in names:
        files.put(name, numbers(200))
    files.read_all(*names)
    patch = "".join(hunk(name, "@@ -99,3 +99,3 @@\n 99\n-100\n+hundred\n 101\n") for name in names)
    started = time.process_time()

    result = files.run("patch", patch=patch)

    assert not result.is_error, result.output[:500]
    assert time.process_time() - started < 20
    assert all(b"hundred" in data for data in files.files().values())
