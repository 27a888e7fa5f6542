import asyncio
import json
import os
import random
import shutil
import signal
import stat
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from agent_tui.agent.checkpointed import CheckpointedRounds
from agent_tui.agent.checkpoints import CheckpointError, Checkpoints
from agent_tui.agent.file_state import MAX_FILE_BYTES
from agent_tui.protocol.tools import ToolCall
from agent_tui.sessions.store import CHECKPOINTS
from tests.support.agent_world import FakeRounds, FakeTools
from tests.support.checkpoint_world import Scene, state
from tests.support.round_world import call, effects, make_world
from tests.support.session_world import user


@pytest.fixture
async def checkpoints(workspace: Path, tmp_path: Path) -> AsyncIterator[Checkpoints]:
    made = Checkpoints(workspace, tmp_path / "sessions" / CHECKPOINTS)
    yield made
    await made.aclose()


async def test_a_checkpoint_brings_files_modes_and_links_back_byte_for_byte(
    workspace: Path, checkpoints: Checkpoints
) -> None:
    (workspace / "a.bin").write_bytes(bytes(range(256)))
    (workspace / "run.sh").write_text("x")
    (workspace / "run.sh").chmod(0o755)
    (workspace / ".env").write_text("hidden")
    (workspace / "link").symlink_to("a.bin")
    (workspace / "d" / "e").mkdir(parents=True)
    (workspace / "d" / "e" / "f").write_text("deep")
    before = state(workspace)
    taken = await checkpoints.take()

    (workspace / "a.bin").write_bytes(b"changed")
    (workspace / "run.sh").chmod(0o600)
    (workspace / ".env").unlink()
    (workspace / "link").unlink()
    (workspace / "link").write_text("now a file")
    shutil.rmtree(workspace / "d")
    (workspace / "d").write_text("a file where a folder was")
    (workspace / "new" / "x").mkdir(parents=True)
    (workspace / "new" / "x" / "y").write_text("new")
    after = state(workspace)
    later = await checkpoints.take()
    back = await checkpoints.put_back(taken.tree, last=later.tree)

    assert state(workspace) == before
    assert not (workspace / "new").exists()
    assert back.left == ()
    assert set(later.changed) == {"a.bin", "run.sh", ".env", "link", "d", "d/e/f", "new/x/y"}

    again = await checkpoints.put_back(back.before, last=back.tree)
    assert state(workspace) == after
    assert again.left == ()


async def test_what_the_person_changed_since_is_never_overwritten_unasked(
    workspace: Path, checkpoints: Checkpoints
) -> None:
    for name in ("mine", "its"):
        (workspace / name).write_text("old")
    first = await checkpoints.take()
    for name in ("mine", "its", "made"):
        (workspace / name).write_text("by the agent")
    last = await checkpoints.take()
    (workspace / "mine").write_text("by hand")
    (workspace / "made").write_text("by hand too")

    plan = await checkpoints.plan(first.tree, last=last.tree)
    back = await checkpoints.put_back(first.tree, last=last.tree)

    assert {(c.path, c.now, c.then, bool(c.conflict)) for c in plan} == {
        ("its", b"by the agent", b"old", False),
        ("mine", b"by hand", b"old", True),
        ("made", b"by hand too", None, True),
    }
    assert [path for path, _ in back.left] == ["made", "mine"]
    assert (workspace / "mine").read_text() == "by hand"
    assert (workspace / "its").read_text() == "old"

    forced = await checkpoints.put_back(first.tree, last=last.tree, allowed=["mine", "made"])
    assert (workspace / "mine").read_text() == "old"
    assert not (workspace / "made").exists()
    await checkpoints.put_back(forced.before)
    assert (workspace / "mine").read_text() == "by hand"


