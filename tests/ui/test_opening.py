import subprocess
import sys
from pathlib import Path

import click
import pytest

from agent_tui.config.paths import user_paths
from agent_tui.run.options import RunOptions
from agent_tui.subcommands.root import root_command
from agent_tui.ui.first_frame import keep_look
from agent_tui.ui.instant import Look, look_file, read_look, terminal_kind
from agent_tui.ui.opening import RESUME, SWITCHES, VALUED, opens_screen

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["-c"],
        ["--resume"],
        ["--resume", "abc", "--plan"],
        ["-r", "-c"],
        ["resume"],
        ["resume", "01a2", "--theme", "nord"],
        ["--model", "offline", "explain this"],
        ["--theme=nord"],
        ["fix the tests"],
    ],
)
def test_these_open_the_screen(arguments: list[str]) -> None:
    assert opens_screen(arguments)


@pytest.mark.parametrize(
    "arguments",
    [
        ["-p", "hello"],
        ["--print"],
        ["--help"],
        ["--version"],
        ["sessions"],
        ["sessions", "list"],
        ["sesions"],
        ["tool", "read"],
        ["--plan", "-p", "x"],
        ["--screen-reader"],
        ["--unknown"],
        ["--model"],
        ["one prompt", "another one"],
    ],
)
def test_these_may_not(arguments: list[str]) -> None:
    assert not opens_screen(arguments)


def test_every_flag_that_opens_the_screen_is_a_flag_of_the_program_and_takes_what_is_thought() -> None:
    flags: dict[str, click.Option] = {}
    for option in root_command(lambda _: 0).params:
        if isinstance(option, click.Option):
            flags |= dict.fromkeys(option.opts, option)

    assert set(flags) >= SWITCHES | VALUED | RESUME
    assert {name for name in SWITCHES if not flags[name].is_flag} == set()
    assert {name for name in VALUED if flags[name].is_flag or flags[name].nargs != 1} == set()


def test_without_arguments_nothing_has_to_be_parsed_to_know_the_options() -> None:
    parsed: list[RunOptions] = []

    root_command(lambda options: parsed.append(options) or 0).main([], standalone_mode=False)

    assert parsed == [RunOptions()]


def test_nothing_heavy_is_imported_before_the_prompt_is_drawn() -> None:
    script = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r}); import agent_tui.ui.instant; print(*sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", script], capture_output=True, text=True, check=True
    )
    loaded = set(done.stdout.split())

    heavy = {
        "asyncio",
        "textual",
        "pydantic",
        "click",
        "dataclasses",
        "json",
        "re",
        "enum",
        "pathlib",
        "typing",
    }
    assert not loaded & heavy


def test_the_look_is_kept_in_the_cache_folder_and_read_back_for_the_same_kind_of_terminal() -> None:
    keep_look(f"kind={terminal_kind()}\nframe=38;2;1;2;3\nbelow=2\nleft=4\nwords=Ask\n")

    assert Path(look_file()) == user_paths().cache / "first-frame"
    assert Path(look_file()).stat().st_mode & 0o777 == 0o600
    assert read_look(look_file(), terminal_kind()).frame == "38;2;1;2;3"
    assert read_look(look_file(), "another kind").frame == ""


@pytest.mark.parametrize("bad", ["1m\x1b]0;owned\x07", "31;x", "\n"])
def test_a_look_that_was_tampered_with_writes_nothing_to_the_terminal(bad: str) -> None:
    look = Look({"frame": bad, "words": f"Ask{bad}\x1b[2J", "below": bad, "left": "99999"})

    assert (look.frame, look.words, look.below, look.left) == ("", "", 2, 4)
