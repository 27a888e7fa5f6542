import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agent_tui.protocol.display import ResultContentType
from agent_tui.protocol.errors import SandboxError
from agent_tui.protocol.permissions import PermissionKind, Risk
from agent_tui.protocol.tools import ToolResult
from agent_tui.sandbox.interface import Confinement, NoSandbox, Profile
from agent_tui.toolkit.environment import WithoutVariables
from tests.support.tool_world import ToolWorld, body, gone, make_world, notes, own, processes_with


@pytest.fixture
async def world(workspace: Path) -> AsyncIterator[ToolWorld]:
    made = make_world(workspace)
    yield made
    await made.jobs.close()


async def timed(world: ToolWorld, command: str, **more: object) -> tuple[float, object]:
    begin = time.monotonic()
    result = await world.bash(command, **more)
    return time.monotonic() - begin, result


async def test_h15_exit_code_is_always_named_and_non_zero_is_an_error_with_the_output(
    world: ToolWorld,
) -> None:
    good = await world.bash("echo out")
    bad = await world.bash("echo why; exit 3")

    assert (good.output, good.is_error) == ("out\n(exit code: 0)", False)
    assert (bad.output, bad.is_error) == ("why\n(exit code: 3)", True)


async def test_item_46_failure_keeps_the_output(world: ToolWorld) -> None:
    result = await world.bash("echo text; echo more >&2; false")

    assert result.is_error
    assert body(result) == "text\nmore\n"


async def test_output_and_errors_are_interleaved_as_they_came(world: ToolWorld) -> None:
    result = await world.bash("echo 1; echo 2 >&2; echo 3; echo 4 >&2")

    assert body(result) == "1\n2\n3\n4\n"


async def test_x29_no_output_says_so(world: ToolWorld) -> None:
    assert (await world.bash("true")).output == "(no output)\n(exit code: 0)"


async def test_h18_trailing_whitespace_of_the_output_stays(world: ToolWorld) -> None:
    assert (await world.bash("printf 'a  \\n\\n'")).output == "a  \n\n(exit code: 0)"


@pytest.mark.parametrize(
    ("command", "code", "remark"),
    [
        ("false | true", 0, ""),
        ("kill -9 $$", 137, "killed by signal 9, SIGKILL"),
        ("kill -TERM $$", 143, "killed by signal 15, SIGTERM"),
        ("grep zzz /etc/hosts", 1, ""),
        ("touch plain; ./plain", 126, ""),
        ("nosuchcmd", 127, ""),
        ("echo e >&2", 0, ""),
        ("   # comment", 0, ""),
        ("set -e; false; echo never", 1, ""),
        ("set -o pipefail; false | true", 1, ""),
        ("f() { return 5; }; f", 5, ""),
        ("bash -c 'exit 9'", 9, ""),
    ],
)
async def test_ba_14_exit_status_is_that_of_the_command(
    world: ToolWorld, command: str, code: int, remark: str
) -> None:
    result = await world.bash(command)

    assert notes(result)[0] == f"exit code: {code}"
    assert result.is_error == (code != 0)
    assert not remark or remark in notes(result)


@pytest.mark.parametrize("command", ["", "  ", "\n\t\n"])
async def test_ba_14_an_empty_command_is_refused(world: ToolWorld, command: str) -> None:
    result = await world.bash(command)

    assert result.is_error
    assert "empty" in result.output


@pytest.mark.parametrize(
    "command",
    [
        "echo ok # a comment",
        "cat <<EOF\nok\nEOF",
        "cat <<-'EOF'\n\tok\n\tEOF\n# end",
        "echo ok;",
        "echo ok &",
        "if true; then echo ok; fi",
        "f() {\n  echo ok\n}\nf",
        "(echo ok)",
        "{ echo ok; }",
        "set -eu; echo ok",
        "trap 'echo ok' EXIT",
        "exec echo ok",
        "echo ok; exit 0",
        "eval 'echo ok'",
        "cat <(echo ok)",
    ],
)
async def test_item_44_h18_every_form_of_command_works(world: ToolWorld, command: str) -> None:
    result = await world.bash(command)

    assert (body(result), result.is_error) == ("ok\n", False)


