import asyncio
import tracemalloc
from pathlib import Path

import pytest

from agent_tui.protocol.permissions import (
    Verdict,
)
from agent_tui.sessions.commands import main
from agent_tui.sessions.store import SessionStore
from tests.support.agent_world import problems_of
from tests.support.session_world import (
    asks,
    call,
    outcome,
    request_for,
    user,
)


@pytest.fixture
def store(tmp_path: Path) -> SessionStore:
    return SessionStore(tmp_path / "sessions")


async def test_item_28_p06_a_pending_approval_is_found_and_never_run(
    store: SessionStore, workspace: Path
) -> None:
    session = store.create(workspace)
    await session.user_message(user("go"), turn_id="t", text="go")
    await session.assistant_message(asks("c1"), turn_id="t")
    await session.round_started([call("c1")], turn_id="t")
    await session.approval_requested([request_for("c1")], turn_id="t")
    session.close()

    restored = store.open(session.id).restored()

    assert restored.pending == (request_for("c1"),)
    assert restored.messages[-1].content[0].content.startswith("Not run")
    assert problems_of(restored.messages, provider="p", model="m") == []


async def test_a_copy_asks_for_nothing_that_waits_in_the_session_it_was_made_from(
    store: SessionStore, workspace: Path
) -> None:
    session = store.create(workspace)
    await session.user_message(user("go"), turn_id="t", text="go")
    await session.assistant_message(asks("c1"), turn_id="t")
    await session.round_started([call("c1")], turn_id="t")
    await session.approval_requested([request_for("c1")], turn_id="t")
    outline = session.outline()

    copy = store.open(store.copy(workspace, outline, outline.path(), origin=session.id))

    restored = copy.restored(keep_pending=True)
    assert (restored.pending, restored.messages) == ((), session.restored().messages)
    assert restored.messages[-1].content[0].content.startswith("Not run")
    assert session.restored(keep_pending=True).pending == (request_for("c1"),)
    copy.close()
    session.close()


def test_a_copy_is_made_without_holding_the_conversation(store: SessionStore, workspace: Path) -> None:
    message = {"role": "user", "content": [{"type": "text", "text": "petal " * 20_000}]}
    records: list[dict[str, object]] = [
        {
            "type": "user",
            "id": f"{n}",
            "at": 1.0,
            "parent": f"{n - 1}" if n else "",
            "text": "",
            "message": message,
        }
        for n in range(99)
    ]
    reply = {"role": "assistant", "content": [{"type": "text", "text": "ok"}]}
    records.append({"type": "assistant", "id": "99", "at": 1.0, "parent": "98", "message": reply})
    outline = store.outline(store.write_whole(workspace, records))

    tracemalloc.start()
    copied = store.copy(workspace, outline, outline.path())
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert most < outline.size_bytes / 4
    assert store.outline(copied).kinds == outline.kinds


def test_fork_from_a_shell_asks_for_nothing_that_waits_either(
    store: SessionStore, workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async def waiting() -> str:
        session = store.create(workspace)
        await session.user_message(user("go"), turn_id="t", text="go")
        await session.assistant_message(asks("c1"), turn_id="t")
        await session.approval_requested([request_for("c1")], turn_id="t")
        session.close()
        return session.id

    session_id = asyncio.run(waiting())

    assert main(["fork", session_id], root=store.root, workspace=workspace) == 0

    copy = store.open(capsys.readouterr().out.strip())
    assert copy.restored(keep_pending=True).pending == ()
    copy.close()


async def test_p12_pending_calls_stay_open_when_the_turn_is_to_be_driven_again(
    store: SessionStore, workspace: Path
) -> None:
    session = store.create(workspace)
    await session.user_message(user("go"), turn_id="t", text="go")
    await session.assistant_message(asks("c1", "c2"), turn_id="t")
    await session.approval_requested([request_for("c1"), request_for("c2")], turn_id="t")
    await session.approval_decided([Verdict(call_id="c1"), Verdict(call_id="c2", deferred=True)], turn_id="t")
    await session.turn_finished(turn_id="t", stop_reason="pending_approvals")

    restored = session.restored(keep_pending=True)

    assert restored.pending == (request_for("c2"),)
    assert restored.messages[-1] == asks("c1", "c2")
    session.close()


async def test_calls_are_shown_again_in_the_order_of_their_request_wherever_their_texts_lie(
    store: SessionStore, workspace: Path
) -> None:
    session = store.create(workspace)
    ids = ["c1", "c2", "c3"]
    outcomes = {one: outcome(one, f"{one} " * 200) for one in ids}
    await session.user_message(user("go"), turn_id="t", text="go")
    await session.assistant_message(asks(*ids), turn_id="t")
    await session.round_started([outcomes[one].call for one in ids], turn_id="t")
    await session.outcome(outcomes["c3"], turn_id="t")
    await session.turn_finished(turn_id="t", stop_reason="pending_approvals")
    half = [(b.call_id, b.state) for b in session.replay() if b.kind == "tool"]
    await session.outcome(outcomes["c2"], turn_id="t")
    await session.outcome(outcomes["c1"], turn_id="t")

    again = [b for b in session.paged_replay(kept=0) if b.kind == "tool"]

    assert half == [("c1", "waiting"), ("c2", "waiting"), ("c3", "done")]
    assert [(b.call_id, b.state, b.whole_text()) for b in again] == [
        (one, "done", outcomes[one].display.content) for one in ids
    ]
    assert all(b.stored for b in again)
    session.close()


async def test_a_round_that_goes_on_after_a_pause_shows_what_it_had_come_to_before(
    store: SessionStore, workspace: Path
) -> None:
    session = store.create(workspace)
    both = [outcome("c1", "first"), outcome("c2", "second")]
    await session.user_message(user("go"), turn_id="t", text="go")
    await session.assistant_message(asks("c1", "c2"), turn_id="t")
    shown: list[list[tuple[str, str]]] = []
    for ran in both:  # the second round takes over what the first one came to
        await session.round_started([one.call for one in both], turn_id="t")
        await session.outcome(ran, turn_id="t")
        await session.turn_finished(turn_id="t", stop_reason="pending_approvals")
        shown.append([(b.call_id, b.state) for b in session.replay() if b.kind == "tool"])

    assert shown == [[("c1", "done"), ("c2", "waiting")], [("c1", "done"), ("c2", "done")]]
    session.close()


async def test_calls_that_waited_when_something_else_came_are_shown_as_never_answered(
    store: SessionStore, workspace: Path
) -> None:
    session = store.create(workspace)
    await session.user_message(user("go"), turn_id="t", text="go")
    await session.assistant_message(asks("c1"), turn_id="t")
    await session.round_started([call("c1")], turn_id="t")
    await session.turn_finished(turn_id="t", stop_reason="pending_approvals")
    await session.user_message(user("else"), turn_id="t2", text="else")

    assert [b.state for b in session.replay() if b.kind == "tool"] == ["interrupted"]
    session.close()
