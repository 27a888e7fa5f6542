import asyncio
import os
import time
from pathlib import Path

import pytest

from agent_tui.protocol.errors import SessionError
from agent_tui.protocol.messages import (
    AssistantMessage,
    ImageBlock,
    RedactedThinkingBlock,
    ThinkingBlock,
    ToolUseBlock,
    UserMessage,
)
from agent_tui.protocol.permissions import (
    Decision,
    PermissionDecision,
    Scope,
    Verdict,
)
from agent_tui.sessions.frames import frame
from agent_tui.sessions.info import title_of
from agent_tui.sessions.records import RECORD_ADAPTER
from agent_tui.sessions.store import SessionStore, new_session_id
from tests.support.agent_world import problems_of
from tests.support.session_world import (
    asks,
    file_of,
    one_turn,
    outcome,
    raw_records,
    request_for,
    results,
    said,
    user,
)
from tests.support.store_world import repaired


@pytest.fixture
def store(tmp_path: Path) -> SessionStore:
    return SessionStore(tmp_path / "sessions")


async def test_a_prompt_that_was_given_back_is_no_part_of_the_conversation(
    store: SessionStore, workspace: Path
) -> None:
    session = store.create(workspace)
    written = await one_turn(session)
    await session.user_message(user("oops"), turn_id="t2", text="oops")
    await session.turn_finished(turn_id="t2", stop_reason="prompt_returned")
    await session.user_message(user("better"), turn_id="t3", text="better")

    assert session.messages() == [*written, user("better")]
    assert len([r for r in session.records() if r["type"] == "user"]) == 3
    session.close()


async def test_m14_the_conversation_after_a_cancelled_turn_goes_on(
    store: SessionStore, workspace: Path
) -> None:
    session = store.create(workspace)
    await session.user_message(user("go"), turn_id="t", text="go")
    await session.turn_finished(turn_id="t", stop_reason="cancelled")
    session.close()

    again = store.open(session.id)
    await again.user_message(user("more"), turn_id="t2", text="more")

    assert problems_of(repaired(again.messages()), provider="p", model="m") == []
    assert [b.text for b in again.replay()] == ["go", "Stopped.", "more"]
    again.close()


async def test_compaction_replaces_the_history_and_keeps_the_transcript(
    store: SessionStore, workspace: Path
) -> None:
    session = store.create(workspace)
    await one_turn(session)
    await session.compacted([user("summary")], turn_id="t", summary="what happened")
    await session.assistant_message(said("next"), turn_id="t")

    assert session.messages() == [user("summary"), said("next")]
    assert [b.kind for b in session.replay()] == [
        "user",
        "thinking",
        "tool",
        "assistant",
        "notice",
        "assistant",
    ]
    session.close()


async def test_words_said_during_a_round_are_replayed_as_the_persons(
    store: SessionStore, workspace: Path
) -> None:
    session = store.create(workspace)
    await session.round_finished(results(outcome("c1"), words="use tabs"), turn_id="t")
    await session.round_finished(results(outcome("c2"), words="<system-note>hm</system-note>"), turn_id="t")

    assert [(b.kind, b.text) for b in session.replay()] == [("user", "use tabs")]
    session.close()


