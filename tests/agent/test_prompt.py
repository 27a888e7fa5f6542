import os
import shutil
import subprocess
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from agent_tui.agent.environment import Surroundings
from agent_tui.agent.instructions import LIMIT_BYTES, imports_of, load_instructions
from agent_tui.agent.nested import NestedInstructions
from agent_tui.agent.prompt import system_prompt
from agent_tui.agent.tokens import text_tokens
from agent_tui.protocol.tools import ToolCall, ToolResult
from agent_tui.sandbox.interface import Launch, NoSandbox, Strength
from agent_tui.toolkit.testing import make_context


def fixed() -> datetime:
    return datetime(2026, 11, 29, tzinfo=UTC)


def names(workspace: Path) -> list[str]:
    loaded = load_instructions(workspace)
    return [str(file.path.relative_to(loaded.root)) for file in loaded.files]


def test_the_system_prompt_is_short_and_the_same_bytes_each_time() -> None:
    first = system_prompt(skills=[("deploy", "How to\n deploy")], extra="Speak French.")

    assert first == system_prompt(skills=[("deploy", "How to\n deploy")], extra="Speak French.")
    assert "- deploy: How to deploy\n" in first
    assert first.endswith("Speak French.\n")
    assert text_tokens(system_prompt()) < 1200


async def test_a97_the_environment_names_directory_platform_and_date(workspace: Path) -> None:
    text = await Surroundings(workspace, now=fixed)()

    assert f"Working directory: {workspace}" in text
    assert "Platform: " in text
    assert "Date: 2026-11-29 (Sunday)" in text
    assert "Git: not a repository" in text


@pytest.mark.parametrize(("strength", "said"), [(Strength.STRONG, True), (Strength.NONE, False)])
async def test_the_environment_says_that_commands_are_confined_where_they_are(
    workspace: Path, strength: Strength, said: bool
) -> None:
    class Confining(NoSandbox):
        strength = property(lambda _: strength)

    text = await Surroundings(workspace, sandbox=Confining(), now=fixed)()

    assert ("a /tmp of their own" in text) == said


class Preparing(NoSandbox):
    """A strong sandbox that remembers which threads prepared a program."""

    strength = property(lambda _: Strength.STRONG)

    def __init__(self) -> None:
        super().__init__()
        self.threads: list[threading.Thread] = []

    def launch(self, *args: Any, **named: Any) -> Launch:
        self.threads.append(threading.current_thread())
        return super().launch(*args, **named)


async def test_sandbox_prepares_git_beside_the_event_loop(repository: Path) -> None:
    sandbox = Preparing()

    text = await Surroundings(repository, sandbox=sandbox, now=fixed)()

    assert "Git: branch" in text
    assert sandbox.threads
    assert threading.current_thread() not in sandbox.threads


@pytest.fixture
def repository(workspace: Path) -> Path:
    if shutil.which("git") is None:
        pytest.skip("no git")
    subprocess.run(["git", "init", "-q", "-b", "trunk", workspace], check=True)
    (workspace / "new.txt").write_text("x")
    return workspace


async def test_git_state_is_read_when_trusted_and_otherwise_git_is_not_run(repository: Path) -> None:
    canary = repository.parent / "canary"
    with (repository / ".git" / "config").open("a") as config:
        config.write(f"[core]\n\tfsmonitor = touch {canary}\n")

    trusted = await Surroundings(repository, trusted=True, now=fixed)()
    untrusted = await Surroundings(repository, now=fixed)()

    assert "Git: branch trunk, 1 changed or new:\n?? new.txt" in trusted
    assert "its state was not read" in untrusted
    assert not canary.exists()