async def test_exact_text_reaches_bash(world: ToolWorld) -> None:
    text = "printf '%s' \"$BASH_EXECUTION_STRING\" # äöü \t 'quoted' \\"

    result = await world.bash(text)

    assert body(result) == f"{text}\n"


@pytest.mark.parametrize("command", ["echo \0", "echo \ud800"])
async def test_text_that_no_argument_can_hold_is_refused(world: ToolWorld, command: str) -> None:
    assert (await world.bash(command)).is_error


async def test_a_command_over_the_kernels_limit_names_the_way_out(world: ToolWorld) -> None:
    result = await world.bash("# " + "x" * 140_000)

    assert result.is_error
    assert "script file" in result.output


async def test_a_sandbox_that_refuses_is_a_text_for_the_model(world: ToolWorld) -> None:
    class Refusing(NoSandbox):
        def launch(self, *_args: object, **_more: object) -> object:
            raise SandboxError("home is not confined")

    world.ctx.sandbox = Refusing()

    result = await world.bash("echo hi")

    assert result.is_error
    assert "home is not confined" in result.output


@pytest.mark.parametrize(
    "command",
    [
        "sleep 300 & echo done",
        "python3 -m http.server 0 >/dev/null & echo done",
        "(while :; do echo tick; sleep 0.1; done) & echo done",
        "nohup sleep 300 >/dev/null 2>&1 & echo done",
        "setsid sleep 300 & echo done",
        "(sleep 300; echo late) & disown; echo done",
        "coproc sleep 300; echo done",
    ],
)
async def test_ba_01_returns_soon_after_the_shell_exits(world: ToolWorld, command: str) -> None:
    took, result = await timed(world, command)

    assert took < 2.0
    assert "done" in body(result)
    assert not result.is_error
    assert "still running when the command ended" in result.output


async def test_item_44_sleep_in_the_background_returns_at_once_and_is_ended(world: ToolWorld) -> None:
    took, result = await timed(world, "sleep 987.1 &")

    assert took < 2.0
    assert own("sleep 987.1") in result.output
    assert await gone("987.1")


async def test_ba_02_timeout_holds_whoever_has_the_pipe(world: ToolWorld) -> None:
    took, result = await timed(world, "setsid sh -c 'sleep 987.2' ; true", timeout=1000)

    assert took < 4.0
    assert result.is_error
    assert "timed out after 1 s" in result.output
    assert await gone("987.2")


async def test_ba_02_double_fork_outside_the_group_is_ended_too(world: ToolWorld) -> None:
    command = "python3 -c 'import os,time\nif os.fork(): os._exit(0)\nos.setsid()\nif os.fork(): os._exit(0)\ntime.sleep(987.3)'; echo go"

    took, result = await timed(world, command)

    assert took < 3.0
    assert body(result) == "go\n"
    assert await gone("987.3")


@pytest.mark.parametrize(
    "command",
    [
        "echo begin; for i in 1 2; do (while :; do : 987.4; done) & done; sleep 987.4",
        "echo begin; yes 987.4 | sha256sum | cat",
        "echo begin; bash -c 'trap \"\" TERM; sleep 987.4 & wait'",
    ],
)
async def test_ba_03_timeout_ends_every_descendant_and_keeps_what_was_printed(
    world: ToolWorld, command: str
) -> None:
    took, result = await timed(world, command, timeout=1000)

    assert took < 5.0
    assert body(result).startswith("begin\n")
    assert result.data["timed_out"] is True
    assert not processes_with("987.4")


async def test_item_45_h17_timeout_gives_the_process_time_to_tidy_up(world: ToolWorld) -> None:
    result = await world.bash("trap 'echo tidy; exit 4' TERM; echo begin; sleep 30 & wait", timeout=1000)

    assert "begin\ntidy\n" in result.output
    assert "exit code: 4" in result.output


