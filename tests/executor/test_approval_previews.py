import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from agent_tui.executor.hooks import AfterCall, BeforeCall, HookChain
from agent_tui.protocol.display import ChangePreview
from agent_tui.protocol.events import ToolStarted
from agent_tui.protocol.permissions import (
    PermissionRequest,
    Verdict,
)
from tests.support.round_world import (
    Approver,
    FakePolicy,
    Hooks,
    call,
    effects,
    make_world,
    outcome,
    output,
)


async def test_previews_are_ready_before_the_question(workspace: Path) -> None:
    (workspace / "a").write_text("old")
    world = make_world(workspace)

    await world.run(call("c0", "write", path="a", text="new"))

    (request,) = world.approver.requests
    assert isinstance(request.preview, ChangePreview)
    assert request.preview.content == "-b'old'\n+new"
    assert list(request.bases) == [str(workspace / "a")]


async def test_a_call_whose_preview_says_it_cannot_work_is_not_asked(workspace: Path) -> None:
    world = make_world(workspace)

    batch = await world.run(call("c0", "write", path="a", how="impossible"), call("c1", "write", path="b"))

    assert effects(batch) == {"c0": "invalid", "c1": "ran"}
    assert output(batch, "c0") == "this cannot work"
    assert world.approver.asked == [["c1"]]


@pytest.mark.parametrize(
    ("how", "said"), [("preview-fault", "broken preview"), ("preview-hangs", "took longer than 0.05 s")]
)
async def test_a_preview_that_fails_is_asked_without_one(workspace: Path, how: str, said: str) -> None:
    world = make_world(workspace, preview_limit_s=0.05)

    await world.run(call("c0", "write", path="a", how=how))

    (request,) = world.approver.requests
    assert request.preview is not None
    assert said in request.preview.content


async def test_no_preview_is_computed_when_nothing_is_asked(workspace: Path) -> None:
    world = make_world(workspace, policy=FakePolicy(allow=["write"]))

    batch = await world.run(call("c0", "write", path="a", how="impossible"))

    assert effects(batch) == {"c0": "ran"}


async def test_previews_behind_a_command_are_marked_as_perhaps_outdated(workspace: Path) -> None:
    world = make_world(workspace, approver=Approver(deny=["c1"]))

    await world.run(
        call("c0", "write", path="a"), call("c1", "bash", command="make"), call("c2", "write", path="b")
    )

    assert [(r.call_id, r.may_change) for r in world.approver.requests] == [
        ("c0", False),
        ("c1", False),
        ("c2", True),
    ]


async def test_an_approved_call_gets_what_it_was_granted_to_touch(workspace: Path) -> None:
    batch = await make_world(workspace).run(call("c0", "bash", command="ls"))

    assert outcome(batch, "c0").result.data == {"write_dirs": ["ls"]}


async def test_item_22_edited_arguments_run_and_the_model_is_told(workspace: Path) -> None:
    edit = Verdict(call_id="c0", edited_arguments={"command": "echo two"})
    world = make_world(workspace, approver=Approver({"c0": edit}))

    batch = await world.run(call("c0", "bash", command="echo one"))

    assert world.approver.asked == [["c0"]]
    assert output(batch, "c0").startswith("ran echo two\n\n[The user changed the arguments")
    assert json.loads(outcome(batch, "c0").call.arguments_json) == {"command": "echo two"}
    (event,) = world.sink.of(ToolStarted)
    assert isinstance(event, ToolStarted)
    assert event.title == "echo two"


@pytest.mark.parametrize("command", ["rm -r .", "echo > /etc/x"])
async def test_an_edit_that_needs_more_is_asked_again(workspace: Path, command: str) -> None:
    edit = Verdict(call_id="c0", edited_arguments={"command": command})
    world = make_world(workspace, approver=Approver({"c0": edit}))

    batch = await world.run(call("c0", "bash", command="echo one"), call("c1", "write", path="a"))

    assert world.approver.asked == [["c0", "c1"], ["c0"]]
    assert "needs more" in world.approver.requests[-1].reason
    assert effects(batch) == {"c0": "ran", "c1": "ran"}


