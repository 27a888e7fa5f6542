import unicodedata
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from agent_tui.permissions.audit import AuditLog
from agent_tui.permissions.grammar import Layer
from agent_tui.permissions.grants import GrantStore, new_grant
from agent_tui.permissions.modes import Mode, next_mode, parse_mode
from agent_tui.permissions.rules import Matcher, RuleBook, RuleProblem, Subject
from agent_tui.protocol.permissions import (
    Decision,
    Permission,
    PermissionDecision,
    PermissionKind,
    PermissionRequest,
    Risk,
    Scope,
    Verdict,
)
from agent_tui.sandbox.interface import Profile, Strength

READ, WRITE, EXECUTE, NETWORK, TOOL = PermissionKind


def test_a60_item_18_a_write_grant_covers_a_read_and_a_read_grant_no_write(desk: Any) -> None:
    outside = desk.project.parent / "outside" / "a.txt"

    desk.make(allow=[f"Edit(/{outside})"])
    assert desk.can(READ, outside) == "allow"
    assert desk.can(WRITE, outside) == "allow"

    desk.make(allow=[f"Read(/{outside})"])
    assert desk.can(READ, outside) == "allow"
    assert desk.can(WRITE, outside) == "ask"


def test_a62_a_rule_of_one_kind_says_nothing_of_another(desk: Any) -> None:
    desk.make(allow=["Bash(/etc/hosts)", "WebFetch(domain:example.com)", "Read(//etc/hosts)"])

    assert desk.can(WRITE, "/etc/hosts") == "ask"
    assert desk.run("curl https://example.com") == "ask"
    assert desk.can(NETWORK, "https://example.com/x") == "allow"
    assert desk.can(NETWORK, "https://evil.com/?example.com") == "ask"


@pytest.mark.parametrize("name", ["../outside/a.txt", "sub/../../b.txt", "/etc/x"])
def test_item_19_a63_pe_11_paths_outside_ask_however_they_are_written(desk: Any, name: str) -> None:
    (desk.project.parent / "proj-evil").mkdir()
    desk.make(allow=["Edit(/**)", "Edit", "Read"], mode=Mode.ACCEPT_EDITS)

    assert desk.can(WRITE, desk.project / name) == "ask"
    assert desk.can(WRITE, desk.project.parent / "proj-evil/a.txt") == "ask"
    assert desk.can(WRITE, f"{desk.project}/../c.txt") == "ask"
    assert desk.can(WRITE, desk.home / "d.txt") == "ask"
    assert desk.can(WRITE, desk.project / "a.txt") == "allow"


def test_pe_09_a64_a_link_that_leads_out_is_outside(desk: Any) -> None:
    out = desk.project.parent / "outside"
    (desk.project / "outbox").symlink_to(out)
    (desk.project / "real").mkdir()
    (desk.project / "inner").symlink_to(desk.project / "real")
    desk.make(mode=Mode.ACCEPT_EDITS, allow=["Edit(/outbox/**)"])

    assert desk.can(WRITE, desk.project / "outbox/escaped.txt") == "ask"
    assert desk.can(READ, desk.project / "outbox/secret") == "ask"
    assert desk.can(READ, desk.project / "outbox", tool="grep") == "ask"
    assert desk.can(WRITE, desk.project / "inner/a.txt") == "allow"


def test_an_allow_rule_needs_link_and_target_and_a_deny_rule_either(desk: Any) -> None:
    out = desk.project.parent / "outside"
    (desk.project / "outbox").symlink_to(out)

    desk.make(allow=["Edit(/outbox/**)", f"Edit(/{out}/**)"])
    assert desk.can(WRITE, desk.project / "outbox/a") == "ask"
    assert desk.can(WRITE, out / "a") == "allow"
    desk.make(deny=["Edit(/outbox/**)"])
    assert desk.can(WRITE, desk.project / "outbox/a") == "deny"
    desk.make(deny=[f"Edit(/{out}/**)"])
    assert desk.can(WRITE, desk.project / "outbox/a") == "deny"


