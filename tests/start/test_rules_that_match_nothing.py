import io
from pathlib import Path

import pytest

from agent_tui.cli import main
from agent_tui.permissions.commands import main as permissions
from agent_tui.permissions.commands import standard_setup
from agent_tui.permissions.decide import where
from agent_tui.permissions.grammar import Layer, Origin, parse_rule
from agent_tui.protocol.errors import AgentTuiError, UsageError
from agent_tui.protocol.permissions import Decision
from agent_tui.protocol.rule_words import split_words
from agent_tui.run.inputs import read_inputs, refuse_unknown_tools
from agent_tui.run.options import RunOptions
from tests.support.core_world import config_folder, configure, open_core

TOOL = """
async def petal(arguments, ctx):
    return "one"


def extend(agent):
    agent.register_tool("petal", "Count petals.", None, petal)
"""


@pytest.fixture(autouse=True)
def _there(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(workspace)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO()))


def answered(*arguments: str) -> int:
    return main(["-q", "--provider", "offline", *arguments, "-p", "help"])


@pytest.mark.parametrize(
    ("flag", "rules", "said"),
    [
        (
            "--disallowed-tools",
            "Bsh(rm *)",
            "'Bsh(rm *)': there is no tool 'Bsh', so the rule matches nothing; did you mean 'Bash'?",
        ),
        ("--allowed-tools", "nosuchtool", "there is no tool 'nosuchtool'"),
        ("--allowed-tools", "Foo(", "'Foo(' is not `Tool` or `Tool(specifier)`; write it as 'Bash(git *)'"),
        ("--disallowed-tools", "Read, Bash(rm *", "'Bash(rm *' is not `Tool`"),
        ("--disallowed-tools", "Bash(rm *)x", "'Bash(rm *)x' is not `Tool`"),
        ("--disallowed-tools", "Bash)", "'Bash)' is not `Tool`"),
    ],
)
def test_rule_of_a_flag_that_can_match_nothing_is_bad_usage(
    flag: str, rules: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert answered(flag, rules) == 2
    printed = capsys.readouterr()
    assert f"agent-tui: {flag}: " in printed.err
    assert said in printed.err
    assert printed.out == ""


def test_rule_for_a_tool_that_is_there_or_may_come_is_taken() -> None:
    (config_folder() / "tools").mkdir()
    (config_folder() / "tools" / "broken.py").write_text("nonsense(")

    assert answered("--disallowed-tools", "Broken, mcp__any__tool, MultiEdit(x), Bash(echo $(date))") == 0


def test_brackets_in_brackets_belong_to_the_rule() -> None:
    assert split_words(["Bash(echo $(date) *),Read\n Edit(a,b)"]) == [
        "Bash(echo $(date) *)",
        "Read",
        "Edit(a,b)",
    ]


def test_flag_rule_is_judged_by_all_tools_there_are(workspace: Path) -> None:
    rules = read_inputs(RunOptions(disallowed_tools=("petal",)), workspace).rules

    refuse_unknown_tools(rules, ["petal"])
    with pytest.raises(UsageError, match="no tool 'petal'"):
        refuse_unknown_tools(rules, ["leaf"])


@pytest.mark.parametrize(
    ("deny", "said"),
    [
        ('["Bsh(touch *)"]', "deny 'Bsh(touch *)': there is no tool 'Bsh', so the rule matches nothing; did you mean 'Bash'?"),
        ('"Bash(touch *)"', "permissions.deny is not a list of rules"),
        ('["Bash(touch *"]', "'Bash(touch *' is not `Tool` or `Tool(specifier)`"),
        ("[5]", "5 in permissions.deny is not a rule"),
    ],
)  # fmt: skip
def test_rule_of_a_file_that_can_match_nothing_is_told_with_its_line_also_where_progress_is_not(
    deny: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = configure(f"[permissions]\ndeny = {deny}\n")

    assert answered() == 0
    assert f"A permission rule needs a look: {file}:2: {said}" in capsys.readouterr().err


async def test_rule_for_the_tool_of_an_extension_needs_no_look(workspace: Path) -> None:
    (config_folder() / "extensions").mkdir()
    (config_folder() / "extensions" / "flora.py").write_text(TOOL)
    configure('[permissions]\ndeny = ["Petal", "Petel"]\n')

    async with open_core(workspace) as world:
        told = [text for text in world.core.notices() if "permission rule" in text]

    assert len(told) == 1
    assert "no tool 'Petel', so the rule matches nothing; did you mean 'petal'?" in told[0]


async def test_rule_said_by_hand_for_no_tool_is_not_kept(workspace: Path) -> None:
    async with open_core(workspace) as world:
        with pytest.raises(AgentTuiError, match=r"not kept: 'Bsh\(rm \*\)': .* did you mean 'Bash'\?"):
            await world.core.house.keeping.add_rule("deny", "Bsh(rm *)", "session")
        assert [rule.text for rule in world.core.rules()] == []


def test_rule_kept_from_a_shell_for_no_tool_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def add(rule: str) -> int:
        return permissions(
            ["add", "deny", rule],
            setup=lambda cwd: standard_setup(
                project=cwd, home=tmp_path, config_dir=tmp_path / "config", state_dir=tmp_path / "state"
            ),
        )

    assert add("Bash(rm *)") == 0
    assert capsys.readouterr().err == ""
    assert add("Bsh(rm *)") == 0
    assert "the rule matches nothing; did you mean 'Bash'?" in capsys.readouterr().err


def test_denial_by_a_flag_names_the_flag_and_no_line(workspace: Path) -> None:
    rule = parse_rule("Bash(rm *)", Decision.DENY, Origin(Layer.CLI, workspace, "--disallowed-tools"))

    assert where(rule.ref) == "deny Bash(rm *) (--disallowed-tools)"