async def test_an_edited_path_is_another_target_and_asked_again(workspace: Path) -> None:
    edit = Verdict(call_id="c0", edited_arguments={"path": "other", "text": "x"})
    no = Verdict(call_id="c0", permissions=())
    world = make_world(workspace, approver=Approver({"c0": edit}, {"c0": no}))

    batch = await world.run(call("c0", "write", path="a", text="x"))

    assert effects(batch) == {"c0": "denied"}
    assert list(workspace.iterdir()) == []


async def test_an_edit_that_is_invalid_or_denied_by_rule_does_not_run(workspace: Path) -> None:
    edit = Verdict(call_id="c0", edited_arguments={"path": 3})
    impossible = Verdict(call_id="c1", edited_arguments={"path": "b", "how": "impossible"})
    world = make_world(workspace, approver=Approver({"c0": edit, "c1": impossible}))

    batch = await world.run(call("c0", "write", path="a"), call("c1", "write", path="b"))

    assert effects(batch) == {"c0": "invalid", "c1": "invalid"}


async def test_endless_edits_end_as_a_denial(workspace: Path) -> None:
    edits = [
        {"c0": Verdict(call_id="c0", edited_arguments={"path": f"f{i}", "text": "x"})} for i in range(20)
    ]
    world = make_world(workspace, approver=Approver(*edits))

    batch = await world.run(call("c0", "write", path="a"))

    assert effects(batch) == {"c0": "denied"}
    assert list(workspace.iterdir()) == []


async def test_accepted_hunks_reach_the_tool_and_the_model_hears_what_was_left_out(workspace: Path) -> None:
    world = make_world(workspace, approver=Approver({"c0": Verdict(call_id="c0", accepted_hunks=(0, 2))}))

    batch = await world.run(call("c0", "write", path="a"))

    assert output(batch, "c0") == ("wrote a hunks (0, 2)\n\n[The user accepted hunk 1, 3 of 3; left out: 2.]")


async def test_a_change_of_which_no_hunk_was_accepted_does_not_run(workspace: Path) -> None:
    world = make_world(workspace, approver=Approver({"c0": Verdict(call_id="c0", accepted_hunks=())}))

    assert effects(await world.run(call("c0", "write", path="a"))) == {"c0": "denied"}


async def test_x13_a_hook_looks_before_the_question_and_after_the_run(workspace: Path) -> None:
    hooks = Hooks()
    order: list[str] = []
    approver = Approver(before=lambda _: order.extend([*hooks.saw, "asked"]))
    world = make_world(workspace, approver=approver, hooks=hooks)

    await world.run(call("c0", "bash", command="ls"))

    assert order == ['before c0 {"command": "ls"}', "asked"]
    assert hooks.saw[-1] == "after c0 6"


async def test_item_31_rewritten_arguments_are_checked_shown_and_run(workspace: Path) -> None:
    hooks = Hooks({"c0": BeforeCall(arguments_json='{"path": "b", "text": "hook"}', context="be brief")})
    world = make_world(workspace, hooks=hooks)

    batch = await world.run(call("c0", "write", path="a", text="model"))

    (request,) = world.approver.requests
    assert (request.title, request.arguments_json) == ("b", '{"path": "b", "text": "hook"}')
    assert (workspace / "b").read_text() == "hook"
    rewritten = '[A hook changed the arguments of this call before it ran: {"path": "b", "text": "hook"}]'
    assert output(batch, "c0") == f"wrote b\n\n{rewritten}\n\nbe brief"
    assert request.reason.startswith("a hook changed the arguments")


@pytest.mark.parametrize("rewritten", ["{", '{"path": 3}'])
async def test_a_hook_that_rewrites_into_nonsense_makes_the_call_invalid(
    workspace: Path, rewritten: str
) -> None:
    world = make_world(workspace, hooks=Hooks({"c0": BeforeCall(arguments_json=rewritten)}))

    assert effects(await world.run(call("c0", "write", path="a"))) == {"c0": "invalid"}


@pytest.mark.parametrize("hooks", [Hooks({"c0": BeforeCall(block="not on Fridays")}), Hooks(fail="before")])
async def test_item_31_a_hook_that_blocks_or_fails_wins(workspace: Path, hooks: Hooks) -> None:
    world = make_world(workspace, hooks=hooks)

    batch = await world.run(call("c0", "write", path="a"))

    assert effects(batch) == {"c0": "denied"}
    assert world.approver.asked == []


