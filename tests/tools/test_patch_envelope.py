from dataclasses import dataclass, field

import pytest

from tests.support.file_world import FileWorld


@dataclass
class Scenario:
    name: str
    patch: str
    before: dict[str, str] = field(default_factory=dict)
    after: dict[str, str] | None = None  # None: as before, and the call is an error


def body(text: str) -> str:
    return f"*** Begin Patch\n{text}*** End Patch\n"


SCENARIOS = [
    Scenario(
        "adds_a_file",
        body("*** Add File: bar.md\n+This is a new file\n"),
        {},
        {"bar.md": "This is a new file\n"},
    ),
    Scenario(
        "does_several_operations",
        body(
            "*** Add File: nested/new.txt\n+created\n*** Delete File: delete.txt\n"
            "*** Update File: modify.txt\n@@\n-line2\n+changed\n"
        ),
        {"delete.txt": "obsolete\n", "modify.txt": "line1\nline2\n"},
        {"nested/new.txt": "created\n", "modify.txt": "line1\nchanged\n"},
    ),
    Scenario(
        "applies_several_chunks",
        body("*** Update File: multi.txt\n@@\n-line2\n+changed2\n@@\n-line4\n+changed4\n"),
        {"multi.txt": "line1\nline2\nline3\nline4\n"},
        {"multi.txt": "line1\nchanged2\nline3\nchanged4\n"},
    ),
    Scenario(
        "moves_to_a_new_directory",
        body(
            "*** Update File: old/name.txt\n*** Move to: renamed/dir/name.txt\n@@\n-old content\n+new content\n"
        ),
        {"old/name.txt": "old content\n", "old/other.txt": "unrelated file\n"},
        {"renamed/dir/name.txt": "new content\n", "old/other.txt": "unrelated file\n"},
    ),
    Scenario("rejects_an_empty_patch", body(""), {"foo.txt": "stable\n"}),
    Scenario(
        "rejects_missing_context",
        body("*** Update File: modify.txt\n@@\n-missing\n+changed\n"),
        {"modify.txt": "line1\nline2\n"},
    ),
    Scenario(
        "rejects_deleting_a_missing_file", body("*** Delete File: missing.txt\n"), {"foo.txt": "stable\n"}
    ),
    Scenario("rejects_an_update_without_hunks", body("*** Update File: foo.txt\n"), {"foo.txt": "stable\n"}),
    Scenario(
        "rejects_an_update_of_a_missing_file",
        body("*** Update File: missing.txt\n@@\n-old\n+new\n"),
        {"foo.txt": "stable\n"},
    ),
    Scenario(
        "moves_over_an_existing_file_that_was_read",
        body("*** Update File: old/name.txt\n*** Move to: renamed/dir/name.txt\n@@\n-from\n+new\n"),
        {"old/name.txt": "from\n", "renamed/dir/name.txt": "existing\n", "old/other.txt": "unrelated file\n"},
        {"renamed/dir/name.txt": "new\n", "old/other.txt": "unrelated file\n"},
    ),
    Scenario(
        "adds_over_an_existing_file_that_was_read",
        body("*** Add File: duplicate.txt\n+new content\n"),
        {"duplicate.txt": "old content\n"},
        {"duplicate.txt": "new content\n"},
    ),
    Scenario("rejects_deleting_a_directory", body("*** Delete File: dir\n"), {"dir/foo.txt": "stable\n"}),
    Scenario("rejects_an_unknown_header", body("*** Frobnicate File: foo\n"), {"foo.txt": "stable\n"}),
    Scenario(
        "replaces_a_last_line_and_ends_it",
        body("*** Update File: no_newline.txt\n@@\n-no newline at end\n+first line\n+second line\n"),
        {"no_newline.txt": "no newline at end"},
        {"no_newline.txt": "first line\nsecond line\n"},
    ),
    Scenario(
        "leaves_nothing_behind_when_its_second_file_fails",
        body("*** Add File: created.txt\n+hello\n*** Update File: missing.txt\n@@\n-old\n+new\n"),
    ),
    Scenario(
        "adds_lines_without_context_at_the_end",
        body("*** Update File: input.txt\n@@\n+added line 1\n+added line 2\n"),
        {"input.txt": "line1\nline2\n"},
        {"input.txt": "line1\nline2\nadded line 1\nadded line 2\n"},
    ),
    Scenario(
        "takes_a_padded_file_header",
        "*** Begin Patch\n  *** Update File: foo.txt\n@@\n-old\n+new\n*** End Patch\n",
        {"foo.txt": "old\n"},
        {"foo.txt": "new\n"},
    ),
    Scenario(
        "takes_padded_first_and_last_lines",
        " *** Begin Patch\n*** Update File: file.txt\n@@\n-one\n+two\n*** End Patch \n",
        {"file.txt": "one\n"},
        {"file.txt": "two\n"},
    ),
    Scenario(
        "takes_blanks_behind_the_first_and_before_the_last_line",
        "*** Begin Patch \n*** Update File: file.txt\n@@\n-one\n+two\n *** End Patch\n",
        {"file.txt": "one\n"},
        {"file.txt": "two\n"},
    ),
    Scenario(
        "changes_text_beyond_ascii",
        body("*** Update File: foo.txt\n@@\n line1\n-naïve café\n+naïve café ✅\n"),
        {"foo.txt": "line1\nnaïve café\nline3\n"},
        {"foo.txt": "line1\nnaïve café ✅\nline3\n"},
    ),
    Scenario(
        "deletes_a_file",
        body("*** Delete File: obsolete.txt\n"),
        {"keep.txt": "keep\n", "obsolete.txt": "obsolete\n"},
        {"keep.txt": "keep\n"},
    ),
    Scenario(
        "deletes_a_line_between_context",
        body("*** Update File: lines.txt\n@@\n line1\n-line2\n line3\n"),
        {"lines.txt": "line1\nline2\nline3\n"},
        {"lines.txt": "line1\nline3\n"},
    ),
    Scenario(
        "takes_the_mark_of_the_end",
        body("*** Update File: tail.txt\n@@\n first\n-second\n+second updated\n*** End of File\n"),
        {"tail.txt": "first\nsecond\n"},
        {"tail.txt": "first\nsecond updated\n"},
    ),
    Scenario(
        "keeps_crlf_line_ends",
        body("*** Update File: lines.txt\n@@\n-one\n+ONE\n two\n+between\n three\n"),
        {"lines.txt": "one\r\ntwo\r\nthree\r\n"},
        {"lines.txt": "ONE\r\ntwo\r\nbetween\r\nthree\r\n"},
    ),
    Scenario(
        "keeps_mixed_line_ends",
        body("*** Update File: lines.txt\n@@\n one\n two\n-three\n+THREE\n four\n"),
        {"lines.txt": "one\r\ntwo\rthree\nfour\r\n"},
        {"lines.txt": "one\r\ntwo\rTHREE\r\nfour\r\n"},
    ),
]


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_begin_patch(scenario: Scenario, files: FileWorld) -> None:
    for name, text in scenario.before.items():
        files.put(name, text)
    files.read_all(*scenario.before)
    before = files.files()

    result = files.run("patch", patch=scenario.patch)

    expected = before if scenario.after is None else {n: t.encode() for n, t in scenario.after.items()}
    assert files.files() == expected, result.output
    assert result.is_error == (scenario.after is None), result.output


