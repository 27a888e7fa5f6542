import json
from collections.abc import Sequence
from pathlib import Path

from agent_tui.permissions.grammar import Layer, Origin, Rule, parse_rule
from agent_tui.permissions.modes import Mode
from agent_tui.permissions.shell.analysis import Analyser
from agent_tui.protocol.permissions import (
    DecidedBy,
    Decision,
    Permission,
    PermissionDecision,
    PermissionKind,
    PermissionRequest,
    RuleRef,
    Scope,
    Verdict,
)
from agent_tui.protocol.tools import ToolCall
from tests.support.round_oracle import Answered, Fact, Oracle, Ran, file_faults
from tests.support.round_world import call

HERE, HOME = Path("/nowhere/proj"), Path("/nowhere/home")
ALLOW, DENY = Decision.ALLOW, Decision.DENY
UNCOVERED = "ran without a decision that covers it"


def oracle(mode: Mode = Mode.DEFAULT) -> Oracle:
    analyse = Analyser(project=HERE, home=HOME, environ={"PATH": "/usr/bin:/bin"})
    return Oracle(HERE, HOME, [], mode, analyse)


def ruled(*rules: tuple[str, Decision]) -> Oracle:
    judge = oracle()
    judge.rules = [rule(text, effect) for text, effect in rules]
    return judge


def rule(text: str, effect: Decision) -> Rule:
    return parse_rule(text, effect, Origin(Layer.USER, HERE, "config.toml", 1))


def bash(call_id: str, command: str) -> ToolCall:
    return call(call_id, "bash", command=command)


def ran(made: ToolCall, *, arguments_json: str = "") -> Ran:
    """The start of a call, with the permissions its tool declares."""
    text = arguments_json or made.arguments_json
    given = json.loads(text)
    if made.name == "bash":
        kind, target = PermissionKind.EXECUTE, str(given["command"])
    else:
        kind, target = PermissionKind.WRITE, str(HERE / given["path"])
    return Ran(made.call_id, made.name, text, HERE, (Permission(id="x", kind=kind, target=target),))


def needs(made: ToolCall, *permissions: tuple[PermissionKind, str, str]) -> PermissionRequest:
    return PermissionRequest(
        request_id=made.call_id,
        call_id=made.call_id,
        tool=made.name,
        title="",
        arguments_json=made.arguments_json,
        permissions=tuple(
            Permission(id=f"x.{number}", kind=kind, target=target, pattern=pattern)
            for number, (kind, target, pattern) in enumerate(permissions, start=1)
        ),
    )


def said(made: ToolCall, *decisions: PermissionDecision, **more: object) -> Verdict:
    return Verdict.model_validate({"call_id": made.call_id, "permissions": decisions, **more})


def answer(number: int, decision: Decision = ALLOW, **more: object) -> PermissionDecision:
    return PermissionDecision.model_validate({"permission_id": f"x.{number}", "decision": decision, **more})


def reviewed(request: PermissionRequest, verdict: Verdict | None) -> Answered:
    return Answered((request,), {} if verdict is None else {request.call_id: verdict})


def faults(judge: Oracle, calls: Sequence[ToolCall], *facts: Fact) -> list[str]:
    """Judge a round whose results tell the truth."""
    started = {fact.call_id for fact in facts if isinstance(fact, Ran)}
    outcomes = [(one.call_id, "ran" if one.call_id in started else "denied") for one in calls]
    return judge.faults(calls, facts, outcomes)


LS, PUSH, TOUCH = bash("ls", "ls -la"), bash("push", "git push --force"), bash("touch", "touch made.txt")
ECHO = bash("echo", "echo hi > out.txt")
WRITE = call("write", "write", path="a.txt", text="new")
ECHO_NEEDS = (
    (PermissionKind.EXECUTE, "echo hi > out.txt", "Bash(echo *)"),
    (PermissionKind.WRITE, str(HERE / "out.txt"), "Edit(/out.txt)"),
)
WRITE_NEEDS = ((PermissionKind.WRITE, str(HERE / "a.txt"), "Edit(/a.txt)"),)


