import asyncio
import errno
import json
import os
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from agent_tui.agent.loop import Agent
from agent_tui.executor.rounds import Rounds
from agent_tui.protocol.errors import SessionError
from agent_tui.protocol.permissions import Permission, PermissionKind, PermissionRequest
from agent_tui.protocol.tools import TurnResult
from agent_tui.providers.scripted import ScriptedProvider, calls, text, use
from agent_tui.sessions.approval_commands import main
from agent_tui.sessions.approvals import ApprovalKey, DeferringApprover, SignedResponse, refusal
from agent_tui.sessions.deferred import recorded_approver, responses_of, waiting
from agent_tui.sessions.session import Session
from agent_tui.sessions.store import SessionStore
from tests.support.agent_world import problems_of, result_texts
from tests.support.round_world import make_world

REQUEST = PermissionRequest(
    request_id="/c1/abc",
    call_id="c1",
    tool="write",
    title="a.txt",
    permissions=(Permission(id="w", kind=PermissionKind.WRITE, target="/p/a.txt"),),
    arguments_json='{"path": "a.txt"}',
    bases={"/p/a.txt": ""},
)


@pytest.fixture
def key(tmp_path: Path) -> ApprovalKey:
    return ApprovalKey(tmp_path / "keys")


def answer(key: ApprovalKey, request: PermissionRequest = REQUEST, **options: object) -> SignedResponse:
    given = {"session_id": "s", "turn_id": "t", "cwd": "/p", "allow": True, **options}
    return key.answer(request, **given)


def why(
    key: ApprovalKey, response: SignedResponse, request: PermissionRequest = REQUEST, **options: object
) -> str:
    given = {"session_id": "s", "cwd": "/p", "turns": ["t"], "used": [], "now": time.time(), **options}
    return refusal(response, request, key=key, **given)


def test_p14_the_key_is_made_once_and_private(key: ApprovalKey, tmp_path: Path) -> None:
    first, second = answer(key), answer(key)

    path = tmp_path / "keys" / "approvals.key"
    assert first.key_id == second.key_id
    assert first.nonce != second.nonce
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert {entry.name for entry in path.parent.iterdir()} == {path.name, "approvals.lock"}
    assert why(key, first) == ""


@pytest.mark.parametrize(
    "change",
    [
        {"arguments_json": '{"path": "b.txt"}'},
        {"feedback": "x"},
        {"edited_arguments": {"path": "b.txt"}},
        {"expires_at": 9e12},
        {"session_id": "other"},
        {"turn_id": "other"},
        {"request_id": "/c2/abc"},
        {"bases": {}},
        {"permissions": ()},
        {"reason": "mode"},
        {"nonce": "0"},
        {"signature": "00"},
        {"signature": "not hex"},
    ],
)
def test_p11_p13_p14_a_response_that_was_touched_is_refused(key: ApprovalKey, change: dict) -> None:
    assert why(key, answer(key).model_copy(update=change)) == "its signature is not ours"


def test_the_key_is_made_where_there_are_no_hard_links(
    key: ApprovalKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_names: object) -> None:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "link", refuse)

    assert why(key, answer(key)) == ""


def test_p14_a_response_signed_by_another_key_is_refused(key: ApprovalKey, tmp_path: Path) -> None:
    answer(key)

    assert why(key, answer(ApprovalKey(tmp_path / "theirs"))) == "its signature is not ours"


def test_p11_a_genuine_response_counts_only_for_its_own_request(key: ApprovalKey) -> None:
    response = answer(key)

    assert "another turn" in why(key, response, session_id="x")
    assert "another turn" in why(key, response, turns=["u"])
    assert "another directory" in why(key, response, cwd="/q")
    assert "another call" in why(key, response, REQUEST.model_copy(update={"call_id": "c2"}))
    assert "arguments" in why(key, response, REQUEST.model_copy(update={"arguments_json": "{}"}))
    assert "files changed" in why(key, response, REQUEST.model_copy(update={"bases": {"/p/a.txt": "aa"}}))
    assert "other permissions" in why(key, response, REQUEST.model_copy(update={"permissions": ()}))
    assert "used before" in why(key, response, used=[response.nonce])
    assert "too old" in why(key, response, now=time.time() + 8 * 86_400)


