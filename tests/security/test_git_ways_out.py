"""Ways around the read-only hooks of git, each shown to work without the sandbox."""

import subprocess
from pathlib import Path

import pytest

from tests.security.conftest import Run, World

pytestmark = pytest.mark.security

MAKE_HOOKS = "mkdir -p tools/hooks && echo evil > tools/hooks/pre-commit && cat tools/hooks/pre-commit"
MOVE_HOOKS = "mv tools away && " + MAKE_HOOKS
SECOND_CONFIG = "rm -f .git/config.worktree; echo '[core] fsmonitor = x' > .git/config.worktree && git config core.fsmonitor"
INCLUDED = "mv conf away; mkdir conf && echo '[core] fsmonitor = x' > conf/git && git config core.fsmonitor"


def configure(world: World, *words: str) -> None:
    subprocess.run(["git", "-C", str(world.workspace), "config", *words], check=True)


@pytest.fixture
def absent(world: World) -> Path:
    configure(world, "core.hooksPath", "tools/hooks")
    return world.workspace / "tools/hooks"


@pytest.fixture
def present(absent: Path) -> Path:
    absent.mkdir(parents=True)
    return absent


def test_h_s3_an_absent_hooks_folder_is_filled_without_protection(absent: Path, bare: Run) -> None:
    assert bare(MAKE_HOOKS)[0] == (0, "evil\n")


def test_h_s3_an_absent_hooks_folder_is_not_filled(absent: Path, strong: Run, world: World) -> None:
    made, status, commit = strong(
        MAKE_HOOKS, "git status --porcelain", "echo y > new && git add -A && git commit -qm y"
    )

    assert made[0] != 0
    assert (status, commit[0]) == ((0, ""), 0)
    assert not (world.workspace / "tools").exists()


def test_h_s4_the_folder_above_named_hooks_is_moved_without_protection(present: Path, bare: Run) -> None:
    assert bare(MOVE_HOOKS)[0] == (0, "evil\n")


def test_h_s4_the_folder_above_named_hooks_stays(present: Path, strong: Run) -> None:
    assert strong(MOVE_HOOKS)[0][0] != 0
    assert list(present.iterdir()) == []


def test_h_s3_a_second_configuration_is_written_without_protection(world: World, bare: Run) -> None:
    configure(world, "extensions.worktreeConfig", "true")

    assert bare(SECOND_CONFIG)[0] == (0, "x\n")


def test_h_s3_a_second_configuration_is_not_written(world: World, strong: Run) -> None:
    configure(world, "extensions.worktreeConfig", "true")

    assert strong(SECOND_CONFIG)[0][0] != 0


def test_h_s3_an_included_file_is_replaced_without_protection(world: World, bare: Run) -> None:
    (world.workspace / "conf").mkdir()
    configure(world, "include.path", "../conf/git")

    assert bare(INCLUDED)[0] == (0, "x\n")


def test_h_s3_an_included_file_is_not_replaced(world: World, strong: Run) -> None:
    (world.workspace / "conf").mkdir()
    (world.workspace / "conf/git").touch()
    configure(world, "include.path", "../conf/git")

    assert strong(INCLUDED)[0][0] != 0
    assert (world.workspace / "conf/git").read_text() == ""


def test_a_temporary_folder_of_the_host_is_not_named_inside(strong: Run) -> None:
    ((code, text),) = strong("mktemp && echo $TMPDIR", env={"TMPDIR": "/var/nowhere"})

    assert code == 0, text
    assert text.splitlines()[-1] == "/tmp"


def test_h_s6_a_command_has_no_descriptor_but_its_own(strong: Run) -> None:
    ((code, text),) = strong("for fd in /proc/self/fd/*; do [ -e $fd ] && echo ${fd##*/}; done | sort -n")

    assert code == 0
    assert set(text.split()) <= {"0", "1", "2", "255"}