def test_a_command_a_rule_denies_is_found_beside_one_that_may_run() -> None:
    judge = ruled(("Bash(git push *)", DENY))

    assert faults(judge, [LS, PUSH], ran(LS)) == []
    assert any("ran against" in fault for fault in faults(judge, [LS, PUSH], ran(LS), ran(PUSH)))


def test_a_command_nobody_was_asked_about_is_found() -> None:
    assert [fault for fault in faults(oracle(), [LS, PUSH], ran(LS), ran(PUSH)) if UNCOVERED in fault]
    assert faults(ruled(("Bash(touch *)", ALLOW)), [TOUCH], ran(TOUCH)) == []
    judge = ruled(("Bash(touch *)", ALLOW), ("Bash(touch *)", Decision.ASK))
    assert faults(judge, [TOUCH], ran(TOUCH)) != []


def test_a_call_with_one_of_two_permissions_allowed_is_found() -> None:
    request = needs(ECHO, *ECHO_NEEDS)
    both = reviewed(request, said(ECHO, answer(1), answer(2)))
    one = reviewed(request, said(ECHO, answer(1)))

    assert faults(oracle(), [ECHO], both, ran(ECHO)) == []
    [fault] = faults(oracle(), [ECHO], one, ran(ECHO))
    assert fault.startswith(f"echo: write '{HERE}/out.txt' {UNCOVERED}")


def test_a_yes_to_another_target_covers_nothing() -> None:
    other = (PermissionKind.WRITE, str(HERE / "b.txt"), "Edit(/b.txt)")

    assert faults(oracle(), [WRITE], reviewed(needs(WRITE, other), said(WRITE, answer(1))), ran(WRITE)) != []


def test_a_denied_call_that_ran_is_found() -> None:
    request = needs(WRITE, *WRITE_NEEDS)

    for verdict in (
        None,
        said(WRITE, answer(1, DENY)),
        said(WRITE, answer(1), answer(2, DENY)),
        said(WRITE, answer(1), accepted_hunks=()),
        said(WRITE, answer(1), unasked=True),
    ):
        assert "write: ran although it was denied" in faults(
            oracle(), [WRITE], reviewed(request, verdict), ran(WRITE)
        )


def test_a_call_that_ran_before_its_answer_is_found() -> None:
    asked = reviewed(needs(WRITE, *WRITE_NEEDS), said(WRITE, answer(1)))

    assert "write: asked about after it ran" in faults(oracle(), [WRITE], ran(WRITE), asked)


def test_other_arguments_than_the_ones_allowed_are_found() -> None:
    asked = reviewed(needs(WRITE, *WRITE_NEEDS), said(WRITE, answer(1)))
    changed = ran(WRITE, arguments_json='{"path": "a.txt", "text": "newer"}')

    assert any(" not {" in fault for fault in faults(oracle(), [WRITE], asked, changed))


def test_edited_arguments_need_what_they_need_themselves() -> None:
    edited = {"command": "echo hi > other.txt"}
    text = json.dumps(edited)
    request = needs(ECHO, *ECHO_NEEDS)
    first = reviewed(request, said(ECHO, answer(1), answer(2), edited_arguments=edited))
    more = needs(ECHO, (PermissionKind.WRITE, str(HERE / "other.txt"), "Edit(/other.txt)"))
    second = reviewed(more.model_copy(update={"arguments_json": text}), said(ECHO, answer(1)))
    changed = ran(ECHO, arguments_json=text)

    assert faults(oracle(), [ECHO], first, second, changed) == []
    assert any(UNCOVERED in fault for fault in faults(oracle(), [ECHO], first, changed))
    assert any(" not {" in fault for fault in faults(oracle(), [ECHO], first, second, ran(ECHO)))
    assert any("ran against" in f for f in faults(ruled(("Edit", DENY)), [ECHO], first, second, changed))