def test_pe_10_a_dangling_last_link_is_followed(desk: Any) -> None:
    out = desk.project.parent / "outside"
    (desk.project / "notes.md").symlink_to(out / "victim.txt")
    (desk.project / "draft.txt").symlink_to(out / "not-yet.txt")
    desk.make(mode=Mode.ACCEPT_EDITS)

    assert desk.can(WRITE, desk.project / "notes.md") == "ask"
    assert desk.can(WRITE, desk.project / "draft.txt") == "ask"


def test_pe_13_a_denied_file_is_denied_to_every_tool(desk: Any) -> None:
    (desk.project / "sub").mkdir()
    (desk.project / "keys.txt").write_text("K=v\n")
    (desk.project / "notenv").symlink_to(desk.project / "keys.txt")
    desk.make(deny=["Read(keys.txt)"], allow=["Bash(python3 *)"], mode=Mode.BYPASS)

    for path in ("keys.txt", "./keys.txt", "sub/../keys.txt", "notenv"):
        assert desk.can(READ, f"{desk.project}/{path}") == "deny"
        assert desk.can(WRITE, f"{desk.project}/{path}", tool="edit") == "deny"
    assert desk.can(READ, desk.project / "keys.txt", tool="grep") == "deny"
    for command in (
        "cat keys.txt",
        "cat ./keys.txt",
        f"cat {desk.project}/keys.txt",
        "cat < keys.txt",
        "cat notenv",
        "cat k*",
        "python3 x.py keys.txt",
        "cp keys.txt b",
        "x --file=keys.txt",
        "cd sub && cat ../keys.txt",
        "bash -c 'cat keys.txt'",
    ):
        assert desk.run(command) == "deny", command
    assert desk.run("cat other.txt") == "allow"


def test_pe_14_names_are_one_where_the_volume_says_so() -> None:
    from agent_tui.permissions.grammar import Origin, parse_rule

    origin = Origin(Layer.USER, Path("/p"))
    rule = parse_rule("Edit(Secrets/**)", Decision.DENY, origin)
    accented = parse_rule("Edit(é/**)", Decision.DENY, origin)
    aware = Matcher(Path("/p"), Path("/h"), ignores_case=False)
    folding = Matcher(Path("/p"), Path("/h"), ignores_case=True)

    assert folding.matches(rule, Subject("write", WRITE, paths=("/p/secrets/a",)))
    assert not aware.matches(rule, Subject("write", WRITE, paths=("/p/secrets/a",)))
    for matcher in (aware, folding):
        assert matcher.matches(
            accented, Subject("write", WRITE, paths=("/p/" + unicodedata.normalize("NFD", "é") + "/a",))
        )


def test_pe_14_one_inode_is_one_file(desk: Any) -> None:
    (desk.project / "a.txt").write_text("x")
    (desk.project / "b.txt").hardlink_to(desk.project / "a.txt")
    desk.make(deny=["Edit(/a.txt)"])

    assert desk.can(WRITE, desk.project / "b.txt") == "deny"


@pytest.mark.parametrize(
    "name",
    [
        ".git/config",
        ".GIT/hooks/x",
        ".agent-tui/config.toml",
        ".claude/settings.json",
        ".mcp.json",
        ".envrc",
        ".vscode/tasks.json",
        "sub/.git/hooks/a",
        ".bashrc",
        ".env",
        "x.pem",
        ".npmrc",
        ".Mcp.json",
        ".mcp.json".replace("m", "\uff4d"),
    ],
)
@pytest.mark.parametrize("mode", [Mode.DEFAULT, Mode.ACCEPT_EDITS, Mode.AUTO, Mode.BYPASS])
def test_no_rule_and_no_mode_allows_a_protected_path(desk: Any, name: str, mode: Mode) -> None:
    desk.make(mode=mode, allow=["Edit", "Edit(/**)", "Edit(//**)"])

    review = desk.ask(WRITE, desk.project / name, pattern="Edit(/x)")

    assert [(p.risk, p.pattern) for p in review.asking] == [(Risk.HIGH, "")]


@pytest.mark.parametrize(
    "name",
    [".env", ".env.local", "id_rsa", "a.pem", "credentials", ".netrc", "auth.json", "deep/.ssh/config"],
)
def test_secrets_ask_for_reading_and_a_template_does_not(desk: Any, name: str) -> None:
    desk.make(allow=["Read", "Read(/**)"])

    assert desk.can(READ, desk.project / name) == "ask"
    assert desk.can(READ, desk.project / ".env.example") == "allow"
    assert desk.can(READ, desk.project / "id_rsa.pub") == "allow"


