import asyncio
import fcntl
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from agent_tui.permissions.audit import AuditLog
from agent_tui.permissions.grammar import Layer
from agent_tui.permissions.grants import GrantStore, new_grant
from agent_tui.permissions.modes import Mode, next_mode, parse_mode
from agent_tui.permissions.rules import RuleBook, RuleProblem
from agent_tui.protocol.permissions import (
    Decision,
    PermissionDecision,
    PermissionRequest,
    Scope,
    Verdict,
)
from agent_tui.sandbox.interface import Profile
from tests.support.policy_world import EXECUTE, READ, WRITE


def test_pe_18_a69_a_session_answer_lasts_the_session_and_no_longer(desk: Any) -> None:
    desk.always(desk.ask(EXECUTE, "npm test"))

    assert desk.run("npm test") == "allow"
    assert desk.run("npm test") == "allow"
    desk.make()
    assert desk.run("npm test") == "ask"


def test_a74_item_16_once_ends_with_the_round(desk: Any) -> None:
    review = desk.ask(EXECUTE, "npm test")
    answer = PermissionDecision(permission_id=review.asking[0].id, decision=Decision.ALLOW)
    desk.record(desk.request(review), Verdict(call_id="c", permissions=(answer,)))

    assert desk.run("npm test") == "ask"


def test_a70_item_15_what_is_granted_is_not_shown_again(desk: Any) -> None:
    desk.make(allow=["Bash(npm *)"])

    review = desk.ask(EXECUTE, "npm test && make")

    assert [p.target for p in review.asking] == ["make"]


def test_item_22_a_grant_is_for_these_arguments(desk: Any) -> None:
    desk.always(desk.ask(EXECUTE, "python3 a.py"))

    assert desk.run("python3 a.py") == "allow"
    assert desk.run("python3  'a.py'") == "allow"
    assert desk.run("python3 a.py x") == "ask"
    assert desk.run("python3 b.py") == "ask"


def test_x21_an_always_answer_covers_only_what_was_shown(desk: Any) -> None:
    desk.always(desk.ask(WRITE, desk.project / "a.txt", pattern="Edit(/a.txt)"), tool="write")

    assert desk.can(WRITE, desk.project / "a.txt") == "allow"
    assert desk.can(WRITE, desk.project / "b.txt") == "ask"
    assert desk.run("npm test") == "ask"


def test_a61_an_expired_grant_never_counts(desk: Any) -> None:
    store = GrantStore(desk.state)
    now = datetime.now(UTC)
    for minutes in (-1, 5):
        store.add(
            new_grant(
                decision=Decision.ALLOW,
                tool="bash",
                kind=EXECUTE,
                pattern=f"Bash(x{minutes})",
                scope=Scope.USER,
                project=desk.project,
                now=now,
                expires_at=now + timedelta(minutes=minutes),
            )
        )

    assert desk.run("x5") == "allow"
    assert desk.run("x-1") == "ask"
    assert [rule.text for rule in desk.policy.rules()] == ["Bash(x5)"]


def test_a_project_grant_counts_only_in_its_project(desk: Any, tmp_path: Path) -> None:
    desk.always(desk.ask(EXECUTE, "npm test"), scope=Scope.PROJECT)
    desk.always(desk.ask(EXECUTE, "make"), scope=Scope.USER)

    desk.project = tmp_path / "elsewhere"
    desk.project.mkdir()
    desk.make()
    assert desk.run("npm test") == "ask"
    assert desk.run("make") == "allow"


def test_grants_are_revoked_one_by_one(desk: Any) -> None:
    desk.always(desk.ask(EXECUTE, "npm test"))
    desk.always(desk.ask(EXECUTE, "make"), scope=Scope.PROJECT)
    first, second = desk.policy.rules()

    assert asyncio.run(desk.policy.remove(first.rule_id))
    assert asyncio.run(desk.policy.remove(second.rule_id))
    assert asyncio.run(desk.policy.remove("none")) is None
    assert desk.run("npm test") == "ask"
    assert desk.run("make") == "ask"


def test_a_recent_decision_can_be_promoted(desk: Any) -> None:
    review = desk.ask(EXECUTE, "npm test")
    answer = PermissionDecision(permission_id=review.asking[0].id, decision=Decision.ALLOW)
    desk.record(desk.request(review), Verdict(call_id="c", permissions=(answer,)))
    (recent,) = desk.policy.recent

    assert asyncio.run(desk.policy.promote(recent.number, Scope.PROJECT))
    assert desk.run("npm test") == "allow"
    assert asyncio.run(desk.policy.promote(99, Scope.PROJECT)) is None


def test_a_broken_grant_line_voids_allowances_and_keeps_denials(desk: Any) -> None:
    desk.always(desk.ask(EXECUTE, "npm test"), scope=Scope.USER)
    desk.always(desk.ask(EXECUTE, "make"), scope=Scope.USER, decision=Decision.DENY)
    with (desk.state / "grants.jsonl").open("a") as file:
        file.write('{"id": "x", "decision": "de\n')

    desk.make()
    assert desk.run("npm test") == "ask"
    assert desk.run("make") == "deny"
    with pytest.raises(OSError, match="repair"):
        desk.always(desk.ask(EXECUTE, "npm test"), scope=Scope.USER)


