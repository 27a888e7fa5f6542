import shutil
from pathlib import Path

import pytest

from agent_tui.cli import main
from agent_tui.config.paths import user_paths
from agent_tui.extensions.trust import TrustStore
from agent_tui.run.doctor import examine
from tests.conversation.test_order_of_rounds import TOOL
from tests.support.core_world import config_folder, configure


def test_doctor_lists_own_tools_and_skills_and_why_others_failed(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(workspace)
    configure('[tools]\ndisable = ["note"]\n')
    tools = config_folder() / "tools"
    tools.mkdir()
    (tools / "note.py").write_text(TOOL)
    (tools / "broken.py").write_text("import nothing_of_this_name\n")
    project = workspace / ".agent-tui/tools"
    project.mkdir(parents=True)
    (project / "theirs.py").write_text("raise SystemExit\n")
    for name, text in (
        ("tidy", "---\nname: tidy\ndescription: Tidies.\n---\nTidy.\n"),
        ("bad", "no front matter\n"),
    ):
        folder = config_folder() / "skills" / name
        folder.mkdir(parents=True)
        (folder / "SKILL.md").write_text(text)

    main(["doctor"])

    lines = capsys.readouterr().out.splitlines()
    assert f"ok   tool note: user, {tools}; switched off by [tools] disable" in lines
    assert any(line.startswith("look tool broken: ") and "nothing_of_this_name" in line for line in lines)
    assert "look project tools: not loaded, the project is not trusted: theirs" in lines
    assert "ok   skills: tidy" in lines
    assert any(line.startswith("look skill: ") and "bad/SKILL.md" in line for line in lines)


def test_doctor_names_rules_of_commands_and_skills_that_are_none(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(workspace)
    for name, head in (
        ("commands/fix.md", ""),
        ("skills/tidy/SKILL.md", "name: tidy\ndescription: Tidies.\n"),
    ):
        file = config_folder() / name
        file.parent.mkdir(parents=True)
        file.write_text(f"---\n{head}allowed-tools: Bash(git *\n---\nGo.\n")

    assert main(["doctor"]) == 1

    lines = capsys.readouterr().out.splitlines()
    assert "ok   commands: /fix" in lines
    for kind, place in (("command", "fix.md:2"), ("skill", "SKILL.md:4")):
        assert any(
            line.startswith(f"look {kind}: ") and f"{place}: allowed-tools: 'Bash(git *'" in line
            for line in lines
        )


def test_doctor_says_of_each_server_whether_it_could_be_started(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(workspace)
    file = configure(
        '[mcp.servers.here]\ncommand = "sh"\nargs = ["--token", "hidden"]\n'
        '[mcp.servers.gone]\ncommand = "no-such-program"\n'
        '[mcp.servers.web]\nurl = "https://u:hidden@web.example/mcp?key=hidden"\n'
        '[mcp.servers.off]\ncommand = "sh"\nenabled = false\n'
        "[mcp.servers.bad]\ncommand = 5\n"
    )
    theirs = workspace / ".mcp.json"
    theirs.write_text('{"mcpServers": {"the\\u001b[2Jirs": {"command": "sh", "args": ["hidden"]}}}')

    assert main(["doctor"]) == 1
    printed = capsys.readouterr().out
    TrustStore(user_paths().state).accept(workspace)
    main(["doctor"])
    trusted = capsys.readouterr().out

    sh = shutil.which("sh")
    assert [line for line in printed.splitlines() if "mcp server " in line] == [
        f"look settings: {file}:12: mcp server 'bad': command: a text is expected",
        f"ok   mcp server here: user, {sh}, not started; 'agent-tui mcp test' starts it",
        f"look mcp server gone: user, there is no program 'no-such-program' in PATH; install it or correct {file}",
        "ok   mcp server web: user, https://web.example/mcp, not asked; 'agent-tui mcp test' asks it",
        f"ok   mcp server off: user, switched off in {file}",
        f"look mcp server theirs: not started, the project is not trusted: sh of {theirs}",
    ]
    assert f"ok   mcp server theirs: project, trusted, {sh}, not started" in trusted
    assert "hidden" not in printed + trusted


def model_line(capsys: pytest.CaptureFixture[str]) -> str:
    return next(line for line in capsys.readouterr().out.splitlines() if " model: " in line)


def test_a_missing_key_or_helper_program_is_a_hint_and_no_failure(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(workspace)
    monkeypatch.setenv("PATH", str(workspace))

    checks = {check.name: check for check in examine(workspace)}
    main(["doctor"])

    assert [(checks[name].ok, checks[name].is_hint) for name in ("model", "git", "rg")] == [(True, True)] * 3
    assert model_line(capsys).startswith("hint model: no key: the offline model answers")


@pytest.mark.parametrize(
    ("toml", "line"),
    [
        ('model.provider = "offline"\n', "ok   model: offline:offline, named"),
        ('model.name = "petals"\n', "look model: Who has the model 'petals'?"),
    ],
)
def test_the_model_of_the_next_start_is_named_or_why_there_is_none(
    workspace: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    toml: str,
    line: str,
) -> None:
    monkeypatch.chdir(workspace)
    configure(toml)

    main(["doctor"])

    assert model_line(capsys).startswith(line)
