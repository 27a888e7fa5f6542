import stat
from pathlib import Path

import pytest

from agent_tui.agent.queue import MessageQueue
from agent_tui.providers.scripted import calls, text, use
from agent_tui.sessions.store import SessionStore
from agent_tui.sessions.unsent import NAME, read_unsent, write_unsent
from tests.support.agent_world import world


class Kept:
    def __init__(self) -> None:
        self.states: list[list[str]] = []

    def __call__(self, texts: object) -> None:
        assert isinstance(texts, list)
        self.states.append(texts)


async def test_what_is_typed_ahead_is_kept_until_the_session_holds_it() -> None:
    kept = Kept()
    queue = MessageQueue(keep=kept)
    w = world(calls(use("read")), text("ok"), text("tested"))
    w.rounds.answer = lambda call: (queue.steer("use tabs"), queue.follow_up("then test"), "done")[2]
    agent = w.agent(queue=queue)

    await agent.run("go")
    after_turn = list(kept.states)
    following = queue.next_follow_up()
    taken = list(kept.states)
    assert following is not None
    await agent.run(following)

    assert after_turn == [["use tabs"], ["use tabs", "then test"], ["then test"]]
    assert taken == after_turn
    assert kept.states[-1] == []


def test_what_an_earlier_run_kept_is_offered_once_and_never_sent_by_itself() -> None:
    kept = Kept()
    queue = MessageQueue(keep=kept, found=["old"])
    queue.steer("new")

    assert queue.take_steering() == ("new",)
    assert queue.next_follow_up() is None
    queue.recorded()
    assert kept.states == [["old", "new"], ["old"]]
    assert queue.offer_found() == ("old",)
    assert queue.offer_found() == ()
    queue.recorded()
    assert kept.states[-1] == []


def test_a_message_taken_back_is_kept_no_longer() -> None:
    kept = Kept()
    queue = MessageQueue(keep=kept)
    queue.follow_up("a")

    assert queue.remove(0) == "a"
    assert queue.remove(0) is None
    assert kept.states == [["a"], []]


async def test_the_file_is_private_masked_and_gone_when_nothing_waits(tmp_path: Path) -> None:
    store = SessionStore(tmp_path / "sessions", redact=lambda text: text.replace("secret", "***"))
    session = store.create(tmp_path, session_id="s-1")
    await session.rename("first")
    session.keep_unsent(["say secret"])
    await session.rename("again")
    file = session.data_dir / NAME

    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert session.unsent() == ["say ***"]
    session.keep_unsent([])
    session.close()
    assert not file.exists()
    assert list(session.data_dir.iterdir()) == []


async def test_a_session_in_memory_keeps_nothing(tmp_path: Path) -> None:
    spare = tmp_path / "spare"
    session = SessionStore(tmp_path / "sessions", spare=spare).ephemeral(tmp_path)
    session.keep_unsent(["hello"])
    session.close()

    assert session.unsent() == []
    assert not (spare / NAME).exists()


@pytest.mark.parametrize("data", [b"", b"{", b"{}", b'[1, null, "  ", "good"]', b"[" * 100_000, b"\xff\xfe"])
def test_a_damaged_file_never_raises(tmp_path: Path, data: bytes) -> None:
    (tmp_path / NAME).write_bytes(data)

    assert read_unsent(tmp_path) == (["good"] if b"good" in data else [])


def test_a_folder_that_is_gone_loses_nothing_but_the_file(tmp_path: Path) -> None:
    write_unsent(tmp_path / "gone", ["text"])

    assert read_unsent(tmp_path / "gone") == []


async def test_commands_are_kept_beside_and_a_message_with_a_slash_is_no_command() -> None:
    kept = Kept()
    queue = MessageQueue(keep=kept, found=["/compact"])

    queue.follow_up("/etc/hosts is what?")
    queue.keep_beside(["/model m"])
    taken = queue.next_follow_up()
    queue.keep_beside([])

    assert taken == "/etc/hosts is what?"
    assert kept.states == [
        ["/compact", "/etc/hosts is what?"],
        ["/compact", "/etc/hosts is what?", "/model m"],
        ["/compact", "/etc/hosts is what?"],
    ]
