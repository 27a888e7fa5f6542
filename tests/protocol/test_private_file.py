import os
import re
from pathlib import Path

import pytest

from agent_tui.protocol.private_file import write_private

SOURCE = Path(__file__).parents[2] / "agent_tui"


def test_file_and_its_folder_are_their_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "state" / "keys.json"

    write_private(path, b"{}")

    assert path.read_bytes() == b"{}"
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("waits", [True, False])
def test_write_that_fails_leaves_what_was_there_and_nothing_beside_it(tmp_path: Path, waits: bool) -> None:
    path = tmp_path / "keys.json"
    path.mkdir()

    with pytest.raises(OSError, match="directory"):
        write_private(path, b"new", waits=waits)

    assert os.listdir(tmp_path) == ["keys.json"]


def test_one_function_replaces_private_files() -> None:
    others = {
        str(path.relative_to(SOURCE))
        for path in SOURCE.rglob("*.py")
        if "O_EXCL" in (text := path.read_text())
        and ".with_name(" in text
        and not re.search("dir_fd|os.link", text)
    }

    assert others == {"protocol/private_file.py"}