async def test_ignored_and_large_files_are_not_covered_and_never_removed(
    workspace: Path, checkpoints: Checkpoints
) -> None:
    (workspace / ".git").mkdir()
    (workspace / ".gitignore").write_text("*.log\nbuild/\n")
    (workspace / "x.log").write_text("log")
    (workspace / "build").mkdir()
    (workspace / "build" / "out").write_text("out")
    (workspace / "big").write_bytes(b"b" * (MAX_FILE_BYTES + 1))
    first = await checkpoints.take()
    (workspace / ".gitignore").write_text("")
    (workspace / "big").write_bytes(b"small now")
    last = await checkpoints.take()

    back = await checkpoints.put_back(first.tree, last=last.tree)

    assert first.uncovered == ("big",)
    assert first.files == 1
    assert (workspace / "x.log").read_text() == "log"
    assert (workspace / "build" / "out").exists()
    assert (workspace / "big").read_bytes() == b"small now"
    assert {path for path, _ in back.left} == {"x.log", "build/out", "big"}
    assert (workspace / ".gitignore").read_text() == "*.log\nbuild/\n"


async def test_a_path_outside_is_covered_when_named(
    workspace: Path, tmp_path: Path, checkpoints: Checkpoints
) -> None:
    outside = tmp_path / "outside.txt"
    outside.write_text("before")
    first = await checkpoints.take([str(outside)])
    outside.write_text("after")
    last = await checkpoints.take()

    await checkpoints.put_back(first.tree, last=last.tree)

    assert outside.read_text() == "before"


async def test_nothing_is_written_through_a_link(
    workspace: Path, tmp_path: Path, checkpoints: Checkpoints
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "f").write_text("victim")
    (workspace / "d").mkdir()
    (workspace / "d" / "f").write_text("inside")
    first = await checkpoints.take()
    shutil.rmtree(workspace / "d")
    (workspace / "d").symlink_to(elsewhere)
    last = await checkpoints.take()

    await checkpoints.put_back(first.tree, last=last.tree)

    assert (elsewhere / "f").read_text() == "victim"
    assert (workspace / "d" / "f").read_text() == "inside"
    assert not (workspace / "d").is_symlink()


async def test_stored_contents_are_private_and_outside_the_project(
    workspace: Path, tmp_path: Path, checkpoints: Checkpoints
) -> None:
    (workspace / "a").write_text("x")
    await checkpoints.take()

    stored = [p for p in (tmp_path / "sessions" / CHECKPOINTS).rglob("*") if p.is_file()]

    assert len(stored) == 2
    assert {stat.S_IMODE(p.stat().st_mode) for p in stored} == {0o600}
    assert state(workspace) == {"a": ("file", stat.S_IMODE((workspace / "a").stat().st_mode), b"x")}


async def test_a_reader_that_dies_is_said_and_the_next_checkpoint_works(
    workspace: Path, checkpoints: Checkpoints
) -> None:
    await checkpoints.take()
    process = checkpoints._process
    assert process is not None
    process.signal(signal.SIGKILL)
    await process.exited()

    with pytest.raises(CheckpointError):
        await checkpoints.take()
    (workspace / "a").write_text("x")

    assert (await checkpoints.take()).files == 1


async def test_a_lost_checkpoint_is_said(workspace: Path, tmp_path: Path, checkpoints: Checkpoints) -> None:
    (workspace / "a").write_text("x")
    taken = await checkpoints.take()
    shutil.rmtree(tmp_path / "sessions" / CHECKPOINTS)

    with pytest.raises(CheckpointError, match="gone"):
        await checkpoints.put_back(taken.tree)

    assert (workspace / "a").read_text() == "x"


@pytest.fixture
def scene(workspace: Path, tmp_path: Path, checkpoints: Checkpoints) -> Iterator[Scene]:
    made = Scene(workspace, tmp_path, checkpoints)
    yield made
    made.session.close()


async def test_only_rounds_that_may_change_something_are_checkpointed(scene: Scene) -> None:
    await scene.turn("look", lambda: None, tool="read")
    await scene.turn("change", lambda: (scene.workspace / "a").write_text("x"))
    await scene.turn("nothing", lambda: None)

    kinds = [r.get("label") for r in scene.session.records() if r["type"] == "checkpoint"]

    assert kinds == ["before", "after", "before"]


