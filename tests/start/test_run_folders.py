import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from agent_tui.run.folders import make_run_folder, sweep_run_folders


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
    (tmp_path / "agent-tui-999999999-link").symlink_to(tmp_path / "agent-tui-notes")

    sweep_run_folders()

    assert (tmp_path / "agent-tui-notes").is_dir()
    assert (tmp_path / "agent-tui-999999999-link").is_symlink()