def test_an_answer_that_follows_from_another_needs_that_one() -> None:
    follows = answer(1, decided_by=DecidedBy.RULE, rule=RuleRef(text="Edit(/**)"))
    lasting = answer(1, scope=Scope.SESSION, pattern="Edit(/**)")
    other = call("other", "write", path="b.txt")
    asked = (
        needs(other, (PermissionKind.WRITE, str(HERE / "b.txt"), "Edit(/b.txt)")),
        needs(WRITE, *WRITE_NEEDS),
    )

    def round_with(given: PermissionDecision, following: PermissionDecision) -> list[str]:
        verdicts = {"other": said(other, given), "write": said(WRITE, following)}
        return faults(oracle(), [other, WRITE], Answered(asked, verdicts), ran(other), ran(WRITE))

    assert round_with(lasting, follows) == []
    assert round_with(answer(1), follows) != []
    foreign = answer(1, scope=Scope.SESSION, pattern="mcp__server__probe")
    told = answer(1, decided_by=DecidedBy.RULE, rule=RuleRef(text="mcp__server__probe"))
    assert round_with(foreign, told) != []


def test_a_lasting_answer_of_an_earlier_round_holds_for_what_it_covers() -> None:
    def after(pattern: str, decision: Decision) -> list[str]:
        judge = oracle(Mode.ACCEPT_EDITS if decision is DENY else Mode.DEFAULT)
        lasting = answer(1, decision, scope=Scope.SESSION, pattern=pattern)
        judge.earlier.append(reviewed(needs(WRITE, *WRITE_NEEDS), said(WRITE, lasting)))
        return faults(judge, [WRITE], ran(WRITE))

    assert after("Edit(/a.txt)", ALLOW) == []
    assert after("Edit(/b.txt)", ALLOW) != []
    assert after("Edit(/b.txt)", DENY) == []
    assert after("Edit(/a.txt)", DENY) != []


def test_results_are_one_a_call_in_order_and_tell_what_ran() -> None:
    judge, calls = ruled(("Bash", ALLOW)), [LS, PUSH]

    assert judge.faults(calls, [ran(LS)], [("ls", "ran"), ("push", "denied")]) == []
    for facts, outcomes in (
        ([ran(LS)], [("ls", "ran")]),
        ([ran(LS)], [("push", "denied"), ("ls", "ran")]),
        ([ran(LS)], [("ls", "ran"), ("ls", "ran"), ("push", "denied")]),
        ([ran(LS)], [("ls", "denied"), ("push", "denied")]),
        ([], [("ls", "ran"), ("push", "denied")]),
        ([ran(LS), ran(LS)], [("ls", "ran"), ("push", "denied")]),
    ):
        assert judge.faults(calls, facts, outcomes) != []


def test_a_command_may_run_late_and_a_write_only_if_it_was_approved() -> None:
    judge, calls = ruled(("Bash", ALLOW), ("Edit", ALLOW)), [WRITE, LS]
    told = [("write", "ran"), ("ls", "ran")]
    asked = reviewed(needs(WRITE, *WRITE_NEEDS), said(WRITE, answer(1)))

    assert judge.faults(calls, [asked, ran(LS), ran(WRITE)], told) == []
    assert judge.faults(calls, [ran(LS), ran(WRITE)], told) != []


def test_a_hunk_that_was_left_out_and_written_is_found(tmp_path: Path) -> None:
    def after(old: str, text: str, hunks: Sequence[int] | None) -> str:
        taken = range(2) if hunks is None else hunks
        return "".join(text if index in taken else letter for index, letter in enumerate(old))

    file = tmp_path / "a.txt"
    made = call("w", "write", path="a.txt", text="N")
    asked = reviewed(needs(made, *WRITE_NEEDS), said(made, answer(1), accepted_hunks=(1,)))

    def found(holds: str, *facts: Fact, effect: str = "ran") -> list[str]:
        file.write_text(holds)
        return file_faults({file: "oo"}, facts, [("w", effect)], workspace=tmp_path, after=after)

    assert found("oN", asked, ran(made)) == []
    assert found("NN", asked, ran(made)) == [f"{file} holds 'NN', not 'oN'"]
    assert found("No", asked, ran(made)) != []
    assert found("oN", asked, effect="denied") != []