@pytest.mark.parametrize("mode", list(Mode))
def test_the_own_folders_are_closed_whatever_the_rules_say(desk: Any, mode: Mode) -> None:
    own = desk.home / ".config/agent-tui/config.toml"
    desk.make(mode=mode, allow=["Edit(//**)", "Read(//**)", "Bash"])

    assert desk.can(READ, own) == "deny"
    assert desk.can(WRITE, own) == "deny"
    assert desk.run(f"cat {own}") == "deny"
    assert desk.run("echo x >> ~/.config/agent-tui/config.toml") == "deny"
    assert desk.run("cp ~/.local/share/agent-tui/a b") == "deny"


def test_outputs_of_the_session_may_be_read(desk: Any) -> None:
    assert desk.can(READ, desk.state.parent / "outputs/full.txt") == "allow"
    assert desk.can(WRITE, desk.state.parent / "outputs/full.txt") == "ask"


@pytest.mark.parametrize(
    ("mode", "strength", "write", "safe", "test_run", "unclear", "network", "foreign"),
    [
        (Mode.DEFAULT, Strength.STRONG, "ask", "allow", "ask", "ask", "ask", "ask"),
        (Mode.ACCEPT_EDITS, Strength.STRONG, "allow", "allow", "ask", "ask", "ask", "ask"),
        (Mode.PLAN, Strength.STRONG, "deny", "allow", "deny", "deny", "ask", "deny"),
        (Mode.AUTO, Strength.STRONG, "allow", "allow", "allow", "ask", "ask", "ask"),
        (Mode.AUTO, Strength.WEAK, "ask", "allow", "ask", "ask", "ask", "ask"),
        (Mode.AUTO, Strength.NONE, "ask", "allow", "ask", "ask", "ask", "ask"),
        (Mode.DONT_ASK, Strength.STRONG, "deny", "allow", "deny", "deny", "deny", "deny"),
        (Mode.BYPASS, Strength.NONE, "allow", "allow", "allow", "allow", "allow", "allow"),
    ],
)
def test_x18_each_mode_does_what_its_name_says(
    desk: Any,
    mode: Mode,
    strength: Strength,
    write: str,
    safe: str,
    test_run: str,
    unclear: str,
    network: str,
    foreign: str,
) -> None:
    desk.make(mode=mode, strength=strength)

    assert desk.can(WRITE, desk.project / "a.txt") == write
    assert desk.run("ls -la") == safe
    assert desk.run("npm test") == test_run
    assert desk.run("for f in a; do echo $f; done") == unclear
    assert desk.can(NETWORK, "https://e.com") == network
    assert desk.can(TOOL, "mcp__a__b") == foreign


def test_item_23_auto_asks_for_what_leaves_the_sandbox(desk: Any) -> None:
    desk.make(mode=Mode.AUTO)

    assert desk.run("curl https://e.com") == "ask"
    assert desk.run("touch ../outside/x") == "ask"
    assert desk.run("sudo ls") == "ask"
    assert desk.run("echo x > notes.txt") == "allow"


def test_git_asks_without_a_strong_sandbox_and_says_why(desk: Any) -> None:
    (desk.project / ".git").mkdir()
    for strength, expected in ((Strength.STRONG, "allow"), (Strength.WEAK, "ask"), (Strength.NONE, "ask")):
        desk.make(strength=strength)
        assert desk.run("git status") == expected
    review = desk.ask(EXECUTE, "git status")
    assert "sandbox" in (review.parts[0].rule.text if review.parts[0].rule else "")


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


def test_pe_18_a69_a_session_answer_lasts_the_session_and_no_longer(desk: Any) -> None:
    desk.always(desk.ask(EXECUTE, "npm test"))

    assert desk.run("npm test") == "allow"
    assert desk.run("npm test") == "allow"
    desk.make()
    assert desk.run("npm test") == "ask"


def test_a74_item_16_once_ends_with_the_round(desk: Any) -> None:
    review = desk.ask(EXECUTE, "npm test")
    answer = PermissionDecision(permission_id=review.asking[0].id, decision=Decision.ALLOW)
    desk.policy.record(desk.request(review), Verdict(call_id="c", permissions=(answer,)))

    assert desk.run("npm test") == "ask"


