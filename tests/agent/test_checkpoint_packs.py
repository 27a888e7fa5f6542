import asyncio
import os
import shutil
import stat
import time
from collections.abc import AsyncIterator, Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from agent_tui.agent.checkpoints import CheckpointError, Checkpoints
from agent_tui.executor.bounded import StopSignal
from agent_tui.protocol.tools import ToolCall
from agent_tui.sessions.store import CHECKPOINTS
from tests.support.checkpoint_world import Scene, state
from tests.support.session_world import user


@pytest.fixture
async def checkpoints(workspace: Path, tmp_path: Path) -> AsyncIterator[Checkpoints]:
    made = Checkpoints(workspace, tmp_path / "sessions" / CHECKPOINTS)
    yield made
    await made.aclose()


@pytest.fixture
def scene(workspace: Path, tmp_path: Path, checkpoints: Checkpoints) -> Iterator[Scene]:
    made = Scene(workspace, tmp_path, checkpoints)
    yield made
    made.session.close()


async def test_gc_keeps_what_a_checkpoint_needs(scene: Scene, tmp_path: Path) -> None:
    from agent_tui.sessions.upkeep import collect_garbage

    file = scene.workspace / "a"
    await scene.turn("one", lambda: file.write_text("1"))
    await scene.turn("two", lambda: file.write_text("2"))
    stored = [p for p in (tmp_path / "sessions" / CHECKPOINTS).rglob("*") if p.is_file()]
    for path in stored:
        os.utime(path, (0, 0))

    removed = await asyncio.to_thread(collect_garbage, scene.store)
    await scene.rewind.undo()

    assert removed.blobs == 0
    assert file.read_text() == "1"


async def test_a_second_scan_of_many_files_is_quicker_than_the_first(
    workspace: Path, checkpoints: Checkpoints
) -> None:
    spread(workspace, folders=50, files=100)
    moments = [time.monotonic()]
    for _ in range(3):
        taken = await checkpoints.take()
        moments.append(time.monotonic())

    first, *later = (end - begin for begin, end in pairwise(moments))

    assert taken.files == 5000
    assert min(later) < first / 2


def spread(root: Path, *, folders: int, files: int) -> None:
    for folder in range(folders):
        (root / f"d{folder}").mkdir()
        for number in range(files):
            (root / f"d{folder}" / f"f{number}").write_text(f"{folder} {number}")


async def test_a_first_look_at_many_files_writes_few(
    workspace: Path, tmp_path: Path, checkpoints: Checkpoints
) -> None:
    spread(workspace, folders=10, files=50)
    before = state(workspace)
    taken = await checkpoints.take()
    stored = [p for p in (tmp_path / "sessions" / CHECKPOINTS).rglob("*") if p.is_file()]
    shutil.rmtree(workspace / "d3")

    last = await checkpoints.take()
    await checkpoints.put_back(taken.tree, last=last.tree)

    assert len(stored) == 3
    assert {stat.S_IMODE(p.stat().st_mode) for p in stored} == {0o600}
    assert state(workspace) == before


async def test_packed_contents_serve_the_next_program_and_a_damaged_one_is_left(
    workspace: Path, tmp_path: Path, checkpoints: Checkpoints
) -> None:
    spread(workspace, folders=1, files=40)
    taken = await checkpoints.take()
    (pack,) = (tmp_path / "sessions" / CHECKPOINTS).rglob("*.pack")
    pack.write_bytes(pack.read_bytes().replace(b"0 7", b"XXX", 1))
    (workspace / "d0" / "f7").write_text("changed")
    (workspace / "d0" / "f8").write_text("changed")
    later = Checkpoints(workspace, tmp_path / "sessions" / CHECKPOINTS)

    done = await later.put_back(taken.tree)
    await later.aclose()

    assert done.left == (("d0/f7", "its stored content is lost"),)
    assert (workspace / "d0" / "f7").read_text() == "changed"
    assert (workspace / "d0" / "f8").read_text() == "0 8"
    assert len(list((tmp_path / "sessions" / CHECKPOINTS).rglob("*.pack"))) == 1


async def test_gc_takes_packs_that_no_session_needs_and_only_those(scene: Scene, tmp_path: Path) -> None:
    from agent_tui.sessions.upkeep import collect_garbage

    spread(scene.workspace, folders=1, files=40)
    await scene.turn("one", lambda: (scene.workspace / "a").write_text("1"))
    folder = tmp_path / "sessions" / CHECKPOINTS

    def collect() -> int:
        for path in folder.rglob("*"):
            os.utime(path, (0, 0))
        collect_garbage(scene.store)
        return len(list(folder.rglob("*.pack")))

    assert await asyncio.to_thread(collect) == 1
    assert scene.session.path is not None
    scene.session.path.unlink()
    assert await asyncio.to_thread(collect) == 0


