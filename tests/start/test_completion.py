import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete

from agent_tui.cli import COMPLETE_VARIABLE, PLAIN
from agent_tui.subcommands.commands import COMMANDS
from agent_tui.subcommands.completion import command_tree


def completed(*words: str) -> list[str]:
    *before, last = words
    shell = ShellComplete(command_tree(), {}, "agent-tui", COMPLETE_VARIABLE)
    return [item.value for item in shell.get_completions(before, last)]


def test_every_subcommand_is_completed() -> None:
    assert {*COMMANDS, *PLAIN, "exec", "run", "resume"} == set(completed(""))


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("too", ["tool"]),
        ("--permission-m", ["--permission-mode"]),
        ("--permission-mode dont-", ["dont-ask"]),
        ("exec --effort hi", ["high"]),
        ("tool --li", ["--list"]),
        ("--theme gru", ["gruvbox-dark", "gruvbox-light"]),
        ("completion f", ["fish"]),
        ("--no-color models --h", ["--help"]),
        ("sessions ex", ["export"]),
        ("sessions export --fo", ["--format"]),
        ("sessions export --format h", ["html"]),
        ("mcp add --transport s", ["stdio", "sse"]),
        ("permissions check --js", ["--json"]),
        ("approvals allow --re", ["--reason"]),
        ("nonsense", []),
        ("sessions nonsense --f", []),
    ],
)
def test_words_are_completed(line: str, expected: list[str]) -> None:
    assert completed(*line.split()) == expected


def test_bash_completes_by_the_printed_script(tmp_path: Path) -> None:
    script = """
        eval "$(agent-tui completion bash)"
        complete -p agent-tui
        COMP_WORDS=(agent-tui sessions export --format h) COMP_CWORD=4
        _agent_tui_completion agent-tui
        echo "${COMPREPLY[@]}"
    """
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"

    done = subprocess.run(
        ["bash", "-c", script],
        cwd=tmp_path,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.stdout.splitlines() == ["complete -o nosort -F _agent_tui_completion agent-tui", "html"], (
        done.stderr
    )
