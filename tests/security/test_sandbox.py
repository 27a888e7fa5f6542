import os
import pwd
import shutil
import socket
import subprocess
from pathlib import Path

import pytest

from tests.security.conftest import Run, World, shell_until
from tests.support.sandbox_attacks import COMMON_DIR, FSMONITOR, HOOK, REPLACE

pytestmark = pytest.mark.security


def test_h_s1_writes_outside_succeed_without_protection(bare: Run, world: World) -> None:
    bare("echo x > /etc/canary", "echo x >> ~/.bashrc", "echo x > ../sibling/x")

    assert (world.root / "etc/canary").exists()
    assert (world.home / ".bashrc").read_text() == "# mine\nx\n"
    assert (world.root / "sibling/x").exists()


def test_h_s1_writes_outside_fail(strong: Run, world: World) -> None:
    results = strong("echo x > /etc/canary", "echo x >> ~/.bashrc", "echo x > ../sibling/x")

    assert all(code != 0 and "Read-only file system" in text for code, text in results), results
    assert not Path("/etc/canary").exists()
    assert (world.home / ".bashrc").read_text() == "# mine\n"
    assert not (world.root / "sibling/x").exists()


def test_h_s1_weak_backend_stops_the_same_writes(weak: Run, world: World) -> None:
    results = weak("echo x > /etc/canary", "echo x >> ~/.bashrc", "echo x > ../sibling/x", "echo ok > inside")

    assert [code != 0 for code, _ in results] == [True, True, True, False]
    assert not (world.root / "sibling/x").exists()


def test_h_s2_links_lead_out_without_protection(bare: Run, world: World) -> None:
    bare("echo x > linkdir/new", "echo x > linkfile")

    assert (world.root / "sibling/new").exists()
    assert (world.root / "sibling/victim").read_text() == "x\n"


def test_h_s2_links_do_not_lead_out(strong: Run, world: World) -> None:
    results = strong("echo x > linkdir/new", "echo x > linkfile")

    assert all(code != 0 for code, _ in results)
    assert not (world.root / "sibling/new").exists()
    assert (world.root / "sibling/victim").read_text() == "victim\n"


def test_ordinary_work_goes_on_inside(strong: Run) -> None:
    results = strong(
        "echo x > new && git add -A && git commit -qm x && git diff --stat HEAD~1",
        "mkdir -p a/b && cp file.txt a/b/ && rm -r a && echo t > /tmp/t && cat /tmp/t",
        "printf 'all:\\n\\techo made\\n' > Makefile && make",
        "python3 -c 'import multiprocessing as m; print(m.Pool(2).map(abs, [-1, 2]))'",
    )

    assert all(code == 0 for code, _ in results), results


WORK = {
    "gcc": "printf 'int main(void) { return 0; }' > m.c && gcc m.c -o m && ./m",
    "node": 'node -e \'require("child_process").execFileSync("true"); console.log(require("os").cpus().length)\'',
    "npm": 'echo \'{"name": "x", "version": "1.0.0", "scripts": {"test": "node -e 0"}}\' > package.json && npm test',
    "cargo": "cargo init --quiet --name x . && cargo build --quiet --offline && target/debug/x",
}


@pytest.mark.parametrize("program", WORK)
def test_builds_and_tests_go_on_inside(strong: Run, program: str) -> None:
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")
    home = pwd.getpwuid(os.geteuid()).pw_dir
    ((here, what),) = strong(f"export RUSTUP_HOME={home}/.rustup; {program} --version")
    if here != 0:
        pytest.skip(f"this user cannot run {program}: {what}")

    ((code, text),) = strong(f"export RUSTUP_HOME={home}/.rustup; {WORK[program]}")

    assert code == 0, text