async def test_a_change_within_one_tick_of_the_clock_is_seen(
    workspace: Path, checkpoints: Checkpoints
) -> None:
    file = workspace / "a"
    trees: set[str] = set()
    for number in range(20):
        file.write_text(str(number % 10))
        trees.add((await checkpoints.take()).tree)

    assert len(trees) >= 10


async def test_rules_and_folders_that_change_are_seen_at_once(
    workspace: Path, checkpoints: Checkpoints
) -> None:
    (workspace / ".git" / "info").mkdir(parents=True)
    spread(workspace, folders=2, files=3)
    first = await checkpoints.take()
    (workspace / "d0" / ".gitignore").write_text("f1\n")
    second = await checkpoints.take()
    (workspace / ".git" / "info" / "exclude").write_text("f2\n")
    third = await checkpoints.take()
    (workspace / "d1" / "new").mkdir()
    (workspace / "d1" / "new" / "x").write_text("x")
    fourth = await checkpoints.take()

    assert [taken.files for taken in (first, second, third, fourth)] == [6, 6, 4, 5]


async def test_an_endless_first_look_holds_a_round_up_only_once(scene: Scene) -> None:
    class Slow(Checkpoints):
        async def ready(self, patience_s: float, *, stop: StopSignal) -> bool:
            waited.append(patience_s)
            return False

    waited: list[float] = []
    scene.rounds._checkpoints = Slow(scene.workspace, scene.workspace.parent / "elsewhere")
    await scene.turn("one", lambda: (scene.workspace / "a").write_text("1"))

    assert waited == [20.0, 0]
    assert len(scene.said) == 1


async def test_a_file_that_was_named_later_comes_back_as_it_was_when_it_was_named(
    scene: Scene, tmp_path: Path
) -> None:
    scene.rounds._workspace = scene.workspace
    outside, ignored, made = tmp_path / "outside.txt", scene.workspace / "x.log", tmp_path / "made.txt"
    (scene.workspace / ".gitignore").write_text("*.log\n")
    outside.write_text("before")
    ignored.write_text("log before")
    await scene.turn("one", lambda: (scene.workspace / "a").write_text("1"))

    def act() -> None:
        outside.write_text("after")
        ignored.write_text("log after")
        made.write_text("new")

    scene.action = act
    await scene.session.user_message(user("two"), turn_id="t", text="two")
    named = (str(outside), "x.log", str(made))
    calls = [
        ToolCall(call_id=f"c{n}", name="write", arguments_json=f'{{"file_path": "{p}"}}')
        for n, p in enumerate(named)
    ]
    await scene.rounds.run(calls, turn_id="t", round_index=0)

    await scene.rewind.to(scene.rewind.points()[0].entry_id)
    back = (outside.read_text(), ignored.read_text(), made.exists(), (scene.workspace / "a").exists())
    await scene.rewind.redo()

    assert back == ("before", "log before", False, False)
    assert (outside.read_text(), ignored.read_text(), made.read_text()) == ("after", "log after", "new")


async def test_files_of_a_patch_are_covered_wherever_they_are(scene: Scene) -> None:
    scene.rounds._workspace = scene.workspace
    (scene.workspace / ".gitignore").write_text("*.log\n")
    (scene.workspace / "x.log").write_text("before")
    scene.action = lambda: (scene.workspace / "x.log").write_text("after")
    await scene.session.user_message(user("go"), turn_id="t", text="go")
    patch = "*** Begin Patch\\n*** Update File: x.log\\n@@\\n-before\\n+after\\n*** End Patch"
    call = ToolCall(call_id="c", name="patch", arguments_json=f'{{"patch": "{patch}"}}')
    await scene.rounds.run([call], turn_id="t", round_index=0)

    await scene.rewind.undo()

    assert (scene.workspace / "x.log").read_text() == "before"


async def test_a_checkpoint_after_the_end_starts_no_reader(checkpoints: Checkpoints) -> None:
    await checkpoints.take()
    await checkpoints.aclose()

    with pytest.raises(CheckpointError, match="the session was closed"):
        await checkpoints.take()


async def test_a_reader_that_starts_while_its_session_is_closed_is_ended(checkpoints: Checkpoints) -> None:
    taking = asyncio.create_task(checkpoints.take())
    await asyncio.sleep(0)
    await checkpoints.aclose()

    with pytest.raises(CheckpointError):
        await taking