@pytest.mark.parametrize("asked", [0, -5, 999, 700_000, 10**12])
async def test_item_45_h13_timeout_out_of_range_is_clamped_and_said(world: ToolWorld, asked: int) -> None:
    used = 1000 if asked < 1000 else 600_000

    result = await world.bash("echo hi", timeout=asked)

    assert f"timeout {asked} ms is out of range, {used} ms was used" in notes(result)


async def test_item_45_timeout_as_text_is_a_number_or_refused(world: ToolWorld) -> None:
    assert not (await world.bash("echo hi", timeout="5000")).is_error
    with pytest.raises(ValueError, match="timeout"):
        await world.bash("echo hi", timeout="soon")


async def test_cancel_ends_the_group_and_reaps(world: ToolWorld) -> None:
    call = asyncio.create_task(world.bash("sleep 987.5 & setsid sleep 987.5 & sleep 987.5"))
    while len(processes_with("sleep\x00987.5")) < 3:
        await asyncio.sleep(0.01)
    call.cancel()
    await call

    assert not processes_with("987.5")


def test_the_panel_of_a_stopped_command_says_after_how_long(workspace: Path) -> None:
    stopped = ToolResult(output="stopped by user", is_error=True, data={"ended_after_s": 2.7})

    shown = make_world(workspace).shown("bash", stopped, command="sleep 60")

    assert shown.summary == "stopped after 2.7 s, 1 line"
    assert shown.content.endswith("[stopped after 2.7 s]")


async def test_killing_its_own_supervisor_is_survived(world: ToolWorld) -> None:
    took, result = await timed(world, "kill -9 $PPID; sleep 987.6")

    assert took < 3.0
    assert result.is_error
    assert await gone("987.6")


def test_nothing_survives_kill_9_of_the_program(workspace: Path) -> None:
    script = (
        "import asyncio, sys\nfrom pathlib import Path\n"
        "from agent_tui.toolkit.testing import make_context\n"
        "from agent_tui.toolkit.shell import start_shell\n"
        "async def main():\n"
        f"    ctx = make_context(Path({str(workspace)!r}))\n"
        + own(
            "    s = await start_shell('sleep 987.7 & setsid nohup sleep 987.7 & trap \"\" TERM HUP; sleep 987.7', ctx)\n"
        )
        + "    await s.command.wait()\n"
        "asyncio.run(main())\n"
    )
    program = subprocess.Popen([sys.executable, "-c", script], cwd=Path(__file__).parents[2])
    try:
        deadline = time.monotonic() + 20
        while len(processes_with("sleep\x00987.7")) < 3 and time.monotonic() < deadline:
            time.sleep(0.02)
        assert len(processes_with("sleep\x00987.7")) == 3
    finally:
        program.send_signal(signal.SIGKILL)
        program.wait()

    assert asyncio.run(gone("987.7"))


@pytest.mark.parametrize(
    "command",
    [
        "cat",
        "read x; echo $x",
        "python3 -c 'input()'",
        "tty",
        "sudo -n true",
        "vim -c q",
        "less /etc/hosts",
        "man bash | head -1",
        "ssh -o BatchMode=yes nohost.invalid true",
        "top -b -n1 | head -1",
        "yes | head -1",
    ],
)
async def test_item_48_commands_that_want_a_terminal_return(world: ToolWorld, command: str) -> None:
    took, _ = await timed(world, command, timeout=10_000)

    assert took < 9.0


@pytest.mark.parametrize(
    ("command", "fails"),
    [
        ("git commit", True),
        ("git commit --amend", True),
        ("git log -p | cat; git log", True),
        ("git commit --allow-empty -qm x && git rebase -i HEAD", False),
        ("EDITOR=vi crontab -e", True),
    ],
)
async def test_ba_08_editors_and_pagers_do_not_hang(world: ToolWorld, command: str, fails: bool) -> None:
    await world.bash("git init -q .; touch f; git add f")

    took, result = await timed(world, command, timeout=10_000)

    assert took < 9.0
    assert result.is_error == fails


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        ("printf 'a\\xff\\xf0b\\n'", "a\ufffd\ufffdb\n"),
        ("printf '\\xe6\\xb1'; sleep 0.2; printf '\\x89\\n'", "汉\n"),
        ("printf '\\xf0\\x9f'; sleep 0.1; printf '\\x98\\x80\\n'", "😀\n"),
        ("printf 'cut\\xe6'", "cut\ufffd\n"),
    ],
)
async def test_ba_09_bytes_that_are_no_utf8_become_replacement_characters(
    world: ToolWorld, command: str, shown: str
) -> None:
    assert body(await world.bash(command)) == shown


