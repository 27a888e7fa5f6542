import unicodedata
from pathlib import Path
from typing import Any

import pytest

from agent_tui.permissions.grammar import Layer
from agent_tui.permissions.modes import Mode
from agent_tui.permissions.rules import Matcher, Subject
from agent_tui.protocol.permissions import (
    Decision,
    Risk,
)
from agent_tui.sandbox.interface import Strength
from tests.support.policy_world import EXECUTE, NETWORK, READ, TOOL, WRITE


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
    assert "without a strong sandbox" in review.asking[0].reason


def test_what_asks_is_said_with_its_place_where_a_rule_does(desk: Any) -> None:
    desk.make(ask=["Bash(npm *)", "Read(/src/**)"])

    assert desk.ask(EXECUTE, "npm test").asking[0].reason == "ask Bash(npm *) (config.toml:1)"
    assert desk.ask(READ, desk.project / "src/a.py").asking[0].reason == "ask Read(/src/**) (config.toml:1)"