def test_a_broken_key_file_is_said(key: ApprovalKey, tmp_path: Path) -> None:
    answer(key)
    (tmp_path / "keys" / "approvals.key").write_bytes(b"short")

    with pytest.raises(SessionError, match="no approval key"):
        answer(key)


class Scene:
    """A session whose turn waits for two writes, made with the real rounds."""

    def __init__(self, tmp_path: Path, workspace: Path) -> None:
        self.workspace = workspace
        self.store = SessionStore(tmp_path / "sessions")
        self.key = ApprovalKey(tmp_path / "keys")
        self.keys = tmp_path / "keys"
        self.provider = ScriptedProvider(
            [
                calls(
                    use("write", {"path": "a.txt", "text": "A"}, call_id="c1"),
                    use("write", {"path": "b.txt", "text": "B"}, call_id="c2"),
                    use("read", {"path": "r"}, call_id="c3"),
                ),
                text("all done"),
            ]
        )

    def agent(self, session: Session, approver: object) -> Agent:
        world = make_world(self.workspace)
        rounds: Rounds = world.rounds
        rounds.approver, rounds.journal = approver, session
        restored = session.restored(keep_pending=True)

        async def environment() -> str:
            return ""

        return Agent(
            provider=self.provider,
            rounds=rounds,
            tools=rounds.tools,
            sink=world.sink,
            journal=session,
            system="",
            environment=environment,
            history=restored.messages,
            known=restored.known,
        )

    async def pause(self) -> str:
        session = self.store.create(self.workspace)
        result = await self.agent(session, DeferringApprover()).run("write both")
        assert result.stop_reason == "pending_approvals"
        session.close()
        return session.id

    async def resume(self, session_id: str) -> TurnResult:
        session = self.store.open(session_id)
        approver = recorded_approver(session, key=self.key, cwd=session.workspace)
        result = await self.agent(session, approver).redrive()
        self.refused = approver.refused
        session.close()
        return result

    def run(self, *arguments: str, is_person: bool = True) -> tuple[int, str]:
        said: list[str] = []
        code = main(
            arguments, root=self.store.root, keys=self.keys, say=said.append, is_person=lambda: is_person
        )
        return code, "\n".join(said)

    def files(self) -> list[str]:
        return sorted(path.name for path in self.workspace.iterdir())


@pytest.fixture
def scene(tmp_path: Path, workspace: Path) -> Scene:
    return Scene(tmp_path, workspace)


async def test_p05_p10_a_paused_turn_has_no_effect_and_holds_no_lock(scene: Scene) -> None:
    session_id = await scene.pause()

    assert scene.files() == []
    assert [(w.request.call_id, w.answered) for w in waiting(scene.store)] == [("c1", False), ("c2", False)]
    scene.store.open(session_id).close()


async def test_p06_p12_approved_calls_run_denied_ones_say_so_and_the_rest_still_waits(scene: Scene) -> None:
    session_id = await scene.pause()
    first = await asyncio.to_thread(scene.run, "allow", "c1")
    half = await scene.resume(session_id)
    assert first[0] == 0
    assert half.stop_reason == "pending_approvals"
    assert scene.files() == ["a.txt"]

    await asyncio.to_thread(scene.run, "deny", "c2", "--reason", "not there")
    whole = await scene.resume(session_id)

    assert whole.stop_reason == "end_turn"
    assert scene.files() == ["a.txt"]
    outputs = result_texts(scene.provider.requests[1].messages[-1])
    assert [o.split("\n")[0][:16] for o in outputs] == ["wrote a.txt", "Denied by the us", "read r"]
    assert "not there" in outputs[1]
    assert problems_of(scene.provider.requests[1].messages) == []
    assert list(waiting(scene.store)) == []


