from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from agent_tui.protocol.events import ApprovalDecided, ApprovalRequested
from agent_tui.protocol.permissions import (
    Decision,
    PermissionDecision,
    PermissionKind,
    PermissionRequest,
    Verdict,
)
from agent_tui.toolkit.testing import RecordingJournal
from tests.support.round_world import (
    Approver,
    FakePolicy,
    call,
    effects,
    make_world,
    outcome,
    output,
)


async def test_a04_a06_one_question_holds_every_permission_and_nothing_starts_before(workspace: Path) -> None:
    seen: list[list[str]] = []
    approver = Approver(before=lambda requests: seen.append(list(world.log.lines)))
    world = make_world(workspace, approver=approver)

    await world.run(
        call("w0", "write", path="a"), call("w1", "write", path="b"), call("r", path="/outside/file")
    )

    assert approver.asked == [["w0", "w1", "r"]]
    assert seen == [[]]
    assert [p.kind for request in approver.requests for p in request.permissions] == [
        PermissionKind.WRITE,
        PermissionKind.WRITE,
        PermissionKind.READ,
    ]


async def test_a05_item_15_no_question_when_nothing_remains_to_be_asked(workspace: Path) -> None:
    world = make_world(workspace, policy=FakePolicy(allow=["write"]))

    await world.run(call("r", path="a"), call("w", "write", path="b"))

    assert world.approver.asked == []
    assert world.sink.of(ApprovalRequested) == []


async def test_a07_a22_a_denied_call_fails_alone_in_its_own_place(workspace: Path) -> None:
    world = make_world(workspace, approver=Approver(deny=["w1"]))

    batch = await world.run(*(call(f"w{i}", "write", path=f"f{i}", text="x") for i in range(3)))

    assert list(effects(batch).items()) == [("w0", "ran"), ("w1", "denied"), ("w2", "ran")]
    assert sorted(path.name for path in workspace.iterdir()) == ["f0", "f2"]


async def test_item_14_a_call_with_two_permissions_runs_only_if_both_are_allowed(workspace: Path) -> None:
    verdict = Verdict(
        call_id="c0", permissions=(PermissionDecision(permission_id="x", decision=Decision.ALLOW),)
    )
    world = make_world(workspace, approver=Approver({"c0": verdict}))

    batch = await world.run(call("c0", "bash", command="echo > out"))

    assert effects(batch) == {"c0": "denied"}
    assert world.log.lines == []


async def test_a71_a_permission_both_allowed_and_denied_is_denied(workspace: Path) -> None:
    both = tuple(
        PermissionDecision(permission_id="x", decision=decision)
        for decision in (Decision.ALLOW, Decision.DENY)
    )
    world = make_world(workspace, approver=Approver({"c0": Verdict(call_id="c0", permissions=both)}))

    assert effects(await world.run(call("c0", "bash", command="ls"))) == {"c0": "denied"}


async def test_item_16_a74_once_ends_with_its_round(workspace: Path) -> None:
    world = make_world(workspace)

    await world.run(call("c0", "write", path="a"))
    await world.run(call("c1", "write", path="a"))

    assert world.approver.asked == [["c0"], ["c1"]]


async def test_item_17_always_allow_silences_the_next_round(workspace: Path) -> None:
    world = make_world(workspace, approver=Approver(always=["c0"]))

    await world.run(call("c0", "write", path="a"))
    batch = await world.run(call("c1", "write", path="a"))

    assert world.approver.asked == [["c0"]]
    assert effects(batch) == {"c1": "ran"}


async def test_item_22_p11_changed_arguments_are_asked_again(workspace: Path) -> None:
    world = make_world(workspace)

    await world.run(call("c0", "bash", command="make"))
    await world.run(call("c1", "bash", command="make install"))

    assert world.approver.asked == [["c0"], ["c1"]]


async def test_p11_a_request_names_its_arguments_byte_for_byte(workspace: Path) -> None:
    world = make_world(workspace)

    await world.run(call("c0", "bash", command="make"))
    await world.run(call("c0", "bash", command="make "))
    await world.run(call("c0", "bash", command="make"), turn_id="t1")

    first, second, again = world.approver.requests
    assert first.arguments_json == '{"command": "make"}'
    assert first.args_sha256 != second.args_sha256
    assert first.request_id != second.request_id
    assert first.request_id == again.request_id


async def test_a77_request_ids_differ_within_a_round(workspace: Path) -> None:
    world = make_world(workspace)

    await world.run(call("c0", "write", path="a"), call("c1", "write", path="a"))

    first, second = world.approver.requests[:2]
    assert first.request_id != second.request_id


@pytest.mark.parametrize("lost", [["c0"], ["c0", "c1"]])
async def test_item_23_a_missing_answer_is_a_denial(workspace: Path, lost: list[str]) -> None:
    world = make_world(workspace, approver=Approver(missing=lost))

    batch = await world.run(call("c0", "write", path="a"), call("c1", "write", path="b"))

    assert {cid for cid, effect in effects(batch).items() if effect == "denied"} == set(lost)
    (event,) = world.sink.of(ApprovalDecided)
    assert isinstance(event, ApprovalDecided)
    assert [v.call_id for v in event.verdicts] == ["c0", "c1"]