async def test_undo_and_redo_bring_conversation_and_files_back(scene: Scene) -> None:
    file = scene.workspace / "a"
    await scene.turn("one", lambda: file.write_text("1"))
    await scene.turn("two", lambda: file.write_text("2"))
    await scene.turn("look", lambda: None, tool="read")

    await scene.rewind.undo()
    assert (scene.prompts(), file.read_text()) == (["one", "two"], "2")
    await scene.rewind.undo()
    assert (scene.prompts(), file.read_text()) == (["one"], "1")
    await scene.rewind.undo()
    assert (scene.prompts(), file.exists()) == ([], False)
    assert await scene.rewind.undo() is None
    for prompts, content in ((["one"], "1"), (["one", "two"], "2"), (["one", "two", "look"], "2")):
        await scene.rewind.redo()
        assert (scene.prompts(), file.read_text()) == (prompts, content)
    assert await scene.rewind.redo() is None


async def test_files_or_conversation_alone_can_be_rewound(scene: Scene) -> None:
    file = scene.workspace / "a"
    await scene.turn("one", lambda: file.write_text("1"))
    await scene.turn("two", lambda: file.write_text("2"))
    second = scene.rewind.points()[1].entry_id

    preview = await scene.rewind.preview(second)
    await scene.rewind.to(second, conversation=False)
    assert (scene.prompts(), file.read_text()) == (["one", "two"], "1")
    await scene.rewind.to(second, files=False)
    assert (scene.prompts(), file.read_text()) == (["one"], "1")
    assert [(c.path, c.now, c.then) for c in preview] == [("a", b"2", b"1")]


async def test_a_checkpoint_that_fails_is_said_once_and_stops_nothing(scene: Scene, tmp_path: Path) -> None:
    (tmp_path / "sessions").mkdir(exist_ok=True)
    (tmp_path / "sessions" / CHECKPOINTS).write_text("no folder")

    await scene.turn("one", lambda: (scene.workspace / "a").write_text("1"))

    assert (scene.workspace / "a").read_text() == "1"
    assert len(scene.said) == 1


def shake(root: Path, rng: random.Random) -> None:
    """Changes files at random as tools and commands would."""
    files = [p for p in sorted(root.rglob("*")) if p.is_file() or p.is_symlink()]
    for _ in range(rng.randint(1, 4)):
        choice = rng.randint(0, 5)
        target = root / rng.choice(["a", "b", "d/c", "d/e/f", "ü/x"])
        victim = rng.choice(files) if files else target
        try:
            if choice == 0:
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(rng.randbytes(rng.randint(0, 200)))
            elif choice == 1:
                victim.unlink()
            elif choice == 2:
                victim.rename(root / rng.choice(["moved", "d2", "b"]))
            elif choice == 3 and not victim.is_symlink():
                victim.chmod(rng.choice([0o600, 0o644, 0o755]))
            elif choice == 4:
                target.symlink_to(rng.choice(["a", "nowhere", "../.."]))
            elif choice == 5:
                shutil.rmtree(root / "d")
        except OSError:
            continue


async def test_undo_and_redo_over_random_turns_reproduce_every_state(scene: Scene) -> None:
    rng = random.Random(7)
    states = [state(scene.workspace)]
    for number in range(int(os.environ.get("AGENT_TUI_TEST_TURNS", "12"))):
        await scene.turn(f"turn {number}", lambda: shake(scene.workspace, rng))
        states.append(state(scene.workspace))

    for expected in reversed(states[:-1]):
        await scene.rewind.undo()
        assert state(scene.workspace) == expected
    for expected in states[1:]:
        await scene.rewind.redo()
        assert state(scene.workspace) == expected


async def test_what_was_written_by_hand_between_turns_survives_every_move_back_and_forth(
    scene: Scene,
) -> None:
    mine, shared = scene.workspace / "mine", scene.workspace / "shared"
    await scene.turn("one", lambda: shared.write_text("by the agent"))
    shared.write_text("by hand")
    await scene.turn("two", lambda: (scene.workspace / "its").write_text("2"))
    mine.write_text("notes")

    for _ in range(2):
        await scene.rewind.undo()
    back = (shared.read_text(), mine.read_text(), (scene.workspace / "its").exists())
    for _ in range(2):
        await scene.rewind.redo()

    assert back == ("by hand", "notes", False)
    assert (shared.read_text(), mine.read_text()) == ("by hand", "notes")
    assert (scene.workspace / "its").read_text() == "2"


