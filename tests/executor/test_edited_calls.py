import hashlib
from pathlib import Path
from typing import Any

import pytest

from agent_tui.protocol.events import ApprovalDecided
from agent_tui.protocol.permissions import Decision, Scope, Verdict
from agent_tui.protocol.tools import ToolCall
from agent_tui.providers.scripted import calls, text, use
from agent_tui.toolkit.testing import ScriptedApprover
from tests.support.core_world import audit, open_core
from tests.support.round_world import Approver, FakePolicy, call, effects, make_world, output


def digest(arguments_json: str) -> str:
    return hashlib.sha256(arguments_json.encode()).hexdigest()


def editing(**arguments: str) -> dict[str, Verdict | None]:
    return {"c0": Verdict(call_id="c0", edited_arguments=dict(arguments))}


def decisions(policy: FakePolicy) -> list[tuple[str, str, str]]:
    return [
        (request.arguments_json, decision.permission_id, decision.decision.value)
        for request, verdict in policy.recorded
        for decision in verdict.permissions
    ]


RM = call("c0", "bash", command="rm -r build")


async def test_an_edited_call_leaves_no_grant_for_what_was_asked(workspace: Path) -> None:
    world = make_world(workspace, approver=Approver(editing(command="ls"), always=["c0"]))

    batch = await world.run(RM)

    assert output(batch, "c0").startswith("ran ls")
    assert world.policy.grants == set()
    ((verdict,),) = [event.verdicts for event in world.sink.of(ApprovalDecided)]
    assert [(one.scope, one.pattern) for one in verdict.permissions] == [(Scope.ONCE, "")]


async def test_the_audit_holds_what_runs_and_nothing_of_what_was_asked(workspace: Path) -> None:
    world = make_world(workspace, approver=Approver(editing(command="ls")))

    await world.run(RM)

    assert decisions(world.policy) == [('{"command": "ls"}', "x", "allow")]
    assert world.policy.edited == ['{"command": "ls"}']
    assert world.policy.recorded[0][0].args_sha256 == digest('{"command": "ls"}')


async def test_an_edited_call_that_a_rule_allows_is_written_down_too(workspace: Path) -> None:
    policy = FakePolicy()
    policy.grants.add("Bash(ls)")
    world = make_world(workspace, policy=policy, approver=Approver(editing(command="ls")))

    await world.run(RM)

    assert decisions(policy) == [('{"command": "ls"}', "x", "allow")]


async def test_every_permission_of_an_edited_call_has_one_line(workspace: Path) -> None:
    world = make_world(workspace, approver=Approver(editing(command="echo > out")))

    batch = await world.run(call("c0", "bash", command="echo"))

    assert world.approver.asked == [["c0"], ["c0"]]
    assert effects(batch) == {"c0": "ran"}
    edited = '{"command": "echo > out"}'
    assert decisions(world.policy) == [(edited, "o", "allow"), (edited, "x", "allow")]
    assert world.policy.edited == [edited, edited]


async def test_an_edited_call_denied_at_its_second_question_has_no_line_that_allows_it(
    workspace: Path,
) -> None:
    no = {"c0": Verdict(call_id="c0", permissions=())}
    world = make_world(workspace, approver=Approver(editing(command="echo > out"), no))

    batch = await world.run(call("c0", "bash", command="echo"))

    assert effects(batch) == {"c0": "denied"}
    assert Decision.ALLOW not in [decision for _, _, decision in decisions(world.policy)]


async def test_an_edited_call_that_cannot_be_written_down_does_not_run(workspace: Path) -> None:
    world = make_world(
        workspace, policy=FakePolicy(audit_fails=True), approver=Approver(editing(command="ls"))
    )

    batch = await world.run(RM)

    assert effects(batch) == {"c0": "denied"}
    assert "the audit file is gone" in output(batch, "c0")
    assert world.log.lines == []


async def test_a_verdict_that_repeats_the_arguments_lasts(workspace: Path) -> None:
    same = {"c0": Verdict(call_id="c0", edited_arguments={"path": "a", "text": "x"})}
    world = make_world(workspace, approver=Approver(same, always=["c0"]))

    await world.run(ToolCall(call_id="c0", name="write", arguments_json='{"text":"x","path":"a"}'))

    assert world.policy.grants == {"Edit(a)"}
    assert world.policy.edited == []


@pytest.mark.parametrize("command", ["ls", "touch kept"])
async def test_the_audit_file_names_the_arguments_that_ran(workspace: Path, command: str) -> None:
    class Editor(ScriptedApprover):
        async def review(self, requests: Any) -> Any:
            edit = {"edited_arguments": {"command": command}}
            return {k: v.model_copy(update=edit) for k, v in (await super().review(requests)).items()}

    (workspace / "build").mkdir()
    replies = calls(use("bash", {"command": "rm -r build"}, call_id="c0")), text("done")
    async with open_core(workspace, *replies, approver=Editor(always=["c0"])) as world:
        await world.core.run_turn("go")

        assert [rule for rule in world.core.rules() if "rm" in rule.text] == []
    assert (workspace / "build").exists()
    lines = [(line["target"], line["decision"], line["edited"], line["args_sha256"]) for line in audit()]
    assert lines == [(command, "allow", True, digest(f'{{"command": "{command}"}}'))]
