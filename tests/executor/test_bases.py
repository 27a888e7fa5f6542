import hashlib
import os
from pathlib import Path

import pytest

from agent_tui.executor.bases import moved_base


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


async def test_bases_hold_while_the_bytes_are_the_same(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_bytes(b"\xff" * 3_000_000)
    bases = {str(file): sha(b"\xff" * 3_000_000), str(tmp_path / "absent"): ""}

    assert await moved_base(bases) is None
    assert await moved_base({}) is None


@pytest.mark.parametrize("change", ["content", "gone", "link", "fifo", "directory"])
async def test_any_change_moves_a_base(tmp_path: Path, change: str) -> None:
    file, other = tmp_path / "a", tmp_path / "b"
    file.write_bytes(b"old")
    other.write_bytes(b"old")
    if change == "content":
        file.write_bytes(b"new")
    else:
        file.unlink()
    if change == "link":
        file.symlink_to(other)
    if change == "fifo":
        os.mkfifo(file)
    if change == "directory":
        file.mkdir()

    assert await moved_base({str(other): sha(b"old"), str(file): sha(b"old")}) == file


async def test_a_file_that_appeared_moves_the_base_of_a_new_file(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"")

    assert await moved_base({str(tmp_path / "a"): ""}) == tmp_path / "a"