async def test_ba_09_a_binary_does_not_raise(world: ToolWorld) -> None:
    result = await world.bash("head -c 3000 /bin/ls")

    assert not result.is_error
    assert "\0" not in result.output


async def test_ba_11_the_end_of_a_long_output_and_the_whole_file_remain(world: ToolWorld) -> None:
    command = (
        "for i in $(seq 1 200); do printf 'Line %03d %0200d\\n' $i 0; done; echo FATAL: boom >&2; exit 3"
    )

    result = await world.bash(command)

    path = Path(str(result.data["log_path"]))
    assert "FATAL: boom\n(exit code: 3)" in result.output
    assert str(path) in result.output
    assert path.read_text().count("\n") == 201
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.is_relative_to(world.ctx.data_dir)


@pytest.mark.parametrize(
    ("chars", "is_cut"), [(29_999, False), (30_000, False), (30_001, True), (60_000, True)]
)
async def test_item_47_h16_thirty_thousand_characters_pass_whole(
    world: ToolWorld, chars: int, is_cut: bool
) -> None:
    result = await world.bash(f"printf 'ä%.0s' $(seq {chars})")

    text = body(result)
    assert ("left out" in text) == is_cut
    if is_cut:
        head, _, tail = text.rstrip("\n").partition("\n\n[")
        assert head == "ä" * 14_000
        assert tail.rpartition("]\n\n")[2] == "ä" * 14_000
        assert f"({chars - 28_000:,} characters) left out" in text
    else:
        assert text == "ä" * chars + "\n"


async def test_h16_notice_counts_the_lines_left_out(world: ToolWorld) -> None:
    result = await world.bash("seq 1 100000")

    shown = [line for line in body(result).split("\n") if line.isdigit()]
    left_out = int(body(result).partition("\n\n[")[2].partition(" lines")[0].replace(",", ""))
    assert abs(left_out + len(shown) - 100_000) <= 2


async def test_every_call_has_a_file_of_its_own(world: ToolWorld) -> None:
    first = await world.bash("seq 1 20000")
    second = await world.bash("seq 2 20001")

    assert first.data["log_path"] != second.data["log_path"]
    assert Path(str(first.data["log_path"])).read_text().startswith("1\n2\n")


async def test_a_hostile_call_id_stays_in_the_folder(world: ToolWorld) -> None:
    from agent_tui.toolkit.output import log_path

    for call_id in ("../../x", "/etc/passwd", "", "a/b", "." * 3, "x" * 500, "n\0l"):
        assert log_path(world.ctx.data_dir, call_id).parent == world.ctx.data_dir / "output"


async def test_item_48_control_sequences_are_removed_for_the_model_and_kept_for_the_person(
    world: ToolWorld,
) -> None:
    result = await world.bash("printf '\\033[31mred\\033[0m \\033]0;title\\007x\\a\\n'")

    assert body(result) == "red x\n"
    assert "\x1b[31mred" in world.shown("bash", result, command="x").content


async def test_progress_lines_collapse(world: ToolWorld) -> None:
    result = await world.bash("printf '10%%\\r50%%\\r100%%\\ndone\\r\\nab\\bc\\n'")

    assert body(result) == "100%\ndone\nac\n"


async def test_live_output_arrives_while_the_command_runs(world: ToolWorld) -> None:
    call = asyncio.create_task(world.bash("echo first; while [ ! -e go ]; do sleep 0.01; done; echo last"))
    while not world.live:
        await asyncio.sleep(0.01)
    seen = "".join(world.live)
    world.put("go")
    result = await call

    assert seen == "first\n"
    assert "".join(world.live) == "first\nlast\n"
    assert body(result) == "first\nlast\n"


