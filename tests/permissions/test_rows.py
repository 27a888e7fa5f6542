from typing import Any

from agent_tui.permissions.modes import Mode
from agent_tui.protocol.permissions import Permission, PermissionKind, Risk

READ, WRITE, EXECUTE, NETWORK, TOOL = PermissionKind


def test_p04_only_a_tool_that_needs_approval_asks_when_it_declares_nothing(desk: Any) -> None:
    def asking(needs_approval: bool) -> int:
        review = desk.policy.review(
            tool="x", permissions=[], readable=False, needs_approval=needs_approval, cwd=desk.project
        )
        return len(review.asking)

    assert (asking(False), asking(True)) == (0, 1)


def test_h61_the_list_decides_and_not_the_order_of_the_rules(desk: Any) -> None:
    desk.make(allow=["Bash(npm *)"], deny=["Bash(npm publish *)"])

    assert (desk.run("npm publish"), desk.run("npm test"), desk.run("make")) == ("deny", "allow", "ask")


def test_h62_of_one_call_the_allowed_run_unasked_the_denied_say_so_the_rest_asks(desk: Any) -> None:
    desk.make(allow=["Bash(npm *)"], deny=["Bash(rm *)"])

    review = desk.ask(EXECUTE, "npm test; make; ls")
    assert [p.target for p in review.asking] == ["make"]
    assert [part.decision.value for part in review.parts] == ["allow", "ask", "allow"]
    assert desk.ask(EXECUTE, "npm test; rm x").denial.startswith("Permission denied")


def test_h66_what_nobody_can_be_asked_is_denied_with_the_reason(desk: Any) -> None:
    desk.make(mode=Mode.DONT_ASK)

    denial = desk.ask(EXECUTE, "npm test").denial

    assert "dont-ask" in denial
    assert "npm test" in denial


def test_h67_a_rule_looks_at_the_argument_that_matters(desk: Any) -> None:
    desk.make(allow=["Bash(echo *)"], deny=["Bash(rm *)"])

    assert desk.run("echo rm -rf /") == "allow"
    assert desk.run("grep 'rm x' README.md") == "allow"
    assert desk.run("echo a; touch b") == "ask"


def test_a68_what_is_asked_says_target_kind_and_reason(desk: Any) -> None:
    (asked,) = desk.ask(EXECUTE, "cat /etc/hosts").asking

    assert (asked.kind, asked.target, asked.pattern) == (READ, "/etc/hosts", "Read(//etc/hosts)")
    assert "cat" in asked.reason


def test_m21_a_high_risk_of_the_tool_is_kept_and_asked_for(desk: Any) -> None:
    desk.make(mode=Mode.ACCEPT_EDITS)
    risky = Permission(id="p", kind=WRITE, target=str(desk.project / "a"), pattern="Edit(/a)", risk=Risk.HIGH)

    review = desk.policy.review(
        tool="write", permissions=[risky], readable=False, needs_approval=False, cwd=desk.project
    )

    assert [p.risk for p in review.asking] == [Risk.HIGH]


def test_x19_writes_stay_in_the_project_and_secrets_are_asked_for(desk: Any) -> None:
    desk.make(mode=Mode.ACCEPT_EDITS)

    assert desk.can(WRITE, desk.project / "a") == "allow"
    for path in (
        "/etc/passwd",
        desk.home / ".ssh/id_rsa",
        desk.home / ".aws/credentials",
        desk.home / ".gnupg/x",
    ):
        assert desk.can(WRITE, path) == "ask"
        assert desk.can(READ, path) == "ask"


def test_x20_an_allow_rule_for_a_command_covers_only_simple_commands(desk: Any) -> None:
    desk.make(allow=["Bash(npm *)"])

    for tail in ("; x", " | x", " & x", " `x`", " $(x)", " ${x}", " < /etc/passwd", "\nx", " > a"):
        assert desk.run(f"npm test{tail}") == "ask", tail
    for tail in (" > /dev/null", " 2>&1", " 2>/dev/null"):
        assert desk.run(f"npm test{tail}") == "allow", tail
