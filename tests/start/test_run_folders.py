import os
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from agent_tui.protocol.errors import AgentTuiError
from agent_tui.run.folders import make_run_folder, sweep_run_folders
from agent_tui.run.ground import make_ground
from agent_tui.run.options import RunOptions


@pytest.fixture(autouse=True)
def _own_temp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def test_folder_of_a_killed_run_is_removed_and_a_living_one_stays(tmp_path: Path) -> None:
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    left = tmp_path / f"agent-tui-{dead.pid}-abc"
    left.mkdir()
    (left / "file").write_text("x")
    mine = make_run_folder()

    sweep_run_folders()

    assert not left.exists()
    assert mine.is_dir()


def test_what_only_looks_like_ours_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "agent-tui-notes").mkdir()
    (tmp_path / f"agent-tui-{'9' * 40}-x").mkdir()
    (tmp_path / "agent-tui-999999999-link").symlink_to(tmp_path / "agent-tui-notes")

    sweep_run_folders()

    assert (tmp_path / "agent-tui-notes").is_dir()
    assert (tmp_path / "agent-tui-999999999-link").is_symlink()


def test_a_folder_that_another_program_removes_meanwhile_holds_nothing_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    for name in "abc":
        (tmp_path / f"agent-tui-{dead.pid}-{name}").mkdir()
    with os.scandir(tmp_path) as entries:
        _, second, _ = (entry.path for entry in entries)
    remove = shutil.rmtree

    def remove_two(path: str, *, ignore_errors: bool) -> None:
        remove(second, ignore_errors=True)
        remove(path, ignore_errors=ignore_errors)

    monkeypatch.setattr(shutil, "rmtree", remove_two)
    sweep_run_folders()

    assert list(tmp_path.iterdir()) == []


def test_a_start_that_fails_leaves_no_folder_and_no_sandbox(tmp_path: Path, workspace: Path) -> None:
    with pytest.raises(AgentTuiError):
        make_ground(RunOptions(provider="offline", agent="nosuch"), workspace)

    assert [path.name for path in tmp_path.glob("agent-tui-*")] == []
    assert "sandbox-probe" not in {thread.name for thread in threading.enumerate()}
