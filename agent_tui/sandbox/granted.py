"""A sandbox that opens further where a person said so during the session."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from agent_tui.sandbox.interface import Confinement, Launch, Profile, Sandbox, Strength


class GrantedSandbox:
    """Adds folders and hosts to what every command that may write is granted.

    `roots` are writable folders for the whole run. What is allowed later is forgotten with `forget`, at the end of a
    session. Commands that only read stay as they are.
    """

    def __init__(self, sandbox: Sandbox, roots: Sequence[Path] = ()) -> None:
        self._sandbox = sandbox
        self._roots = tuple(roots)
        self._folders: dict[Path, None] = {}
        self._hosts: dict[str, None] = {}
        self._once: set[str] = set()

    @property
    def strength(self) -> Strength:
        return self._sandbox.strength

    @property
    def reason(self) -> str:
        return self._sandbox.reason

    @property
    def roots(self) -> Sequence[Path]:
        """The folders outside the project that count for the whole run."""
        return self._roots

    def add_root(self, folder: Path) -> None:
        """Count one more folder for the whole run."""
        self._roots = (*self._roots, folder)

    def allow_folder(self, folder: Path) -> None:
        """Let commands write below `folder` until `forget`."""
        self._folders[folder] = None

    def allow_host(self, host: str) -> None:
        """Let commands reach `host` until `forget`."""
        self._hosts[host] = None

    def allow_once(self, command: str) -> None:
        """Let the next run of exactly this text go without the sandbox."""
        self._once.add(command)

    def allowed(self) -> Sequence[tuple[str, str]]:
        """Give what was allowed during the session as (folder, host or command; its target)."""
        return [
            *(("folder", str(folder)) for folder in self._folders),
            *(("host", host) for host in self._hosts),
            *(("command", command) for command in sorted(self._once)),
        ]

    def take_back(self, kind: str, target: str) -> None:
        """Take back one thing that was allowed; what is not there is no error."""
        match kind:
            case "folder":
                self._folders.pop(Path(target), None)
            case "host":
                self._hosts.pop(target, None)
            case _:
                self._once.discard(target)

    def forget(self) -> None:
        """Take back everything that was allowed."""
        self._folders.clear()
        self._hosts.clear()
        self._once.clear()

    def reach(self, confinement: Confinement) -> Confinement:
        """Give what a command with `confinement` may touch with all that was allowed."""
        if confinement.profile is not Profile.WORKSPACE:
            return confinement
        folders = dict.fromkeys((*confinement.write_dirs, *self._roots, *self._folders))
        hosts = dict.fromkeys((*confinement.hosts, *self._hosts))
        return replace(confinement, write_dirs=tuple(folders), hosts=tuple(hosts))

    def launch(
        self,
        argv: Sequence[str],
        *,
        cwd: Path,
        confinement: Confinement,
        env: Mapping[str, str],
        keep_fds: tuple[int, ...] = (),
    ) -> Launch:
        """Wrap `argv` with what counts for it now. Raises SandboxError."""
        reach = self.reach(confinement)
        if argv and argv[-1] in self._once:
            self._once.discard(argv[-1])
            reach = Confinement(profile=Profile.OFF)
        return self._sandbox.launch(argv, cwd=cwd, confinement=reach, env=env, keep_fds=keep_fds)