def test_a70_item_15_what_is_granted_is_not_shown_again(desk: Any) -> None:
    desk.make(allow=["Bash(npm *)"])

    review = desk.ask(EXECUTE, "npm test && make")

    assert [p.target for p in review.asking] == ["make"]


def test_item_22_a_grant_is_for_these_arguments(desk: Any) -> None:
    desk.always(desk.ask(EXECUTE, "python3 a.py"))

    assert desk.run("python3 a.py") == "allow"
    assert desk.run("python3  'a.py'") == "allow"
    assert desk.run("python3 a.py x") == "ask"
    assert desk.run("python3 b.py") == "ask"


def test_x21_an_always_answer_covers_only_what_was_shown(desk: Any) -> None:
    desk.always(desk.ask(WRITE, desk.project / "a.txt", pattern="Edit(/a.txt)"), tool="write")

    assert desk.can(WRITE, desk.project / "a.txt") == "allow"
    assert desk.can(WRITE, desk.project / "b.txt") == "ask"
    assert desk.run("npm test") == "ask"


def test_a61_an_expired_grant_never_counts(desk: Any) -> None:
    store = GrantStore(desk.state)
    now = datetime.now(UTC)
    for minutes in (-1, 5):
        store.add(
            new_grant(
                decision=Decision.ALLOW,
                tool="bash",
                kind=EXECUTE,
                pattern=f"Bash(x{minutes})",
                scope=Scope.USER,
                project=desk.project,
                now=now,
                expires_at=now + timedelta(minutes=minutes),
            )
        )

    assert desk.run("x5") == "allow"
    assert desk.run("x-1") == "ask"
    assert [rule.text for rule in desk.policy.rules()] == ["Bash(x5)"]


def test_a_project_grant_counts_only_in_its_project(desk: Any, tmp_path: Path) -> None:
    desk.always(desk.ask(EXECUTE, "npm test"), scope=Scope.PROJECT)
    desk.always(desk.ask(EXECUTE, "make"), scope=Scope.USER)

    desk.project = tmp_path / "elsewhere"
    desk.project.mkdir()
    desk.make()
    assert desk.run("npm test") == "ask"
    assert desk.run("make") == "allow"


def test_grants_are_revoked_one_by_one(desk: Any) -> None:
    desk.always(desk.ask(EXECUTE, "npm test"))
    desk.always(desk.ask(EXECUTE, "make"), scope=Scope.PROJECT)
    first, second = desk.policy.rules()

    assert desk.policy.remove(first.rule_id)
    assert desk.policy.remove(second.rule_id)
    assert desk.policy.remove("none") is None
    assert desk.run("npm test") == "ask"
    assert desk.run("make") == "ask"


def test_a_recent_decision_can_be_promoted(desk: Any) -> None:
    review = desk.ask(EXECUTE, "npm test")
    answer = PermissionDecision(permission_id=review.asking[0].id, decision=Decision.ALLOW)
    desk.policy.record(desk.request(review), Verdict(call_id="c", permissions=(answer,)))
    (recent,) = desk.policy.recent

    assert desk.policy.promote(recent.number, Scope.PROJECT)
    assert desk.run("npm test") == "allow"
    assert desk.policy.promote(99, Scope.PROJECT) is None


def test_a_broken_grant_line_voids_allowances_and_keeps_denials(desk: Any) -> None:
    desk.always(desk.ask(EXECUTE, "npm test"), scope=Scope.USER)
    desk.always(desk.ask(EXECUTE, "make"), scope=Scope.USER, decision=Decision.DENY)
    with (desk.state / "grants.jsonl").open("a") as file:
        file.write('{"id": "x", "decision": "de\n')

    desk.make()
    assert desk.run("npm test") == "ask"
    assert desk.run("make") == "deny"
    with pytest.raises(OSError, match="repair"):
        desk.always(desk.ask(EXECUTE, "npm test"), scope=Scope.USER)


