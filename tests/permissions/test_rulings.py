import asyncio
import json
from typing import Any

from agent_tui.conversation.rulings import PolicyRulings
from agent_tui.permissions.modes import Mode
from agent_tui.protocol.permissions import Decision, PermissionDecision, PermissionKind, Verdict


def decide(desk: Any, command: str, decision: Decision) -> None:
    review = desk.ask(PermissionKind.EXECUTE, command)
    answer = PermissionDecision(permission_id=review.asking[0].id, decision=decision)
    desk.record(desk.request(review), Verdict(call_id="c", permissions=(answer,)))


def test_recent_decisions_come_newest_first_with_what_could_be_stored(desk: Any) -> None:
    decide(desk, "npm test", Decision.ALLOW)
    decide(desk, "make", Decision.DENY)

    newest, oldest = PolicyRulings(desk.policy).recent()

    assert (newest.decision, newest.target, newest.by, newest.scope) == ("deny", "make", "person", "once")
    assert (oldest.decision, oldest.pattern) == ("allow", "Bash(npm test *)")


def test_a_decision_is_promoted_with_the_pattern_it_names(desk: Any) -> None:
    decide(desk, "npm test", Decision.ALLOW)
    rulings = PolicyRulings(desk.policy)

    said = asyncio.run(rulings.promote(rulings.recent()[0].number, "project"))

    assert said == "Always allowed from now on (project): Bash(npm test *)"
    assert desk.run("npm test") == "allow"


def test_what_can_hold_once_only_is_not_promoted(desk: Any) -> None:
    decide(desk, "eval $x", Decision.ALLOW)
    rulings = PolicyRulings(desk.policy)

    assert "once only" in asyncio.run(rulings.promote(rulings.recent()[0].number, "user"))
    assert "once only" in asyncio.run(rulings.promote(99, "user"))


def test_p15_allowing_everything_is_a_mode_of_its_own_and_recorded_as_such(desk: Any) -> None:
    desk.make(mode=Mode.BYPASS)

    assert desk.run("npm test") == "allow"

    [line] = [json.loads(text) for text in (desk.state / "audit.jsonl").read_text().splitlines()]
    assert (line["who"], line["decision"], line["scope"]) == ("mode", "allow", "once")
    assert "bypass" in line["rule"]
    [recent] = PolicyRulings(desk.policy).recent()
    assert "bypass" in recent.by


def test_a_promoted_decision_stores_no_more_than_what_was_decided(desk: Any) -> None:
    target = str(desk.project / "src" / "petals.py")
    review = desk.ask(PermissionKind.WRITE, target, pattern="Edit(/src/**)")
    [asking] = review.asking
    answer = PermissionDecision(permission_id=asking.id, decision=Decision.ALLOW)
    desk.record(desk.request(review), Verdict(call_id="c", permissions=(answer,)))
    rulings = PolicyRulings(desk.policy)
    [shown] = rulings.recent()

    said = asyncio.run(rulings.promote(shown.number, "project"))

    assert asking.pattern == "Edit(/src/**)"
    assert shown.pattern == "Edit(/src/petals.py)"
    assert said.endswith(": Edit(/src/petals.py)")
