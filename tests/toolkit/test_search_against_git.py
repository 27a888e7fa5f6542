import asyncio
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent_tui.toolkit.search import grep_files, list_files
from agent_tui.toolkit.search_model import Query
from tests.support.tool_world import path_without_rg

EXAMPLES = int(os.environ.get("AGENT_TUI_TEST_EXAMPLES", "12"))
NAMES = ["a", "b", "foo", "bar.js", "x.tmp", "top.txt", "build", "a b", "_foo", "f1", "foo.bar", "[id]", "é"]
LINES = [
    "*.tmp",
    "!x.tmp",
    "/top.txt",
    "build/",
    "build",
    "/a/",
    "a/b",
    "a/*",
    "!a/foo",
    "a/**",
    "**/b",
    "**/foo/",
    "foo/**/bar.js",
    "_*.*",
    "f?",
    "[ab]",
    "[!ab]",
    "[a-f]*",
    "*",
    "!*/",
    "!foo",
    "# comment",
    "\\#x",
    "\\!a",
    "foo ",
    "a\\ b",
    "foo.*",
    "*.js",
    "/*/foo",
    "b/",
    "\\[id\\]",
    "[[]id]",
    "",
    "/",
    "é",
    "??",
    "a**",
    "**/*.tmp",
    "!**/b",
    "foo/*/",
    "[",
]
# rg reads these otherwise: in the files known beforehand they are noticed and our own search answers.
ODD = [*LINES, "[[:alpha:]]*", "x.tmp\t", "tail\\", "foo \t "]
paths = st.lists(st.lists(st.sampled_from(NAMES), min_size=1, max_size=4), min_size=1, max_size=25)
ignores = st.dictionaries(
    st.sampled_from(["", "a/", "foo/", "a/b/", "build/"]),
    st.lists(st.sampled_from(LINES), min_size=1, max_size=6),
    max_size=3,
)
extra = st.lists(st.sampled_from(ODD), max_size=3)


def git(folder: Path, *arguments: str) -> list[str]:
    answer = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, check=False)
    return [os.fsdecode(name) for name in answer.stdout.split(b"\0") if name]


def build(root: Path, tree: list[list[str]], rules: dict[str, list[str]]) -> None:
    for parts in tree:
        path = root.joinpath(*parts)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("hit\n")
        except (FileExistsError, NotADirectoryError, IsADirectoryError):
            continue
    for folder, lines in rules.items():
        if (root / folder).is_dir():
            (root / folder / ".gitignore").write_text("\n".join(lines) + "\n")


def visible(names: list[str]) -> list[str]:
    return sorted(name for name in names if not any(part.startswith(".") for part in name.split("/")))


@pytest.mark.parametrize("engine", ["rg", "plain"])
def test_files_are_those_of_git_whatever_the_ignore_files_say(
    engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if engine == "plain":
        monkeypatch.setenv("PATH", path_without_rg(tmp_path))
    elif not shutil.which("rg"):
        pytest.skip("rg is not installed")

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    )
    @given(tree=paths, rules=ignores, exclude=extra, user=extra)
    def check(
        tree: list[list[str]], rules: dict[str, list[str]], exclude: list[str], user: list[str]
    ) -> None:
        with tempfile.TemporaryDirectory(dir=tmp_path) as folder:
            root = Path(folder).resolve()
            git(root, "init", "-q")
            build(root, tree, rules)
            (root / ".git/info").mkdir(exist_ok=True)
            (root / ".git/info/exclude").write_text("\n".join(exclude) + "\n")
            config = Path(os.environ["HOME"]) / ".config/git"
            config.mkdir(parents=True, exist_ok=True)
            (config / "ignore").write_text("\n".join(user) + "\n")
            expected = visible(git(root, "ls-files", "-z", "-co", "--exclude-standard"))

            found = asyncio.run(list_files(root, root))
            hits = asyncio.run(grep_files(root, root, Query("hit", mode="files")))

            assert sorted(found) == expected
            assert [file.path for file in hits.files] == expected

    check()


@pytest.mark.parametrize("pattern", ["hit", "^hit$", "h.t", "[a-h]it", "x"])
def test_lines_are_those_of_git_grep(
    pattern: str, workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", path_without_rg(tmp_path))
    git(workspace, "init", "-q")
    for number in range(40):
        path = workspace / f"d{number % 5}" / f"f{number}.txt"
        path.parent.mkdir(exist_ok=True)
        path.write_text("hit\nx hit y\nhat\n" * (number % 3) + "no newline x")
    expected = subprocess.run(
        ["git", "grep", "--untracked", "-n", "-E", pattern], cwd=workspace, capture_output=True, text=True
    ).stdout.splitlines()

    found = asyncio.run(grep_files(workspace, workspace, Query(pattern, limit=0)))

    lines = [f"{file.path}:{line.number}:{line.text}" for file in found.files for line in file.lines]
    assert sorted(lines) == sorted(expected)


def test_a_line_whose_expression_cannot_be_is_passed_over(
    workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", path_without_rg(tmp_path))
    build(workspace, [["foo"], ["x.tmp"]], {"": ["[y-a]", "*.tmp"]})

    found = asyncio.run(grep_files(workspace, workspace, Query("hit", mode="files")))

    assert [file.path for file in found.files] == ["foo"]
