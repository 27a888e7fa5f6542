import subprocess
from pathlib import Path

from agent_tui.sandbox.gitdirs import find_pins


def init(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    return folder / ".git"


def test_nested_repositories_are_pinned_too(workspace: Path) -> None:
    outer, inner = init(workspace), init(workspace / "vendor" / "lib")

    pins = find_pins(workspace)

    assert set(pins.writable) == {outer, inner}
    assert {outer / "hooks", outer / "config", inner / "hooks", inner / "config"} <= set(pins.read_only)


def test_absent_hooks_folder_is_created_so_that_it_can_be_pinned(workspace: Path) -> None:
    git = init(workspace)
    for hook in (git / "hooks").iterdir():
        hook.unlink()
    (git / "hooks").rmdir()

    pins = find_pins(workspace)

    assert git / "hooks" in pins.read_only
    assert (git / "hooks").is_dir()


def test_worktree_leads_to_the_common_directory(workspace: Path, tmp_path: Path) -> None:
    main = tmp_path / "main"
    git = init(main)
    subprocess.run(["git", "-C", str(main), "commit", "-q", "--allow-empty", "-m", "x"], check=True)
    workspace.rmdir()
    subprocess.run(["git", "-C", str(main), "worktree", "add", "-q", str(workspace)], check=True)

    assert find_pins(workspace).writable == (git,)


def test_git_file_that_points_elsewhere_without_a_link_back_is_not_followed(
    workspace: Path, tmp_path: Path
) -> None:
    other = init(tmp_path / "other")
    (workspace / ".git").write_text(f"gitdir: {other}\n")

    assert find_pins(workspace).writable == ()
