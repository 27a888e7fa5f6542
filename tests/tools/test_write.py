import asyncio
import os
import resource
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from agent_tui.protocol.display import ResultContentType
from agent_tui.protocol.errors import BaseChanged, ToolError
from agent_tui.protocol.permissions import Risk
from agent_tui.toolkit.stale import sweep
from tests.support.file_world import FileWorld, mode_of, snapshot


def write(files: FileWorld, name: str, content: str) -> str:
    return files.run("write", file_path=name, content=content).output


def test_h25_a101_new_file_needs_no_read_and_makes_its_folders(files: FileWorld) -> None:
    said = write(files, "a/b/c.txt", "x\ny")

    assert files.files() == {"a/b/c.txt": b"x\ny"}
    assert said == "Created a/b/c.txt: 3 bytes, 2 lines."


def test_h25_existing_file_must_have_been_read(files: FileWorld) -> None:
    files.put("a.txt", "old")

    assert "has not been read yet" in write(files, "a.txt", "new")
    assert files.files() == {"a.txt": b"old"}


def test_h26_item_36_identical_content_leaves_the_file_alone(files: FileWorld) -> None:
    path = files.put("a.txt", "same\n")
    files.read_all("a.txt")
    before = path.stat()

    said = write(files, "a.txt", "same\n")

    assert "unchanged" in said
    assert (path.stat().st_mtime_ns, path.stat().st_ino) == (before.st_mtime_ns, before.st_ino)


def test_h27_result_names_path_and_size(files: FileWorld) -> None:
    files.put("a.txt", "old\n")
    files.read_all("a.txt")

    assert write(files, "a.txt", "ü\n") == "Replaced a.txt: 3 bytes, 1 line."


def test_write_in_the_round_of_the_read_is_refused(files: FileWorld) -> None:
    files.put("a.txt", "old\n")
    files.next_round()
    files.run_in_round("read", file_path="a.txt")

    result = files.run_in_round("write", file_path="a.txt", content="new\n")

    assert "in this same round" in result.output
    assert files.files() == {"a.txt": b"old\n"}


def test_edit_in_the_round_of_the_read_is_allowed(files: FileWorld) -> None:
    files.put("a.txt", "old\n")
    files.next_round()
    files.run_in_round("read", file_path="a.txt")

    assert not files.run_in_round("edit", file_path="a.txt", old_string="old", new_string="new").is_error


def test_write_names_the_lines_that_were_not_shown(files: FileWorld) -> None:
    files.put("a.txt", "x\n" * 100)
    files.run("read", file_path="a.txt", offset=11, limit=20)
    files.run("read", file_path="a.txt", offset=51, limit=50)

    assert "lines 1-10, lines 31-50 not seen" in write(files, "a.txt", "new")


def test_reads_of_several_rounds_together_show_the_whole(files: FileWorld) -> None:
    files.put("a.txt", "x\n" * 100)
    files.run("read", file_path="a.txt", offset=1, limit=60)
    files.run("read", file_path="a.txt", offset=50, limit=100)

    assert "Replaced" in write(files, "a.txt", "new")


def test_line_that_was_cut_was_not_shown(files: FileWorld) -> None:
    files.put("a.txt", "a\n" + "x" * 3000 + "\nb\n")
    files.read_all("a.txt")

    assert "line 2 not seen" in write(files, "a.txt", "new")


def test_partly_shown_file_stays_partly_shown_after_an_own_edit(files: FileWorld) -> None:
    files.put("a.txt", "".join(f"{n}\n" for n in range(1, 21)))
    files.run("read", file_path="a.txt", offset=1, limit=10)
    files.run("edit", file_path="a.txt", old_string="5\n6\n", new_string="5\nfive\nfifty\n6\n")

    assert "lines 13-22 not seen" in write(files, "a.txt", "new")


def test_item_32_file_that_was_deleted_since_is_not_made_again(files: FileWorld) -> None:
    path = files.put("a.txt", "old\n")
    files.read_all("a.txt")
    path.unlink()

    assert "was deleted since it was read" in write(files, "a.txt", "new")
    files.run("read", file_path="a.txt")
    assert "Created" in write(files, "a.txt", "new")


