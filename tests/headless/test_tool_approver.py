import json
from typing import Any

import pytest

from agent_tui.headless.tool_approver import ToolApprover
from agent_tui.protocol.errors import ToolError
from agent_tui.protocol.permissions import Decision, Permission, PermissionKind, PermissionRequest


def request(call_id: str, **arguments: Any) -> PermissionRequest:
    permission = Permission(id="run", kind=PermissionKind.EXECUTE, target="touch a", pattern="touch *")
    return PermissionRequest(
        request_id=f"r-{call_id}",
        call_id=call_id,
        tool="bash",
        title="touch a",
        permissions=(permission,),
        arguments_json=json.dumps(arguments),
        args_sha256="0" * 64,
    )


class Asked:
    def __init__(self, *answers: object) -> None:
        self.answers = list(answers)
        self.calls: list[dict[str, Any]] = []
        self.said: list[str] = []

    async def __call__(self, asked: dict[str, Any]) -> str:
        self.calls.append(asked)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer if isinstance(answer, str) else json.dumps(answer)

    def approver(self) -> ToolApprover:
        return ToolApprover("mcp__gate__decide", self, say=self.said.append)


async def test_each_request_is_one_call_and_each_answer_holds_once() -> None:
    tool = Asked(
        {"behavior": "allow"},
        {"behavior": "deny", "message": "no", "interrupt": True},
        {"behavior": "allow", "updatedInput": {"command": "b"}},
    )
    verdicts = await tool.approver().review([request(c, command="a") for c in ("c0", "c1", "c2")])

    assert [call["tool_use_id"] for call in tool.calls] == ["c0", "c1", "c2"]
    assert [v.permissions[0].decision for v in verdicts.values()] == [
        Decision.ALLOW,
        Decision.DENY,
        Decision.ALLOW,
    ]
    assert {v.permissions[0].scope for v in verdicts.values()} == {"once"}
    assert [v.edited_arguments for v in verdicts.values()] == [None, None, {"command": "b"}]
    assert verdicts["c1"].feedback == "no"
    assert tool.said == []


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "yes",
        "{}",
        "[]",
        {"behavior": "allow "},
        {"behavior": True},
        {"behavior": "allow", "updatedInput": "x"},
        ToolError("the server ended"),
    ],
    ids=str,
)
async def test_what_is_no_answer_is_a_no_and_is_said(answer: object) -> None:
    tool = Asked(answer)
    verdict = (await tool.approver().review([request("c0", command="a")]))["c0"]

    assert verdict.permissions[0].decision is Decision.DENY
    assert verdict.unasked
    assert len(tool.said) == 1
    assert "the call of bash is denied" in tool.said[0]