@pytest.mark.parametrize(
    ("is_person", "reason", "decided_by"), [(True, "person", "person"), (False, "program", "hook")]
)
async def test_p14_who_answered_is_signed_and_kept(
    scene: Scene, is_person: bool, reason: str, decided_by: str
) -> None:
    session_id = await scene.pause()
    await asyncio.to_thread(scene.run, "allow", "c1", is_person=is_person)
    session = scene.store.open(session_id)
    [response] = responses_of(session.records())
    session.close()
    await scene.resume(session_id)

    assert response.reason == reason
    assert {one.decided_by for one in response.permissions} == {decided_by}
    assert scene.key.is_genuine(response)
    other = "program" if is_person else "person"
    assert not scene.key.is_genuine(response.model_copy(update={"reason": other}))
    assert scene.files() == ["a.txt"]


def test_p14_input_that_is_no_terminal_is_a_programs() -> None:
    code = "from agent_tui.sessions.approval_commands import at_terminal; print(at_terminal())"
    primary, secondary = os.openpty()

    typed = subprocess.check_output([sys.executable, "-c", code], stdin=secondary, text=True)
    piped = subprocess.check_output([sys.executable, "-c", code], stdin=subprocess.PIPE, text=True)
    os.close(primary)
    os.close(secondary)

    assert (typed.strip(), piped.strip()) == ("True", "False")


async def test_p11_a_replayed_or_copied_response_counts_nothing(scene: Scene) -> None:
    session_id = await scene.pause()
    await asyncio.to_thread(scene.run, "allow", "c1")
    session = scene.store.open(session_id)
    genuine = next(r["response"] for r in session.records() if r["type"] == "signed_response")
    await session.add_response({**genuine, "call_id": "c2", "request_id": "x"})
    await session.add_response({"nonsense": True})
    session.close()

    result = await scene.resume(session_id)

    assert [p.call_id for p in result.pending_approvals] == ["c2"]
    assert scene.files() == ["a.txt"]
    assert any("signature" in text for text in scene.refused)


async def test_p13_edited_arguments_are_what_runs(scene: Scene, tmp_path: Path) -> None:
    session_id = await scene.pause()
    edited = tmp_path / "args.json"
    edited.write_text(json.dumps({"path": "a.txt", "text": "EDITED"}))
    await asyncio.to_thread(scene.run, "allow", "c1", "--args-file", str(edited))
    await asyncio.to_thread(scene.run, "deny", "c2")

    await scene.resume(session_id)

    assert (scene.workspace / "a.txt").read_text() == "EDITED"


async def test_arguments_without_end_are_refused(scene: Scene, capsys: pytest.CaptureFixture[str]) -> None:
    await scene.pause()

    assert scene.run("allow", "c1", "--args-file", "/dev/zero")[0] == 1
    assert "/dev/zero: holds more than 10,000,000 bytes" in capsys.readouterr().err


async def test_an_agent_cannot_approve_itself(scene: Scene, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    await scene.pause()
    monkeypatch.setenv("AGENT_TUI_CHILD", "1")

    assert scene.run("allow", "c1")[0] == 1
    assert "cannot approve" in capsys.readouterr().err
    assert scene.run("list")[1].count("waits") == 2


async def test_list_and_show_name_what_waits(scene: Scene, capsys) -> None:
    assert scene.run("list") == (0, "Nothing waits for approval.")
    await scene.pause()

    assert "c1  waits  Write: a.txt" in scene.run("list")[1]
    assert "needs      write" in scene.run("show", "c1")[1]
    assert scene.run("show", "c")[0] == 1
    assert "2 waiting approvals" in capsys.readouterr().err