def test_cf_01_a_broken_rule_file_lets_nothing_run_unasked(desk: Any) -> None:
    policy = desk.make(mode=Mode.ACCEPT_EDITS, allow=["Bash(npm *)"])
    policy.book = RuleBook(
        policy.book.rules, problems=[RuleProblem("Expected '=' at line 3", "/c/config.toml", 3)]
    )

    assert desk.run("npm test") == "ask"
    assert desk.run("ls") == "ask"
    assert desk.can(READ, desk.project / "a") == "ask"
    assert desk.can(WRITE, desk.project / "a") == "ask"
    assert "/c/config.toml:3" in (desk.ask(EXECUTE, "ls").parts[0].rule.text)


def test_the_allow_rules_of_a_project_need_trust_and_its_deny_rules_do_not(desk: Any) -> None:
    desk.make(
        layer=Layer.PROJECT, trusted=False, allow=["Bash(npm *)"], deny=["Bash(make *)"], ask=["Bash(ls *)"]
    )
    assert (desk.run("npm test"), desk.run("make"), desk.run("ls")) == ("ask", "deny", "ask")

    desk.make(layer=Layer.PROJECT, trusted=True, allow=["Bash(npm *)", "Bash(sudo *)", "Bash(git push *)"])
    assert desk.run("npm test") == "allow"
    assert desk.run("sudo ls") == "ask"
    desk.make(layer=Layer.USER, allow=["Bash(sudo *)"])
    assert desk.run("sudo ls") == "allow"


def test_m22_item_31_without_an_audit_line_the_answer_is_no(desk: Any) -> None:
    review = desk.ask(EXECUTE, "npm test")
    (desk.state / "audit.jsonl").mkdir()
    answer = PermissionDecision(
        permission_id=review.asking[0].id,
        decision=Decision.ALLOW,
        scope=Scope.SESSION,
        pattern="Bash(npm test)",
    )

    with pytest.raises(OSError, match="audit"):
        desk.record(desk.request(review), Verdict(call_id="c", permissions=(answer,)))
    assert desk.run("npm test") == "ask"
    desk.make(allow=["Bash(npm *)"])
    assert "audit" in desk.ask(EXECUTE, "npm test").denial


def test_the_audit_says_who_what_rule_scope_when_and_which_arguments(desk: Any) -> None:
    desk.always(desk.ask(EXECUTE, "npm test"), scope=Scope.PROJECT)
    desk.make(deny=["Bash(rm *)"])
    desk.run("rm x")
    desk.run("npm test")
    desk.run("ls")

    entries = list(AuditLog(desk.state).read())

    assert [(e.who, e.decision, e.scope, e.target) for e in entries] == [
        ("person", "allow", "project", "npm test"),
        ("rule", "deny", "once", "rm x"),
        ("rule", "allow", "once", "npm test"),
    ]
    assert (entries[0].args_sha256, entries[0].call_id, entries[0].pattern) == ("aa", "c", "Bash(npm test *)")
    assert entries[1].rule == "deny Bash(rm *) (config.toml:1)"
    assert entries[2].rule.endswith("grants.jsonl:1)")
    assert datetime.fromisoformat(entries[0].when).tzinfo is not None
    assert (desk.state / "audit.jsonl").stat().st_mode & 0o777 == 0o600


def test_an_edited_pattern_that_is_no_rule_is_not_stored(desk: Any) -> None:
    review = desk.ask(EXECUTE, "npm test")
    answer = PermissionDecision(
        permission_id=review.asking[0].id, decision=Decision.ALLOW, scope=Scope.PROJECT, pattern="Bash()"
    )

    desk.record(desk.request(review), Verdict(call_id="c", permissions=(answer,)))

    assert list(desk.policy.rules()) == []


def test_nothing_lasting_is_stored_where_none_was_offered(desk: Any) -> None:
    review = desk.ask(WRITE, desk.project / ".env")
    answer = PermissionDecision(
        permission_id=review.asking[0].id, decision=Decision.ALLOW, scope=Scope.USER, pattern="Edit(/.env)"
    )

    desk.record(desk.request(review, tool="write"), Verdict(call_id="c", permissions=(answer,)))

    assert list(desk.policy.rules()) == []


