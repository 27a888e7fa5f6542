import asyncio
import json
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from agent_tui.protocol.errors import SessionInUseError
from agent_tui.sessions.frames import frame, read_frames
from agent_tui.sessions.restore import restore
from agent_tui.sessions.store import SessionStore
from tests.support.agent_world import problems_of
from tests.support.session_world import (
    asks,
    call,
    file_of,
    one_turn,
    outcome,
    results,
    user,
)
from tests.support.store_world import repaired


@pytest.fixture
def store(tmp_path: Path) -> SessionStore:
    return SessionStore(tmp_path / "sessions")


async def test_a_session_gives_back_what_was_written(store: SessionStore, workspace: Path) -> None:
    session = store.create(workspace)
    written = await one_turn(session, "hi")
    session.close()

    again = store.open(session.id)

    assert again.messages() == written
    assert again.workspace == workspace.resolve()
    assert [(b.kind, b.text) for b in again.replay()] == [
        ("user", "hi"),
        ("thinking", "hm"),
        ("tool", "hello"),
        ("assistant", "done"),
    ]
    again.close()


async def test_a_tool_block_is_replayed_with_its_panel(store: SessionStore, workspace: Path) -> None:
    session = store.create(workspace)
    await one_turn(session, "hi", output="x" * 20_000)

    block = session.replay()[2]

    assert (block.display_name, block.title, block.state, block.elapsed_s) == ("Read", "a.txt", "done", 0.25)
    assert (block.is_truncated, block.full_length, len(block.text)) == (True, 20_000, 10_000)
    assert len(session.full_output(block.call_id).text) == 20_000
    assert session.full_output("nothing") is None
    session.close()


async def test_what_is_said_twice_is_stored_once(store: SessionStore, workspace: Path) -> None:
    arguments = json.dumps({"content": "y" * 5000})
    session = store.create(workspace)
    done = outcome("c1", "z" * 5000, arguments=arguments)
    await session.assistant_message(asks("c1", arguments=arguments), turn_id="t")
    await session.round_started([done.call], turn_id="t")
    await session.outcome(done, turn_id="t")
    await session.round_finished(results(done), turn_id="t")

    data = file_of(session).read_bytes()

    assert data.count(b"y" * 5000) == 1
    assert data.count(b"z" * 5000) == 1
    assert session.messages()[1:] == [results(done)]
    session.close()


async def test_ss_13_large_payloads_go_to_one_private_blob(store: SessionStore, workspace: Path) -> None:
    big = "ä" * 100_000
    session = store.create(workspace)
    await one_turn(session, "a", output=big)
    written = await one_turn(session, "b", output=big)
    session.close()

    blobs = list((store.root / "blobs").glob("*/*"))

    assert len(blobs) == 1
    assert file_of(session).stat().st_size < 60_000
    assert stat.S_IMODE(blobs[0].stat().st_mode) == 0o600
    assert store.open(session.id).messages()[-4:] == written


async def test_a_lost_blob_costs_only_its_text(store: SessionStore, workspace: Path) -> None:
    session = store.create(workspace)
    await one_turn(session, "a", output="x" * 100_000)
    session.close()
    next((store.root / "blobs").glob("*/*")).unlink()

    messages = store.open(session.id).messages()

    assert "lost with its file" in messages[2].content[0].content
    assert problems_of(messages, provider="p", model="m") == []


async def test_files_and_folders_are_private(store: SessionStore, workspace: Path) -> None:
    session = store.create(workspace)
    await one_turn(session)

    path = file_of(session)

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.with_suffix(".lock").stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert stat.S_IMODE(store.root.stat().st_mode) == 0o700
    session.close()


async def test_ss_03_odd_separators_survive(store: SessionStore, workspace: Path) -> None:
    odd = "a\u2028b\u2029c\x85d\x0be\x1cf\r\ng\x00h"
    session = store.create(workspace)
    written = await one_turn(session, odd, output=odd)
    session.close()

    assert store.open(session.id).messages() == written


async def test_ss_01_a_torn_tail_costs_one_record_and_nothing_is_glued_to_it(
    store: SessionStore, workspace: Path
) -> None:
    session = store.create(workspace)
    written = await one_turn(session)
    session.close()
    with file_of(session).open("ab") as file:
        file.write(b'00000000 {"type":"user","text":"caf\xc3')

    for round_number in range(3):
        again = store.open(session.id)
        await again.user_message(user(f"hello {round_number}"), turn_id="t", text=f"hello {round_number}")
        again.close()
    final = store.open(session.id)

    assert final.messages()[:4] == written
    assert [b.text for b in final.replay() if b.kind == "user"] == ["hi", "hello 0", "hello 1", "hello 2"]
    assert len(final.notices) == 1


async def test_truncation_at_every_byte_of_the_last_record_loses_only_that(
    store: SessionStore, workspace: Path
) -> None:
    session = store.create(workspace)
    await one_turn(session)
    session.close()
    path = file_of(session)
    whole = path.read_bytes()
    last = whole.rstrip(b"\n").rfind(b"\n") + 1
    count = len(read_frames(whole).records)

    for size in range(last, len(whole)):
        frames = read_frames(whole[:size])
        expected = count if size == len(whole) - 1 else count - 1

        assert len(frames.records) == expected, size
        assert len(frames.damage) == (0 if size in (last, len(whole) - 1) else 1)