def test_pytest_runs_inside(strong: Run, world: World) -> None:
    text = "import multiprocessing, unittest\\n\\nclass T(unittest.TestCase):\\n    def test(self):\\n"
    text += "        with multiprocessing.Pool(2) as pool:\\n            self.assertEqual(pool.map(abs, [-1]), [1])\\n"

    ((code, said),) = strong(f"printf '{text}' > test_it.py && {world.python} -m unittest -q test_it")

    assert code == 0, said


def test_h_s3_git_hooks_and_config_can_be_written_without_protection(bare: Run) -> None:
    assert [code for code, _ in bare(HOOK, FSMONITOR)] == [0, 0]


@pytest.mark.parametrize("hooks_exist", [True, False])
def test_h_s3_git_hooks_and_config_are_read_only_and_commits_work(
    strong: Run, world: World, hooks_exist: bool
) -> None:
    if not hooks_exist:
        subprocess.run(["rm", "-rf", str(world.workspace / ".git/hooks")], check=True)

    hook, config, commit = strong(
        HOOK, FSMONITOR, "echo y > new && git add new && git commit -qm y && git log --oneline"
    )

    assert hook[0] != 0
    assert config[0] != 0
    assert commit[0] == 0, commit[1]
    assert not (world.workspace / ".git/hooks/pre-commit").exists()


def test_h_s4_git_can_be_moved_away_without_protection(bare: Run) -> None:
    assert bare(REPLACE)[0][0] == 0


def test_h_s4_git_cannot_be_moved_away(strong: Run, world: World) -> None:
    code, text = strong(REPLACE)[0]

    assert code != 0
    assert "busy" in text
    assert not (world.workspace / ".git2").exists()


MOUNTS = ("mount -o remount,rw /", "mount --bind . /etc")


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root to begin with")
def test_h_s5_root_can_mount_without_dropped_capabilities(bare: Run) -> None:
    assert bare(MOUNTS[1])[0][0] == 0


def test_h_s5_nothing_can_be_mounted(strong: Run) -> None:
    assert all(code != 0 for code, _ in strong(*MOUNTS))


def test_h_s6_no_listener_of_the_host_is_reached(strong: Run, world: World) -> None:
    tcp, udp = socket.create_server(("127.0.0.1", 0)), socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.bind(("127.0.0.1", 0))
    abstract, named = socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)
    abstract.bind(f"\0agent-tui-{os.getpid()}")
    named.bind(str(world.root / "s"))
    for listener in (abstract, named):
        listener.listen()
    for listener in (tcp, udp, abstract, named):
        listener.setblocking(False)
    python = f"{world.python} -c"
    results = strong(
        f"echo x > /dev/tcp/127.0.0.1/{tcp.getsockname()[1]}",
        f"echo x > /dev/udp/127.0.0.1/{udp.getsockname()[1]}",
        f"{python} 'import socket; socket.socket(socket.AF_UNIX).connect(\"\\0agent-tui-{os.getpid()}\")'",
        f"{python} 'import socket; socket.socket(socket.AF_UNIX).connect(\"{world.root}/s\")'",
        f"{python} 'import socket; socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)'",
    )

    assert all(code != 0 for index, (code, _) in enumerate(results) if index != 1), results
    for listener in (tcp, abstract, named):
        with pytest.raises(BlockingIOError):
            listener.accept()
    with pytest.raises(BlockingIOError):
        udp.recv(10)
    for listener in (tcp, udp, abstract, named):
        listener.close()


SECRETS = (
    "cat ~/.ssh/canary",
    "grep . ~/.netrc",
    "grep -r . ~/.local/state/agent-tui",
    "cat /proc/$AGENT_PID/root$HOME/.ssh/canary",
    "cat /proc/$AGENT_PID/environ",
)


def test_h_s7_secrets_can_be_read_without_protection(bare: Run) -> None:
    assert all("SECRET-CANARY" in text for _, text in bare(*SECRETS[:3]))