async def test_live_output_of_a_flood_is_bounded(world: ToolWorld) -> None:
    await world.bash("yes | head -c 20000000")

    assert sum(map(len, world.live)) < 2_000_000


async def test_h12_item_42_working_directory_persists(world: ToolWorld) -> None:
    name = "with 'quotes' and  blanks ü"
    (world.root / name).mkdir()

    first = await world.bash(f'cd "{name}" && false')
    second = await world.bash("pwd")

    assert first.is_error
    assert f"working directory: {name}" in notes(first)
    assert body(second) == f"{world.root / name}\n"


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

    await world.bash("cd sub; sleep 30", timeout=1000)

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
    result = await world.bash(f"echo before; {forged}; echo after", timeout=5000)

    assert world.ctx.shell.cwd == world.root
    assert body(result).startswith("before\n")


async def test_only_the_known_descriptors_are_open(world: ToolWorld) -> None:
    result = await world.bash("for n in {0..60}; do [ -e /proc/$$/fd/$n ] && echo $n; done; true")

    assert body(result).split() == ["0", "1", "2", "9"]


async def test_the_directory_report_is_invisible_to_the_command(world: ToolWorld) -> None:
    result = await world.bash("set -x; echo hi; echo \"[$BASH_ENV]\"; bash -c 'trap -p'")

    assert body(result) == "+ echo hi\nhi\n+ echo '[]'\n[]\n+ bash -c 'trap -p'\n"


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


async def test_ba_16_the_terminal_and_our_own_environment_do_not_leak(
    world: ToolWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "123")
    monkeypatch.setenv("COLORTERM", "truecolor")
    monkeypatch.setenv("VIRTUAL_ENV", sys.prefix)
    monkeypatch.setenv("PYTHONPATH", "/ours")
    monkeypatch.setenv("PATH", f"{sys.prefix}/bin:{os.environ['PATH']}")

    result = await world.bash(
        'echo "$COLUMNS|$COLORTERM|$VIRTUAL_ENV|$PYTHONPATH|$TERM|$PAGER|$GIT_TERMINAL_PROMPT|$AGENT_TUI_CHILD"; '
        'echo "$PATH"; ls --color=auto -d .'
    )

    first, path, listed = body(result).splitlines()
    assert first == "||||dumb|cat|0|1"
    assert f"{sys.prefix}/bin" not in path.split(":")
    assert listed == "."