async def test_x28_latest_is_the_session_of_this_directory_that_was_written_last(
    store: SessionStore, tmp_path: Path, workspace: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    first, second, elsewhere = store.create(workspace), store.create(workspace), store.create(other)
    for number, session in enumerate((second, first, elsewhere)):
        await one_turn(session, f"prompt {number}")
        os.utime(file_of(session), (1000 + number, 1000 + number))
        session.close()

    assert store.latest(workspace) == first.id
    assert store.latest(tmp_path) is None
    assert [i.title for i in store.list(workspace)] == ["prompt 1", "prompt 0"]
    assert len(store.list()) == 3


async def test_a_link_to_nothing_is_no_latest_session(store: SessionStore, workspace: Path) -> None:
    session = store.create(workspace)
    await one_turn(session)
    session.close()
    file_of(session).with_name("gone.jsonl").symlink_to("nowhere")

    assert store.latest(workspace) == session.id


async def test_on_a_screen_the_last_session_of_a_screen_goes_before_later_runs_of_scripts(
    store: SessionStore, workspace: Path
) -> None:
    made: dict[bool, str] = {}
    only_scripts = None
    for at, with_screen in enumerate((False, True, False), start=1):
        session = store.create(workspace, with_screen=with_screen)
        await one_turn(session)
        session.close()
        os.utime(file_of(session), (at, at))
        made[with_screen] = session.id
        only_scripts = only_scripts or store.latest(workspace, with_screen=True)

    assert only_scripts is not None
    assert store.latest(workspace) == made[False]
    assert store.latest(workspace, with_screen=True) == made[True]


async def test_a_session_is_found_by_id_prefix_and_name(store: SessionStore, workspace: Path) -> None:
    session = store.create(workspace, session_id="abcd-1234", name="")
    await one_turn(session, "fix the parser")
    await session.rename("Parser work")
    session.close()

    assert store.find("abcd-1234", workspace) == "abcd-1234"
    assert store.find("abcd", workspace) == "abcd-1234"
    assert store.find("parser WORK", workspace) == "abcd-1234"
    with pytest.raises(SessionError, match="Did you mean"):
        store.find("parser", workspace)
    assert store.open("abcd-1234").name == "Parser work"


async def test_an_empty_session_leaves_no_file(store: SessionStore, workspace: Path) -> None:
    store.create(workspace).close()

    assert list(store.root.glob("*/*")) == []


async def test_a_chosen_id_is_checked(store: SessionStore, workspace: Path) -> None:
    session = store.create(workspace, session_id="mine")
    await one_turn(session)

    with pytest.raises(SessionError, match="already"):
        store.create(workspace, session_id="mine")
    with pytest.raises(SessionError, match="cannot be a session id"):
        store.create(workspace, session_id="../../etc/passwd")
    with pytest.raises(SessionError, match="no session"):
        store.open("nobody")
    session.close()


async def test_a_newer_format_is_refused_politely(store: SessionStore, workspace: Path) -> None:
    session = store.create(workspace)
    await one_turn(session)
    session.close()
    header, *rest = raw_records(file_of(session))
    file_of(session).write_bytes(b"".join(map(frame, [{**header, "version": 99}, *rest])))

    with pytest.raises(SessionError, match="newer agent-tui"):
        store.open(session.id)
    file_of(session).write_bytes(b"".join(map(frame, [header, *rest])))
    store.open(session.id).close()


async def test_a_record_of_an_unknown_kind_is_skipped(store: SessionStore, workspace: Path) -> None:
    session = store.create(workspace)
    written = await one_turn(session)
    session.close()
    leaf = raw_records(file_of(session))[-1]["id"]
    with file_of(session).open("ab") as file:
        file.write(frame({"type": "hologram", "id": "x1", "parent": leaf}))

    again = store.open(session.id)

    assert again.messages() == written
    assert again.restored().unread == 1


async def test_ss_10_an_unwritable_place_keeps_the_session_in_memory_with_one_notice(
    tmp_path: Path, workspace: Path
) -> None:
    place = tmp_path / "file"
    place.write_text("not a folder")
    session = SessionStore(place).create(workspace)

    written = await one_turn(session)
    await one_turn(session, "again")

    assert session.messages()[:4] == written
    assert len(session.notices) == 2
    assert "stays in memory" in session.notices[0]
    assert session.data_dir.is_dir()
    session.close()


async def test_an_ephemeral_session_writes_nothing(store: SessionStore, workspace: Path) -> None:
    session = store.ephemeral(workspace)
    written = await one_turn(session)

    assert session.messages() == written
    assert session.path is None
    assert session.notices == []
    assert not store.root.exists()
    session.close()


async def test_every_record_is_one_of_the_known_types(store: SessionStore, workspace: Path) -> None:
    session = store.create(workspace)
    await one_turn(session)
    await session.todos_changed([{"content": "a", "status": "pending"}])
    await session.checkpoint({"tree": "abc"})
    await session.label(session.leaf, "here")
    await session.rename("x")
    await session.move_to("", why="rewind")
    from agent_tui.sessions.blobs import Blobs
    from agent_tui.sessions.encoding import Filler

    filler = Filler(Blobs(store.root / "blobs"))
    kinds = [RECORD_ADAPTER.validate_python(filler.fill(r)).type for r in session.whole_records()]

    assert kinds == [
        "header", "user", "assistant", "round", "outcome", "results", "assistant", "turn_end",
        "todo", "checkpoint", "label", "rename", "leaf",
    ]  # fmt: skip
    assert session.messages() == []
    session.close()


async def test_thinking_signatures_and_images_come_back_byte_for_byte(
    store: SessionStore, workspace: Path
) -> None:
    picture = ImageBlock(media_type="image/png", data="QUJD" * 30_000)
    session = store.create(workspace)
    await session.user_message(UserMessage(content=(picture,)), turn_id="t", text="look")
    await session.assistant_message(asks("c1", thinking=""), turn_id="t")
    session.close()

    messages = store.open(session.id).messages()

    assert messages[0] == UserMessage(content=(picture,))


def test_ids_sort_by_time_and_titles_are_one_line() -> None:
    ids = []
    for _ in range(3):
        ids.append(new_session_id())
        time.sleep(0.002)

    assert ids == sorted(ids)
    assert title_of("\n\n  fix   this\nand that") == "fix this"
    assert title_of("x" * 100) == "x" * 59 + "…"


def test_ss_07_a_moved_directory_is_recognised_but_never_adopted(store: SessionStore, tmp_path: Path) -> None:
    old, other = tmp_path / "old", tmp_path / "other"
    old.mkdir()
    other.mkdir()
    session = store.create(old)
    asyncio.run(one_turn(session))
    session.close()
    new = old.rename(tmp_path / "new")

    assert store.latest(new) is None
    assert [i.session_id for i in store.moved_here(new)] == [session.id]
    assert store.latest(other) is None
    assert store.moved_here(other) == []


def test_ss_12_old_sessions_stay_until_somebody_removes_them(store: SessionStore, workspace: Path) -> None:
    for age_days in (31, 91, 400):
        session = store.create(workspace)
        asyncio.run(one_turn(session))
        session.close()
        os.utime(file_of(session), (time.time() - age_days * 86_400,) * 2)

    again = SessionStore(store.root)
    again.create(workspace).close()

    assert len(again.list()) == 3


async def test_pr_06_thinking_goes_back_byte_for_byte_after_resume(
    store: SessionStore, workspace: Path
) -> None:
    session = store.create(workspace)
    reply = AssistantMessage(
        content=(
            ThinkingBlock(text="", signature="EqQBCgIYAhIM+/=="),
            RedactedThinkingBlock(data="b64+/data=="),
            ToolUseBlock(id="c1", name="read", arguments_json='{"b":1,  "a":2}'),
        ),
        provider="p",
        model="m",
    )
    await session.user_message(user("go"), turn_id="t", text="go")
    await session.assistant_message(reply, turn_id="t")
    session.close()

    again = store.open(session.id)

    assert again.messages()[1] == reply
    assert repaired(again.messages())[1] == reply
    again.close()


async def test_a52_summaries_of_results_come_back_with_the_session(
    store: SessionStore, workspace: Path
) -> None:
    session = store.create(workspace)
    await one_turn(session)

    assert list(session.restored().summaries.values()) == ["[Read: a.txt]"]
    session.close()


async def test_a69_what_was_allowed_for_a_session_is_not_restored(
    store: SessionStore, workspace: Path
) -> None:
    session = store.create(workspace)
    await session.user_message(user("go"), turn_id="t", text="go")
    await session.assistant_message(asks("c1"), turn_id="t")
    await session.approval_requested([request_for("c1")], turn_id="t")
    lasting = PermissionDecision(permission_id="p", decision=Decision.ALLOW, scope=Scope.SESSION)
    await session.approval_decided([Verdict(call_id="c1", permissions=(lasting,))], turn_id="t")

    restored = session.restored()

    assert "allow" not in str(restored)
    assert [b.text for b in session.replay() if b.kind == "decision"] == ["allowed for this session: read"]
    session.close()


async def test_opening_ten_thousand_blocks_is_quick(store: SessionStore, workspace: Path) -> None:
    session = store.create(workspace)
    await one_turn(session, output="a line of output\n" * 60)
    session.close()
    header, *turn = raw_records(file_of(session))
    lines, parent = [frame(header)], ""
    for number in range(2500):
        for record in turn:
            lines.append(frame({**record, "id": f"{record['id']}{number}", "parent": parent}))
            parent = f"{record['id']}{number}"
    file_of(session).write_bytes(b"".join(lines))

    before = time.process_time()
    again = store.open(session.id)
    blocks = again.replay()
    spent = time.process_time() - before

    assert len(blocks) == 10_000
    assert spent < 1.5
    again.close()
