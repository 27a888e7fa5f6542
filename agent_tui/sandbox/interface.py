"""What the rest of the program knows of a sandbox."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Protocol


class Strength(StrEnum):
    """STRONG hides, pins and kills; WEAK only limits writes and sockets; NONE limits nothing."""

    STRONG = "strong"
    WEAK = "weak"
    NONE = "none"


class Profile(StrEnum):
    """READ_ONLY writes nowhere; WORKSPACE writes in the workspace and granted directories; OFF is no sandbox."""

    READ_ONLY = "read-only"
    WORKSPACE = "workspace"
    OFF = "off"


@dataclass(frozen=True)
class Confinement:
    """What one command may touch. `write_dirs` and `hosts` were granted for it; empty `hosts` means no network.

    `host_network` shares the host's network as it is (an explicit grant only).
    """

    profile: Profile = Profile.WORKSPACE
    write_dirs: tuple[Path, ...] = ()
    hosts: tuple[str, ...] = ()
    host_network: bool = False


@dataclass(frozen=True)
class Launch:
    """How to spawn a command: the full `argv`, the whole environment `env` by name, the directory and descriptors.

    `pass_fds` stay open in the child under the same numbers; the spawner closes its own copies of
    `close_after` once the child runs.
    """

    argv: Sequence[str]
    env: Mapping[str, str]
    cwd: Path
    pass_fds: tuple[int, ...] = ()
    close_after: tuple[int, ...] = field(default=())


class Sandbox(Protocol):
    """A way to run commands confined."""

    @property
    def strength(self) -> Strength:
        """How much this backend can promise."""
        ...

    @property
    def reason(self) -> str:
        """One sentence that says which backend it is, or why there is none better."""
        ...

    def launch(
        self,
        argv: Sequence[str],
        *,
        cwd: Path,
        confinement: Confinement,
        env: Mapping[str, str],
        keep_fds: tuple[int, ...] = (),
    ) -> Launch:
        """Wrap `argv` for `confinement`. `env` is all the command will have, by name; nothing is added from ours.

        `keep_fds` must reach the command under the same numbers. Raises SandboxError when it cannot be confined so.
        """
        ...


class NoSandbox(Sandbox):
    """Runs commands as they are; whoever uses it must have asked."""

    def __init__(self, reason: str = "no sandbox was set up") -> None:
        self._reason = reason

    @property
    def strength(self) -> Strength:
        return Strength.NONE

    @property
    def reason(self) -> str:
        return self._reason

    def launch(
        self,
        argv: Sequence[str],
        *,
        cwd: Path,
        confinement: Confinement,
        env: Mapping[str, str],
        keep_fds: tuple[int, ...] = (),
    ) -> Launch:
        return Launch(argv=tuple(argv), env=dict(env), cwd=cwd, pass_fds=keep_fds)