async def test_ba_16_a_virtual_environment_of_the_project_stays(
    world: ToolWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VIRTUAL_ENV", "/srv/project/.venv")

    assert body(await world.bash("echo $VIRTUAL_ENV")) == "/srv/project/.venv\n"


@pytest.mark.parametrize("name", ["LD_LIBRARY_PATH", "PYTHONHOME", "LD_PRELOAD"])
async def test_ba_19_loader_variables_are_left_out_and_a_failure_names_them(
    world: ToolWorld, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(name, "/nonexistent/thing")

    fine = await world.bash(f"ls; python3 -c 'print(1)'; echo [${name}]")
    failed = await world.bash("echo 'x: error while loading shared libraries: y' >&2; exit 127")

    assert body(fine) == "1\n[]\n"
    assert name in failed.output


async def test_ba_19_what_a_frozen_launcher_saved_comes_back(
    world: ToolWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LD_LIBRARY_PATH", "/bundle")
    monkeypatch.setenv("LD_LIBRARY_PATH_ORIG", "/usr/local/cuda/lib64")

    assert body(await world.bash("echo $LD_LIBRARY_PATH")) == "/usr/local/cuda/lib64\n"


async def test_names_the_person_denies_are_left_out(
    world: ToolWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CORP_PROXY", "x")
    monkeypatch.setenv("JIRA_URL", "y")
    monkeypatch.setenv("JIRA_USER", "z")
    world.ctx.sandbox = WithoutVariables(NoSandbox(), ["CORP_PROXY", "JIRA_*"])

    assert body(await world.bash("echo [$CORP_PROXY$JIRA_URL$JIRA_USER]")) == "[]\n"


def test_one_execute_permission_with_the_exact_text(world: ToolWorld) -> None:
    (permission,) = world.permissions("bash", command="git status -s")

    assert permission.kind is PermissionKind.EXECUTE
    assert permission.target == "git status -s"
    assert permission.pattern == "Bash(git status -s)"
    assert permission.risk is Risk.MEDIUM


@pytest.mark.parametrize("command", ["rm *", "git log\nrm -rf /", "echo 'a*b'"])
def test_text_that_would_read_as_a_wildcard_offers_no_always(world: ToolWorld, command: str) -> None:
    assert world.permissions("bash", command=command)[0].pattern == ""


@pytest.mark.parametrize(
    "command",
    [
        "agent-tui approvals allow x",
        "cd x; agent-tui config set a b",
        "/usr/bin/agent-tui -p x",
        "env agent-tui",
        "python -m agent_tui",
    ],
)
def test_our_own_program_is_high_and_never_always(world: ToolWorld, command: str) -> None:
    (permission,) = world.permissions("bash", command=command)

    assert (permission.risk, permission.pattern) == (Risk.HIGH, "")


@pytest.mark.parametrize("command", ["ls agent-tui-notes", "cat my-agent-tui.md", "echo agent-tui.toml"])
def test_names_that_only_look_like_ours_are_not_high(world: ToolWorld, command: str) -> None:
    assert world.permissions("bash", command=command)[0].risk is Risk.MEDIUM


async def test_panel_shows_command_output_exit_code_and_time(world: ToolWorld) -> None:
    result = await world.bash("echo hi; exit 2")

    shown = world.shown("bash", result, command="echo hi; exit 2")

    assert shown.content_type is ResultContentType.TERMINAL
    assert shown.content.startswith("$ echo hi; exit 2\nhi\n[exit code: 2, ")
    assert (shown.full_length, shown.full_lines, shown.is_truncated) == (3, 1, False)
    assert shown.summary.startswith("exit code: 2, ")


async def test_a33_a34_panel_of_a_long_output_keeps_both_ends_and_the_total(world: ToolWorld) -> None:
    result = await world.bash("seq 1 50000")

    shown = world.shown("bash", result, command="seq 1 50000")

    assert len(shown.content) <= 10_000
    assert shown.is_truncated
    assert (shown.full_length, shown.full_lines) == (288_894, 50_000)
    assert "288,894 characters in all" in shown.content
    assert "\n50000\n" in shown.content


async def test_a_panel_of_a_call_that_never_ran(world: ToolWorld) -> None:
    shown = world.shown("bash", await world.bash(""), command="")

    assert "did not run" in shown.content


def test_title_is_the_command(world: ToolWorld) -> None:
    assert world.title("bash", command="git status") == "git status"


async def test_a50_summary_says_the_word_and_how_it_went(world: ToolWorld) -> None:
    good = await world.bash("true x")
    bad = await world.bash("false")
    late = await world.bash("sleep 9", timeout=1000)

    assert world.summary("bash", good, command="true x") == "[Bash: true (ok)]"
    assert world.summary("bash", bad, command="false") == "[Bash: false (warn)]"
    assert world.summary("bash", late, command="sleep 9") == "[Bash: sleep (error)]"


async def test_git_that_may_only_read_runs_no_program_of_the_repository(world: ToolWorld) -> None:
    canary = world.put("canary.sh", f"#!/bin/sh\ntouch {world.root}/canary\n")
    canary.chmod(0o755)
    await world.bash(f"git init -q . && git config core.fsmonitor {canary}")
    world.put("a.txt", "a")
    world.ctx.confinement = Confinement(profile=Profile.READ_ONLY)

    result = await world.bash("git status --short")

    assert "a.txt" in result.output
    assert not (world.root / "canary").exists()
    world.ctx.confinement = Confinement(profile=Profile.WORKSPACE)
    await world.bash("git status --short")
    assert (world.root / "canary").exists()
