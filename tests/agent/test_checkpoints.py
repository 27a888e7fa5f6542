import asyncio
import os
import random
import shutil
import stat
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from agent_tui.agent.checkpointed import CheckpointedRounds
from agent_tui.agent.checkpoints import CheckpointError, Checkpoints
from agent_tui.agent.file_state import MAX_FILE_BYTES
from agent_tui.agent.rewind import Rewind
from agent_tui.protocol.tools import ToolCall
from agent_tui.sessions.store import CHECKPOINTS, SessionStore
from tests.support.agent_world import FakeRounds, FakeTools
from tests.support.session_world import said, user


@pytest.fixture
async def checkpoints(workspace: Path, tmp_path: Path) -> AsyncIterator[Checkpoints]:
    made = Checkpoints(workspace, tmp_path / "sessions" / CHECKPOINTS)
    yield made
    await made.aclose()


def state(root: Path) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for path in sorted(root.rglob("*")):
        if ".git" in path.relative_to(root).parts:
            continue
        name = str(path.relative_to(root))
        if path.is_symlink():
            found[name] = ("link", os.readlink(path))
        elif path.is_file():
            found[name] = ("file", stat.S_IMODE(path.stat().st_mode), path.read_bytes())
    return found


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
    process.kill()
    await process.wait()

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


class Scene:
    def __init__(self, workspace: Path, tmp_path: Path, checkpoints: Checkpoints) -> None:
        self.store = SessionStore(tmp_path / "sessions")
        self.session = self.store.create(workspace)
        self.said: list[str] = []
        self.workspace = workspace
        self.action: Any = None
        inner = FakeRounds(answer=lambda _call: str(self.action()))
        tools = FakeTools()
        tools.readable = lambda name: name == "read"

        async def say(text: str) -> None:
            self.said.append(text)

        self.rounds = CheckpointedRounds(
            inner, checkpoints=checkpoints, tools=tools, keep=self.session.checkpoint, say=say
        )
        self.rewind = Rewind(self.session, checkpoints)

    async def turn(self, prompt: str, action: Any, *, tool: str = "bash") -> None:
        self.action = action
        await self.session.user_message(user(prompt), turn_id="t", text=prompt)
        await self.rounds.run([ToolCall(call_id="c", name=tool)], turn_id="t", round_index=0)
        await self.session.assistant_message(said("done"), turn_id="t")

    def prompts(self) -> list[str]:
        return [b.text for b in self.session.replay() if b.kind == "user"]


@pytest.fixture
def scene(workspace: Path, tmp_path: Path, checkpoints: Checkpoints) -> Scene:
    return Scene(workspace, tmp_path, checkpoints)


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
    await scene.rewind._checkpoints.put_back(done.files.before)  # type: ignore[union-attr]

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


async def test_a_second_scan_of_many_files_is_quick(workspace: Path, checkpoints: Checkpoints) -> None:
    for folder in range(50):
        (workspace / f"d{folder}").mkdir()
        for number in range(100):
            (workspace / f"d{folder}" / f"f{number}").write_text(str(number))
    await checkpoints.take()

    started = time.monotonic()
    taken = await checkpoints.take()

    assert taken.files == 5000
    assert time.monotonic() - started < 2.0


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
        async def ready(self, patience_s: float) -> bool:
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
