import io
import re
from pathlib import Path

import click
import pytest

from agent_tui.cli import PLAIN, main
from agent_tui.subcommands.commands import COMMANDS
from agent_tui.subcommands.root import root_command


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["config"], "Usage: agent-tui config [OPTIONS] COMMAND [ARGS]...\n"),
        (["completion"], "Choose from: bash, zsh, fish. Try 'agent-tui completion --help'.\n"),
        (["models", "--nope"], "No such option '--nope'. Try 'agent-tui models --help'.\n"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_an_unusable_line_is_answered_with_the_help_of_that_subcommand(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    told = capsys.readouterr().err
    assert said in told
    assert "Try 'agent-tui --help'" not in told
    assert told.count("agent-tui: ") == (arguments != ["config"])


def test_the_help_says_of_every_subcommand_and_flag_what_it_is_for(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["--help"]) == 0
    told = capsys.readouterr().out.partition("Subcommands:")[2]
    names = [line.split()[0] for line in told.splitlines() if re.match(r"  \w+  +\w", line)]

    assert names == sorted({*COMMANDS, *PLAIN, "exec", "run", "resume"})
    options = [one for one in root_command(lambda _options: 0).params if isinstance(one, click.Option)]
    assert [one.name for one in options if not one.help] == []


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (["tool", "raed"], "no tool named 'raed'; did you mean 'read'?"),
        (["-p", "x", "--tools", "raed"], "did you mean 'read'?"),
        (["config", "get", "ui.thme"], "No setting named 'ui.thme'; did you mean 'ui.theme'?"),
        (["config", "set", "theme", "nord"], "is not a setting; did you mean 'ui.theme'?"),
        (["auth", "remove", "antropic"], "no provider 'antropic' takes a key; did you mean 'anthropic'?"),
        (["-p", "x", "--provider", "antropic"], "did you mean 'anthropic'"),
        (["models", "--provider", "antropic"], "did you mean 'anthropic'"),
        (["--theme", "nrod"], "--theme: there is no theme 'nrod'; did you mean 'nord'?"),
        (["-p", "x", "--theme", "petals"], "--theme: there is no theme 'petals'; there are dark, light, "),
        (["-p", "x", "--agent", "explor"], "did you mean 'explore'?"),
        (["-p", "x", "--permission-mode", "pln"], "did you mean 'plan'?"),
        (["-p", "x", "--setting-sources", "usr"], "did you mean 'user'?"),
        (["-p", "x", "--effort", "hig"], "did you mean 'high'?"),
        (["permissions", "lst"], "did you mean 'list'?"),
        (["sessions", "lst"], "did you mean 'list'?"),
        (["mcp", "lst"], "did you mean 'list'?"),
        (["approvals", "lst"], "did you mean 'list'?"),
        (["config", "gte"], "Did you mean 'get'?"),
        (["completion", "bsh"], "did you mean 'bash'?"),
        (["config", "set", "ui.theme", "nord", "--scope", "usr"], "did you mean 'user'?"),
        (["config", "set", "ui.theme", "nord", "--scop", "user"], "--scope"),
        (["-p", "x", "--output-format", "jsn"], "did you mean 'json'?"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_refused_name_comes_with_what_may_be_meant(
    workspace: Path,
    arguments: list[str],
    meant: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(workspace)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO()))

    try:
        code = main(arguments)
    except SystemExit as left:
        code = int(str(left.code))

    said = capsys.readouterr().err
    assert code in (1, 2)
    assert meant in said
