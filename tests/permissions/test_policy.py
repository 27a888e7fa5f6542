from typing import Any

import pytest

from agent_tui.permissions.modes import Mode
from agent_tui.protocol.permissions import (
    Decision,
    PermissionDecision,
    PermissionKind,
    PermissionRequest,
    Scope,
    Verdict,
)

READ, WRITE, EXECUTE, NETWORK, TOOL = PermissionKind


def test_item_18_a_write_grant_covers_a_read_and_a_read_grant_no_write(desk: Any) -> None:
    outside = desk.project.parent / "other" / "a.txt"

    desk.make(allow=[f"Edit(/{outside})"])
    assert not desk.ask(READ, outside).asking
    assert not desk.ask(WRITE, outside).asking

    desk.make(allow=[f"Read(/{outside})"])
    assert not desk.ask(READ, outside).asking
    assert desk.ask(WRITE, outside).asking


@pytest.mark.parametrize("mode", list(Mode))
def test_a_deny_rule_holds_in_every_mode(desk: Any, mode: Mode) -> None:
    desk.make(mode=mode, deny=["Bash(rm *)"], allow=["Bash(rm *)"])

    review = desk.ask(EXECUTE, "rm x")

    assert "Bash(rm *)" in review.denial
    assert "config.toml, line 1" in review.denial


def test_reading_the_project_runs_and_reading_outside_asks(desk: Any) -> None:
    assert not desk.ask(READ, desk.project / "a.py").asking
    assert desk.ask(READ, "/etc/hosts").asking
    assert desk.ask(READ, desk.project / ".env").asking


def test_item_17_an_always_answer_holds_at_once_and_after_a_restart(desk: Any) -> None:
    review = desk.ask(EXECUTE, "npm test")
    (permission,) = review.asking
    request = PermissionRequest(
        request_id="r", call_id="c", tool="bash", title="npm test", permissions=review.asking
    )
    answer = PermissionDecision(
        permission_id=permission.id, decision=Decision.ALLOW, scope=Scope.PROJECT, pattern=permission.pattern
    )

    desk.policy.record(request, Verdict(call_id="c", permissions=(answer,)))
    desk.policy.record(request, Verdict(call_id="c", permissions=(answer,)))

    assert not desk.ask(EXECUTE, "npm test").asking
    desk.make()
    assert not desk.ask(EXECUTE, "npm test").asking
    assert desk.ask(EXECUTE, "npm test; rm x").asking
    assert len((desk.state / "grants.jsonl").read_text().splitlines()) == 1
    assert (desk.state / "grants.jsonl").stat().st_mode & 0o777 == 0o600
    desk.make(deny=["Bash(npm *)"])
    assert desk.ask(EXECUTE, "npm test").denial
