import asyncio
import os
import threading
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any, cast

import pytest

from agent_tui.executor import losses
from agent_tui.executor.losses import MAX_SECONDS, deletes, with_losses
from agent_tui.protocol.permissions import CommandPart, Decision, PermissionRequest
from tests.support.patience import until
from tests.support.round_world import FakePolicy, FakeReview, call, effects, make_world


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
        ("rm a.log $UNKNOWN", "deletes at least 1 file, 5 bytes"),
        ("rm */*.py", "deletes 2 files, 200 bytes"),
        ("rm src/*/*.py", "deletes 1 file, 0 bytes"),
        ("rm ./s*/x.py", "deletes 1 file, 100 bytes"),
        ("rm -r .*", ""),
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

    assert told(place, "rm -rf src") == ["deletes at least 1 file, 2 folders, 100 bytes"]


def test_only_what_deletes_is_looked_up() -> None:
    assert deletes(asking("ls", "rm x"))
    assert not deletes(asking("ls", "grep rm x"))
    assert not deletes(asking())


def test_a_pattern_is_looked_up_for_a_while_only(place: Path) -> None:
    for number in range(50):
        (place / f"d{number}").mkdir()
    ticks = count(step=MAX_SECONDS / 10)

    [part] = with_losses(asking("rm */*.none"), place, clock=lambda: next(ticks)).parts

    assert part.why == "what it deletes could not be counted"
    assert next(ticks) < 2 * MAX_SECONDS


def test_a_pattern_of_more_names_than_there_is_room_for_says_at_least(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(losses, "MAX_FILES", 1)

    assert told(place, "rm *.log")[0].startswith("deletes at least 1 file, ")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may list every folder")
def test_a_folder_that_cannot_be_read_leaves_the_count_open(place: Path) -> None:
    (place / "src" / "deep").chmod(0)
    try:
        assert told(place, "rm -rf src") == ["deletes at least 1 file, 2 folders, 100 bytes"]
    finally:
        (place / "src" / "deep").chmod(0o755)


def test_an_entry_that_cannot_be_looked_at_hides_no_other(place: Path) -> None:
    class Entry:
        path = "x"

        def __init__(self, fails: bool) -> None:
            self.fails = fails

        def is_dir(self, *, follow_symlinks: bool) -> bool:
            return False

        def stat(self, *, follow_symlinks: bool) -> os.stat_result:
            if self.fails:
                raise PermissionError
            return (place / "a.log").lstat()

    tally = losses._Tally(deadline=1.0, clock=lambda: 0.0)

    losses._counted(cast("Any", iter([Entry(True), Entry(False)])), tally)

    assert (tally.words(), tally.whole) == ("at least 1 file, 5 bytes", False)


class Deleting(FakePolicy):
    def review(self, **given: Any) -> FakeReview:
        part = CommandPart(argv=("rm", "a.log"), decision=Decision.ASK)
        return replace(super().review(**given), parts=(part,))


async def test_a_stop_is_honoured_while_the_disk_hangs(workspace: Path) -> None:
    hangs, free = threading.Event(), threading.Event()

    class Hanging(type(workspace)):
        def __truediv__(self, key: str) -> Path:
            hangs.set()
            free.wait()
            return workspace / key

    world = make_world(workspace, policy=Deleting())
    world.context.shell.cwd = Hanging(workspace)

    try:
        async with asyncio.TaskGroup() as group:
            task = group.create_task(world.run(call("c0", "bash", command="rm a.log")))
            await until(hangs.is_set)
            world.rounds.cancel()
            batch = await task
    finally:
        free.set()

    assert effects(batch) == {"c0": "cancelled"}
    assert world.approver.asked == []
