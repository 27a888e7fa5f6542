import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from agent_tui.permissions.shell.analysis import Analyser
from agent_tui.permissions.shell.git_index import UNKNOWN, secret_below


def git(folder: Path, *arguments: str) -> None:
    environ = {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1"}
    options = ("-c", "user.name=t", "-c", "user.email=t@example.invalid")
    subprocess.run(["git", *options, *arguments], cwd=folder, check=True, env=environ, capture_output=True)


def repository(folder: Path, *names: str, form: str = "sha1") -> Path:
    git(folder, "init", "-q", f"--object-format={form}")
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("KEY=1\n")
    git(folder, "add", "-f", *names)
    git(folder, "commit", "-qm", "first")
    return folder.resolve()


def safe(project: Path, command: str) -> bool:
    analyse = Analyser(project=project, home=Path("/nowhere"), environ={"PATH": "/usr/bin:/bin"})
    analysis: Any = analyse(command, project)
    return analysis.clear and not analysis.touches and all(part.safe for part in analysis.parts)


PRINTS = [
    "git show",
    "git show HEAD",
    "git show HEAD -- '.e*'",
    "git show HEAD -- .",
    "git show --stat -p",
    "git log -p",
    "git log --patch -1",
    "git log -U3",
    "git log -1 --format=%h -p",
    "git log -SKEY -p",
    "git log -L1,2:a.py",
    "git diff",
    "git diff HEAD~1",
    "git diff --cached",
    "git diff --stat --unified=3",
    "git diff -- ':(glob)**'",
    "git cat-file -p 1234567",
    "git cat-file blob 1234567",
    "git grep KEY",
    "git stash show -p",
    "git diff-index -p HEAD",
    "git diff-tree -p HEAD",
    "git show --stat 1234567",
    "git show -s 1234567 -- src",
    "git diff 1234567 -- a.py",
    "git diff --check",
    "git status -v",
    "git status -svv",
    "git stash list -p",
    "git log --grep -- -p",
]


@pytest.mark.parametrize("command", PRINTS)
def test_git_asks_before_it_prints_what_a_tracked_secret_file_holds(tmp_path: Path, command: str) -> None:
    assert not safe(repository(tmp_path, "a.py", "src/b.py", ".env"), command)


@pytest.mark.parametrize(
    "command",
    [
        "git status",
        "git log --oneline -5",
        "git show --stat",
        "git show --name-only HEAD",
        "git diff --stat",
        "git diff --name-only HEAD",
        "git diff -- src",
        "git show HEAD -- a.py",
        "git blame a.py",
        "git cat-file -t HEAD",
        "git ls-files",
    ],
)
def test_git_runs_unasked_where_no_content_of_a_secret_file_is_printed(tmp_path: Path, command: str) -> None:
    assert safe(repository(tmp_path, "a.py", "src/b.py", ".env"), command)


def test_git_prints_unasked_where_no_secret_file_is_tracked(tmp_path: Path) -> None:
    project = repository(tmp_path, "a.py", ".env.example")

    for command in ("git show", "git log -p", "git diff", "git grep KEY", "git cat-file -p HEAD"):
        assert safe(project, command), command


@pytest.mark.parametrize("version", ["2", "3", "4"])
@pytest.mark.parametrize("name", [".env", "deep/er/x.pem", "an odd name/.env", "secrets.json"])
def test_every_form_of_the_index_is_read(tmp_path: Path, version: str, name: str) -> None:
    root = repository(tmp_path, ".eslintrc", ".enx", "zebra.py", name)
    git(root, "update-index", "--index-version", version)
    (root / "later.py").write_text("")
    git(root, "add", "-N", "later.py")

    assert secret_below(str(root)) == name

    git(root, "rm", "-q", "--cached", name)

    assert secret_below(str(root)) == ""


def test_an_index_that_is_not_understood_may_hold_anything(tmp_path: Path) -> None:
    for name in ("sha256", "split", "torn"):
        (tmp_path / name).mkdir()
    git(repository(tmp_path / "split", "a"), "update-index", "--split-index")
    index = repository(tmp_path / "torn", "a") / ".git/index"
    index.write_bytes(index.read_bytes()[:-30])
    repository(tmp_path / "sha256", "a", "b", form="sha256")

    assert {secret_below(str(tmp_path / name)) for name in ("sha256", "split", "torn")} == {UNKNOWN}


def test_a_linked_work_tree_has_its_own_index(tmp_path: Path) -> None:
    (tmp_path / "main").mkdir()
    root = repository(tmp_path / "main", "a", ".env")
    git(root, "worktree", "add", "-q", "../tree")

    assert secret_below(str(tmp_path / "tree")) == ".env"


def test_a_repository_without_a_commit_prints_nothing(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")

    assert secret_below(str(tmp_path)) == ""