def test_item_33_other_spelling_and_link_are_the_same_file(files: FileWorld) -> None:
    files.put("sub/a.txt", "old\n")
    (files.root / "ln").symlink_to("sub")
    files.read_all("ln/a.txt")

    assert "Replaced" in write(files, "sub/../sub/a.txt", "new\n")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("dir", "is a directory"),
        ("f.txt/g", "not a directory"),
        ("dir/", "names a directory"),
        ("", "empty"),
        ("a\0b", "NUL"),
        ("x" * 300, "longer than 255 bytes"),
        ("ro.txt", "read-only (mode 444)"),
        ("rodir/new.txt", "read-only"),
    ],
)
def test_wr_02_odd_target_is_one_line_and_leaves_nothing(name: str, said: str, files: FileWorld) -> None:
    files.put("dir/keep.txt", "k")
    files.put("f.txt", "f")
    files.put("ro.txt", "r", mode=0o444)
    (files.root / "rodir").mkdir(mode=0o555)
    files.read_all("ro.txt")
    before = snapshot(files.root)

    output = write(files, name, "x")

    assert said in output
    assert "\n" not in output
    assert snapshot(files.root) == before
    assert sorted(path.name for path in files.root.iterdir()) == ["dir", "f.txt", "ro.txt", "rodir"]


def test_wr_02_parents_are_made_and_a_linked_parent_is_used(files: FileWorld) -> None:
    (files.root / "dir").mkdir()
    (files.root / "d2").symlink_to("dir")

    write(files, "a/b/c/d.txt", "x")
    write(files, "d2/n.txt", "x")

    assert files.files() == {"a/b/c/d.txt": b"x", "dir/n.txt": b"x"}


def test_wr_02_failed_write_takes_back_the_folders_it_made(files: FileWorld) -> None:
    files.put("f.txt", "f")
    patch = "--- /dev/null\n+++ b/new/deep/a.txt\n@@ -0,0 +1 @@\n+a\n--- /dev/null\n+++ b/f.txt/b.txt\n@@ -0,0 +1 @@\n+b\n"

    assert files.only_run("patch", patch=patch).is_error
    assert [path.name for path in files.root.iterdir()] == ["f.txt"]