async def test_item_23_an_approver_that_fails_denies_all(workspace: Path) -> None:
    class Broken:
        async def review(self, requests: Sequence[PermissionRequest]) -> Mapping[str, Verdict]:
            raise OSError("the terminal is gone")

    world = make_world(workspace, approver=Broken())

    batch = await world.run(call("c0", "write", path="a"), call("r", path="a"))

    assert effects(batch) == {"c0": "denied", "r": "ran"}
    assert "the terminal is gone" in output(batch, "c0")


async def test_item_25_the_persons_words_reach_the_model_denied_or_allowed(workspace: Path) -> None:
    approver = Approver(deny=["c0"], feedback={"c0": "use the other file", "c1": "mind the tabs"})
    world = make_world(workspace, approver=approver)

    batch = await world.run(call("c0", "write", path="a"), call("c1", "write", path="b"))

    assert "use the other file" in output(batch, "c0")
    assert output(batch, "c1") == "wrote b\n\n[The user allowed this call and says: mind the tabs]"


async def test_a_denial_nobody_was_asked_for_says_so_and_is_marked(workspace: Path) -> None:
    unasked = Verdict(call_id="c0", permissions=(), unasked=True)
    world = make_world(workspace, approver=Approver({"c0": unasked}))

    batch = await world.run(call("c0", "bash", command="ls"))

    assert "nobody could be asked" in output(batch, "c0")
    assert "execute ls" in output(batch, "c0")
    assert outcome(batch, "c0").result.data == {"unasked": True}


async def test_item_28_question_and_answer_are_on_disk_around_the_screen(workspace: Path) -> None:
    journal = RecordingJournal()
    at_review: list[list[str]] = []
    approver = Approver(before=lambda _: at_review.append(journal.kinds()))
    world = make_world(workspace, approver=approver, journal=journal)

    await world.run(call("c0", "write", path="a"))

    assert at_review == [["round_started", "approval_requested"]]
    assert journal.kinds() == ["round_started", "approval_requested", "approval_decided", "outcome"]


@pytest.mark.parametrize("record", ["approval_requested", "approval_decided"])
async def test_item_28_a_question_or_answer_that_is_not_on_disk_is_a_no(workspace: Path, record: str) -> None:
    world = make_world(workspace, journal=RecordingJournal(fail=[record]))

    batch = await world.run(call("c0", "write", path="a"), call("r", path="a"))

    assert effects(batch) == {"c0": "denied", "r": "ran"}
    assert list(workspace.iterdir()) == []
    assert world.approver.asked == ([] if record == "approval_requested" else [["c0"]])


async def test_m22_item_31_an_audit_that_cannot_be_written_refuses(workspace: Path) -> None:
    world = make_world(workspace, policy=FakePolicy(audit_fails=True))

    batch = await world.run(call("c0", "write", path="a"))

    assert effects(batch) == {"c0": "denied"}
    assert "could not be recorded" in output(batch, "c0")
    assert list(workspace.iterdir()) == []


async def test_item_30_a_foreign_tool_is_asked_for_though_it_claims_to_read(workspace: Path) -> None:
    world = make_world(workspace)

    await world.run(call("c0", "mcp__server__probe"))

    (request,) = world.approver.requests
    assert [(p.kind, p.target) for p in request.permissions] == [(PermissionKind.TOOL, "mcp__server__probe")]


async def test_h62_a_denied_rule_is_a_result_and_the_rest_is_asked_together(workspace: Path) -> None:
    world = make_world(workspace, policy=FakePolicy(deny=["bash"]))

    batch = await world.run(
        call("c0", "bash", command="ls"), call("c1", "write", path="a"), call("c2", "write", path="b")
    )

    assert effects(batch) == {"c0": "denied", "c1": "ran", "c2": "ran"}
    assert "by rule deny bash" in output(batch, "c0")
    assert world.approver.asked == [["c1", "c2"]]


async def test_the_same_call_denied_in_a_turn_is_answered_alike_without_asking(workspace: Path) -> None:
    world = make_world(workspace, approver=Approver(deny=["c0"], feedback={"c0": "never that"}))

    await world.run(call("c0", "write", path="a", text="x"))
    again = await world.run(call("c1", "write", text="x", path="a"))
    other = await world.run(call("c2", "write", path="a", text="y"))
    next_turn = await world.run(call("c3", "write", path="a", text="x"), turn_id="t1")

    assert effects(again) == {"c1": "denied"}
    assert "never that" in output(again, "c1")
    assert world.approver.asked == [["c0"], ["c2"], ["c3"]]
    assert (effects(other), effects(next_turn)) == ({"c2": "ran"}, {"c3": "ran"})
