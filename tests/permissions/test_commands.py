import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agent_tui.permissions.audit import AuditEntry, AuditLog
from agent_tui.permissions.commands import main, standard_setup
from agent_tui.sandbox.interface import Strength

Run = Callable[..., tuple[int, str]]


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    project, home = tmp_path / "proj", tmp_path / "home"
    (project / "src").mkdir(parents=True)
    home.mkdir()
    monkeypatch.chdir(project)

    def call(*arguments: str, strength: Strength = Strength.STRONG, trusted: bool = False) -> tuple[int, str]:
        code = main(
            arguments,
            setup=lambda cwd: standard_setup(
                project=project if cwd.is_relative_to(project) else cwd,
                home=home,
                config_dir=home / "config",
                state_dir=home / "state",
                strength=strength,
                trusted=trusted,
                assumed="found when this was last tried",
            ),
        )
        captured = capsys.readouterr()
        return code, captured.out + captured.err

    return call


def test_check_prints_decision_parts_needs_and_what_could_be_stored(run: Run, tmp_path: Path) -> None:
    (tmp_path / "home/config").mkdir()
    (tmp_path / "home/config/config.toml").write_text('[permissions]\ndeny = ["Bash(rm *)"]\n')

    code, out = run("check", "git diff && rm x")

    assert code == 0
    assert out.startswith("deny")
    assert f"deny Bash(rm *) ({tmp_path}/home/config/config.toml:2)" in out
    assert "sandbox strong (found when this was last tried)" in out


def test_check_gives_the_agreed_json(run: Run, tmp_path: Path) -> None:
    code, out = run("check", "--json", "npm run build && curl https://a.com -o ../x")
    report = json.loads(out)

    assert code == 0
    assert (report["decision"], report["class"]) == ("ask", "outside-workspace-write")
    assert [(need["kind"], need["target"], need["pattern"]) for need in report["needs"]] == [
        ("execute", "npm run build", "Bash(npm run build *)"),
        ("execute", "curl https://a.com -o ../x", "Bash(curl https://a.com -o ../x)"),
        ("network", "a.com", "WebFetch(domain:a.com)"),
        ("write", str(tmp_path), ""),
    ]
    assert [(part["argv"][0], part["decision"]) for part in report["parts"]] == [
        ("npm", "ask"),
        ("curl", "ask"),
    ]
    assert report["always"] == [
        "Bash(npm run build *)",
        "Bash(curl https://a.com -o ../x)",
        "WebFetch(domain:a.com)",
    ]
    assert set(report["parts"][0]) == {"argv", "decision", "rule", "why"}


@pytest.mark.parametrize(
    ("arguments", "decision", "klass"),
    [
        (["ls"], "allow", "read-only-safe"),
        (["git status"], "allow", "read-only-safe"),
        (["git status", "--sandbox", "none"], "ask", "read-only-safe"),
        (["git status", "--sandbox", "weak"], "ask", "read-only-safe"),
        (["npm test"], "ask", "needs-approval"),
        (["npm test", "--mode", "auto"], "allow", "needs-approval"),
        (["npm test", "--mode", "auto", "--sandbox", "weak"], "ask", "needs-approval"),
        (["npm test", "--mode", "dontAsk"], "deny", "needs-approval"),
        (["npm test", "--mode", "plan"], "deny", "needs-approval"),
        (["curl e.com", "--mode", "bypass"], "allow", "network"),
        (["ping e.com"], "ask", "network"),
        (["ls $(rm x)"], "ask", "needs-approval"),
        (["touch ../x"], "ask", "outside-workspace-write"),
    ],
)
def test_check_assumes_what_it_is_told(run: Run, arguments: list[str], decision: str, klass: str) -> None:
    report = json.loads(run("check", "--json", *arguments)[1])

    assert (report["decision"], report["class"]) == (decision, klass)


def test_check_works_from_another_directory(run: Run) -> None:
    assert json.loads(run("check", "--json", "-C", "src", "cat ../a")[1])["decision"] == "allow"
    assert json.loads(run("check", "--json", "-C", "src", "cat ../../a")[1])["decision"] == "ask"
    assert run("check", "-C", "nowhere", "ls")[0] == 2


def test_wrong_arguments_end_with_two(run: Run) -> None:
    assert run("check")[0] == 2
    assert run("nothing")[0] == 2
    assert run("--help")[0] == 0
    assert run("check", "ls", "--mode", "x")[0] == 1


def test_a_rule_is_added_listed_and_taken_back(run: Run) -> None:
    code, out = run("add", "allow", "Bash(npm test)", "--expires", "2h")
    name = out.split()[-1].rstrip(".")

    assert code == 0
    assert json.loads(run("check", "--json", "npm test")[1])["decision"] == "allow"
    (listed,) = json.loads(run("list", "--json")[1])
    assert (listed["id"], listed["decision"], listed["rule"], listed["line"]) == (
        name,
        "allow",
        "Bash(npm test)",
        1,
    )
    assert listed["expires_at"]
    assert name in run("list")[1]
    assert run("remove", name)[0] == 0
    assert run("remove", name)[0] == 1
    assert run("list")[1] == "There are no rules.\n"