def test_h_s7_secrets_of_the_home_are_hidden(strong: Run) -> None:
    results = strong(*SECRETS)

    assert not any("SECRET-CANARY" in text for _, text in results)
    assert all(code != 0 for code, _ in results)


def test_h_s8_processes_of_the_host_cannot_be_ended(strong: Run) -> None:
    victim = subprocess.Popen(["sleep", "60"])

    results = strong(f"kill -9 {victim.pid}")

    assert results[0][0] != 0
    assert victim.poll() is None
    victim.kill()
    victim.wait()


def test_h_s8_daemon_dies_with_its_command(strong: Run, world: World) -> None:
    mark = f"3{os.getpid()}.5"

    (code, _), *_ = strong(
        f"setsid sleep {mark} & disown; {shell_until(f'pgrep -f ^sleep.{mark} > /dev/null')}"
    )

    assert code == 0
    assert (
        subprocess.run(["pgrep", "-f", f"sleep {mark}"], stdout=subprocess.DEVNULL, check=False).returncode
        == 1
    )


def test_h_s9_without_user_namespaces_the_mode_is_not_strong(world: World) -> None:
    if os.geteuid() != 0:
        pytest.skip("the outer sandbox here needs root")
    outer = [
        "/usr/bin/bwrap", "--unshare-user", "--disable-userns", "--cap-drop", "ALL", "--dev-bind", "/", "/", "--",
    ]  # fmt: skip

    strength, _ = world.answer("probe", [], outer=outer)

    assert strength in {"weak", "none"}


def test_h_s12_set_id_bits_namespaces_and_io_uring_are_refused(strong: Run, world: World) -> None:
    uring = f"{world.python} -c 'import ctypes,sys; sys.exit(0 if ctypes.CDLL(None).syscall(425, 1, 0) >= 0 else 1)'"

    opened = f"{world.python} -c 'import os; os.umask(0); os.open(\"s\", os.O_CREAT | os.O_WRONLY, 0o4755)'"

    results = strong("chmod 4755 file.txt", "chmod 2755 file.txt", "unshare -Urm true", uring, opened)

    assert all(code != 0 for code, _ in results), results


def test_h_s13_no_stub_files_are_left_in_the_workspace(strong: Run, world: World) -> None:
    before = sorted(path.name for path in world.workspace.iterdir())

    (code, text), *_ = strong("true && git add -A && git status --porcelain")

    assert (code, text) == (0, "")
    assert sorted(path.name for path in world.workspace.iterdir()) == before


def test_read_only_profile_writes_nowhere(strong: Run, world: World) -> None:
    results = strong("echo x > inside", "git status --porcelain", profile="read-only")

    assert results[0][0] != 0
    assert results[1] == (0, "")


def test_granted_directory_can_be_written(strong: Run, world: World) -> None:
    (code, text), *_ = strong("echo x > ../sibling/new", write_dirs=[str(world.root / "sibling")])

    assert code == 0, text
    assert (world.root / "sibling/new").exists()


def test_server_in_one_command_answers_the_next(strong: Run, world: World) -> None:
    (code, text), *_ = strong(
        f"{world.python} -m http.server 8765 --bind 127.0.0.1 >/dev/null 2>&1 & "
        f"{shell_until('(echo > /dev/tcp/127.0.0.1/8765) 2>/dev/null')}; "
        "exec 3<>/dev/tcp/127.0.0.1/8765; printf 'GET / HTTP/1.0\\r\\n\\r\\n' >&3; head -1 <&3"
    )

    assert code == 0
    assert "200" in text


def test_h_s3_configuration_can_be_replaced_by_a_common_directory_without_protection(bare: Run) -> None:
    assert bare(COMMON_DIR)[0] == (0, "evil\n")


def test_h_s3_no_common_directory_leads_away_and_nothing_of_it_stays(strong: Run, world: World) -> None:
    assert strong(COMMON_DIR)[0][0] != 0
    assert not (world.workspace / ".git/commondir").exists()


