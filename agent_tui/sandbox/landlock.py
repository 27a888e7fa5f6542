"""The weak backend on Linux: Landlock limits writes, seccomp limits system calls; nothing is hidden."""

import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from agent_tui.protocol.errors import SandboxError
from agent_tui.sandbox.interface import Confinement, Launch, Profile, Strength
from agent_tui.sandbox.memory import memory_file
from agent_tui.sandbox.seccomp import program

_HELPER = Path(__file__).with_name("_confine.py")
_DEVICES = (
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
    "/dev/shm",
    "/dev/ptmx",
    "/dev/pts",
)
_CREATE_RULESET = 444


def landlock_abi() -> int:
    """Give the kernel's Landlock version, 0 when there is none."""
    if sys.platform != "linux":
        return 0
    import ctypes  # 0.3 MiB, where bubblewrap is refused

    libc = ctypes.CDLL(None, use_errno=True)
    return max(0, int(libc.syscall(_CREATE_RULESET, None, 0, 1)))


class LandlockSandbox:
    """Runs commands that can write only where they may and open no internet socket.

    It cannot hide home secrets, pin git's configuration or end daemons: auto-allow stays off with it.
    """

    def __init__(self, workspace: Path, *, temp: Path, why_not_strong: str) -> None:
        self._workspace = workspace
        self._temp = temp
        self._why = why_not_strong

    @property
    def strength(self) -> Strength:
        return Strength.WEAK

    @property
    def reason(self) -> str:
        return f"Landlock: writes are limited, secrets are not hidden ({self._why})"

    def launch(
        self,
        argv: Sequence[str],
        *,
        cwd: Path,
        confinement: Confinement,
        env: Mapping[str, str],
        keep_fds: tuple[int, ...] = (),
    ) -> Launch:
        """Wrap `argv`. Raises SandboxError when hosts were granted: this backend cannot limit to some."""
        if confinement.profile is Profile.OFF:
            return Launch(tuple(argv), dict(env), cwd, pass_fds=keep_fds)
        if confinement.hosts and not confinement.host_network:
            raise SandboxError(
                "this sandbox cannot limit a command to some hosts; run it once without the sandbox"
            )
        filter_bytes = program(internet=confinement.host_network) or b""
        wanted = {
            "write": [str(path) for path in self._writable(confinement)],
            "seccomp": filter_bytes.hex(),
            "network": confinement.host_network,
        }
        fd = memory_file(json.dumps(wanted).encode())
        command = (sys.executable, "-I", "-S", str(_HELPER), str(fd), "--", *argv)
        environment = {**env, "TMPDIR": str(self._temp)}
        return Launch(command, environment, cwd, pass_fds=(*keep_fds, fd), close_after=(fd,))

    def _writable(self, confinement: Confinement) -> list[Path]:
        paths = [Path(name) for name in _DEVICES] + [self._temp, *confinement.write_dirs]
        if confinement.profile is Profile.WORKSPACE:
            paths.append(self._workspace)
        return [path for path in paths if os.path.lexists(path)]
