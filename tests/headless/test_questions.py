import asyncio
import json
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from agent_tui.headless.command_approver import CommandApprover
from agent_tui.headless.questions import AnswerRejected, Ground, question, read_answer, verdicts
from agent_tui.headless.stream_approver import StreamApprover
from agent_tui.protocol.data import JsonObject
from agent_tui.protocol.permissions import DecidedBy, Decision, PermissionKind, PermissionRequest, Scope
from tests.support.approval_requests import bash_request, edit_request, permission, tool_request

GROUND = Ground(Path("/proj"), Path("/home/me"))
OUTSIDE = permission(PermissionKind.WRITE, "/etc/hosts", id="out")


def answer(*decisions: JsonObject, request_id: str = "approval-1") -> str:
    return json.dumps({"type": "approval_response", "request_id": request_id, "decisions": list(decisions)})


def call(call_id: str, *permissions: JsonObject, **more: object) -> JsonObject:
    return {"call_id": call_id, "permissions": list(permissions), **more}


def allow(id: str = "p0", **more: str) -> JsonObject:
    return {"id": id, "decision": "allow", **more}


def read(text: str, *requests: PermissionRequest):
    return verdicts(read_answer(text), requests, GROUND, by=DecidedBy.PERSON)


def test_p08_a_question_holds_id_tool_arguments_title_permissions_and_preview() -> None:
    asked = question("approval-1", [edit_request("c1"), bash_request("c2", extra=(OUTSIDE,))], GROUND)

    assert (asked["type"], asked["request_id"]) == ("approval_request", "approval-1")
    first, second = asked["items"]
    assert (first["call_id"], first["tool"], first["title"]) == ("c1", "edit", "src/app.py")
    assert first["arguments"] == {"file_path": "src/app.py"}
    assert first["preview"]["content"].startswith("--- a/src/app.py")
    assert first["permissions"] == [
        {
            "id": "p0",
            "kind": "write",
            "target": "/proj/src/app.py",
            "pattern": "Edit(/src/app.py)",
            "risk": "medium",
            "reason": "",
        }
    ]
    assert [one["id"] for one in second["permissions"]] == ["p0", "out"]
    json.dumps(asked)


def test_an_answer_decides_each_permission_of_each_call() -> None:
    text = answer(
        call("c1", allow(scope="project"), feedback="go"),
        call("c2", allow(), {"id": "out", "decision": "deny"}, edited_arguments={"command": "ls"}),
    )

    found = read(text, edit_request("c1"), bash_request("c2", extra=(OUTSIDE,)), tool_request("c3"))

    [lasting] = found["c1"].permissions
    assert (lasting.scope, lasting.pattern) == (Scope.PROJECT, "Edit(/src/app.py)")
    assert found["c1"].feedback == "go"
    assert [one.decision for one in found["c2"].permissions] == [Decision.ALLOW, Decision.DENY]
    assert found["c2"].edited_arguments == {"command": "ls"}
    assert "c3" not in found


def test_a_permission_that_is_missing_in_an_answer_is_denied() -> None:
    found = read(answer(call("c1", allow())), bash_request("c1", extra=(OUTSIDE,)))

    assert {one.permission_id: one.decision for one in found["c1"].permissions} == {
        "p0": Decision.ALLOW,
        "out": Decision.DENY,
    }


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("no json", "is not valid JSON"),
        ("[]", "an object is expected"),
        (answer(call("other", allow())), "'other' was not asked"),
        (answer(call("c1", allow("p9"))), "does not need permission 'p9'"),
        (answer(call("c1", allow()), call("c1", allow())), "answered twice"),
        (answer(call("c1", allow(), allow())), "answered twice"),
        (answer(call("c1", allow(decision="maybe"))), "allow"),
        (answer(call("c1", allow(scope="forever"))), "scope"),
        (answer(call("c1", allow(scope="user", pattern="Edit(/docs/**)"))), "does not cover"),
        (answer(call("c1", allow(), surprise=1)), "surprise"),
        (answer(call("c2", allow("out", scope="session"))), "once only"),
    ],
)
def test_an_answer_that_does_not_fit_is_rejected_whole(text: str, why: str) -> None:
    outside = edit_request("c2").model_copy(update={"permissions": (OUTSIDE,)})

    with pytest.raises(AnswerRejected, match=why):
        read(text, edit_request("c1"), outside)


