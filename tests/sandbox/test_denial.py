from collections.abc import Callable
from pathlib import Path

import pytest

from agent_tui.sandbox.denial import Blocked, blocked_by_sandbox
from agent_tui.sandbox.interface import Confinement, Profile

Ask = Callable[..., Blocked | None]


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "outside"
    folder.mkdir()
    return folder


@pytest.fixture
def ask(workspace: Path, tmp_path: Path) -> Ask:
    home = tmp_path / "home"
    home.mkdir()
    (home / "own").mkdir()

    def run(
        output: str,
        *,
        exit_code: int = 1,
        confinement: Confinement | None = None,
        refused: tuple[str, ...] = (),
    ):
        return blocked_by_sandbox(
            command="x",
            exit_code=exit_code,
            output=output,
            confinement=confinement or Confinement(),
            workspace=workspace,
            cwd=workspace,
            home=home,
            own=[home / "own"],
            refused_hosts=refused,
        )

    return run


@pytest.mark.parametrize(
    "line",
    [
        "/bin/bash: line 1: {}/x: Read-only file system",
        "touch: cannot touch '{}/x': Read-only file system",
        "cp: cannot create regular file ‘{}/a/b’: Read-only file system",
        "OSError: [Errno 30] Read-only file system: '{}/x'",
        "Error: EROFS: read-only file system, open '{}/x'",
        'error: failed to write "{}/x": Read-only file system (os error 30)',
        "mkdir: cannot create directory '{}/x': Permission denied",
        "touch: cannot touch '../outside/x': Read-only file system",
    ],
)
def test_directory_that_could_not_be_written_is_offered(ask: Ask, outside: Path, line: str) -> None:
    found = ask(f"before\n{line.format(outside)}\nafter")

    assert found is not None
    assert (found.directories, found.hosts) == ((outside,), ())
    assert found.words == line.format(outside)


@pytest.mark.parametrize(
    "line",
    [
        "curl: (6) Could not resolve host: pypi.org",
        "wget: unable to resolve host address ‘pypi.org’",
        "fatal: unable to access 'https://pypi.org/x/': Could not resolve host: pypi.org",
        "npm ERR! request to https://pypi.org/a failed, reason: getaddrinfo EAI_AGAIN pypi.org",
        "go: dial tcp: lookup pypi.org on 127.0.0.53:53: connect: network is unreachable",
        "HTTPSConnectionPool(host='pypi.org', port=443): Temporary failure in name resolution",
        "agent-tui: pypi.org is not among the hosts that were allowed",
    ],
)
def test_host_that_could_not_be_reached_is_offered(ask: Ask, line: str) -> None:
    found = ask(line)

    assert found is not None
    assert (found.directories, found.hosts) == ((), ("pypi.org",))


def test_host_that_the_proxy_refused_is_offered_whatever_the_command_says(ask: Ask) -> None:
    found = ask("failed", refused=("evil.example",))

    assert found is not None
    assert found.hosts == ("evil.example",)


def test_allowed_host_is_not_offered_again(ask: Ask) -> None:
    confinement = Confinement(hosts=("pypi.org",))

    assert ask("curl: (6) Could not resolve host: pypi.org", confinement=confinement) is None


@pytest.mark.parametrize(
    "output",
    ["", "AssertionError: 1 != 2", "Permission denied", "cat: x: Permission denied", "see https://pypi.org/"],
)
def test_ordinary_failure_offers_nothing(ask: Ask, output: str) -> None:
    assert ask(output) is None


def test_success_and_unconfined_runs_offer_nothing(ask: Ask, outside: Path) -> None:
    line = f"touch: cannot touch '{outside}/x': Read-only file system"

    assert ask(line, exit_code=0) is None
    assert ask(line, confinement=Confinement(profile=Profile.OFF)) is None


@pytest.mark.parametrize("path", ["{home}/.bashrc", "{home}/own/x", "/x", "{workspace}/.git/hooks/x"])
def test_home_own_root_and_workspace_are_never_offered(
    ask: Ask, tmp_path: Path, workspace: Path, path: str
) -> None:
    shown = path.format(home=tmp_path / "home", workspace=workspace)

    found = ask(f"bash: {shown}: Read-only file system")

    assert found is not None, "a run without the sandbox is left"
    assert (found.directories, found.hosts) == ((), ())


def test_offer_is_the_same_for_the_same_command(ask: Ask, outside: Path) -> None:
    first = ask(f"'{outside}/x': Read-only file system")
    second = ask("Could not resolve host: a.example")

    assert first is not None
    assert second is not None
    assert first.key == second.key
