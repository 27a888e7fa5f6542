"""Every way in which a command names a file it reads is seen by deny rules, and asks outside the project."""

from typing import Any

import pytest

from agent_tui.permissions.modes import Mode
from agent_tui.protocol.permissions import PermissionKind

SHELL = [
    'cat <<< "$(<FILE)"',
    "echo $(<FILE)",
    'echo $(< "FILE")',
    "echo $(( $(<FILE) ))",
    'x=$(<FILE); echo "$x"',
    "arr=($(<FILE))",
    'export y="$(<FILE)"',
    "for i in $(<FILE); do echo $i; done",
    'while read l; do echo $l; done <<< "$(<FILE)"',
    'if [ "$(<FILE)" = a ]; then echo; fi',
    '[[ "$(<FILE)" =~ a ]]',
    "case $(<FILE) in a) echo;; esac",
    "cat <<E\n$(<FILE)\nE",
    "cat <<E\na `cat FILE` b\nE",
    "f() { cat; } < FILE; f",
    "bash -c 'echo $(<FILE)'",
    'eval "echo \\$(<FILE)"',
    "a=FILE; echo $(<$a)",
    "for f in a.txt FILE; do cat $f; done",
    'for f in a.txt FILE; do cat < "$f"; done',
    'cat "${a:-FILE}"',
    "cat ${a:=FILE}",
    "a=1; cat ${a:+FILE}",
    "c='cat FILE'; $c",
    "files='a.txt FILE'; cat $files",
    "trap 'cat FILE' EXIT",
    "alias c='cat FILE'; c",
    "env -S'cat FILE'",
    "env --split-string='cat FILE'",
    "complete -C 'cat FILE' foo",
    "mapfile -t a < FILE",
    "read -r a < FILE",
    "exec 3< FILE",
    "source FILE",
]


@pytest.fixture
def keys(desk: Any) -> Any:
    """A project with a key inside it and one outside."""
    (desk.project / "key.pub").write_text("k")
    (desk.home / "keys").mkdir()
    (desk.home / "keys/k").write_text("k")
    desk.make(deny=["Read(key.pub)", "Read(~/keys/**)"], allow=["Bash"], mode=Mode.BYPASS)
    return desk


@pytest.mark.parametrize("command", SHELL)
def test_a_denied_file_is_denied_wherever_a_script_of_the_shell_names_it(keys: Any, command: str) -> None:
    assert keys.run(command.replace("FILE", "key.pub")) == "deny"
    assert keys.run(command.replace("FILE", f"{keys.home}/keys/k")) == "deny"


@pytest.mark.parametrize("command", SHELL)
def test_a_file_outside_that_a_script_of_the_shell_reads_is_touched(ground: Any, command: str) -> None:
    analysis = ground.analyse(command.replace("FILE", "/ws/other/secret.txt"))

    read = [path for t in analysis.touches if t.kind is PermissionKind.READ for path in t.paths]
    assert ground.here("/ws/other/secret.txt") in read


def test_a_file_that_is_only_named_in_a_list_or_condition_is_seen_by_deny_rules(keys: Any) -> None:
    for command in (
        "names=(a.txt key.pub)",
        "[[ -f key.pub && a == b ]]",
        "cat $(echo key.pub)",
        "case key.pub in *) cat $_;; esac",
        "for f in a b c d e f g h i key.pub; do cat $f; done",
    ):
        assert keys.run(command) == "deny", command


def test_loops_within_loops_stay_cheap(ground: Any) -> None:
    inner = "echo $a"
    for name in "abcdefgh":
        inner = f"for {name} in 1 2 3 4 5 6 7 8; do {inner}; done"

    assert len(ground.analyse(inner).parts) < 100
