from pathlib import Path

import pytest

from agent_tui.config.load import Layer, load
from agent_tui.extensions.hooks.events import EventName
from agent_tui.extensions.hooks.settings import FoundHooks, HookFile, find_hooks

GOOD = """
[model]
name = "x"

[[hooks.pre_tool]]
matcher = "bash|mcp__*"
command = "./check"
timeout_s = 10
fail_closed = false

[[hooks.PreToolUse]]
command = "second"

[[hooks.stop]]
command = "third"
"""


def find(folder: Path, text: str, origin: str = "user") -> FoundHooks:
    path = folder / "config.toml"
    path.write_text(text)
    return find_hooks([HookFile(path, origin), HookFile(folder / "missing.toml", "project")])


def test_x31_hooks_are_read_with_their_place_and_five_seconds(tmp_path: Path) -> None:
    found = find(tmp_path, GOOD)

    first, second, third = found.hooks
    assert found.problems == ()
    assert (first.event, first.command, first.matcher) == (EventName.PRE_TOOL, "./check", "bash|mcp__*")
    assert (first.timeout_s, first.fail_closed, first.line) == (10, False, 5)
    assert (second.event, second.timeout_s, second.fail_closed, second.line) == ("pre_tool", 5, True, 11)
    assert (third.event, third.fail_closed, third.where) == ("stop", False, f"{tmp_path}/config.toml:14")


def test_the_settings_loader_leaves_hooks_alone(tmp_path: Path) -> None:
    find(tmp_path, GOOD)

    assert load([Layer("user", tmp_path / "config.toml")]).problems == ()


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ('command = "x"\ntimeout_s = 61', "timeout_s: must be at most 60"),
        ('command = "x"\ntimeout_s = 0', "timeout_s: must be more than 0"),
        ('command = ""', "command"),
        ('matcher = "bash"', "command: is missing"),
        ('command = "x"\nmathcer = "bash"', "mathcer"),
        ('command = ["x"]', "command"),
    ],
)
def test_x31_a_guard_that_cannot_be_used_is_named_and_still_stands_in_its_place(
    tmp_path: Path, body: str, words: str
) -> None:
    found = find(tmp_path, f"\n[[hooks.pre_tool]]\n{body}\n")

    (spec,) = found.hooks
    assert spec.fault
    assert spec.fail_closed
    assert found.problems == (f"{tmp_path}/config.toml:2: hooks.pre_tool: {spec.fault}",)
    assert words in spec.fault


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            '[[hooks.pre_tol]]\ncommand = "x"',
            "hooks.pre_tol: there is no such event; did you mean 'pre_tool'?",
        ),
        ('[[hooks.stop]]\nmatcher = "bash"\ncommand = "x"', "no tool to match"),
        ('[[hooks.session_end]]\nfail_closed = true\ncommand = "x"', "nothing can be held back"),
        ("[hooks]\nstop = 3", "a table with a command is expected"),
        ("hooks = 3", "hooks: tables are expected"),
    ],
)
def test_what_is_wrong_is_one_sentence(tmp_path: Path, text: str, words: str) -> None:
    (problem,) = find(tmp_path, text).problems

    assert words in problem


@pytest.mark.parametrize("text", ["[[hooks.stop]\n", "\xff", "a = " + "[" * 5000])
def test_a_file_without_usable_hooks_has_none(tmp_path: Path, text: str) -> None:
    assert find(tmp_path, text) == FoundHooks()


def test_only_what_holds_back_something_fails_closed_by_itself(tmp_path: Path) -> None:
    text = "".join(f'[[hooks.{name}]]\ncommand = "x"\n' for name in EventName)

    closed = {spec.event for spec in find(tmp_path, text).hooks if spec.fail_closed}

    assert closed == {"user_prompt", "pre_tool", "approval"}
