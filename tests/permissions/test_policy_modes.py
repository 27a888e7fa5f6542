from typing import Any

import pytest

from agent_tui.permissions.modes import Mode
from agent_tui.protocol.permissions import (
    Decision,
    Permission,
    Scope,
)
from tests.support.policy_world import EXECUTE, READ, TOOL, WRITE


@pytest.mark.parametrize("mode", list(Mode))
def test_a_deny_rule_holds_in_every_mode_and_is_named(desk: Any, mode: Mode) -> None:
    desk.make(mode=mode, deny=["Bash(rm *)"], allow=["Bash(rm *)"])

    review = desk.ask(EXECUTE, "rm x")

    assert "Bash(rm *)" in review.denial
    assert "config.toml, line 1" in review.denial


def test_deny_comes_before_ask_and_ask_before_allow(desk: Any) -> None:
    desk.make(
        allow=["Bash(npm run test)", "Bash(npm *)"], ask=["Bash(npm run *)"], deny=["Bash(npm run deploy *)"]
    )

    assert desk.run("npm ls") == "allow"
    assert desk.run("npm run test") == "ask"
    assert desk.run("npm run deploy x") == "deny"
    assert desk.run("npm ls && npm run deploy") == "deny"


def test_an_ask_rule_stops_what_would_run_unasked(desk: Any) -> None:
    desk.make(ask=["Bash(ls *)", "Read(/src/**)", "todowrite"])

    assert desk.run("ls -la") == "ask"
    assert desk.can(READ, desk.project / "src/a") == "ask"
    review = desk.policy.review(
        tool="todowrite", permissions=[], readable=False, needs_approval=False, cwd=desk.project
    )
    assert review.asking


def test_item_30_foreign_tools_ask_whatever_they_claim(desk: Any) -> None:
    review = desk.policy.review(
        tool="mcp__x__search", permissions=[], readable=True, needs_approval=True, cwd=desk.project
    )
    assert [p.pattern for p in review.asking] == ["mcp__x__search"]
    built_in = desk.policy.review(
        tool="todoread", permissions=[], readable=True, needs_approval=False, cwd=desk.project
    )
    assert (built_in.asking, built_in.denial) == ((), "")
    for rule, expected in (
        ("mcp__x", True),
        ("mcp__x__search", True),
        ("mcp__x__*", True),
        ("mcp__xy", False),
        ("MCP__X__Search", True),
    ):
        desk.make(allow=[rule])
        review = desk.policy.review(
            tool="mcp__x__search", permissions=[], readable=False, needs_approval=True, cwd=desk.project
        )
        assert (not review.asking) is expected, rule


def test_a_tool_can_be_denied_by_its_bare_name(desk: Any) -> None:
    desk.make(deny=["WebSearch", "Task(deep)", "skill(x)"], mode=Mode.BYPASS)

    def denied(tool: str, target: str) -> bool:
        permission = Permission(id="p", kind=TOOL, target=target)
        return bool(
            desk.policy.review(
                tool=tool, permissions=[permission], readable=False, needs_approval=False, cwd=desk.project
            ).denial
        )

    assert denied("websearch", "websearch")
    assert denied("task", "Task(deep)")
    assert denied("task", "deep")
    assert not denied("task", "quick")
    assert denied("skill", "x")


def test_writers_are_one_and_names_ignore_case(desk: Any) -> None:
    for rule in ("Edit(/a/**)", "write(/a/**)", "PATCH(/a/**)", "MultiEdit(/a/**)"):
        desk.make(deny=[rule])
        for tool in ("edit", "write", "patch", "multiedit"):
            assert desk.can(WRITE, desk.project / "a/x", tool=tool) == "deny", (rule, tool)


def test_item_17_h63_an_always_answer_holds_at_once_and_after_a_restart(desk: Any) -> None:
    review = desk.ask(EXECUTE, "npm test")
    desk.always(review, scope=Scope.PROJECT)
    desk.always(review, scope=Scope.PROJECT)

    assert desk.run("npm test") == "allow"
    desk.make()
    assert desk.run("npm test") == "allow"
    assert desk.run("npm test; rm x") == "ask"
    assert len((desk.state / "grants.jsonl").read_text().splitlines()) == 1
    assert (desk.state / "grants.jsonl").stat().st_mode & 0o777 == 0o600
    desk.make(deny=["Bash(npm *)"])
    assert desk.run("npm test") == "deny"


def test_item_17_h60_always_deny_never_asks_again(desk: Any) -> None:
    desk.always(desk.ask(EXECUTE, "npm test"), scope=Scope.USER, decision=Decision.DENY)

    desk.make(allow=["Bash(npm *)"])
    assert desk.run("npm test") == "deny"
    assert "grants.jsonl, line 1" in desk.ask(EXECUTE, "npm test").denial


@pytest.mark.parametrize(
    ("mode", "said"), [(Mode.DEFAULT, "ask"), (Mode.AUTO, "ask"), (Mode.BYPASS, "allow")]
)
def test_ask_rules_hold_in_every_mode_but_bypass(desk: Any, mode: Mode, said: str) -> None:
    desk.make(ask=["Bash(git push *)"], allow=["Bash(git *)"], mode=mode)

    assert desk.run("git push origin main") == said