async def test_a_hook_may_ask_for_a_person_where_the_rules_would_not(workspace: Path) -> None:
    hooks = Hooks({"c0": BeforeCall(ask="looks odd")})
    world = make_world(workspace, hooks=hooks, policy=FakePolicy(allow=["write"]))

    batch = await world.run(call("c0", "write", path="a"))

    (request,) = world.approver.requests
    assert [p.reason for p in request.permissions] == ["looks odd"]
    assert effects(batch) == {"c0": "ran"}


async def test_p16_a_hook_may_redact_a_result_and_its_failure_withholds_it(workspace: Path) -> None:
    redact = Hooks(after={"c0": AfterCall(output="[redacted]", context="x" * 5000)})
    redacted = await make_world(workspace, hooks=redact).run(call("c0", path="a"))
    failed = await make_world(workspace, hooks=Hooks(fail="after")).run(call("c0", path="a"))

    assert output(redacted, "c0") == "[redacted]\n\n" + "x" * 4096 + "..."
    assert "a hook failed on its result" in output(failed, "c0")
    assert "read a" not in output(failed, "c0")


async def test_x13_of_several_hooks_rewrites_chain_and_the_first_block_wins(workspace: Path) -> None:
    first = Hooks({"c0": BeforeCall(arguments_json='{"path": "b"}', context="one")})
    second = Hooks({"c0": BeforeCall(context="two")}, {"c0": AfterCall(output="changed")})
    blocking = Hooks({"c1": BeforeCall(block="first")})
    never = Hooks({"c1": BeforeCall(block="second")})
    world = make_world(workspace, hooks=HookChain([first, second, blocking, never]))

    batch = await world.run(call("c0", path="a"), call("c1", path="a"))

    assert second.saw[0] == 'before c0 {"path": "b"}'
    assert output(batch, "c0").startswith("changed\n\n[A hook changed the arguments")
    assert output(batch, "c0").endswith("\n\none\ntwo")
    assert output(batch, "c1") == "Blocked by a hook: first"


async def test_an_edit_passes_the_hooks_too(workspace: Path) -> None:
    class NoRemoval(Hooks):
        async def before(self, call, ctx):
            return BeforeCall(block="no rm") if '"rm' in call.arguments_json else BeforeCall()

    edit = Verdict(call_id="c0", edited_arguments={"command": "rm x"})
    world = make_world(workspace, approver=Approver({"c0": edit}), hooks=NoRemoval())

    batch = await world.run(call("c0", "bash", command="ls"))

    assert effects(batch) == {"c0": "denied"}
    assert world.log.lines == []


def deferred(*ids: str) -> dict[str, Verdict | None]:
    return {call_id: Verdict(call_id=call_id, deferred=True) for call_id in ids}


async def test_p05_p10_a_deferred_round_has_had_no_side_effect(workspace: Path) -> None:
    world = make_world(workspace, approver=Approver(deferred("w0")))

    batch = await world.run(call("r", path="a"), call("w0", "write", path="a"), call("w1", "write", path="b"))

    assert effects(batch) == {"r": "pending", "w0": "pending", "w1": "pending"}
    assert [request.call_id for request in batch.pending] == ["w0", "w1"]
    assert world.log.lines == []
    assert world.journal.kinds() == ["round_started", "approval_requested"]
    assert world.policy.recorded == []


async def test_p12_a_resumed_round_runs_what_is_decided_and_keeps_the_rest_waiting(workspace: Path) -> None:
    approver = Approver(deferred("w0", "w1", "w2"), deferred("w2"), deny=["w1"])
    world = make_world(workspace, approver=approver)
    calls = [call("r", path="a"), *(call(f"w{i}", "write", path=f"f{i}") for i in range(3))]

    await world.run(*calls)
    second = await world.run(*calls, resumed={})
    known = {o.tool_use_id: o for o in second.outcomes if o.effect != "pending"}
    third = await world.run(*calls, resumed=known)

    assert effects(second) == {"r": "ran", "w0": "ran", "w1": "denied", "w2": "pending"}
    assert [request.call_id for request in second.pending] == ["w2"]
    assert effects(third) == {"r": "ran", "w0": "ran", "w1": "denied", "w2": "ran"}
    assert world.log.lines.count("start w0") == 1


