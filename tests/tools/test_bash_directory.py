from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.tool_world import ToolWorld, body, make_world


@pytest.fixture
async def world(workspace: Path) -> AsyncIterator[ToolWorld]:
    made = make_world(workspace)
    yield made
    await made.jobs.close()


@pytest.mark.parametrize(
    ("command", "moves"),
    [
        ("cd sub", True),
        ("cd sub; false", True),
        ("cd sub && exit 7", True),
        ("true && { cd sub; echo x; }", True),
        ("f() { cd sub; }; f", True),
        ("set -e; cd sub; false", True),
        ("set -u; cd sub; echo $nope", True),
        ("pushd sub >/dev/null", True),
        ("(cd sub)", False),
        ("cd sub | cat", False),
        ("bash -c 'cd sub'", False),
        ("cd sub; cd ..", False),
        ("cd sub; exec true", False),
        ("cd sub; kill -9 $$", False),
        ("trap - EXIT; cd sub", False),
    ],
)
async def test_ba_13_h14_directory_follows_the_shell_and_the_status_is_kept(
    world: ToolWorld, command: str, moves: bool
) -> None:
    (world.root / "sub").mkdir()

    await world.bash(command)

    assert world.ctx.shell.cwd == (world.root / "sub" if moves else world.root)


async def test_ba_13_statuses_variables_and_directory_are_as_documented(world: ToolWorld) -> None:
    (world.root / "sub").mkdir()

    assert "exit code: 1" in (await world.bash("cd sub && false")).output
    assert "exit code: 7" in (await world.bash("exit 7")).output
    await world.bash("export A=1")
    assert body(await world.bash('echo "[$A]"')) == "[]\n"


async def test_h14_directory_stays_when_the_command_times_out(world: ToolWorld) -> None:
    (world.root / "sub").mkdir()

    await world.timed_out("cd sub; pwd; sleep 987", said="/sub\n")

    assert world.ctx.shell.cwd == world.root


async def test_ba_12_item_42_a_deleted_directory_falls_back_to_the_root(world: ToolWorld) -> None:
    await world.bash("mkdir gone && cd gone")
    (world.root / "gone").rmdir()

    result = await world.bash("echo hi; pwd")

    assert body(result) == f"hi\n{world.root}\n"
    assert "does not exist any more" in result.output
    assert not result.is_error


async def test_ba_12_a_command_that_deletes_its_own_directory(world: ToolWorld) -> None:
    await world.bash("mkdir gone && cd gone")

    result = await world.bash("rm -rf ../gone; echo hi")

    assert body(result) == "hi\n"
    assert (await world.bash("pwd")).output.startswith(f"{world.root}\n")


async def test_ba_12_a_workspace_that_is_gone_is_an_error_for_the_model(world: ToolWorld) -> None:
    world.root.rmdir()

    result = await world.bash("echo hi")

    assert result.is_error
    assert "does not exist" in result.output


@pytest.mark.parametrize("command", ["cd /", "cd /tmp", "cd ..", "ln -s / out; cd out", "cd $HOME"])
async def test_a_directory_outside_is_not_taken_over_and_said(world: ToolWorld, command: str) -> None:
    result = await world.bash(command)

    assert world.ctx.shell.cwd == world.root
    assert "outside the project; the working directory stays" in result.output
    assert not result.is_error


async def test_an_approved_root_is_taken_over(world: ToolWorld, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    world.ctx.extra_roots = (other.resolve(),)

    await world.bash(f"cd {other}")

    assert world.ctx.shell.cwd == other.resolve()


@pytest.mark.parametrize(
    "forged",
    [
        "printf '\\0/etc\\0\\0' >&9",
        "printf '/etc\\0' >&9; exec 9>&-",
        "exec 9>&-",
        "printf '\\0%s\\0\\0' \"$PWD/nope\" >&9; kill -9 $$",
        "head -c 3000000 /dev/zero >&9",
        "echo '__CWD__/etc'; printf '\\0/etc\\0'",
    ],
)
async def test_item_43_h18_a_forged_report_cannot_leave_the_project_or_hide_output(
    world: ToolWorld, forged: str
) -> None:
    result = await world.bash(f"echo before; {forged}; echo after")

    assert world.ctx.shell.cwd == world.root
    assert body(result).startswith("before\n")


async def test_only_the_known_descriptors_are_open(world: ToolWorld) -> None:
    result = await world.bash("for n in {0..60}; do [ -e /proc/$$/fd/$n ] && echo $n; done; true")

    assert body(result).split() == ["0", "1", "2", "9"]


async def test_the_directory_report_is_invisible_to_the_command(world: ToolWorld) -> None:
    traps = "trap -p EXIT DEBUG ERR RETURN"
    result = await world.bash(f"set -x; echo hi; echo \"[$BASH_ENV]\"; bash -c '{traps}'")

    assert body(result) == f"+ echo hi\nhi\n+ echo '[]'\n[]\n+ bash -c '{traps}'\n"


async def test_a_changed_start_up_file_is_written_anew(world: ToolWorld) -> None:
    await world.bash("true")
    (world.ctx.data_dir / "bash_env").write_text("echo poisoned\n")

    assert body(await world.bash("echo hi")) == "hi\n"


async def test_a_linked_start_up_file_is_replaced(world: ToolWorld, tmp_path: Path) -> None:
    evil = tmp_path / "evil"
    evil.write_text("echo poisoned\n")
    (world.ctx.data_dir / "bash_env").symlink_to(evil)

    assert body(await world.bash("echo hi")) == "hi\n"
    assert evil.read_text() == "echo poisoned\n"


async def test_p20_keys_and_agent_variables_never_reach_a_command(
    world: ToolWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (
        "ANTHROPIC_API_KEY",
        "GITHUB_TOKEN",
        "MY_SECRET",
        "DB_PASSWORD",
        "AWS_CREDENTIALS",
        "openai_key",
        "OPENAI_BASE_URL",
        "ANTHROPIC_BASE_URL",
        "AGENT_TUI_HOME",
        "CLAUDECODE",
        "CDPATH",
        "BASH_ENV",
        "BASH_FUNC_ls%%",
    ):
        monkeypatch.setenv(name, "() { echo canary; }")
    monkeypatch.setenv("MY_OWN", "stays")

    result = await world.bash("env; ls; echo $MY_OWN")

    assert "canary" not in result.output
    assert body(result).endswith("stays\n")
