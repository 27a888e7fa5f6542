import os
import re
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent_tui.toolkit.tree import ENTRY_LIMIT
from tests.support.file_world import FileWorld, load_file_tools, make_file_world

EXAMPLES = int(os.environ.get("AGENT_TUI_TEST_EXAMPLES", "8"))


def listed(files: FileWorld, **arguments: object) -> list[str]:
    result = files.run("list", **arguments)
    assert not result.is_error, result.output
    return result.output.split("\n")[1:]


def test_h44_folders_come_first_then_names(files: FileWorld) -> None:
    for name in ("b.txt", "a.txt", "src/z.py", "src/sub/x.py", "docs/d.md"):
        files.put(name, "x")

    assert files.run("list").output.split("\n") == [
        f"- {files.root}/",
        "  - docs/",
        "    - d.md",
        "  - src/",
        "    - sub/",
        "      - x.py",
        "    - z.py",
        "  - a.txt",
        "  - b.txt",
    ]


def test_h44_hidden_and_build_entries_are_left_out(files: FileWorld) -> None:
    skipped = (
        "node_modules/a",
        "dist/a",
        "build/a",
        "target/a",
        "__pycache__/a",
        ".hidden",
        "x.pyc",
        "x.o",
        "x.so",
    )
    for name in (*skipped, "kept.py"):
        files.put(name, "x")

    assert listed(files) == ["  - kept.py"]


def test_h44_extra_patterns_are_left_out(files: FileWorld) -> None:
    for name in ("a.log", "b.txt", "logs/x.txt", "keep/x.log", "keep/y.txt"):
        files.put(name, "x")

    assert listed(files, ignore=["*.log", "logs/"]) == ["  - keep/", "    - y.txt", "  - b.txt"]


def test_h45_item_51_entry_limit_and_note(files: FileWorld) -> None:
    for number in range(ENTRY_LIMIT + 20):
        files.put(f"f{number:04}", "")

    lines = listed(files)

    assert len(lines) == ENTRY_LIMIT + 1
    assert lines[-1].startswith("(showing 1,000 entries, at least 20 more")


@pytest.mark.parametrize(("depth", "deepest"), [(1, 1), (3, 3), (100, 20)])
def test_h45_depth_is_at_most_20(depth: int, deepest: int, files: FileWorld) -> None:
    (files.root / "/".join(f"d{n}" for n in range(1, 26))).mkdir(parents=True)

    lines = listed(files, depth=depth)

    assert lines[deepest - 1].strip() == f"- d{deepest}/"
    assert lines[deepest:] == ["(1 folder not opened, too deep)"]


def test_h45_file_is_an_error(files: FileWorld) -> None:
    files.put("a.txt", "x")

    assert "not a directory. Use read" in files.run("list", path="a.txt").output


def test_missing_folder_names_the_one_meant(files: FileWorld) -> None:
    files.put("source/a.txt", "x")

    assert "Did you mean source?" in files.run("list", path="sorce").output


def test_empty_folder_says_so(files: FileWorld) -> None:
    assert listed(files) == ["  (empty)"]


def test_se_03_links_are_shown_and_not_followed(files: FileWorld) -> None:
    for name in ("1", "2"):
        (files.root / name).mkdir()
        (files.root / name / "loop").symlink_to("../")
    (files.root / "self").symlink_to("self")
    (files.root / "gone").symlink_to("nowhere")
    files.put("f.txt", "hit")

    lines = listed(files)

    assert lines.count("  - f.txt") == 1
    assert "    - loop -> ../" in lines
    assert "  - self -> self" in lines
    assert "  - gone -> nowhere" in lines


def test_item_51_unreadable_folder_is_noted(files: FileWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    files.put("locked/a", "x")
    files.put("open/b", "x")
    real_open = os.open

    def guarded(path: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if path == "locked":
            raise PermissionError(13, "Permission denied")
        return real_open(path, flags, mode, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", guarded)
    lines = listed(files)

    assert "    - b" in lines
    assert lines[-1] == "(cannot read locked/)"


def test_names_with_control_characters_stay_on_their_line(files: FileWorld) -> None:
    files.put("a\nb\x1b[2J", "x")

    assert listed(files) == ['  - "a\\nb\\033[2J"']


def test_se_04_ignore_files_are_read_as_git_reads_them(files: FileWorld) -> None:
    subprocess.run(["git", "init", "-q"], cwd=files.root, check=True)
    files.put(".gitignore", "_*.*\nlogs/\n!keep.log\n/top.txt\n*.tmp\n")
    for name in ("src/_foo/bar.js", "sub/top.txt", "x.tmp", "logs/a", "top.txt"):
        files.put(name, "x")

    assert listed(files) == [
        "  - src/",
        "    - _foo/",
        "      - bar.js",
        "  - sub/",
        "    - top.txt",
    ]


def paths_of(lines: list[str]) -> set[str]:
    stack: list[str] = []
    found: set[str] = set()
    for line in lines:
        match = re.fullmatch(r"((?:  )+)- (.*)", line)
        if match is None:
            continue
        level = len(match[1]) // 2
        stack[level - 1 :] = [match[2]]
        if not match[2].endswith("/"):
            found.add("".join(stack))
    return found


PIECES = st.sampled_from(["a", "b", "ab", "logs", "x.tmp", "y.log", "src", "deep"])
RULES = st.sampled_from(
    [
        "*.tmp",
        "logs/",
        "/a",
        "!a",
        "!x.tmp",
        "src/*",
        "!src/b",
        "**/deep",
        "deep/**",
        "a/b",
        "a*",
        "[ab]",
        "x.*\\ ",
        "# c",
        "*",
        "!*/",
    ]
)


@settings(
    max_examples=EXAMPLES, deadline=None, derandomize=EXAMPLES == 8, suppress_health_check=list(HealthCheck)
)
@given(
    st.lists(st.lists(PIECES, min_size=1, max_size=4), min_size=1, max_size=12),
    st.lists(RULES, max_size=5),
    st.lists(RULES, max_size=3),
)
def test_list_agrees_with_git(
    tmp_path_factory: pytest.TempPathFactory, names: list[list[str]], top: list[str], nested: list[str]
) -> None:
    root: Path = tmp_path_factory.mktemp("tree") / "proj"
    root.mkdir()
    files = make_file_world(root, TOOLS)
    for parts in names:
        path = root.joinpath(*parts)
        if not any(parent.is_file() for parent in path.parents) and not path.is_dir():
            files.put("/".join(parts), "x")
    (root / ".gitignore").write_text("\n".join(top))
    if (root / "src").is_dir():
        (root / "src/.gitignore").write_text("\n".join(nested))
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    git = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"], cwd=root, check=True, capture_output=True, text=True
    )

    expected = {name for name in git.stdout.split("\n") if name and not name.endswith(".gitignore")}

    assert paths_of(listed(files)) == expected


TOOLS = load_file_tools()