def test_a_wrong_rule_or_time_is_refused_with_its_reason(run: Run) -> None:
    assert "domain:HOST" in run("add", "deny", "WebFetch(x)")[1]
    assert "such as 2h" in run("add", "deny", "Bash(x)", "--expires", "soon")[1]
    assert run("list", "--json")[1] == "[]\n"


def test_a_rule_of_a_file_is_named_with_its_place_when_it_is_to_be_removed(run: Run, tmp_path: Path) -> None:
    (tmp_path / "home/config").mkdir()
    (tmp_path / "home/config/config.toml").write_text('[permissions]\nallow = ["Bash(make)"]\n')

    code, out = run("remove", "Bash(make)")

    assert code == 1
    assert "config.toml:2" in out


@pytest.mark.parametrize("arguments", [("add", "allow", "Bash"), ("remove", "x"), ("import", "--yes")])
def test_a_command_that_agent_tui_runs_changes_nothing(
    run: Run, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    monkeypatch.setenv("AGENT_TUI_CHILD", "1")

    assert run(*arguments)[0] == 1
    monkeypatch.delenv("AGENT_TUI_CHILD")
    assert run("list", "--json")[1] == "[]\n"


def test_lint_ends_with_one_when_it_finds_something(run: Run, tmp_path: Path) -> None:
    assert run("lint") == (0, "No faults.\n")
    (tmp_path / "home/config").mkdir()
    (tmp_path / "home/config/config.toml").write_text(
        '[permissions]\nallow = ["Bash(python3 *)", "Bsh(x)"]\n'
    )

    code, out = run("lint", "--json")

    assert code == 1
    assert [finding["kind"] for finding in json.loads(out)] == ["too-wide", "unknown-tool"]
    assert "config.toml:2: too-wide" in run("lint")[1]


def entry(**fields: Any) -> AuditEntry:
    base: dict[str, Any] = {
        "when": "2026-01-01T00:00:00+00:00",
        "who": "person",
        "decision": "allow",
        "scope": "once",
        "tool": "bash",
        "kind": "execute",
        "target": "npm test",
    }
    return AuditEntry(**{**base, **fields})


def test_what_was_answered_alike_is_suggested(run: Run, tmp_path: Path) -> None:
    log = AuditLog(tmp_path / "home/state")
    log.write([entry(offered="Bash(npm test *)") for _ in range(3)])
    log.write(
        [entry(offered="Bash(make)", target="make", decision=d) for d in ("allow", "allow", "allow", "deny")]
    )
    log.write([entry(offered="Bash(x)", target="x", who="rule") for _ in range(5)])

    found = json.loads(run("suggest", "--json")[1])

    assert [(s["effect"], s["pattern"], s["count"]) for s in found] == [("allow", "Bash(npm test *)", 3)]
    run("add", "allow", "Bash(npm test *)")
    assert run("suggest")[1] == "Nothing to suggest yet.\n"


def test_the_log_shows_the_last_decisions_of_this_project(run: Run, tmp_path: Path) -> None:
    log = AuditLog(tmp_path / "home/state")
    log.write([entry(target=f"t{n}\x1b[2J", project=str(tmp_path / "proj")) for n in range(3)])
    log.write([entry(target="elsewhere", project="/other")])
    with log.path.open("a") as file:
        file.write("torn")

    out = run("log", "-n", "2")[1]

    assert [line.split()[6] for line in out.splitlines()] == ["t1\\u001b[2J", "t2\\u001b[2J"]
    assert "elsewhere" in run("log", "--all")[1]
    assert len(run("log", "--json")[1].splitlines()) == 3


def test_lists_of_claude_are_shown_before_they_are_kept(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "proj/.claude"
    folder.mkdir()
    (folder / "settings.json").write_text(
        '{"permissions": {"allow": ["Bash(npm run test:*)"], "deny": ["Read(.secret)", "Nope("]}}'
    )

    code, out = run("import")
    assert code == 0
    assert "allow Bash(npm run test:*)" in out
    assert "left out" in out
    assert "Nothing was kept" in out
    assert run("list", "--json")[1] == "[]\n"
    assert "Kept 2 rules" in run("import", "--yes")[1]
    assert json.loads(run("check", "--json", "npm run test")[1])["decision"] == "allow"


def test_check_starts_lean(tmp_path: Path) -> None:
    script = (
        "import sys, resource\n"
        "from pathlib import Path\n"
        "from agent_tui.permissions.commands import main, standard_setup\n"
        "p = Path(sys.argv[1])\n"
        "main(['check', '--json', 'ls -la'], setup=lambda c: standard_setup(project=p, home=p, config_dir=p / 'c', state_dir=p / 's'))\n"
        "heavy = {'textual', 'rich', 'anthropic', 'openai', 'mcp', 'httpx', 'pathspec', 'tomlkit', 'click'} & set(sys.modules)\n"
        "used = resource.getrusage(resource.RUSAGE_SELF)\n"
        "print(sorted(heavy), used.ru_utime + used.ru_stime)\n"
    )
    done = [
        subprocess.run(
            [sys.executable, "-c", script, str(tmp_path)],
            capture_output=True,
            text=True,
            check=True,
            cwd=tmp_path,
            env={**os.environ},
        ).stdout.splitlines()[-1]
        for _ in range(3)
    ]

    assert all(line.startswith("[]") for line in done)
    assert min(float(line.split()[-1]) for line in done) < 0.5