def test_cf_01_a_broken_rule_file_lets_nothing_run_unasked(desk: Any) -> None:
    policy = desk.make(mode=Mode.ACCEPT_EDITS, allow=["Bash(npm *)"])
    policy.book = RuleBook(
        policy.book.rules, problems=[RuleProblem("Expected '=' at line 3", "/c/config.toml", 3)]
    )

    assert desk.run("npm test") == "ask"
    assert desk.run("ls") == "ask"
    assert desk.can(READ, desk.project / "a") == "ask"
    assert desk.can(WRITE, desk.project / "a") == "ask"
    assert "/c/config.toml:3" in (desk.ask(EXECUTE, "ls").parts[0].rule.text)


def test_the_allow_rules_of_a_project_need_trust_and_its_deny_rules_do_not(desk: Any) -> None:
    desk.make(
        layer=Layer.PROJECT, trusted=False, allow=["Bash(npm *)"], deny=["Bash(make *)"], ask=["Bash(ls *)"]
    )
    assert (desk.run("npm test"), desk.run("make"), desk.run("ls")) == ("ask", "deny", "ask")

    desk.make(layer=Layer.PROJECT, trusted=True, allow=["Bash(npm *)", "Bash(sudo *)", "Bash(git push *)"])
    assert desk.run("npm test") == "allow"
    assert desk.run("sudo ls") == "ask"
    desk.make(layer=Layer.USER, allow=["Bash(sudo *)"])
    assert desk.run("sudo ls") == "allow"


def test_m22_item_31_without_an_audit_line_the_answer_is_no(desk: Any) -> None:
    review = desk.ask(EXECUTE, "npm test")
    (desk.state / "audit.jsonl").mkdir()
    answer = PermissionDecision(
        permission_id=review.asking[0].id,
        decision=Decision.ALLOW,
        scope=Scope.SESSION,
        pattern="Bash(npm test)",
    )

    with pytest.raises(OSError, match="audit"):
        desk.policy.record(desk.request(review), Verdict(call_id="c", permissions=(answer,)))
    assert desk.run("npm test") == "ask"
    desk.make(allow=["Bash(npm *)"])
    assert "audit" in desk.ask(EXECUTE, "npm test").denial


def test_the_audit_says_who_what_rule_scope_when_and_which_arguments(desk: Any) -> None:
    desk.always(desk.ask(EXECUTE, "npm test"), scope=Scope.PROJECT)
    desk.make(deny=["Bash(rm *)"])
    desk.run("rm x")
    desk.run("npm test")
    desk.run("ls")

    entries = list(AuditLog(desk.state).read())

    assert [(e.who, e.decision, e.scope, e.target) for e in entries] == [
        ("person", "allow", "project", "npm test"),
        ("rule", "deny", "once", "rm x"),
        ("rule", "allow", "once", "npm test"),
    ]
    assert (entries[0].args_sha256, entries[0].call_id, entries[0].pattern) == ("aa", "c", "Bash(npm test *)")
    assert entries[1].rule == "deny Bash(rm *) (config.toml:1)"
    assert entries[2].rule.endswith("grants.jsonl:1)")
    assert datetime.fromisoformat(entries[0].when).tzinfo is not None
    assert (desk.state / "audit.jsonl").stat().st_mode & 0o777 == 0o600


def test_an_edited_pattern_that_is_no_rule_is_not_stored(desk: Any) -> None:
    review = desk.ask(EXECUTE, "npm test")
    answer = PermissionDecision(
        permission_id=review.asking[0].id, decision=Decision.ALLOW, scope=Scope.PROJECT, pattern="Bash()"
    )

    desk.policy.record(desk.request(review), Verdict(call_id="c", permissions=(answer,)))

    assert list(desk.policy.rules()) == []


def test_nothing_lasting_is_stored_where_none_was_offered(desk: Any) -> None:
    review = desk.ask(WRITE, desk.project / ".env")
    answer = PermissionDecision(
        permission_id=review.asking[0].id, decision=Decision.ALLOW, scope=Scope.USER, pattern="Edit(/.env)"
    )

    desk.policy.record(desk.request(review, tool="write"), Verdict(call_id="c", permissions=(answer,)))

    assert list(desk.policy.rules()) == []