async def test_item_20_a_call_whose_base_moved_comes_up_in_a_second_review(workspace: Path) -> None:
    (workspace / "a").write_text("old")
    world = make_world(workspace)

    batch = await world.run(
        call("c0", "write", path="a", text="one"),
        call("c1", "write", path="a", text="two"),
        call("c2", "write", path="b", text="x"),
    )

    assert world.approver.asked == [["c0", "c1", "c2"], ["c1"]]
    second = world.approver.requests[-1]
    assert second.second_review
    assert second.preview is not None
    assert second.preview.content == "-b'one'\n+two"
    assert effects(batch) == {"c0": "ran", "c1": "ran", "c2": "ran"}
    assert (workspace / "a").read_text() == "two"
    assert world.log.lines.index("end c2") < world.log.lines.index("start c1")


async def test_a_change_accepted_in_part_is_asked_again_although_a_lasting_answer_covers_it_by_then(
    workspace: Path,
) -> None:
    (workspace / "a").write_text("old")
    part = Verdict(call_id="c1", accepted_hunks=(1,))
    approver = Approver({"c1": part}, {"c1": part.model_copy(update={"accepted_hunks": (2,)})}, always={"c0"})
    world = make_world(workspace, approver=approver)

    batch = await world.run(
        call("c0", "write", path="a", text="one"), call("c1", "write", path="a", text="two")
    )

    assert world.approver.asked == [["c0", "c1"], ["c1"]]
    assert effects(batch) == {"c0": "ran", "c1": "ran"}
    assert "hunks (2,)" in output(batch, "c1")
    assert "accepted hunk 3 of 3" in output(batch, "c1")
    assert "accepted hunk 2 of 3" not in output(batch, "c1")


async def test_pe_20_a_base_that_became_a_link_while_asking_is_not_written(workspace: Path) -> None:
    outside = workspace.parent / "outside.txt"
    outside.write_text("keep")
    (workspace / "a").write_text("old")

    def swap(requests: Sequence[PermissionRequest]) -> None:
        if not requests[0].second_review:
            (workspace / "a").unlink()
            (workspace / "a").symlink_to(outside)

    world = make_world(workspace, approver=Approver({}, {"c0": None}, before=swap))

    batch = await world.run(call("c0", "write", path="a", text="x"))

    assert effects(batch) == {"c0": "denied"}
    assert outside.read_text() == "keep"


async def test_headless_a_moved_base_is_the_error_changed_since_approval(workspace: Path) -> None:
    (workspace / "a").write_text("old")
    unasked = {"c1": Verdict(call_id="c1", permissions=(), unasked=True)}
    world = make_world(workspace, approver=Approver({}, unasked))

    batch = await world.run(
        call("c0", "write", path="a", text="one"), call("c1", "write", path="a", text="two")
    )

    assert effects(batch) == {"c0": "ran", "c1": "denied"}
    assert f"{workspace / 'a'} changed since approval" in output(batch, "c1")
    assert (workspace / "a").read_text() == "one"


async def test_a_change_found_by_the_file_toolkit_is_reviewed_once_more_and_no_more(workspace: Path) -> None:
    world = make_world(workspace)

    batch = await world.run(call("c0", "write", path="a", how="late-change"))

    assert world.approver.asked == [["c0"], ["c0"]]
    assert effects(batch) == {"c0": "denied"}
    assert "changed since approval" in output(batch, "c0")


async def test_a_session_grant_answers_the_second_review_by_itself(workspace: Path) -> None:
    (workspace / "a").write_text("old")
    world = make_world(workspace, approver=Approver(always=["c0"]))

    batch = await world.run(
        call("c0", "write", path="a", text="one"), call("c1", "write", path="a", text="two")
    )

    assert world.approver.asked == [["c0", "c1"]]
    assert effects(batch) == {"c0": "ran", "c1": "ran"}


async def test_a_command_whose_directory_moved_meanwhile_is_judged_where_it_runs(workspace: Path) -> None:
    (workspace / "sub").mkdir()
    world = make_world(workspace)

    batch = await world.run(
        call("c0", "bash", command="cd sub"),
        call("c1", "bash", command="echo > out"),
        call("c2", "bash", command="make"),
    )

    assert world.approver.asked == [["c0", "c1", "c2"], ["c1"]]
    assert world.approver.requests[-1].permissions[1].target == str(workspace / "sub" / "out")
    assert effects(batch) == {"c0": "ran", "c1": "ran", "c2": "ran"}
