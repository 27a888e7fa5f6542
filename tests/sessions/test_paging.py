from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from agent_tui.protocol.replay import LostText, ReplayBlock
from agent_tui.sessions.session import Session
from agent_tui.sessions.store import SessionStore
from tests.support.long_session import long_session
from tests.support.session_world import file_of, one_turn, user


@pytest.fixture
async def session(tmp_path: Path) -> AsyncIterator[Session]:
    session = await long_session(tmp_path, turns=20)
    yield session
    await session.aclose()


def whole(blocks: Sequence[ReplayBlock]) -> list[ReplayBlock]:
    return [replace(block, text=block.whole_text(), stored=None) for block in blocks]


def on_disk(blocks: Sequence[ReplayBlock]) -> list[ReplayBlock]:
    return [block for block in blocks if block.stored is not None]


async def test_what_is_left_on_disk_reads_as_it_was(session: Session) -> None:
    paged = session.paged_replay(kept=0)

    assert {block.kind for block in on_disk(paged)} >= {"user", "assistant", "thinking", "tool", "notice"}
    assert all(block.text == "" for block in on_disk(paged))
    assert all(len(block.text) < 256 for block in paged if block.record_id)
    assert whole(paged) == session.replay()


async def test_the_newest_blocks_and_short_ones_stay_in_memory(session: Session) -> None:
    paged = session.paged_replay(kept=30)

    assert on_disk(paged[:-30])
    assert not on_disk(paged[-30:])
    assert all(len(block.whole_text()) >= 256 for block in on_disk(paged))


async def test_two_readings_of_one_file_are_equal_and_of_a_copy_are_not(session: Session) -> None:
    store = SessionStore(file_of(session).parent.parent)
    copy = store.open(store.write_whole(session.workspace, list(session.whole_records())[1:]))

    assert session.paged_replay(kept=0) == session.paged_replay(kept=0)
    assert session.paged_replay(kept=0) != copy.paged_replay(kept=0)
    assert whole(copy.paged_replay(kept=0)) == whole(session.paged_replay(kept=0))
    await copy.aclose()


async def test_what_was_read_before_a_rewind_stays_right_after_it_and_after_more_turns(
    session: Session,
) -> None:
    before, known = session.paged_replay(kept=0), session.replay()
    prompts = [block.record_id for block in known if block.kind == "user"]

    await session.move_to(prompts[4])
    await one_turn(session, "another way " * 40)

    assert whole(before) == known
    assert whole(session.paged_replay(kept=0)) == session.replay()
    assert len(session.replay()) < len(known)


async def test_a_text_that_is_too_large_for_its_line_is_read_too(tmp_path: Path) -> None:
    session = SessionStore(tmp_path / "sessions").create(tmp_path)
    prompt = "long " * 30_000
    await session.user_message(user(prompt), turn_id="t", text=prompt)

    [block] = session.paged_replay(kept=0)

    assert block.stored is not None
    assert block.whole_text() == prompt
    await session.aclose()


@pytest.mark.parametrize("harm", ["gone", "cut", "changed", "replaced"])
async def test_a_text_whose_file_is_not_what_it_was_is_a_sentence(session: Session, harm: str) -> None:
    blocks = on_disk(session.paged_replay(kept=0))
    path = file_of(session)
    data = path.read_bytes()
    path.unlink()
    match harm:
        case "cut":
            path.write_bytes(data[:200])
        case "changed":
            path.write_bytes(data.replace(b"needle", b"noodle"))
        case "replaced":
            path.write_bytes(b"\n" * len(data))
        case _:
            pass

    said = {block.whole_text() for block in blocks}

    [sentence] = said
    assert isinstance(sentence, LostText)
    assert sentence.startswith("The text of this block ")
    assert str(path) in sentence
    assert ("No such file" in sentence) is (harm == "gone")


async def test_a_session_in_memory_and_what_is_not_written_yet_keep_their_texts(tmp_path: Path) -> None:
    store = SessionStore(tmp_path / "sessions")
    ephemeral = store.ephemeral(tmp_path)
    await one_turn(ephemeral, "in memory " * 40)
    (tmp_path / "sessions").write_text("a file where the folder should be")
    unsaved = store.create(tmp_path)
    await one_turn(unsaved, "not written " * 40)

    for session in (ephemeral, unsaved):
        assert not on_disk(session.paged_replay(kept=0))
        assert whole(session.paged_replay(kept=0)) == session.replay()
        assert session.texts_since(0) == {}
        await session.aclose()


async def test_texts_are_found_from_a_place_in_the_file_on(session: Session) -> None:
    known = [block for block in session.replay() if len(block.text) >= 256 and block.record_id]
    first = session.texts_since(0)
    middle = sorted(place.end for place in first.values())[len(first) // 2]

    later = session.texts_since(middle)

    assert set(first) == {(block.kind, block.text) for block in known}
    assert later == {key: place for key, place in first.items() if place.offset > middle}
    assert all(place.home.read(place) == text for (_, text), place in later.items())