NESTED = (
    "mv vendor away && echo evil > away/lib/.git/hooks/pre-commit",
    "echo evil > away/lib/.git/hooks/pre-commit || echo evil > vendor/lib/.git/hooks/pre-commit",
    "mv vendor/lib/.git away && git init -q vendor/lib && git -C vendor/lib config core.fsmonitor y",
    "cd vendor/lib && echo y > new && git add new && git -c user.name=t -c user.email=t@x commit -qm y",
)


@pytest.fixture
def nested(world: World) -> Path:
    subprocess.run(["git", "init", "-q", str(world.workspace / "vendor/lib")], check=True)
    return world.workspace / "vendor/lib/.git"


def test_h_s4_nested_repository_can_be_moved_away_without_protection(nested: Path, bare: Run) -> None:
    assert bare(NESTED[0])[0][0] == 0


def test_h_s4_nested_repository_stays_where_it_is_pinned(nested: Path, strong: Run) -> None:
    results = strong(*NESTED)

    assert [code == 0 for code, _ in results] == [False, False, False, True], results
    assert not (nested / "hooks/pre-commit").exists()


def test_h_s4_pointer_of_a_submodule_cannot_be_turned(world: World, strong: Run) -> None:
    (world.workspace / "sub").mkdir()
    (world.workspace / "sub/.git").write_text("gitdir: ../.git/modules/sub\n")

    results = strong("echo 'gitdir: ../evil' > sub/.git", "mv sub gone", "rm sub/.git")

    assert all(code != 0 for code, _ in results), results


def test_h_s3_project_configuration_of_programs_is_read_only(world: World, strong: Run) -> None:
    for name in (".agent-tui", ".claude", ".vscode"):
        (world.workspace / name).mkdir()
    (world.workspace / ".mcp.json").write_text("{}")

    results = strong(
        "touch .agent-tui/config.toml",
        "touch .claude/x",
        "touch .vscode/x",
        "echo x > .mcp.json",
        "mv .agent-tui y",
    )

    assert all(code != 0 for code, _ in results), results


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may open them to begin with")
def test_h_s5_settings_of_the_kernel_can_be_opened_without_protection(bare: Run) -> None:
    assert bare("exec 3>>/proc/sys/kernel/core_pattern")[0][0] == 0


def test_h_s5_settings_of_the_kernel_cannot_be_opened_for_writing(strong: Run) -> None:
    # Opened, never written: as root without protection this is the host's.
    results = strong(
        "exec 3>>/proc/sys/kernel/core_pattern", "exec 3>>/proc/sysrq-trigger", "exec 3>>/sys/power/state"
    )

    assert all(code != 0 for code, _ in results), results


def test_h_s7_grant_of_the_home_folder_does_not_hand_over_its_secrets(strong: Run, world: World) -> None:
    secrets = strong(*SECRETS, write_dirs=[str(world.home)])
    changes = strong("echo x >> ~/.bashrc", "echo ok > ~/new", write_dirs=[str(world.home)])

    assert not any("SECRET-CANARY" in text for _, text in secrets), secrets
    assert [code == 0 for code, _ in changes] == [False, True], changes


def test_h_s7_home_as_the_workspace_is_read_only_without_its_secrets(
    world: World, strong_as: tuple[str, int]
) -> None:
    backend, uid = strong_as
    items: list[dict[str, object]] = [{"text": text, "profile": "read-only"} for text in ("ls", *SECRETS)]

    _, results = world.answer(backend, [*items, {"text": "ls"}], uid=uid, workspace=str(world.home))

    assert results[0][0] == 0
    assert not any("SECRET-CANARY" in text for _, text in results)
    assert "SandboxError" in results[-1][1]


def test_h_s7_root_cannot_read_the_passwords_of_the_system(strong: Run) -> None:
    assert strong("grep -c : /etc/shadow")[0][1] in {"0\n", "grep: /etc/shadow: Permission denied\n"}