@pytest.mark.parametrize("verb", ["Add", "Update", "Delete"])
def test_item_39_existing_file_that_was_not_read_is_not_touched(verb: str, files: FileWorld) -> None:
    files.put("a.txt", "old\n")
    tail = {"Add": "+new\n", "Update": "@@\n-old\n+new\n", "Delete": ""}[verb]

    result = files.run("patch", patch=body(f"*** {verb} File: a.txt\n{tail}"))

    assert result.is_error
    assert "has not been read yet" in result.output
    assert files.files() == {"a.txt": b"old\n"}


def test_anchor_leads_to_the_second_of_two_equal_places(files: FileWorld) -> None:
    files.put("a.py", "def a():\n    return 1\n\ndef b():\n    return 1\n")
    files.read_all("a.py")

    result = files.run(
        "patch", patch=body("*** Update File: a.py\n@@ def b():\n-    return 1\n+    return 2\n")
    )

    assert files.files() == {"a.py": b"def a():\n    return 1\n\ndef b():\n    return 2\n"}, result.output


def test_place_that_is_not_the_only_one_is_named(files: FileWorld) -> None:
    files.put("a.txt", "x\ny\nx\n")
    files.read_all("a.txt")

    shown = files.preview("patch", patch=body("*** Update File: a.txt\n@@\n-x\n+z\n"))

    assert "also fits at line 3" in shown.note


def test_patch_that_was_cut_changes_nothing(files: FileWorld) -> None:
    result = files.run("patch", patch="*** Begin Patch\n*** Add File: a.txt\n+half")

    assert result.is_error
    assert "may be cut" in result.output
    assert files.files() == {}


def test_crlf_patch_fits_an_lf_file(files: FileWorld) -> None:
    files.put("a.txt", "one\ntwo\n")
    files.read_all("a.txt")

    files.run("patch", patch=body("*** Update File: a.txt\n@@\n-two\n+2\n").replace("\n", "\r\n"))

    assert files.files() == {"a.txt": b"one\n2\n"}


def test_context_with_other_indentation_takes_the_added_lines_along(files: FileWorld) -> None:
    files.put("a.py", "class A:\n\tdef f(self):\n\t\treturn 1\n")
    files.read_all("a.py")

    result = files.run(
        "patch",
        patch=body(
            "*** Update File: a.py\n@@\n     def f(self):\n-        return 1\n+        x = 2\n+        return x\n"
        ),
    )

    assert files.files()["a.py"] == b"class A:\n\tdef f(self):\n\t\tx = 2\n\t\treturn x\n", result.output
    assert "ignoring indentation" in result.output