async def test_a_file_by_hand_that_was_overwritten_on_request_comes_back_by_redo(scene: Scene) -> None:
    file = scene.workspace / "a"
    file.write_text("0")
    await scene.turn("one", lambda: file.write_text("1"))
    file.write_text("by hand")

    done = await scene.rewind.undo(allowed=["a"])
    assert file.read_text() == "0"
    assert done is not None
    assert done.files is not None
    await scene.rewind._checkpoints.put_back(done.files.before)

    assert file.read_text() == "by hand"


async def test_random_turns_with_work_by_hand_between_lose_nothing_of_it(scene: Scene) -> None:
    rng = random.Random(11)
    mine = scene.workspace / "mine"
    turns = int(os.environ.get("AGENT_TUI_TEST_TURNS", "8"))
    for number in range(turns):
        await scene.turn(f"turn {number}", lambda: shake(scene.workspace, rng))
        mine.write_text(f"by hand {number}")

    for move in (scene.rewind.undo, scene.rewind.redo):
        for _ in range(turns):
            await move()
            assert mine.read_text() == f"by hand {turns - 1}"


async def test_what_changed_while_a_job_ran_is_asked_about(scene: Scene) -> None:
    log = scene.workspace / "log"
    scene.rounds._busy = lambda: True
    await scene.turn("start", lambda: log.write_text("1"))
    await scene.turn("more", lambda: log.write_text("2"))

    first = scene.rewind.points()[0].entry_id
    (change,) = await scene.rewind.preview(first)
    await scene.rewind.to(first)

    assert "background job" in change.conflict
    assert log.read_text() == "2"


async def test_a_file_outside_that_a_call_names_is_covered(scene: Scene, tmp_path: Path) -> None:
    outside = tmp_path / "outside.txt"
    outside.write_text("before")
    scene.rounds._workspace = scene.workspace
    scene.action = lambda: outside.write_text("after")
    await scene.session.user_message(user("go"), turn_id="t", text="go")
    call = ToolCall(call_id="c", name="write", arguments_json=f'{{"file_path": "{outside}"}}')
    await scene.rounds.run([call], turn_id="t", round_index=0)

    await scene.rewind.undo()

    assert outside.read_text() == "before"


@pytest.mark.parametrize("path", ["a\x00b", "~a\x00b/c", "a\ud800b", "x" * 5_000])
async def test_a_call_that_names_no_possible_path_is_no_fault(
    scene: Scene, checkpoints: Checkpoints, path: str
) -> None:
    inner, said = FakeRounds(), list[str]()

    async def say(text: str) -> None:
        said.append(text)

    rounds = CheckpointedRounds(
        inner,
        checkpoints=checkpoints,
        tools=FakeTools(),
        keep=scene.session.checkpoint,
        say=say,
        workspace=scene.workspace,
    )
    call = ToolCall(call_id="c", name="write", arguments_json=json.dumps({"file_path": path}))

    await rounds.run([call], turn_id="t", round_index=0)

    assert (inner.ran, said) == ([[call]], [])


async def test_a_stop_while_a_round_waits_for_its_checkpoint_runs_nothing(
    workspace: Path, checkpoints: Checkpoints
) -> None:
    world = make_world(workspace)
    said, looking = list[str](), asyncio.Event()

    async def never_done() -> None:
        looking.set()
        await asyncio.Event().wait()

    async def say(text: str) -> None:
        said.append(text)

    checkpoints._first = asyncio.create_task(never_done())
    rounds = CheckpointedRounds(
        world.rounds,
        checkpoints=checkpoints,
        tools=world.rounds.tools,
        keep=lambda facts: say("kept"),
        say=say,
    )

    async with asyncio.TaskGroup() as group:
        running = group.create_task(
            rounds.run([call("c0", "bash", command="make")], turn_id="t", round_index=0)
        )
        await looking.wait()
        rounds.cancel()

    assert effects(running.result()) == {"c0": "cancelled"}
    assert (world.log.lines, said, running.result().cancelled) == ([], [], True)
