"""The strong backend on Linux: bubblewrap with a read-only root, pins, hidden secrets and a syscall filter."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from agent_tui.protocol.errors import SandboxError
from agent_tui.sandbox.gitdirs import GitPins, find_pins
from agent_tui.sandbox.interface import Confinement, Launch, Profile, Strength
from agent_tui.sandbox.memory import memory_file
from agent_tui.sandbox.network import SharedNetwork
from agent_tui.sandbox.seccomp import program

BWRAP = Path("/usr/bin/bwrap")
TEMP, VAR_TEMP = Path("/tmp"), Path("/var/tmp")  # inside the sandbox: the session's own
SECRET_FOLDERS = (
    ".ssh", ".aws", ".gnupg", ".azure", ".kube", ".docker", ".config/gcloud", ".config/gh", ".config/hub",
    ".password-store", ".local/share/keyrings", ".mozilla", ".config/google-chrome", ".config/chromium",
)  # fmt: skip
SECRET_FILES = (
    ".netrc", ".npmrc", ".pypirc", ".git-credentials", ".config/git/credentials", ".pgpass", ".my.cnf",
    ".cargo/credentials", ".cargo/credentials.toml", ".gem/credentials", ".vault-token", ".terraformrc",
)  # fmt: skip
PROTECTED = (
    ".agent-tui", ".agents", ".claude", ".mcp.json", ".envrc", ".vscode", ".idea", ".zed", ".cursor",
)  # fmt: skip


class BwrapSandbox:
    """Runs commands in bubblewrap; one per session.

    `workspace` is a real path fixed at the start. `temp` becomes /tmp of every command. `hidden` are folders that
    no command may see (the program's own); `visible` is shown read-only although it lies in a hidden one.
    """

    def __init__(
        self,
        workspace: Path,
        *,
        home: Path,
        temp: Path,
        hidden: Sequence[Path] = (),
        visible: Sequence[Path] = (),
    ) -> None:
        self._workspace = workspace
        self._home = home
        self._temp = temp
        self._hidden = tuple(hidden)
        self._visible = tuple(visible)
        self._pins: GitPins | None = None
        self._filter = program()
        self._network = SharedNetwork(BWRAP)

    @property
    def strength(self) -> Strength:
        return Strength.STRONG

    @property
    def reason(self) -> str:
        return "bubblewrap: the root is read-only, home secrets are hidden, no network"

    def launch(
        self,
        argv: Sequence[str],
        *,
        cwd: Path,
        confinement: Confinement,
        env: Mapping[str, str],
        keep_fds: tuple[int, ...] = (),
    ) -> Launch:
        """Wrap `argv`. Raises SandboxError when the workspace is the home folder or above it and writes were asked."""
        if confinement.profile is Profile.OFF:
            return Launch(argv=tuple(argv), env=dict(env), cwd=cwd, pass_fds=keep_fds)
        if confinement.profile is Profile.WORKSPACE and self._home.is_relative_to(self._workspace):
            raise SandboxError(
                f"{self._workspace} holds the home folder; writes are not confined there, start in a project"
            )
        if confinement.hosts and not confinement.host_network:
            raise SandboxError(
                "a command cannot be limited to some hosts yet; allow it the host's network once"
            )
        joined = [] if confinement.host_network else self._network.prefix()
        command = [
            *joined,
            str(BWRAP),
            *self._namespaces(own_network=not joined and not confinement.host_network),
        ]
        command += self._mounts(confinement)
        fds: tuple[int, ...] = ()
        if self._filter is not None:
            fd = memory_file(self._filter)
            command += ["--seccomp", str(fd)]
            fds = (fd,)
        command += ["--chdir", str(cwd), "--", *argv]
        return Launch(tuple(command), dict(env), self._workspace, pass_fds=(*keep_fds, *fds), close_after=fds)

    def _namespaces(self, *, own_network: bool) -> list[str]:
        flags = ["--new-session", "--die-with-parent", "--unshare-user", "--disable-userns", "--unshare-pid"]
        flags += ["--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try", "--cap-drop", "ALL"]
        return [*flags, "--unshare-net"] if own_network else flags

    def close(self) -> None:
        """Give up the shared network."""
        self._network.close()

    def _mounts(self, confinement: Confinement) -> list[str]:
        mounts = [
            "--ro-bind",
            "/",
            "/",
            "--dev",
            "/dev",
            "--proc",
            "/proc",
            "--tmpfs",
            "/run",
            "--tmpfs",
            str(VAR_TEMP),
        ]
        mounts += ["--bind", str(self._temp), str(TEMP)]
        mounts += self._hides()
        writes = confinement.profile is Profile.WORKSPACE
        mounts += ["--bind" if writes else "--ro-bind", str(self._workspace), str(self._workspace)]
        for folder in confinement.write_dirs:
            mounts += ["--bind-try", str(folder), str(folder)]
        if writes:
            mounts += self._pinned()
        for path in self._visible:
            mounts += ["--ro-bind-try", str(path), str(path)]
        return mounts

    def _hides(self) -> list[str]:
        mounts: list[str] = []
        folders = [self._home / name for name in SECRET_FOLDERS] + list(self._hidden)
        for folder in folders:
            if folder.is_dir():
                mounts += ["--tmpfs", str(folder.resolve())]
        for file in (self._home / name for name in SECRET_FILES):
            if file.is_file():
                mounts += ["--ro-bind", "/dev/null", str(file.resolve())]
        return mounts

    def _pinned(self) -> list[str]:
        if self._pins is None:
            self._pins = find_pins(self._workspace)
        mounts: list[str] = []
        for folder in self._pins.writable:
            mounts += ["--bind-try", str(folder), str(folder)]
        for path in self._pins.read_only:
            mounts += ["--ro-bind-try", str(path), str(path)]
        for name in PROTECTED:
            path = self._workspace / name
            if path.exists() and not path.is_symlink():
                mounts += ["--ro-bind", str(path), str(path)]
        return mounts
