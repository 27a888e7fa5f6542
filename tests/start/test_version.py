import subprocess
import sys
from pathlib import Path

import pytest

from agent_tui import __version__
from agent_tui.protocol.version import checkout_commit, version_line

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    root = tmp_path / "checkout"
    (root / ".git/refs/heads").mkdir(parents=True)
    (root / "pyproject.toml").touch()
    return root


def test_the_line_names_version_and_commit_of_thischeckout_commit() -> None:
    root = Path(__file__).parents[2]
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=root, capture_output=True, text=True, check=False)
    commit = f" ({head.stdout[:9]})" if head.returncode == 0 else ""

    assert version_line() == f"agent-tui {__version__}{commit}"


def test_the_flag_prints_the_line() -> None:
    done = subprocess.run([sys.executable, "-m", "agent_tui", "--version"], capture_output=True, text=True)

    assert (done.returncode, done.stdout) == (0, f"{version_line()}\n")


def test_a_branch_a_packed_branch_and_a_loose_head_are_read(checkout: Path) -> None:
    git = checkout / ".git"
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    (git / "refs/heads/main").write_text(f"{COMMIT}\n")
    assert checkout_commit(checkout) == COMMIT

    (git / "refs/heads/main").unlink()
    (git / "packed-refs").write_text(f"# pack-refs\n{COMMIT} refs/heads/main\n")
    assert checkout_commit(checkout) == COMMIT

    (git / "HEAD").write_text(f"{COMMIT}\n")
    assert checkout_commit(checkout) == COMMIT


def test_a_worktree_leads_to_its_branch(checkout: Path, tmp_path: Path) -> None:
    git = checkout / ".git"
    own = git / "worktrees/tree"
    own.mkdir(parents=True)
    (own / "HEAD").write_text("ref: refs/heads/side\n")
    (own / "commondir").write_text("../..\n")
    (git / "refs/heads/side").write_text(f"{COMMIT}\n")
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "pyproject.toml").touch()
    (tree / ".git").write_text(f"gitdir: {own}\n")

    assert checkout_commit(tree) == COMMIT


@pytest.mark.parametrize("head", [None, "", "ref: refs/heads/none", "ref: ../../etc"])
def test_without_a_commit_only_the_version_is_said(checkout: Path, head: str | None) -> None:
    if head is not None:
        (checkout / ".git/HEAD").write_text(head)

    assert checkout_commit(checkout) == ""


def test_a_folder_that_is_no_checkout_of_ours_is_not_asked(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git/HEAD").write_text(COMMIT)

    assert checkout_commit(tmp_path) == ""
