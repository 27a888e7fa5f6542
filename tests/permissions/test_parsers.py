import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_tui.permissions.shell.awk import awk_only_prints
from agent_tui.permissions.shell.special import BUILTINS
from agent_tui.permissions.shell.strict import StrictParser
from agent_tui.permissions.shell.tree import TreeReader
from agent_tui.permissions.shell.words import NotStatic

# One write per command: those of a pipeline run side by side.
RECORDER = 'command_not_found_handle() { printf "%s\\0" "$@" $\'\\1\' >> "$RECORD"; }\n'


def recorded(command: str, folder: Path) -> list[list[str]]:
    """Let bash run `command` with every program replaced by a recorder of its words."""
    record = folder / "record"
    record.write_text("")
    (folder / "x").write_text("")
    (folder / "home").mkdir(exist_ok=True)
    environ = {"PATH": "/nonexistent", "RECORD": str(record), "HOME": "/home/u"}
    subprocess.run(
        ["/bin/bash", "-c", RECORDER + command],
        env=environ,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    calls = record.read_text().split("\1\0")
    return [call.split("\0")[:-1] for call in calls if call]


def parsed(command: str) -> list[list[str]]:
    script = StrictParser(command, home="/home/u").parse()
    return [[word.text for word in stage.words] for step in script.steps for stage in step.stages]


@pytest.mark.parametrize(
    "command",
    [
        "ls -la src",
        'grep -n "a\\"b\\\\c\\n" x',
        "grep 'a b' \"c d\" e\\ f g\"h\"'i'j",
        "ls $'a\\x41\\t\\101\\'b'",
        'grep "x$" "a$ b" y$',
        "ls a#b #comment",
        "ls \\\n  -la",
        "cat <<'E' | sort\nhi $x\nE",
        "cat <<-E\n\tx\n\tE\nls",
        "cat <<E; ls\nplain\nE",
        "ls ~ ~/x a~ '~'",
        "ls {} @{u} stash@{0} a{b",
        "ls; wc\nls | wc && ls",
        "ls 2>&1 a >/dev/null b",
        "! ls -x",
        "ls -- -x",
        "ls a=b c=",
        "find . -name x -o \\( -type f \\)",
        "awk '{print $1}' f",
        "ls ''  \"\"",
        'ls "a\nb"',
        "ls [abc",
        "cat <<< word",
        "head -5<x",
        "ls&&wc;ls|wc",
    ],
)
def test_the_strict_parser_reads_the_words_that_bash_runs(command: str, tmp_path: Path) -> None:
    ours = [words for words in parsed(command) if words]

    assert sorted(recorded(command, tmp_path)) == sorted(ours)


def test_the_corpus_is_read_as_bash_reads_it(corpus: Any, tmp_path: Path) -> None:
    for row in corpus:
        command = row["command"]
        if row["class"] != "read-only-safe" or any(
            sign in command for sign in ("*", "<", "cd ", "command ", "time ", "||", "&&")
        ):
            continue
        ours = [words for words in parsed(command) if words and words[0] not in BUILTINS]
        assert sorted(recorded(command, tmp_path)) == sorted(ours), command


@given(
    st.lists(
        st.sampled_from(
            [*"ab \\'\"\n;|&<>$`(){}~*?[]!#=-/.,:@\t", "EOF", "$(", "${", "<<E", "2>", "&&", "||", "$'"]
        ),
        max_size=14,
    ).map("".join)
)
@settings(max_examples=400, deadline=None)
def test_no_text_breaks_the_parsers(text: str) -> None:
    TreeReader(text, home="/h", cwd="/p").read()
    try:
        StrictParser(text, home="/h").parse()
    except NotStatic:
        return


@given(
    st.lists(
        st.sampled_from(
            [
                "ls",
                "wc",
                "a",
                "-x",
                " ",
                " ",
                " ",
                "\n",
                ";",
                "|",
                "&&",
                "'",
                '"',
                "\\",
                "#",
                "$",
                "~",
                "=",
                "<",
                ">",
                "x",
                "{",
                "}",
                ",",
                "E",
            ]
        ),
        max_size=12,
    ).map("".join)
)
@settings(max_examples=150, deadline=None)
def test_what_the_strict_parser_accepts_bash_reads_alike(text: str) -> None:
    try:
        script = StrictParser(text, home="/home/u").parse()
    except NotStatic:
        return
    stages = [stage for step in script.steps for stage in step.stages]
    joined = [step.joined_by for step in script.steps]
    if (
        any(stage.redirects for stage in stages)
        or {"&&", "||"} & set(joined)
        or any(len(s.stages) > 1 for s in script.steps)
    ):
        return
    if any(not stage.words or "/" in stage.words[0].text or not stage.words[0].text for stage in stages):
        return
    folder = Path(os.environ["HOME"])
    ours = [[word.text for word in stage.words] for stage in stages]

    assert recorded(text, folder) == ours


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("{print $1}", True),
        ("NR==5", True),
        ('/def/ {print NR": "$0}', True),
        ("{s+=$1} END {print s}", True),
        ('{gsub(/a/,"b"); print}', True),
        ('{print > "x"}', False),
        ('{print | "sh"}', False),
        ('BEGIN{system("id")}', False),
        ('{"id" | getline x}', False),
        ('{} /"/ {system("touch x")} /"/', False),
        ('@load "x"', False),
        ('BEGIN{ARGV[1]="/etc/passwd"}', False),
        ("{foo($1)}", False),
        ('{print |& "x"}', False),
        ("function f(){}", False),
    ],
)
def test_an_awk_program_is_harmless_only_without_a_way_out(program: str, expected: bool) -> None:
    assert awk_only_prints(program) is expected
