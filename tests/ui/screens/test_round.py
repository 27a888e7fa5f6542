import asyncio
from pathlib import Path

import pytest

from agent_tui.protocol.permissions import DecidedBy, Decision, PermissionKind, Scope
from agent_tui.ui.screens.approval.grouping import Grouper
from agent_tui.ui.screens.approval.round import Round, Row
from tests.support.approval_requests import (
    bash_request,
    edit_request,
    fetch_request,
    mixed_round,
    permission,
    tool_request,
)


def round_of(*requests, now: float = 100.0) -> tuple[Round, asyncio.Event]:
    answered = asyncio.Event()
    found = Round(Grouper(Path("/proj"), Path("/home/me")), lambda: now)
    found.append(requests, answered)
    return found, answered


def never(_row: Row) -> bool:
    return False


def row_of(found: Round, call_id: str) -> Row:
    row = found.find(call_id)
    assert row is not None
    return row


def test_item_14_one_permission_decides_every_call_that_needs_it() -> None:
    found, _ = round_of(edit_request("c1", "src/a.py"), edit_request("c2", "src/b.py"), bash_request("c3"))

    [edits, _bash] = found.groups()
    found.decide_group(edits, Decision.ALLOW, Scope.ONCE, edits.pattern)

    assert [row.state for row in found.rows] == ["allowed", "allowed", "open"]


def test_item_14_a_call_with_two_permissions_runs_only_if_both_are_allowed() -> None:
    outside = permission(PermissionKind.WRITE, "/etc/hosts", id="p1")
    found, _ = round_of(bash_request("c1", "tee /etc/hosts", extra=(outside,)))
    row = row_of(found, "c1")

    found.decide_permission(row, row.request.permissions[0], Decision.ALLOW, Scope.ONCE, "")
    assert row.state == "partial"
    assert [one.decision for one in row.verdict().permissions] == [Decision.ALLOW, Decision.DENY]

    found.decide_permission(row, outside, Decision.ALLOW, Scope.ONCE, "")
    assert row.state == "allowed"


def test_a_pattern_edited_away_from_a_call_allows_that_call_once_only() -> None:
    found, _ = round_of(edit_request("c1", "src/a.py"), edit_request("c2", "src/b.py"))
    [edits] = found.groups()

    found.decide_group(edits, Decision.ALLOW, Scope.PROJECT, "Edit(/src/a.py)")

    stored = {row.call_id: (one.scope, one.pattern) for row in found.rows for one in row.decisions.values()}
    assert stored == {"c1": (Scope.PROJECT, "Edit(/src/a.py)"), "c2": (Scope.ONCE, "")}


def test_a71_one_denied_permission_denies_the_call() -> None:
    outside = permission(PermissionKind.WRITE, "/etc/hosts", id="p1")
    found, _ = round_of(bash_request("c1", "tee /etc/hosts", extra=(outside,)))
    row = row_of(found, "c1")

    found.decide(row, Decision.ALLOW)
    found.decide_permission(row, outside, Decision.DENY, Scope.ONCE, "")

    assert row.state == "denied"


def test_pe_16_a_lasting_answer_releases_the_twins_visibly() -> None:
    fetches = [fetch_request(f"c{i}", f"https://docs.example.com/{i}") for i in range(5)]
    found, _ = round_of(*fetches)

    assert found.decide(row_of(found, "c0"), Decision.ALLOW, Scope.SESSION) == ""

    assert found.counts() == (5, 0, 0)
    released = row_of(found, "c3").decisions["p0"]
    assert released.decided_by is DecidedBy.RULE
    assert released.rule is not None
    assert released.rule.text == "WebFetch(domain:docs.example.com), allowed for this session just now"


def test_taking_a_lasting_answer_back_takes_what_it_released_back() -> None:
    found, _ = round_of(*(fetch_request(f"c{i}", f"https://docs.example.com/{i}") for i in range(3)))
    row = row_of(found, "c0")

    found.decide(row, Decision.ALLOW, Scope.SESSION)
    found.decide(row, Decision.DENY)

    assert [one.state for one in found.rows] == ["denied", "open", "open"]


def test_a_lasting_answer_does_not_release_high_risk_calls_that_were_not_looked_at() -> None:
    from agent_tui.protocol.permissions import Risk

    found, _ = round_of(edit_request("c1"), edit_request("c2", risk=Risk.HIGH))

    found.decide(row_of(found, "c1"), Decision.ALLOW, Scope.SESSION)

    assert row_of(found, "c2").state == "open"


