import asyncio
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from agent_tui.protocol.errors import SessionInUseError
from agent_tui.sessions.lock import SessionLock
from agent_tui.sessions.store import SessionStore
from agent_tui.sessions.tree import REDO, UNDO, points, redo_target, undo_target
from agent_tui.sessions.upkeep import verify
from tests.support.session_world import file_of, one_turn, user


@pytest.fixture
def store(tmp_path: Path) -> SessionStore:
    return SessionStore(tmp_path / "sessions")


FULL = """
import asyncio, json, resource, sys
from pathlib import Path
sys.path.insert(0, sys.argv[3])
from agent_tui.sessions.store import SessionStore
from tests.support.session_world import one_turn
async def main():
    session = SessionStore(Path(sys.argv[1])).create(Path(sys.argv[2]))
    await one_turn(session, "before")
    size = session.path.stat().st_size
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + 700, hard))
    await one_turn(session, "while full", output="y" * 3000)
    during = list(session.notices)
    shown = [b.text for b in session.replay() if b.kind == "user"]
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    await one_turn(session, "after")
    print(json.dumps([session.id, during, session.notices, shown]))
    session.close()
asyncio.run(main())
"""


def test_a_full_disk_corrupts_nothing_and_work_goes_on_when_there_is_room(
    store: SessionStore, workspace: Path
) -> None:
    import json

    root = Path(__file__).parents[2]
    run = subprocess.run(
        [sys.executable, "-c", FULL, store.root, workspace, root], capture_output=True, text=True, check=True
    )
    session_id, during, notices, shown = json.loads(run.stdout)
    session = store.open(session_id)

    assert len(during) == 1
    assert "cannot be saved" in during[0]
    assert notices[1:] == ["The session is saved again; nothing was lost."]
    assert shown == ["before", "while full"]
    assert [b.text for b in session.replay() if b.kind == "user"] == ["before", "while full", "after"]
    assert verify(file_of(session), store.blobs) == []
    session.close()


def test_a_read_only_session_file_keeps_the_session_in_memory(store: SessionStore, workspace: Path) -> None:
    session = store.create(workspace)
    asyncio.run(one_turn(session))
    session.close()
    file_of(session).unlink()
    file_of(session).mkdir()

    again = store.create(workspace)
    again_path = file_of(again)
    again_path.mkdir(parents=True)
    asyncio.run(one_turn(again, "unsaved"))

    assert [b.text for b in again.replay() if b.kind == "user"] == ["unsaved"]
    assert len(again.notices) == 1
    again.close()


def test_writing_never_blocks_the_event_loop_for_long(store: SessionStore, workspace: Path) -> None:
    async def scenario() -> float:
        session = store.create(workspace)
        loop = asyncio.get_running_loop()
        worst, done = 0.0, asyncio.Event()

        async def tick() -> None:
            nonlocal worst
            while not done.is_set():
                before = loop.time()
                await asyncio.sleep(0.001)
                worst = max(worst, loop.time() - before)

        async with asyncio.TaskGroup() as group:
            group.create_task(tick())
            for number in range(30):
                text = f"{number}" + "x" * 100_000
                await session.user_message(user(text), turn_id="t", text=text)
            done.set()
        session.close()
        return worst

    assert asyncio.run(scenario()) < 0.5


def test_a_cancelled_writer_still_writes_its_record(store: SessionStore, workspace: Path) -> None:
    async def scenario() -> str:
        session = store.create(workspace)
        task = asyncio.get_running_loop().create_task(
            session.user_message(user("kept"), turn_id="t", text="kept")
        )
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
        await session.user_message(user("next"), turn_id="t", text="next")
        session.close()
        return session.id

    session = store.open(asyncio.run(scenario()))

    assert [b.text for b in session.replay()] == ["kept", "next"]


def test_ss_04_without_flock_an_owner_file_guards_the_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import errno
    import fcntl

    def refuse(_fd: int, _how: int) -> None:
        raise OSError(errno.ENOLCK, "no locks here")

    monkeypatch.setattr(fcntl, "flock", refuse)
    path = tmp_path / "s.lock"
    first = SessionLock.acquire(path)
    assert first.needs_heartbeat
    first.beat()

    with pytest.raises(SessionInUseError):
        SessionLock.acquire(path)
    first.release()
    second = SessionLock.acquire(path)
    owner = path.with_suffix(".owner")
    owner.write_text(owner.read_text().replace(str(os.getpid()), "999999999"))
    third = SessionLock.acquire(path)

    third.release()
    second.release()
    assert not owner.exists()


def test_ss_04_a_silent_owner_on_another_host_is_given_up_after_a_minute(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import errno
    import fcntl
    import time

    monkeypatch.setattr(fcntl, "flock", lambda _fd, _how: (_ for _ in ()).throw(OSError(errno.ENOTSUP, "no")))
    owner = tmp_path / "s.owner"
    owner.write_text('{"host": "elsewhere", "boot": "x", "pid": 1}')
    with pytest.raises(SessionInUseError):
        SessionLock.acquire(tmp_path / "s.lock")

    os.utime(owner, (time.time() - 61,) * 2)

    SessionLock.acquire(tmp_path / "s.lock").release()


async def test_undo_and_redo_move_in_the_tree_and_delete_nothing(
    store: SessionStore, workspace: Path
) -> None:
    session = store.create(workspace)
    for prompt in ("one", "two", "three"):
        await one_turn(session, prompt)

    def prompts() -> list[str]:
        return [b.text for b in session.replay() if b.kind == "user"]

    for expected in (["one", "two"], ["one"], []):
        target = undo_target(session.records())
        assert target is not None
        await session.move_to(target, why=UNDO)
        assert prompts() == expected
    assert undo_target(session.records()) is None

    for expected in (["one"], ["one", "two"]):
        target = redo_target(session.records())
        assert target is not None
        await session.move_to(target, why=REDO)
        assert prompts() == expected

    await one_turn(session, "other")
    assert redo_target(session.records()) is None
    assert prompts() == ["one", "two", "other"]
    tree = points(session.records())
    assert [(p.title, p.depth, p.active) for p in tree] == [
        ("one", 0, True),
        ("two", 1, True),
        ("three", 2, False),
        ("other", 2, True),
    ]
    session.close()


async def test_a_rewound_session_goes_on_after_it_was_closed(store: SessionStore, workspace: Path) -> None:
    session = store.create(workspace)
    first = await one_turn(session, "one")
    await one_turn(session, "two")
    await session.move_to(undo_target(session.records()) or "", why=UNDO)
    await session.label(session.leaf, "good place")
    session.close()

    again = store.open(session.id)

    assert again.messages() == first
    assert redo_target(again.records()) is not None
    again.close()


def test_limits_of_the_process_are_as_before() -> None:
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] in (resource.RLIM_INFINITY, 2**64 - 1)
