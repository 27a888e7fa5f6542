import os
import resource
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from agent_tui.protocol.errors import ToolError
from agent_tui.protocol.permissions import Risk
from agent_tui.toolkit.stale import sweep
from tests.support.file_world import FileWorld, snapshot
from tests.support.patience import PATIENCE_S
from tests.support.write_world import write


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


# The two change places at once: where the name stood empty between, a write made a folder of it.
FLIPPER = """
import ctypes, os, sys
os.chdir(sys.argv[1])
os.mkdir("real"); os.symlink(sys.argv[2], "link")
libc, swap = ctypes.CDLL(None), 2
print("go", flush=True)
if sys.platform == "darwin":
    while libc.renamex_np(b"real", b"link", swap) == 0: pass
else:
    while libc.renameat2(-100, b"real", -100, b"link", swap) == 0: pass
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
            written, begin = 0, time.monotonic()
            tool = files.tools["write"]
            while time.monotonic() < begin + (seconds if written else PATIENCE_S):
                ctx = files.call_context()
                params = tool.params_type(file_path=f"real/x{files.calls}.txt", content="secret")
                with suppress(ToolError):
                    if tool.permissions(params, ctx)[0].risk is not Risk.MEDIUM:
                        continue  # seen as a link: a person would be asked
                    tool.run(params, ctx)
                    written += 1
            flips = process.poll() is None
        finally:
            process.kill()

    assert flips
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