def test_what_has_no_pattern_cannot_be_allowed_for_longer() -> None:
    found, _ = round_of(bash_request("c1", "python -c 'x'", pattern="", reason="interpreter"))

    assert "interpreter" in found.decide(row_of(found, "c1"), Decision.ALLOW, Scope.SESSION)
    assert row_of(found, "c1").state == "open"


def test_everything_for_the_session_stores_exactly_each_permission_shown() -> None:
    found, _ = round_of(*mixed_round())

    skipped = found.decide_all(Decision.ALLOW, Scope.SESSION, 200.0, 0.5, needs_look=never)

    assert skipped == 2
    stored = {(row.call_id, one.scope, one.pattern) for row in found.rows for one in row.decisions.values()}
    assert ("c1", Scope.SESSION, "Edit(/src/**)") in stored
    assert ("c4", Scope.SESSION, "Bash(ruff check *)") in stored
    assert row_of(found, "c3").state == "open"
    assert row_of(found, "c7").state == "open"


def test_item_26_keys_for_everything_skip_high_rows_until_they_were_looked_at() -> None:
    found, _ = round_of(*mixed_round())
    for row in found.rows:
        row.looked_at = True

    assert found.decide_all(Decision.ALLOW, Scope.ONCE, 200.0, 0.5, needs_look=never) == 0
    assert found.counts() == (7, 0, 0)


def test_rows_that_have_just_come_are_not_allowed_by_a_key_for_everything() -> None:
    found, _ = round_of(bash_request("c1"), now=100.0)

    assert found.decide_all(Decision.ALLOW, Scope.ONCE, 100.2, 0.5, needs_look=never) == 1
    assert found.counts() == (0, 0, 1)


def test_a_caller_is_answered_when_its_own_rows_are_decided() -> None:
    found, first = round_of(bash_request("c1"))
    second = asyncio.Event()
    found.append([bash_request("c2", "ls -la"), bash_request("c3")], second)

    found.decide(row_of(found, "c1"), Decision.ALLOW)
    found.decide(row_of(found, "c2"), Decision.DENY)
    found.send_decided()

    assert first.is_set()
    assert not second.is_set()
    assert set(found.answers(["c1", "c2", "c3"])) == {"c1"}


def test_h64_giving_up_denies_everything_also_what_was_allowed() -> None:
    found, answered = round_of(bash_request("c1"), bash_request("c2"))
    found.decide(row_of(found, "c1"), Decision.ALLOW)

    found.give_up()

    assert answered.is_set()
    verdicts = found.answers(["c1", "c2"])
    assert all(one.decision is Decision.DENY for verdict in verdicts.values() for one in verdict.permissions)


@pytest.mark.parametrize("unasked", [True, False])
def test_giving_up_says_whether_anybody_answered(unasked: bool) -> None:
    found, _ = round_of(bash_request("c1"), bash_request("c2"))
    found.decide(row_of(found, "c1"), Decision.ALLOW)

    found.give_up(unasked=unasked)

    assert [verdict.unasked for verdict in found.answers(["c1", "c2"]).values()] == [unasked, unasked]


def test_a_denied_call_without_permissions_keeps_its_words() -> None:
    request = tool_request("c1").model_copy(update={"permissions": ()})
    found, _ = round_of(request)
    row = row_of(found, "c1")
    row.feedback = "not this one"

    found.decide(row, Decision.DENY)
    found.send_all()

    verdict = found.answers(["c1"])["c1"]
    assert verdict.feedback == "not this one"
    assert [one.decision for one in verdict.permissions] == [Decision.DENY]


def test_a20_equal_permissions_are_one_row_with_its_calls() -> None:
    found, _ = round_of(*mixed_round())

    groups = found.groups()

    assert [(group.pattern or group.target, len(group.calls)) for group in groups][:2] == [
        ("Edit(/src/**)", 2),
        ("pytest -q && git push --force", 1),
    ]


def test_a75_more_than_fifty_calls_wait_as_long_as_it_takes() -> None:
    now = [100.0]
    found = Round(Grouper(Path("/proj"), Path("/home/me")), lambda: now[0])
    requests = [edit_request(f"c{index}", f"src/{index}.py") for index in range(60)]
    found.append(requests, asyncio.Event())

    now[0] += 86_400
    found.append([bash_request("later")], asyncio.Event())

    assert [row.call_id for row in found.rows] == [*(f"c{index}" for index in range(60)), "later"]
    assert found.counts() == (0, 0, 61)
