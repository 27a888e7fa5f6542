import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_tui.permissions.shell.awk import awk_only_prints
from agent_tui.permissions.shell.git import git_readers
from agent_tui.permissions.shell.options import Takes, read_use
from agent_tui.permissions.shell.readers import readers
from agent_tui.permissions.shell.sed import sed_only_prints
from agent_tui.permissions.shell.words import Word
from agent_tui.protocol.permissions import PermissionKind


def kinds(table: str) -> dict[str, list[str]]:
    """Read `kinds_TABLE.txt`: kind -> commands."""
    found: dict[str, list[str]] = {}
    kind = ""
    for line in (Path(__file__).parent / f"kinds_{table}.txt").read_text().splitlines():
        if line.startswith("[") and line.endswith("]") and " " not in line:
            kind = line[1:-1]
        elif line and kind:
            found.setdefault(kind, []).append(line.replace("⏎", "\n"))
    return found


ASKED, OUTSIDE, NETWORK, SAFE = (kinds(table) for table in ("asked", "outside", "network", "safe"))


def runs_unasked(analysis: Any) -> bool:
    return analysis.clear and not analysis.touches and all(part.safe for part in analysis.parts)


@pytest.mark.parametrize("kind", ASKED)
def test_h_c1_no_command_of_a_kind_that_can_do_something_runs_unasked(ground: Any, kind: str) -> None:
    assert [command for command in ASKED[kind] if runs_unasked(ground.analyse(command))] == []


@pytest.mark.parametrize("kind", SAFE)
def test_h_c2_every_command_of_a_kind_that_only_reads_runs_unasked(ground: Any, kind: str) -> None:
    assert [command for command in SAFE[kind] if not runs_unasked(ground.analyse(command))] == []


@pytest.mark.parametrize("kind", OUTSIDE)
def test_h_c3_each_kind_of_write_outside_names_its_directory(ground: Any, kind: str) -> None:
    silent: list[tuple[str, str, set[str]]] = []
    for line in OUTSIDE[kind]:
        folder, _, command = line.partition(" <- ")
        touches = ground.analyse(command).touches
        named = {t.target for t in touches if t.kind is PermissionKind.WRITE and t.outside}
        if (ground.here(f"{folder}/").rstrip("/") or "/") not in named:
            silent.append((command, folder, named))

    assert silent == []


@pytest.mark.parametrize("kind", NETWORK)
def test_each_kind_of_network_command_asks_for_the_network(ground: Any, kind: str) -> None:
    silent = [
        command
        for command in NETWORK[kind]
        if not any(t.kind is PermissionKind.NETWORK for t in ground.analyse(command).touches)
    ]

    assert silent == []


def test_the_kinds_are_many_and_not_those_of_the_other_table(corpus: Any) -> None:
    known = {row["command"] for row in corpus}
    ours = [command for table in (ASKED, NETWORK, SAFE) for rows in table.values() for command in rows]

    assert len(ours) > 1_200
    assert len(known & set(ours)) < 5


def test_no_program_swallows_an_option_as_the_value_of_another_one() -> None:
    tables = {**readers(), **git_readers()}
    swallowed = [
        (program, name)
        for program, spec in tables.items()
        for name, takes in spec.options.items()
        if takes in (Takes.TEXT, Takes.FILE) and name not in ("-e", "--regexp", "--expression", "--sort")
        if not read_use(spec, (Word(name, name), Word("--output=x", "--output=x"))).refused
    ]

    assert swallowed == []


SED_PIECES = r"""s / | a b e w r ; p d N { } [ ] ^ $ 1 , ! g M y : q = +3 ~2 # F z D s/a/b/ /a/ s|a|b| @ \ \/ \n \c i\ c"""
SED = [*SED_PIECES.split(" "), "w f", "e id", "r f", "W f", " ", "\n"]
AWK_PIECES = r"""> / /= ( ) { } ; $1 x = == + ++ 1 , a [ ] ! ~ if else in END NR && || ? : \ \/ length /x/ - * return [/] # x>1 " f"""
AWK = [*AWK_PIECES.split(" "), "print ", "printf ", " > ", '"f"', ' > "f"', " ", "\n"]


@pytest.mark.skipif(
    b"GNU" not in subprocess.run(["sed", "--version"], capture_output=True, check=False).stdout,
    reason="only GNU sed says that a script would write, read or run something",
)
@given(st.lists(st.sampled_from(SED), max_size=10).map("".join))
@settings(max_examples=200, deadline=None)
def test_a_sed_script_that_is_taken_for_harmless_passes_the_sandbox_of_sed(script: str) -> None:
    if not sed_only_prints(script) or any(sign in script for sign in ":bt"):
        return

    done = subprocess.run(["sed", "--sandbox", script], input=b"a b\nc\n", capture_output=True, check=False)

    assert b"sandbox" not in done.stderr


def awks() -> Iterator[list[str]]:
    yield from ([name] for name in ("mawk", "gawk", "original-awk", "nawk", "awk") if shutil.which(name))
    if shutil.which("busybox"):
        yield ["busybox", "awk"]


@given(st.lists(st.sampled_from(AWK), max_size=9).map("".join))
@settings(max_examples=200, deadline=None)
def test_an_awk_program_that_is_taken_for_harmless_writes_no_file(
    tmp_path_factory: pytest.TempPathFactory, program: str
) -> None:
    program = f"{{{program}}}"
    if ">" not in program or not awk_only_prints(program):
        return
    folder = tmp_path_factory.mktemp("awk")

    for awk in awks():
        subprocess.run([*awk, program], input=b"a b\nc\n", capture_output=True, check=False, cwd=folder)

    assert list(folder.iterdir()) == []
