import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agent_tui.protocol.display import ResultContentType
from agent_tui.protocol.permissions import PermissionKind, Risk
from agent_tui.sandbox.interface import Confinement, NoSandbox, Profile
from agent_tui.toolkit.environment import WithoutVariables
from tests.support.tool_world import ToolWorld, body, make_world


@pytest.fixture
async def world(workspace: Path) -> AsyncIterator[ToolWorld]:
    made = make_world(workspace)
    yield made
    await made.jobs.close()


async def test_ba_16_the_terminal_and_our_own_environment_do_not_leak(
    world: ToolWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "123")
    monkeypatch.setenv("COLORTERM", "truecolor")
    monkeypatch.setenv("VIRTUAL_ENV", sys.prefix)
    monkeypatch.setenv("PYTHONPATH", "/ours")
    monkeypatch.setenv("PATH", f"{sys.prefix}/bin:{os.environ['PATH']}")

    result = await world.bash(
        'echo "$COLUMNS|$COLORTERM|$VIRTUAL_ENV|$PYTHONPATH|$TERM|$PAGER|$GIT_TERMINAL_PROMPT|$AGENT_TUI_CHILD"; '
        'echo "$PATH"; ls --color=auto -d .'
    )

    first, path, listed = body(result).splitlines()
    assert first == "||||dumb|cat|0|1"
    assert f"{sys.prefix}/bin" not in path.split(":")
    assert listed == "."


async def test_ba_16_a_virtual_environment_of_the_project_stays(
    world: ToolWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VIRTUAL_ENV", "/srv/project/.venv")

    assert body(await world.bash("echo $VIRTUAL_ENV")) == "/srv/project/.venv\n"


@pytest.mark.parametrize("name", ["LD_LIBRARY_PATH", "PYTHONHOME", "LD_PRELOAD"])
async def test_ba_19_loader_variables_are_left_out_and_a_failure_names_them(
    world: ToolWorld, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(name, "/nonexistent/thing")

    fine = await world.bash(f"ls; python3 -c 'print(1)'; echo [${name}]")
    failed = await world.bash("echo 'x: error while loading shared libraries: y' >&2; exit 127")

    assert body(fine) == "1\n[]\n"
    assert name in failed.output


async def test_ba_19_what_a_frozen_launcher_saved_comes_back(
    world: ToolWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LD_LIBRARY_PATH", "/bundle")
    monkeypatch.setenv("LD_LIBRARY_PATH_ORIG", "/usr/local/cuda/lib64")

    assert body(await world.bash("echo $LD_LIBRARY_PATH")) == "/usr/local/cuda/lib64\n"


async def test_names_the_person_denies_are_left_out(
    world: ToolWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CORP_PROXY", "x")
    monkeypatch.setenv("JIRA_URL", "y")
    monkeypatch.setenv("JIRA_USER", "z")
    world.ctx.sandbox = WithoutVariables(NoSandbox(), ["CORP_PROXY", "JIRA_*"])

    assert body(await world.bash("echo [$CORP_PROXY$JIRA_URL$JIRA_USER]")) == "[]\n"


def test_one_execute_permission_with_the_exact_text(world: ToolWorld) -> None:
    (permission,) = world.permissions("bash", command="git status -s")

    assert permission.kind is PermissionKind.EXECUTE
    assert permission.target == "git status -s"
    assert permission.pattern == "Bash(git status -s)"
    assert permission.risk is Risk.MEDIUM


@pytest.mark.parametrize("command", ["rm *", "git log\nrm -rf /", "echo 'a*b'"])
def test_text_that_would_read_as_a_wildcard_offers_no_always(world: ToolWorld, command: str) -> None:
    assert world.permissions("bash", command=command)[0].pattern == ""


@pytest.mark.parametrize(
    "command",
    [
        "agent-tui approvals allow x",
        "cd x; agent-tui config set a b",
        "/usr/bin/agent-tui -p x",
        "env agent-tui",
        "python -m agent_tui",
    ],
)
def test_our_own_program_is_high_and_never_always(world: ToolWorld, command: str) -> None:
    (permission,) = world.permissions("bash", command=command)

    assert (permission.risk, permission.pattern) == (Risk.HIGH, "")


@pytest.mark.parametrize("command", ["ls agent-tui-notes", "cat my-agent-tui.md", "echo agent-tui.toml"])
def test_names_that_only_look_like_ours_are_not_high(world: ToolWorld, command: str) -> None:
    assert world.permissions("bash", command=command)[0].risk is Risk.MEDIUM


async def test_panel_shows_command_output_exit_code_and_time(world: ToolWorld) -> None:
    result = await world.bash("echo hi; exit 2")

    shown = world.shown("bash", result, command="echo hi; exit 2")

    assert shown.content_type is ResultContentType.TERMINAL
    assert shown.content.startswith("$ echo hi; exit 2\nhi\n[exit code: 2, ")
    assert (shown.full_length, shown.full_lines, shown.is_truncated) == (3, 1, False)
    assert shown.content.endswith(" s]")
    assert shown.summary == "exit code: 2, 1 line"  # the row of the panel has the time at its end


async def test_a33_a34_panel_of_a_long_output_keeps_both_ends_and_the_total(world: ToolWorld) -> None:
    result = await world.bash("seq 1 50000")

    shown = world.shown("bash", result, command="seq 1 50000")

    assert len(shown.content) <= 10_000
    assert shown.is_truncated
    assert (shown.full_length, shown.full_lines) == (288_894, 50_000)
    assert "288,894 characters in all" in shown.content
    assert "\n50000\n" in shown.content


async def test_a_panel_of_a_call_that_never_ran(world: ToolWorld) -> None:
    shown = world.shown("bash", await world.bash(""), command="")

    assert "did not run" in shown.content


def test_title_is_the_command(world: ToolWorld) -> None:
    assert world.title("bash", command="git status") == "git status"


async def test_a50_summary_says_the_word_and_how_it_went(world: ToolWorld) -> None:
    good = await world.bash("true x")
    bad = await world.bash("false")
    late = await world.bash("sleep 987", timeout=1000)

    assert world.summary("bash", good, command="true x") == "[Bash: true (ok)]"
    assert world.summary("bash", bad, command="false") == "[Bash: false (warn)]"
    assert world.summary("bash", late, command="sleep 9") == "[Bash: sleep (error)]"


async def test_git_that_may_only_read_runs_no_program_of_the_repository(world: ToolWorld) -> None:
    canary = world.put("canary.sh", f"#!/bin/sh\ntouch {world.root}/canary\n")
    canary.chmod(0o755)
    await world.bash(f"git init -q . && git config core.fsmonitor {canary}")
    world.put("a.txt", "a")
    world.ctx.confinement = Confinement(profile=Profile.READ_ONLY)

    result = await world.bash("git status --short")

    assert "a.txt" in result.output
    assert not (world.root / "canary").exists()
    world.ctx.confinement = Confinement(profile=Profile.WORKSPACE)
    await world.bash("git status --short")
    assert (world.root / "canary").exists()