def test_an_approved_command_may_touch_what_was_approved_and_no_more(desk: Any) -> None:
    out = desk.project.parent / "outside"
    review = desk.ask(EXECUTE, f"curl -s https://a.com/x -o {out}/x; dig b.com")
    request = desk.request(review)
    answers = [PermissionDecision(permission_id=p.id, decision=Decision.ALLOW) for p in review.asking]

    granted = desk.policy.confinement(request, Verdict(call_id="c", permissions=tuple(answers)))
    assert (granted.profile, granted.write_dirs, granted.hosts, granted.host_network) == (
        Profile.WORKSPACE,
        (out,),
        ("a.com",),
        True,
    )

    desk.make(allow=["Bash(curl *)", "WebFetch(domain:a.com)", f"Edit(/{out}/**)"])
    review = desk.ask(EXECUTE, f"curl -s https://a.com/x -o {out}/x")
    assert review.asking == ()
    assert (review.confinement.write_dirs, review.confinement.hosts) == ((out,), ("a.com",))


def test_reading_commands_run_read_only_and_others_in_the_workspace(desk: Any) -> None:
    desk.make(mode=Mode.AUTO)

    assert desk.ask(EXECUTE, "ls | wc -l").confinement.profile is Profile.READ_ONLY
    assert desk.ask(EXECUTE, "npm test").confinement.profile is Profile.WORKSPACE
    assert desk.ask(EXECUTE, "ls > a.txt").confinement.profile is Profile.WORKSPACE
    review = desk.ask(EXECUTE, "cat /etc/hosts")
    answers = tuple(PermissionDecision(permission_id=p.id, decision=Decision.ALLOW) for p in review.asking)
    assert (
        desk.policy.confinement(desk.request(review), Verdict(call_id="c", permissions=answers)).profile
        is Profile.READ_ONLY
    )


def test_permission_ids_are_unique_within_a_call(desk: Any) -> None:
    review = desk.ask(EXECUTE, "npm a; npm b; curl a.com b.com > ../outside/x; cat /etc/hosts")

    ids = [permission.id for permission in review.permissions]
    assert len(ids) == len(set(ids)) > 5


def test_a77_request_ids_do_not_matter_to_grants(desk: Any) -> None:
    first, second = desk.ask(EXECUTE, "npm a"), desk.ask(EXECUTE, "npm b")
    for number, review in enumerate((first, second)):
        request = PermissionRequest(
            request_id="same", call_id=f"c{number}", tool="bash", title="t", permissions=review.asking
        )
        decision = Decision.ALLOW if number == 0 else Decision.DENY
        answer = PermissionDecision(
            permission_id=review.asking[0].id,
            decision=decision,
            scope=Scope.SESSION,
            pattern=review.asking[0].pattern,
        )
        desk.record(request, Verdict(call_id=f"c{number}", permissions=(answer,)))

    assert (desk.run("npm a"), desk.run("npm b")) == ("allow", "deny")


def test_modes_are_found_by_every_spelling() -> None:
    assert [
        parse_mode(text) for text in ("acceptEdits", "dont_ask", "bypassPermissions", "yolo", "plan")
    ] == [Mode.ACCEPT_EDITS, Mode.DONT_ASK, Mode.BYPASS, Mode.BYPASS, Mode.PLAN]
    with pytest.raises(ValueError, match="default, accept-edits"):
        parse_mode("x")
    mode, seen = Mode.DEFAULT, set[Mode]()
    for _ in range(8):
        mode = next_mode(mode)
        seen.add(mode)
    assert seen == {Mode.DEFAULT, Mode.ACCEPT_EDITS, Mode.PLAN}
    assert {next_mode(mode) for mode in (Mode.AUTO, Mode.BYPASS, Mode.DONT_ASK)} == {Mode.DEFAULT}


def test_two_programs_share_the_grants_file(desk: Any) -> None:
    first, second = GrantStore(desk.state), GrantStore(desk.state)
    for number, store in enumerate((first, second, first)):
        store.add(
            new_grant(
                decision=Decision.ALLOW,
                tool="bash",
                kind=EXECUTE,
                pattern=f"Bash(x{number})",
                scope=Scope.USER,
                project=desk.project,
                now=datetime.now(UTC),
            )
        )

    assert [grant.pattern for grant in second.all()] == ["Bash(x0)", "Bash(x1)", "Bash(x2)"]
    assert [grant.line for grant in first.all()] == [1, 2, 3]
    assert not list(desk.state.glob(".*.tmp"))


async def test_lasting_answer_waits_for_another_program_beside_the_event_loop(desk: Any) -> None:
    review = desk.ask(EXECUTE, "npm test")
    answer = PermissionDecision(
        permission_id=review.asking[0].id,
        decision=Decision.ALLOW,
        scope=Scope.PROJECT,
        pattern="Bash(npm test)",
    )
    other_program = os.open(desk.state / "grants.lock", os.O_RDWR | os.O_CREAT)
    fcntl.flock(other_program, fcntl.LOCK_EX)

    storing = asyncio.create_task(
        desk.policy.record(desk.request(review), Verdict(call_id="c", permissions=(answer,)))
    )
    _, waiting = await asyncio.wait({storing}, timeout=0.05)
    os.close(other_program)
    await storing

    assert waiting == {storing}
    assert [grant.pattern for grant in GrantStore(desk.state).all()] == ["Bash(npm test)"]
    assert desk.run("npm test") == "allow"
