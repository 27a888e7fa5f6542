from pathlib import Path

import pytest

from agent_tui.executor import losses
from agent_tui.executor.losses import deletes, with_losses
from agent_tui.protocol.permissions import CommandPart, Decision, PermissionRequest


def asking(*commands: str, why: str = "") -> PermissionRequest:
    parts = tuple(
        CommandPart(argv=tuple(command.split()), decision=Decision.ASK, why=why) for command in commands
    )
    return PermissionRequest(request_id="r", call_id="c", tool="bash", title="t", permissions=(), parts=parts)


def told(cwd: Path, *commands: str) -> list[str]:
    return [part.why for part in with_losses(asking(*commands), cwd).parts]


@pytest.fixture
def place(workspace: Path) -> Path:
    (workspace / "a.log").write_text("12345")
    (workspace / "b.log").write_text("1" * 2_000)
    (workspace / "src" / "deep").mkdir(parents=True)
    (workspace / "src" / "x.py").write_text("1" * 100)
    (workspace / "src" / "deep" / "y.py").write_text("")
    (workspace / "empty").mkdir()
    (workspace / "link").symlink_to(workspace / "src")
    return workspace


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("rm a.log", "deletes 1 file, 5 bytes"),
        ("rm -f a.log b.log", "deletes 2 files, 2.0 KB"),
        ("rm -rf src", "deletes 2 files, 2 folders, 100 bytes"),
        ("/bin/rm -r -- src a.log", "deletes 3 files, 2 folders, 105 bytes"),
        ("rm *.log", "deletes 2 files, 2.0 KB"),
        ("rm nothing", "nothing of that name is there now"),
        ("rm *.none", ""),
        ("rm $UNKNOWN", ""),
        ("rmdir empty", "deletes 1 folder, 0 bytes"),
        ("ls a.log", ""),
    ],
)
def test_a_part_that_deletes_says_what_would_be_lost(place: Path, command: str, said: str) -> None:
    assert told(place, command) == [said]


def test_a_link_is_deleted_and_not_what_it_leads_to(place: Path) -> None:
    [said] = told(place, "rm -rf link")

    assert said.startswith("deletes 1 file, ")
    assert "folder" not in said


def test_behind_a_change_of_directory_only_whole_paths_are_known(place: Path) -> None:
    assert told(place, "cd src", "rm x.py", f"rm {place}/a.log") == ["", "", "deletes 1 file, 5 bytes"]


def test_a_reason_that_was_there_stays_before_it(place: Path) -> None:
    [part] = with_losses(asking("rm a.log", why="writes"), place).parts

    assert part.why == "writes; deletes 1 file, 5 bytes"


def test_a_large_tree_is_counted_to_a_limit(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(losses, "MAX_FILES", 3)

    assert told(place, "rm -rf src") == ["deletes more than 1 file, 2 folders, 100 bytes"]


def test_only_what_deletes_is_looked_up() -> None:
    assert deletes(asking("ls", "rm x"))
    assert not deletes(asking("ls", "grep rm x"))
    assert not deletes(asking())
