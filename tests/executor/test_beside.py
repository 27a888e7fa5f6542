from pathlib import Path

from agent_tui.executor.hooks import BeforeCall
from agent_tui.protocol.events import ApprovalRequested
from agent_tui.protocol.permissions import DecidedBy, Decision, PermissionDecision, Verdict
from tests.support.round_world import (
    Approver,
    FakePolicy,
    Hooks,
    RoundWorld,
    call,
    effects,
    make_world,
    output,
)


def asked(world: RoundWorld) -> list[ApprovalRequested]:
    return [event for event in world.sink.events if isinstance(event, ApprovalRequested)]


async def test_a_review_tells_what_rules_settled_beside_what_it_asks(workspace: Path) -> None:
    world = make_world(
        workspace,
        policy=FakePolicy(deny=["bash"]),
        hooks=Hooks({"c4": BeforeCall(block="not today")}),
    )

    await world.run(
        call("c0", "read", path="a"),
        call("c1", "write", path="b"),
        call("c2", "bash", command="ls"),
        call("c3", "nosuch"),
        call("c4", "read", path="c"),
    )

    [event] = asked(world)
    assert event.order == ("c0", "c1", "c2", "c3", "c4")
    assert [request.call_id for request in event.requests] == ["c1"]
    assert [
        (request.call_id, request.permissions, [one.decision for one in request.decided])
        for request in event.settled
    ] == [("c0", (), [Decision.ALLOW]), ("c2", (), [Decision.DENY]), ("c4", (), [Decision.DENY])]
    rules = {request.call_id: request.decided[-1].rule for request in event.settled[1:]}
    assert [rule.text for rule in rules.values() if rule] == [
        "Permission denied for tool bash by rule deny bash",
        "Blocked by a hook: not today",
    ]
    assert event.settled[2].decided[0].decided_by is DecidedBy.HOOK


async def test_h62_no_approver_gets_a_settled_call_and_no_answer_to_one_counts(workspace: Path) -> None:
    allow_all = Verdict(
        call_id="c0", permissions=(PermissionDecision(permission_id="x", decision=Decision.ALLOW),)
    )

    class Eager(Approver):
        async def review(self, requests):
            return {**await super().review(requests), "c0": allow_all}

    approver = Eager()
    world = make_world(workspace, approver=approver, policy=FakePolicy(deny=["bash"]))

    batch = await world.run(call("c0", "bash", command="ls"), call("c1", "write", path="a"))

    assert approver.asked == [["c1"]]
    assert effects(batch) == {"c0": "denied", "c1": "ran"}
    assert world.journal.kinds().count("approval_requested") == 1


async def test_a_second_review_tells_nothing_settled_again(workspace: Path) -> None:
    approver = Approver(before=lambda requests: (workspace / "a").write_text("meanwhile"))
    world = make_world(workspace, approver=approver)

    await world.run(call("c0", "read", path="x"), call("c1", "write", path="a", text="new"))

    first, second = asked(world)
    assert [request.call_id for request in first.settled] == ["c0"]
    assert (second.settled, second.order) == ((), ())


async def test_h65_when_every_call_is_denied_the_round_still_answers_each(workspace: Path) -> None:
    world = make_world(workspace, approver=Approver(deny=["c0", "c1"], feedback={"c1": "use make"}))

    batch = await world.run(call("c0", "write", path="a"), call("c1", "bash", command="pytest"))

    assert effects(batch) == {"c0": "denied", "c1": "denied"}
    assert all(one.result.is_error for one in batch.outcomes)
    assert output(batch, "c1").endswith("The user says: use make")
    assert not batch.cancelled


async def test_any_denial_in_a_verdict_denies_the_call(workspace: Path) -> None:
    both = Verdict(
        call_id="c0",
        permissions=(
            PermissionDecision(permission_id="w", decision=Decision.ALLOW),
            PermissionDecision(permission_id="", decision=Decision.DENY),
        ),
        feedback="no",
    )
    world = make_world(workspace, approver=Approver({"c0": both}))

    batch = await world.run(call("c0", "write", path="a"))

    assert effects(batch) == {"c0": "denied"}
    assert "The user says: no" in output(batch, "c0")