async def test_bit_flips_nuls_and_duplicates_cost_only_their_line(
    store: SessionStore, workspace: Path
) -> None:
    session = store.create(workspace)
    for n in range(5):
        await one_turn(session, f"prompt {n}")
    session.close()
    lines = file_of(session).read_bytes().split(b"\n")[:-1]

    for index in range(1, len(lines)):
        flipped = bytearray(lines[index])
        flipped[len(flipped) // 2] ^= 0x10
        nuls = b"\0" * len(lines[index])
        for bad in (bytes(flipped), nuls, lines[index] + b"\n" + lines[index]):
            data = b"\n".join([*lines[:index], bad, *lines[index + 1 :]]) + b"\n"
            file_of(session).write_bytes(data)
            again = store.open(session.id)

            assert [d.line for d in again.damage()] in ([index + 1], [index + 2])
            assert len(again.records()) >= len(lines) - 1
            assert len(again.replay()) >= 5 * 4 - 2
            assert problems_of(repaired(again.messages()), provider="p", model="m") == []
            again.close()


KILLED = """
import asyncio, sys
from pathlib import Path
from agent_tui.sessions.store import SessionStore
from agent_tui.protocol.messages import UserMessage, TextBlock
async def main():
    store = SessionStore(Path(sys.argv[1]))
    session = store.open(sys.argv[3]) if sys.argv[3] else store.create(Path(sys.argv[2]))
    print("id", session.id, flush=True)
    for n in range(100000):
        text = f"{sys.argv[4]}-{n}-" + "x" * int(sys.argv[5])
        await session.user_message(UserMessage(content=(TextBlock(text=text),)), turn_id="t", text=text)
        print("ok", sys.argv[4], n, flush=True)
asyncio.run(main())
"""


@pytest.mark.parametrize(("rounds", "size"), [(6, 300), (3, 2_000_000)])
def test_h_d1_kill_9_loses_no_acknowledged_record(
    store: SessionStore, workspace: Path, rounds: int, size: int
) -> None:
    session_id, acknowledged = "", set[str]()
    for number in range(rounds):
        process = subprocess.Popen(
            [sys.executable, "-c", KILLED, store.root, workspace, session_id, str(number), str(size)],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        session_id = process.stdout.readline().split()[1]
        deadline = time.monotonic() + 0.05 + 0.04 * number
        for line in process.stdout:
            acknowledged.add("-".join(line.split()[1:]))
            if time.monotonic() > deadline:
                break
        process.send_signal(signal.SIGKILL)
        acknowledged |= {"-".join(line.split()[1:]) for line in process.stdout.read().split("\n")[:-1]}
        process.stdout.close()
        process.wait()

    session = store.open(session_id)
    kept = {"-".join(b.text.split("-")[:2]) for b in session.replay()}

    assert len(acknowledged) >= rounds
    assert acknowledged - kept == set()
    session.close()


def test_ss_04_h_d2_a_second_program_is_told_that_the_session_is_in_use(
    store: SessionStore, workspace: Path
) -> None:
    session = store.create(workspace)
    asyncio.run(one_turn(session))

    with pytest.raises(SessionInUseError):
        store.open(session.id)
    session.close()
    store.open(session.id).close()


def test_ss_04_the_lock_dies_with_its_owner(store: SessionStore, workspace: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, store.root, workspace, "", "0", "10"],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    session_id = process.stdout.readline().split()[1]
    process.stdout.readline()
    with pytest.raises(SessionInUseError):
        store.open(session_id)

    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()

    store.open(session_id).close()


def test_interleaved_writers_leave_a_file_that_can_be_read(store: SessionStore, workspace: Path) -> None:
    session = store.create(workspace)
    asyncio.run(one_turn(session))
    session.close()
    path = file_of(session)
    base = read_frames(path.read_bytes()).records[-1]["id"]
    with path.open("ab") as file:
        for n in range(6):
            parent = base if n < 2 else f"w{n - 2}"
            record = {"type": "user", "id": f"w{n}", "parent": parent, "text": f"w{n}"}
            file.write(frame({**record, "message": user(f"w{n}").model_dump(mode="json")}))

    again = store.open(session.id)

    assert [b.text for b in again.replay() if b.kind == "user"] == ["hi", "w1", "w3", "w5"]
    assert problems_of(repaired(again.messages()), provider="p", model="m") == []


async def test_a_turn_that_went_on_without_a_prompt_is_interrupted_like_others(
    store: SessionStore, workspace: Path
) -> None:
    session = store.create(workspace)
    await session.user_message(user("go"), turn_id="t", text="go")
    await session.assistant_message(asks("c1"), turn_id="t")
    await session.turn_finished(turn_id="t", stop_reason="pending_approvals")
    waiting = store.outline(session.id)
    await session.outcome(outcome("c1", "finished"), turn_id="t2")
    session.close()

    assert restore(waiting.records(waiting.path()), store.blobs).interrupted is False
    assert store.open(session.id).restored().interrupted is True


async def test_dangling_calls_are_answered_as_interrupted_and_finished_ones_keep_their_result(
    store: SessionStore, workspace: Path
) -> None:
    session = store.create(workspace)
    await session.user_message(user("go"), turn_id="t", text="go")
    await session.assistant_message(asks("c1", "c2"), turn_id="t")
    await session.round_started([call("c1"), call("c2")], turn_id="t")
    await session.outcome(outcome("c1", "finished"), turn_id="t")
    session.close()

    again = store.open(session.id)
    restored = again.restored()

    assert problems_of(restored.messages, provider="p", model="m") == []
    assert [b.content[:11] for b in restored.messages[-1].content] == ["finished", "Interrupted"]
    assert (restored.interrupted, restored.unanswered) == (True, ("Read: a.txt",))
    panels = [b for b in again.replay() if b.kind == "tool"]
    assert [b.state for b in panels] == ["done", "interrupted"]
    assert (panels[1].display_name, panels[1].title) == ("Read", "a.txt")
    assert panels[1].text.endswith("\n\nfile_path: a.txt")
