from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from agent_tui.executor.hooks import BeforeCall, HookChain
from agent_tui.protocol.events import ApprovalRequested
from agent_tui.protocol.permissions import DecidedBy, Permission
from agent_tui.protocol.tools import ToolCall
from agent_tui.toolkit.context import ToolContext
from tests.support.round_world import Approver, FakePolicy, Hooks, call, make_world


class Questions:
    def __init__(self, said: Mapping[str, BeforeCall] | None = None, *, fail: bool = False) -> None:
        self._said, self._fail = said or {}, fail
        self.saw: list[tuple[str, list[str]]] = []

    async def asked(self, call: ToolCall, permissions: Sequence[Permission], ctx: ToolContext) -> BeforeCall:
        self.saw.append((call.call_id, [permission.target for permission in permissions]))
        if self._fail:
            raise ValueError("hook broke")
        return self._said.get(call.call_id, BeforeCall())


async def test_only_what_would_be_asked_is_shown_to_them_once_per_call(workspace: Path) -> None:
    questions = Questions()
    world = make_world(workspace, questions=questions)

    await world.run(call("r", path="a"), call("c0", "bash", command="ls"))

    assert questions.saw == [("c0", ["ls"])]
    assert world.approver.asked == [["c0"]]


async def test_x13_one_may_allow_or_block_in_the_place_of_the_person(workspace: Path) -> None:
    questions = Questions({"c0": BeforeCall(allow="fine"), "c1": BeforeCall(block="no")})
    world = make_world(workspace, questions=questions)

    batch = await world.run(*(call(f"c{n}", "bash", command=f"echo {n}") for n in range(3)))

    assert [outcome.effect for outcome in batch.outcomes] == ["ran", "denied", "ran"]
    assert world.approver.asked == [["c2"]]
    assert world.policy.blocks == [("c1", "no")]
    (asked,) = world.sink.of(ApprovalRequested)
    assert isinstance(asked, ApprovalRequested)
    denied = next(one for one in asked.settled if one.call_id == "c1")
    assert denied.decided[-1].decided_by is DecidedBy.HOOK


async def test_an_allowance_reaches_no_high_row(workspace: Path) -> None:
    questions = Questions({"c0": BeforeCall(allow="fine")})
    world = make_world(workspace, questions=questions)

    await world.run(call("c0", "bash", command="rm x"))

    assert world.approver.asked == [["c0"]]


async def test_item_31_one_that_fails_blocks(workspace: Path) -> None:
    world = make_world(workspace, questions=Questions(fail=True))

    (outcome,) = (await world.run(call("c0", "bash", command="ls"))).outcomes

    assert outcome.result.output == "Blocked by a hook: a hook failed: hook broke"
    assert world.approver.asked == []


async def test_what_a_hook_wants_asked_stays_asked_whatever_another_allows(workspace: Path) -> None:
    world = make_world(
        workspace,
        hooks=Hooks({"c0": BeforeCall(ask="look")}),
        questions=Questions({"c0": BeforeCall(allow="fine")}),
        policy=FakePolicy(allow=["bash"]),
    )

    await world.run(call("c0", "bash", command="ls"))

    assert world.approver.asked == [["c0"]]


async def test_the_chain_lets_an_allowance_go_when_something_rewrites_or_asks_later() -> None:
    allow, rewrite = BeforeCall(allow="fine"), BeforeCall(arguments_json='{"command": "rm"}')
    made = call("c0", "bash", command="ls")

    async def said(*answers: BeforeCall) -> str:
        chain = HookChain([Hooks({"c0": one}) for one in answers])
        return (await chain.before(made, None)).allow

    assert await said(allow) == "fine"
    assert await said(allow, rewrite) == ""
    assert await said(rewrite, allow) == "fine"
    assert await said(allow, BeforeCall(ask="look")) == ""


@pytest.mark.parametrize("vouched", [True, False])
async def test_a_moved_shell_is_judged_with_the_same_allowance(workspace: Path, vouched: bool) -> None:
    (workspace / "sub").mkdir()
    hooks = Hooks({f"c{n}": BeforeCall(allow="fine" if vouched else "") for n in range(2)})
    world = make_world(workspace, hooks=hooks, approver=Approver())

    batch = await world.run(call("c0", "bash", command="cd sub"), call("c1", "bash", command="ls"))

    assert [outcome.effect for outcome in batch.outcomes] == ["ran", "ran"]
    assert world.approver.asked == ([] if vouched else [["c0", "c1"]])