async def test_a_git_inside_the_workspace_is_not_run(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    canary = repository.parent / "canary"
    fake = repository / "git"
    fake.write_text(f"#!/bin/sh\ntouch {canary}\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{repository}{os.pathsep}.")

    text = await Surroundings(repository, trusted=True, now=fixed)()

    assert "could not be read" in text
    assert not canary.exists()


def test_h79_files_are_collected_from_the_root_down_without_duplicates(workspace: Path) -> None:
    (workspace / ".git").mkdir()
    inner = workspace / "a" / "b"
    inner.mkdir(parents=True)
    (workspace / "AGENTS.md").write_text("root rules\n@CLAUDE.md")
    (workspace / "CLAUDE.md").write_text("@AGENTS.md\nclaude rules")
    (workspace / "a" / "AGENTS.md").write_text("a rules")
    (inner / "AGENTS.local.md").write_text("my rules")
    (workspace.parent / "AGENTS.md").write_text("outside")

    assert names(inner) == ["AGENTS.md", "CLAUDE.md", "a/AGENTS.md", "a/b/AGENTS.local.md"]


def test_a_file_that_links_to_another_is_loaded_once(workspace: Path) -> None:
    (workspace / "AGENTS.md").write_text("rules")
    (workspace / "CLAUDE.md").symlink_to("AGENTS.md")

    assert names(workspace) == ["AGENTS.md"]


def test_nothing_outside_the_project_is_loaded(workspace: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text("key")
    (workspace / "AGENTS.md").write_text("@../secret.md and @~/secret.md and @/etc/passwd")
    (workspace / "CLAUDE.md").symlink_to(tmp_path / "secret.md")

    loaded = load_instructions(workspace)

    assert [file.path.name for file in loaded.files] == ["AGENTS.md"]
    assert any("leads out of" in notice for notice in loaded.notices)


def test_imports_leave_code_mail_and_packages_alone() -> None:
    text = "see @docs/a.md, a@b.com `@no.md`\n```\n@neither.md\n```\n@./x.md @docs/a.md."

    assert imports_of(text) == ["docs/a.md", "./x.md"]


def test_imports_do_not_go_in_circles_or_too_deep(workspace: Path) -> None:
    for number in range(9):
        (workspace / f"n{number}.md").write_text(f"@n{number + 1}.md @n0.md text{number}")
    (workspace / "AGENTS.md").write_text("@n0.md")

    loaded = load_instructions(workspace)

    assert [file.path.name for file in loaded.files] == ["AGENTS.md", *(f"n{n}.md" for n in range(5))]
    assert any("too deep" in notice for notice in loaded.notices)


def test_the_cap_of_32_kib_is_said_aloud_and_the_nearest_file_wins(workspace: Path) -> None:
    (workspace / ".git").mkdir()
    inner = workspace / "a"
    inner.mkdir()
    (workspace / "AGENTS.md").write_text("é line\n" * 8000)
    (inner / "AGENTS.md").write_text("near")

    loaded = load_instructions(inner)

    assert len(loaded.text.encode()) < LIMIT_BYTES + 400
    assert loaded.files[-1].text == "near"
    assert "bytes left out" in loaded.files[0].text
    assert "was cut by" in loaded.notices[0]


def test_a_pipe_is_no_instruction_file(workspace: Path) -> None:
    os.mkfifo(workspace / "AGENTS.md")

    assert load_instructions(workspace).files == []


async def test_nested_files_are_shown_once_when_a_file_there_is_touched(workspace: Path) -> None:
    (workspace / "sub").mkdir()
    (workspace / "sub" / "AGENTS.md").write_text("sub rules")
    (workspace / "AGENTS.md").write_text("top")
    loaded = load_instructions(workspace)
    hook = NestedInstructions(lambda: loaded)
    call = ToolCall(call_id="c", name="read", arguments_json='{"file_path": "sub/a.py"}')

    first = await hook.after(call, ToolResult.success("x"), make_context(workspace))
    second = await hook.after(call, ToolResult.success("x"), make_context(workspace))

    assert "sub rules" in first.context
    assert "top" not in first.context
    assert second.context == ""