def test_an_approved_command_may_touch_what_was_approved_and_no_more(desk: Any) -> None:
    out = desk.project.parent / "outside"
    review = desk.ask(EXECUTE, f"curl -s https://a.com/x -o {out}/x; dig b.com")
    request = desk.request(review)
    answers = [PermissionDecision(permission_id=p.id, decision=Decision.ALLOW) for p in review.asking]

    granted = desk.policy.confinement(request, Verdict(call_id="c", permissions=tuple(answers)))
    assert (granted.profile, granted.write_dirs, granted.hosts, granted.host_network) == (
        Profile.WORKSPACE,
        (out,),
        ("a.com",),
        True,
    )

    desk.make(allow=["Bash(curl *)", "WebFetch(domain:a.com)", f"Edit(/{out}/**)"])
    review = desk.ask(EXECUTE, f"curl -s https://a.com/x -o {out}/x")
    assert review.asking == ()
    assert (review.confinement.write_dirs, review.confinement.hosts) == ((out,), ("a.com",))


def test_reading_commands_run_read_only_and_others_in_the_workspace(desk: Any) -> None:
    desk.make(mode=Mode.AUTO)

    assert desk.ask(EXECUTE, "ls | wc -l").confinement.profile is Profile.READ_ONLY
    assert desk.ask(EXECUTE, "npm test").confinement.profile is Profile.WORKSPACE
    assert desk.ask(EXECUTE, "ls > a.txt").confinement.profile is Profile.WORKSPACE
    review = desk.ask(EXECUTE, "cat /etc/hosts")
    answers = tuple(PermissionDecision(permission_id=p.id, decision=Decision.ALLOW) for p in review.asking)
    assert (
        desk.policy.confinement(desk.request(review), Verdict(call_id="c", permissions=answers)).profile
        is Profile.READ_ONLY
    )


def test_permission_ids_are_unique_within_a_call(desk: Any) -> None:
    review = desk.ask(EXECUTE, "npm a; npm b; curl a.com b.com > ../outside/x; cat /etc/hosts")

    ids = [permission.id for permission in review.permissions]
    assert len(ids) == len(set(ids)) > 5


def test_a77_request_ids_do_not_matter_to_grants(desk: Any) -> None:
    first, second = desk.ask(EXECUTE, "npm a"), desk.ask(EXECUTE, "npm b")
    for number, review in enumerate((first, second)):
        request = PermissionRequest(
            request_id="same", call_id=f"c{number}", tool="bash", title="t", permissions=review.asking
        )
        decision = Decision.ALLOW if number == 0 else Decision.DENY
        answer = PermissionDecision(
            permission_id=review.asking[0].id,
            decision=decision,
            scope=Scope.SESSION,
            pattern=review.asking[0].pattern,
        )
        desk.policy.record(request, Verdict(call_id=f"c{number}", permissions=(answer,)))

    assert (desk.run("npm a"), desk.run("npm b")) == ("allow", "deny")


def test_modes_are_found_by_every_spelling() -> None:
    assert [
        parse_mode(text) for text in ("acceptEdits", "dont_ask", "bypassPermissions", "yolo", "plan")
    ] == [Mode.ACCEPT_EDITS, Mode.DONT_ASK, Mode.BYPASS, Mode.BYPASS, Mode.PLAN]
    with pytest.raises(ValueError, match="default, accept-edits"):
        parse_mode("x")
    mode, seen = Mode.DEFAULT, set[Mode]()
    for _ in range(8):
        mode = next_mode(mode)
        seen.add(mode)
    assert seen == {Mode.DEFAULT, Mode.ACCEPT_EDITS, Mode.PLAN, Mode.AUTO}
    assert next_mode(Mode.BYPASS) is Mode.DEFAULT


def test_two_programs_share_the_grants_file(desk: Any) -> None:
    first, second = GrantStore(desk.state), GrantStore(desk.state)
    for number, store in enumerate((first, second, first)):
        store.add(
            new_grant(
                decision=Decision.ALLOW,
                tool="bash",
                kind=EXECUTE,
                pattern=f"Bash(x{number})",
                scope=Scope.USER,
                project=desk.project,
                now=datetime.now(UTC),
            )
        )

    assert [grant.pattern for grant in second.all()] == ["Bash(x0)", "Bash(x1)", "Bash(x2)"]
    assert [grant.line for grant in first.all()] == [1, 2, 3]
    assert not list(desk.state.glob(".*.tmp"))
