"""The strong backend on Linux: bubblewrap with a read-only root, pins, hidden secrets and a syscall filter."""

import os
import threading
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from agent_tui.protocol.errors import SandboxError
from agent_tui.sandbox.gitdirs import find_pins
from agent_tui.sandbox.gitstubs import CommonDirStubs, HookFolders
from agent_tui.sandbox.interface import Confinement, Launch, Profile, Strength
from agent_tui.sandbox.memory import memory_file
from agent_tui.sandbox.mounts import Found, Ground, mounts
from agent_tui.sandbox.network import HeldNetwork
from agent_tui.sandbox.seccomp import program
from agent_tui.sandbox.survey import survey

if TYPE_CHECKING:
    from agent_tui.sandbox.proxied import ProxiedNetwork
    from agent_tui.sandbox.proxy import ProxyRules

BWRAP = Path("/usr/bin/bwrap")
_TEMPORARY = frozenset({"TMPDIR", "TMP", "TEMP", "TEMPDIR"})
_NAMESPACES = (
    "--new-session", "--die-with-parent", "--unshare-user", "--disable-userns", "--unshare-pid", "--unshare-ipc",
    "--unshare-uts", "--unshare-cgroup-try", "--cap-drop", "ALL",
)  # fmt: skip


class BwrapSandbox:
    """Runs commands in bubblewrap; one per session.

    `workspace` is a real path fixed at the start. `temp` becomes /tmp of every command. `hidden` are folders that
    no command may see (the program's own); `visible` is shown read-only although it lies in a hidden one.
    `proxy_rules` say how granted hosts are reached.
    """

    def __init__(
        self,
        workspace: Path,
        *,
        home: Path,
        temp: Path,
        hidden: Sequence[Path] = (),
        visible: Sequence[Path] = (),
        proxy_rules: "ProxyRules | None" = None,
    ) -> None:
        self._ground = Ground(workspace, home, temp, tuple(hidden), tuple(visible))
        self._filter = program()
        self._network = HeldNetwork(BWRAP)
        self._proxy_rules = proxy_rules
        self._proxied: dict[frozenset[str], ProxiedNetwork] = {}
        self._stubs = CommonDirStubs()
        self._hooks = HookFolders()
        for made in (self._stubs, self._hooks):
            weakref.finalize(self, made.close)  # also when the program ends without `close`
        self._found: Found | None = None
        self._searching, self._joining = threading.Lock(), threading.Lock()
        self._is_closed = False

    @property
    def strength(self) -> Strength:
        return Strength.WEAK if self._filter is None else Strength.STRONG

    @property
    def reason(self) -> str:
        if self._filter is None:
            return "bubblewrap without a filter of system calls: this processor is not known"
        return "bubblewrap: the root is read-only, home secrets are hidden, no network"

    def warm_up(self) -> None:
        """Do what the first command would wait for: search the workspace, make the shared network. For a thread."""
        if not self._holds_home:
            self._search()
        self._network.prefix()

    def launch(
        self,
        argv: Sequence[str],
        *,
        cwd: Path,
        confinement: Confinement,
        env: Mapping[str, str],
        keep_fds: tuple[int, ...] = (),
    ) -> Launch:
        """Wrap `argv`.

        Raises SandboxError when the workspace is the home folder or above it and writes were asked, and after `close`.
        """
        if confinement.profile is Profile.OFF:
            return Launch(argv=tuple(argv), env=dict(env), cwd=cwd, pass_fds=keep_fds)
        if confinement.profile is Profile.WORKSPACE and self._holds_home:
            raise SandboxError(
                f"{self._ground.workspace} holds the home folder; writes are not confined there, start in a project"
            )
        self._refuse_when_closed()
        self._keep_temp()
        joined, variables = self._joined(confinement)
        own_network = not joined and not confinement.host_network
        command = [*joined, str(BWRAP), *_NAMESPACES, *(["--unshare-net"] if own_network else [])]
        found = self._search() if confinement.profile is Profile.WORKSPACE or confinement.hosts else Found()
        command += mounts(self._ground, found, confinement)
        fds: tuple[int, ...] = ()
        if self._filter is not None:
            fds = (memory_file(self._filter),)
            command += ["--seccomp", str(fds[0])]
        for name in _TEMPORARY & env.keys():
            variables = {**variables, name: "/tmp"}  # that of the host is not there
        command += ["--chdir", str(cwd), "--", *argv]
        return Launch(
            tuple(command), {**env, **variables}, self._ground.workspace, (*keep_fds, *fds), close_after=fds
        )

    def refused_hosts(self) -> tuple[str, ...]:
        """Give the hosts that commands asked the proxy for in vain."""
        return tuple(host for network in self._proxied.values() for host in network.refused)

    def close(self) -> None:
        """Give up the networks and take the stubs out of the repositories. No command may run any more.

        What a thread still prepares for a command that was given up makes nothing anew.
        """
        self._is_closed = True
        self._network.close()
        with self._joining:
            proxied, self._proxied = self._proxied, {}
        for network in proxied.values():
            network.close()
        with self._searching:
            self._stubs.close()
            self._hooks.close()

    def _refuse_when_closed(self) -> None:
        if self._is_closed:
            raise SandboxError("the sandbox is closed")

    @property
    def _holds_home(self) -> bool:
        return self._ground.home.is_relative_to(self._ground.workspace)

    def _joined(self, confinement: Confinement) -> tuple[list[str], Mapping[str, str]]:
        """Give the words that put a command into its network, and the variables that tell it of the proxy."""
        if confinement.host_network:
            return [], {}
        if not confinement.hosts:
            return self._network.prefix(), {}
        from agent_tui.sandbox.proxied import PROXY_VARIABLES, ProxiedNetwork  # 2 ms of CPU, loaded ahead

        hosts = frozenset(host.lower() for host in confinement.hosts)
        with self._joining:
            self._refuse_when_closed()
            network = self._proxied.get(hosts)
            if network is None:
                network = self._proxied[hosts] = ProxiedNetwork(BWRAP, hosts, rules=self._proxy_rules)
        return network.prefix(), PROXY_VARIABLES

    def _search(self) -> Found:
        with self._searching:
            self._refuse_when_closed()
            if self._found is None:
                try:
                    self._found = self._look_around()
                except OSError as error:  # a git folder that cannot be read cannot be guarded either
                    raise SandboxError(
                        f"{error.filename or self._ground.workspace} cannot be looked at: {error.strerror or error}; "
                        "no command runs until it can, or lies elsewhere"
                    ) from error
            return self._found

    def _look_around(self) -> Found:
        found = survey(self._ground.workspace)
        pins = find_pins(self._ground.workspace, found, home=self._ground.home)
        stubs = [*self._stubs.hold(pins.main), *self._hooks.hold(pins.absent_hooks)]
        return Found.of(pins, stubs, found)

    def _keep_temp(self) -> None:
        """Make the session's /tmp again when a cleaner took it; never use one that somebody else made."""
        temp = self._ground.temp
        temp.mkdir(mode=0o700, exist_ok=True)
        if temp.is_symlink() or temp.stat().st_uid != os.geteuid():
            raise SandboxError(f"{temp} is not the temporary folder of this session any more")
