from pathlib import Path

from agent_tui.sessions.frames import read_frames
from agent_tui.sessions.store import SessionStore
from agent_tui.sessions.upkeep import collect_garbage, delete
from tests.support.session_world import one_turn


def store(tmp_path: Path) -> SessionStore:
    return SessionStore(tmp_path / "sessions", redact=lambda text: text.replace("s3cret", "***"))


async def test_transcript_of_a_sub_agent_is_a_file_of_its_own_in_the_sessions_folder(tmp_path: Path) -> None:
    sessions = store(tmp_path)
    session = sessions.create(tmp_path)
    await one_turn(session, "main prompt")
    child = session.child("call/../0 x", name="general: look")

    await one_turn(child, "inner prompt with s3cret")
    await child.aclose()
    await session.aclose()

    assert child.path is not None
    assert session.path is not None
    assert child.path.parent == session.path.with_suffix("") / "agents"
    assert child.path.stat().st_mode & 0o777 == 0o600
    records = read_frames(child.path.read_bytes()).records
    assert (records[0]["type"], records[0]["name"]) == ("header", "general: look")
    assert "inner prompt with ***" in child.path.read_text()
    assert "inner prompt" not in session.path.read_text()


async def test_sub_agents_are_in_no_list_and_go_with_their_session(tmp_path: Path) -> None:
    sessions = store(tmp_path)
    session = sessions.create(tmp_path)
    await one_turn(session)
    child = session.child("c1", name="general: look")
    await one_turn(child, output="x" * 200_000)
    await child.aclose()
    await session.aclose()
    assert child.path is not None

    listed = [info.session_id for info in sessions.list(None)]
    collect_garbage(sessions)
    whole = "".join(str(block) for block in child.messages())
    delete(sessions, session.id)

    assert listed == [session.id]
    assert "x" * 200_000 in whole
    assert not child.path.exists()


async def test_two_transcripts_of_one_call_are_two_files(tmp_path: Path) -> None:
    session = store(tmp_path).create(tmp_path)
    children = [session.child("c1", name="a") for _ in range(2)]

    for child in children:
        await one_turn(child)
        await child.aclose()
    await session.aclose()

    assert len({child.path for child in children}) == 2


async def test_sub_agent_of_a_session_in_memory_leaves_no_file(tmp_path: Path) -> None:
    child = store(tmp_path).ephemeral(tmp_path).child("c1", name="a")

    await one_turn(child)
    await child.aclose()

    assert child.path is None
    assert len(child.messages()) == 4
    assert not list(tmp_path.rglob("*.jsonl"))