def test_wr_03_file_size_limit_leaves_the_old_content(files: FileWorld) -> None:
    files.put("good.txt", "g" * 10_000 + "\n")
    files.run("read", file_path="good.txt")
    files.run("edit", file_path="good.txt", old_string="gg", new_string="gg", replace_all=True)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        result = files.run("write", file_path="other.txt", content="x" * 20_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    assert "larger than the allowed file size" in result.output
    assert files.files() == {"good.txt": b"g" * 10_000 + b"\n"}


def test_wr_03_hard_link_is_broken_and_said(files: FileWorld) -> None:
    path = files.put("f.txt", "old\n")
    os.link(path, files.root / "g.txt")
    files.read_all("f.txt")

    said = write(files, "f.txt", "new\n")

    assert files.files() == {"f.txt": b"new\n", "g.txt": b"old\n"}
    assert "2 hard links" in said


WRITER = """
import sys
from pathlib import Path
from agent_tui.toolkit.atomic import Write, apply
from agent_tui.toolkit.paths import Target
from agent_tui.toolkit.stale import PendingTemps
from agent_tui.toolkit.files import load
root, data = Path(sys.argv[1]), Path(sys.argv[2])
target = Target("f", root / "f", root, True, False, "f")
print("go", flush=True)
for number in range(100_000):
    base = load(target)
    apply([Write(target, bytes([97 + number % 26]) * 300_000, base.stamp)], PendingTemps(data))
"""


def test_wr_03_h_f4_kill_9_leaves_old_or_new_content_and_nothing_else(tmp_path: Path) -> None:
    rounds = int(os.environ.get("AGENT_TUI_TEST_KILL_ROUNDS", "12"))
    root, data = tmp_path / "ws", tmp_path / "data"
    root.mkdir()
    (root / "f").write_bytes(b"a" * 300_000)
    for number in range(rounds):
        with subprocess.Popen(
            [sys.executable, "-c", WRITER, str(root), str(data)], stdout=subprocess.PIPE
        ) as process:
            assert process.stdout is not None
            process.stdout.readline()
            time.sleep(0.003 + (number * 7 % 23) / 1000)
            process.send_signal(signal.SIGKILL)
        content = (root / "f").read_bytes()
        assert len(content) == 300_000
        assert len(set(content)) == 1

    sweep(data)

    assert [path.name for path in root.iterdir()] == ["f"]
    assert list(data.iterdir()) == []


FLIPPER = """
import os, sys
os.chdir(sys.argv[1])
os.mkdir("real"); os.symlink(sys.argv[2], "link")
print("go", flush=True)
while True:
    os.rename("real", "spare"); os.rename("link", "real")
    os.rename("real", "link"); os.rename("spare", "real")
"""


def test_h_f2_flipping_a_folder_into_a_link_lets_nothing_out(files: FileWorld, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    seconds = float(os.environ.get("AGENT_TUI_TEST_FLIP_SECONDS", "1"))
    with subprocess.Popen(
        [sys.executable, "-c", FLIPPER, str(files.root), str(outside)], stdout=subprocess.PIPE
    ) as process:
        try:
            assert process.stdout is not None
            process.stdout.readline()
            written, deadline = 0, time.monotonic() + seconds
            tool = files.tools["write"]
            while time.monotonic() < deadline:
                ctx = files.call_context()
                params = tool.params_type(file_path=f"real/x{files.calls}.txt", content="secret")
                with suppress(ToolError):
                    if tool.permissions(params, ctx)[0].risk is not Risk.MEDIUM:
                        continue  # seen as a link: a person would be asked
                    tool.run(params, ctx)
                    written += 1
        finally:
            process.kill()

    assert written > 0
    assert list(outside.iterdir()) == []


@pytest.mark.parametrize("name", ["../x", "/etc/agent-tui-test-x", "ln/x", "lnf", "real/../../x"])
def test_x19_h_f1_path_that_leads_out_is_asked_for_with_its_real_target(
    name: str, files: FileWorld, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (files.root / "ln").symlink_to(outside)
    (files.root / "lnf").symlink_to(outside / "f")
    (files.root / "real").mkdir()
    tool = files.tools["write"]

    (need,) = tool.permissions(tool.params_type(file_path=name, content="x"), files.call_context())

    assert need.risk is Risk.HIGH
    assert not Path(need.target).is_relative_to(files.root)
    assert need.pattern.startswith("Edit(//")


def test_h_f5_link_to_the_own_settings_is_refused(files: FileWorld) -> None:
    settings = Path.home() / ".config/agent-tui"
    settings.mkdir(parents=True)
    (files.root / "docs").mkdir()
    (files.root / "docs/link").symlink_to(settings / "config.toml")

    said = write(files, "docs/link", "x")

    assert "agent-tui's own folders" in said
    assert list(settings.iterdir()) == []


def test_approved_file_that_changes_before_the_write_asks_again(files: FileWorld) -> None:
    path = files.put("a.txt", "one\ntwo\n")
    files.read_all("a.txt")
    shown = files.preview("edit", call_id="x", file_path="a.txt", old_string="one", new_string="1")
    files.ctx.files.expect("x", shown.bases)
    path.write_text("one\nTWO\n")

    with pytest.raises(BaseChanged):
        files.only_run("edit", call_id="x", file_path="a.txt", old_string="one", new_string="1")
    assert path.read_text() == "one\nTWO\n"


def test_h_f3_second_review_shows_the_new_content_and_may_be_approved(files: FileWorld) -> None:
    path = files.put("a.txt", "one\ntwo\n")
    files.read_all("a.txt")
    arguments = {"file_path": "a.txt", "old_string": "one", "new_string": "1"}
    files.ctx.files.expect("x", files.preview("edit", call_id="x", **arguments).bases)
    path.write_text("one\nTWO\n")
    files.ctx.files.expect("x", {})

    again = files.preview("edit", call_id="x", **arguments)
    files.ctx.files.expect("x", again.bases)
    result = files.only_run("edit", call_id="x", **arguments)

    assert " TWO" in again.content
    assert not result.is_error, result.output
    assert path.read_text() == "1\nTWO\n"


def test_write_is_not_let_through_by_a_second_review(files: FileWorld) -> None:
    path = files.put("a.txt", "one\n")
    files.read_all("a.txt")
    arguments = {"file_path": "a.txt", "content": "new\n"}
    files.ctx.files.expect("x", files.preview("write", call_id="x", **arguments).bases)
    path.write_text("user\n")
    files.ctx.files.expect("x", {})

    with pytest.raises(Exception, match="modified since it was read"):
        files.preview("write", call_id="x", **arguments)


def test_file_that_appears_before_the_write_is_not_replaced(files: FileWorld) -> None:
    files.next_round()
    files.ctx.files.expect("x", files.preview("write", call_id="x", file_path="a.txt", content="x").bases)
    files.put("a.txt", "theirs\n")

    with pytest.raises(BaseChanged):
        files.only_run("write", call_id="x", file_path="a.txt", content="x")
    assert files.files() == {"a.txt": b"theirs\n"}


def test_preview_of_the_second_call_starts_where_the_first_ends(files: FileWorld) -> None:
    files.put("a.txt", "one\ntwo\n")
    files.read_all("a.txt")
    first = {"file_path": "a.txt", "old_string": "one", "new_string": "1"}
    second = {"file_path": "a.txt", "old_string": "two", "new_string": "2"}
    shown_first = files.preview("edit", call_id="x", **first)
    shown_second = files.preview("edit", call_id="y", **second)
    files.ctx.files.expect("x", shown_first.bases)
    files.ctx.files.expect("y", shown_second.bases)

    assert " 1\n-two\n+2\n" in shown_second.content
    assert not files.only_run("edit", call_id="x", **first).is_error
    assert not files.only_run("edit", call_id="y", **second).is_error
    assert files.files() == {"a.txt": b"1\n2\n"}


def test_second_call_does_not_run_when_the_first_was_denied(files: FileWorld) -> None:
    files.put("a.txt", "one\ntwo\n")
    files.read_all("a.txt")
    files.preview("edit", call_id="x", file_path="a.txt", old_string="one", new_string="1")
    second = {"file_path": "a.txt", "old_string": "two", "new_string": "2"}
    files.ctx.files.expect("y", files.preview("edit", call_id="y", **second).bases)

    with pytest.raises(BaseChanged):
        files.only_run("edit", call_id="y", **second)

    again = files.preview("edit", call_id="y", **second)
    assert " one\n-two\n+2\n" in again.content


def test_file_of_an_earlier_call_can_be_edited_in_the_same_round(files: FileWorld) -> None:
    files.next_round()
    create = {"file_path": "new.txt", "content": "a\n"}
    change = {"file_path": "new.txt", "old_string": "a", "new_string": "b"}
    files.ctx.files.expect("x", files.preview("write", call_id="x", **create).bases)
    files.ctx.files.expect("y", files.preview("edit", call_id="y", **change).bases)

    files.only_run("write", call_id="x", **create)
    result = files.only_run("edit", call_id="y", **change)

    assert not result.is_error, result.output
    assert files.files() == {"new.txt": b"b\n"}


def many_hunks() -> tuple[str, str]:
    old = "".join(f"line {n}\n" for n in range(1, 61))
    return old, old.replace("line 5\n", "five\n").replace("line 30\n", "thirty\n").replace("line 55\n", "")


@pytest.mark.parametrize(
    ("accepted", "expected"),
    [((0,), ["five"]), ((1, 2), ["thirty", "no 55"]), ((0, 1, 2), ["five", "thirty", "no 55"]), ((), [])],
)
def test_only_accepted_hunks_are_made(
    accepted: tuple[int, ...], expected: list[str], files: FileWorld
) -> None:
    old, new = many_hunks()
    path = files.put("a.txt", old)
    files.read_all("a.txt")
    shown = files.preview("write", call_id="x", file_path="a.txt", content=new)
    files.ctx.files.expect("x", shown.bases)
    files.ctx.files.accept_hunks("x", accepted)

    result = files.only_run("write", call_id="x", file_path="a.txt", content=new)

    text = path.read_text()
    found = [word for word in ("five", "thirty") if word in text] + ([] if "line 55" in text else ["no 55"])
    assert shown.hunks == 3
    assert found == expected
    assert ("left out" in result.output) == (len(accepted) < 3)


def test_hunks_are_numbered_through_all_files_of_a_patch(files: FileWorld) -> None:
    files.put("a.txt", "a\n")
    files.put("b.txt", "b\n")
    files.read_all("a.txt", "b.txt")
    patch = "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-a\n+A\n--- a/b.txt\n+++ b/b.txt\n@@ -1 +1 @@\n-b\n+B\n"
    files.ctx.files.expect("x", files.preview("patch", call_id="x", patch=patch).bases)
    files.ctx.files.accept_hunks("x", (1,))

    files.only_run("patch", call_id="x", patch=patch)

    assert files.files() == {"a.txt": b"a\n", "b.txt": b"B\n"}


@pytest.mark.parametrize(
    "name", [".git/config", ".claude/x", ".mcp.json", ".vscode/tasks.json", "a/.envrc", ".BASHRC"]
)
def test_protected_place_is_high_and_offers_no_lasting_answer(name: str, files: FileWorld) -> None:
    tool = files.tools["write"]

    (need,) = tool.permissions(tool.params_type(file_path=name, content="x"), files.call_context())

    assert need.risk is Risk.HIGH
    assert need.pattern == ""


def test_a_neighbour_with_the_same_start_is_outside(files: FileWorld, tmp_path: Path) -> None:
    (tmp_path / "project2").mkdir()
    tool = files.tools["write"]

    (need,) = tool.permissions(tool.params_type(file_path="../project2/x", content="x"), files.call_context())

    assert need.risk is Risk.HIGH


def test_display_of_a_new_file_is_its_code_and_of_a_change_its_diff(files: FileWorld) -> None:
    arguments: dict[str, Any] = {"file_path": "a.py", "content": "x = 1\n"}
    created = files.shown("write", files.run("write", **arguments), **arguments)
    arguments["content"] = "x = 2\n"
    changed = files.shown("write", files.run("write", **arguments), **arguments)

    assert (created.content, created.content_type) == ("x = 1\n", ResultContentType.CODE)
    assert changed.content_type is ResultContentType.DIFF
    assert "-x = 1\n+x = 2\n" in changed.content
    assert changed.summary == "+1 -1"


def test_new_file_gets_the_usual_mode(files: FileWorld) -> None:
    write(files, "a.txt", "x")
    (files.root / "b.txt").write_text("x")

    assert mode_of(files.root / "a.txt") == mode_of(files.root / "b.txt")


def test_item_38_bom_of_a_replaced_file_stays(files: FileWorld) -> None:
    path = files.put("a.txt", b"\xef\xbb\xbfold\n")
    files.read_all("a.txt")

    write(files, "a.txt", "new\n")

    assert path.read_bytes() == b"\xef\xbb\xbfnew\n"


def test_mixed_line_ends_of_lines_that_stay_are_kept(files: FileWorld) -> None:
    path = files.put("a.txt", b"one\r\ntwo\nthree\r\nfour\n")
    files.read_all("a.txt")

    write(files, "a.txt", "one\ntwo\nTHREE\nfour\nfive\n")

    assert path.read_bytes().startswith(b"one\r\ntwo\nTHREE\nfour\n")


def test_preview_does_not_block_the_loop(files: FileWorld) -> None:
    tool = files.tools["write"]
    params = tool.params_type(file_path="a.txt", content="x\n" * 200_000)
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await asyncio.sleep(0)
            ticks += 1

    async def both() -> None:
        async with asyncio.TaskGroup() as group:
            ticking = group.create_task(tick())
            await tool.preview(params, files.call_context())
            ticking.cancel()

    asyncio.run(both())

    assert ticks > 1