class Peer:
    """Answers what the stream asks, line by line."""

    def __init__(self, *answers: str) -> None:
        self.lines: list[JsonObject] = []
        self.rejected: list[str] = []
        self.approver = StreamApprover(self._take, GROUND)
        self._answers = list(answers)

    def _take(self, line: JsonObject) -> None:
        self.lines.append(line)
        asyncio.get_running_loop().call_soon(self._reply)

    def _reply(self) -> None:
        for text in self._answers:
            if text == "end":
                self.approver.end()
                continue
            try:
                self.approver.answer(read_answer(text))
            except AnswerRejected as error:
                self.rejected.append(str(error))


async def test_a_stale_or_unknown_id_leaves_the_question_open() -> None:
    peer = Peer(
        answer(call("c1", allow()), request_id="approval-7"),
        answer(call("c1", allow()), call("c9", allow())),
        answer(call("c1", allow())),
        answer(call("c1", {"id": "p0", "decision": "deny"})),
    )

    found = await peer.approver.review([edit_request("c1")])

    assert found["c1"].permissions[0].decision is Decision.ALLOW
    assert [reason.split(" ")[0] for reason in peer.rejected] == ["no", "call", "no"]
    with pytest.raises(AnswerRejected):
        peer.approver.answer(read_answer(answer(call("c1", allow()))))


async def test_item_23_h64_the_end_of_the_input_denies_what_is_open_and_all_that_follows() -> None:
    peer = Peer("end")

    first = await peer.approver.review([edit_request("c1")])
    second = await peer.approver.review([edit_request("c2")])

    for verdict in (first["c1"], second["c2"]):
        assert verdict.unasked
        assert verdict.permissions[0].decision is Decision.DENY
    assert len(peer.lines) == 1


async def test_two_questions_may_be_open_at_once() -> None:
    peer = Peer()
    async with asyncio.TaskGroup() as group:
        one = group.create_task(peer.approver.review([edit_request("c1")]))
        two = group.create_task(peer.approver.review([edit_request("c2")]))
        while len(peer.lines) < 2:
            await asyncio.sleep(0)
        peer.approver.answer(read_answer(answer(call("c2", allow()), request_id="approval-2")))
        peer.approver.answer(read_answer(answer(request_id="approval-1")))

    assert one.result() == {}
    assert set(two.result()) == {"c2"}


YES = """
import json, sys
asked = json.load(sys.stdin)
calls = [{"call_id": i["call_id"], "permissions": [{"id": p["id"], "decision": "allow"} for p in i["permissions"]],
          "feedback": i["title"]} for i in asked["items"]]
print(json.dumps({"type": "approval_response", "request_id": asked["request_id"], "decisions": calls}))
"""


def program(source: str, said: list[str], *, limit_s: float = 20.0) -> CommandApprover:
    command: Sequence[str] = [sys.executable, "-c", source]
    return CommandApprover(command, ground=GROUND, say=said.append, limit_s=limit_s)


async def test_a_permission_command_gets_one_object_and_gives_one() -> None:
    said: list[str] = []

    found = await program(YES, said).review([edit_request("c1"), bash_request("c2")])

    assert {call_id: verdict.permissions[0].decision for call_id, verdict in found.items()} == {
        "c1": Decision.ALLOW,
        "c2": Decision.ALLOW,
    }
    assert found["c1"].permissions[0].decided_by is DecidedBy.HOOK
    assert said == []


@pytest.mark.parametrize(
    "source",
    [
        "raise SystemExit(1)",
        "print('yes')",
        "",
        YES.replace('asked["request_id"]', '"approval-1"'),
        YES + "\nraise SystemExit(3)",
        "print('x' * 2_000_000)",
    ],
    ids=["exit code", "no JSON", "silence", "another id", "answer and exit code", "too much"],
)
async def test_a_permission_command_that_fails_is_a_no(source: str) -> None:
    said: list[str] = []

    found = await program(source, said).review([edit_request("c1")])

    assert found["c1"].unasked
    assert "the calls are denied" in said[0]


async def test_a_permission_command_that_takes_too_long_is_a_no_and_is_ended(tmp_path: Path) -> None:
    said: list[str] = []
    source = f"import os, time; open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid())); time.sleep(600)"

    found = await program(source, said, limit_s=2.0).review([edit_request("c1")])

    assert found["c1"].unasked
    assert "within 2 s" in said[0]
    pid = int((tmp_path / "pid").read_text())
    assert not Path(f"/proc/{pid}").exists()


async def test_a_permission_command_that_is_not_there_is_a_no() -> None:
    said: list[str] = []
    approver = CommandApprover(["/nowhere/program"], ground=GROUND, say=said.append)

    found = await approver.review([edit_request("c1")])

    assert found["c1"].unasked
