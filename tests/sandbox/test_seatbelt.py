import subprocess
from pathlib import Path

import pytest

from agent_tui.protocol.errors import SandboxError
from agent_tui.sandbox.interface import Confinement, Profile
from agent_tui.sandbox.mounts import Ground
from agent_tui.sandbox.seatbelt import SeatbeltSandbox, profile


@pytest.fixture
def ground(workspace: Path, tmp_path: Path) -> Ground:
    home = tmp_path / "home"
    (home / ".ssh").mkdir(parents=True)
    (home / ".netrc").touch()
    return Ground(workspace, home, tmp_path / "temp", (home / "own",), (home / "own/sessions",))


def test_profile_denies_what_it_does_not_name(ground: Ground) -> None:
    text = profile(ground, Confinement())

    assert text.startswith("(version 1)\n(deny default)\n")
    assert text.count("(") == text.count(")")
    assert "network" not in text
    assert "launchservicesd" not in text


def test_secrets_stand_behind_what_is_allowed(ground: Ground) -> None:
    lines = profile(ground, Confinement(write_dirs=(ground.home,))).splitlines()

    allowed = lines.index(f'(allow file-write* (subpath "{ground.home}"))')
    for denied in (
        f'(deny file-read* file-write* (subpath "{ground.home}/.ssh"))',
        f'(deny file-read* file-write* (literal "{ground.home}/.netrc"))',
        f'(deny file-read* file-write* (subpath "{ground.home}/own"))',
        f'(deny file-write* (subpath "{ground.home}/.bashrc"))',
        f'(deny file-write* (subpath "{ground.workspace}/.agent-tui"))',
    ):
        assert lines.index(denied) > allowed
    assert lines[-1] == f'(allow file-read* (subpath "{ground.home}/own/sessions"))'


def test_read_only_profile_writes_to_the_temporary_folder_only(ground: Ground) -> None:
    text = profile(ground, Confinement(profile=Profile.READ_ONLY))

    allowed = [line for line in text.splitlines() if line.startswith("(allow file-write* (subpath")]
    assert allowed == [f'(allow file-write* (subpath "{ground.temp}"))']


def test_network_is_there_only_when_the_whole_of_it_was_granted(ground: Ground) -> None:
    assert "(allow network*)" in profile(ground, Confinement(host_network=True))


@pytest.mark.parametrize("name", ['a"))(allow default)', "back\\slash"])
def test_name_of_a_folder_cannot_write_rules(ground: Ground, name: str) -> None:
    text = profile(ground, Confinement(write_dirs=(Path("/x", name),)))

    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    assert f'(allow file-write* (subpath "/x/{escaped}"))' in text


def test_name_that_cannot_be_written_down_is_refused(ground: Ground) -> None:
    with pytest.raises(SandboxError):
        profile(ground, Confinement(write_dirs=(Path("/x\n(allow default)"),)))


def test_launch_pins_git_and_keeps_the_text_of_the_command(ground: Ground) -> None:
    subprocess.run(["git", "init", "-q", str(ground.workspace)], check=True)
    sandbox = SeatbeltSandbox(ground.workspace, home=ground.home, temp=ground.temp)

    launch = sandbox.launch(
        ("/bin/bash", "-c", "x"), cwd=ground.workspace, confinement=Confinement(), env={"A": "1"}
    )

    assert launch.argv[:2] == ("/usr/bin/sandbox-exec", "-p")
    assert launch.argv[3:] == ("/bin/bash", "-c", "x")
    for name in ("hooks", "config", "commondir"):
        assert f'(deny file-write* (subpath "{ground.workspace}/.git/{name}"))' in launch.argv[2]
    assert launch.env == {"A": "1", "TMPDIR": f"{ground.temp}/"}


def test_some_hosts_cannot_be_granted_there(ground: Ground) -> None:
    sandbox = SeatbeltSandbox(ground.workspace, home=ground.home, temp=ground.temp)

    with pytest.raises(SandboxError):
        sandbox.launch(("x",), cwd=ground.workspace, confinement=Confinement(hosts=("a.example",)), env={})
