"""The backend on macOS: sandbox-exec with a profile that denies what it does not name."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from agent_tui.protocol.errors import SandboxError
from agent_tui.sandbox.gitdirs import find_pins
from agent_tui.sandbox.interface import Confinement, Launch, Profile, Strength
from agent_tui.sandbox.mounts import PROTECTED, Ground
from agent_tui.sandbox.secrets import START_UP, secret_files, secret_folders

SANDBOX_EXEC = Path("/usr/bin/sandbox-exec")
_SERVICES = (
    "com.apple.system.logger", "com.apple.logd", "com.apple.system.notification_center",
    "com.apple.system.opendirectoryd.libinfo", "com.apple.system.opendirectoryd.membership",
    "com.apple.bsd.dirhelper", "com.apple.trustd.agent", "com.apple.PowerManagement.control",
)  # fmt: skip
# No launchservicesd, pasteboard, securityd or AppleEvents: each starts or steers a program outside.
_BASE = f"""\
(version 1)
(deny default)
(allow process-exec)
(allow process-fork)
(allow process-info* (target same-sandbox))
(allow signal (target same-sandbox))
(allow mach-priv-task-port (target same-sandbox))
(allow sysctl-read)
(allow ipc-posix-sem)
(allow ipc-posix-shm)
(allow iokit-get-properties)
(allow pseudo-tty)
(allow user-preference-read)
(allow mach-lookup
{chr(10).join(f'  (global-name "{name}")' for name in _SERVICES)})
(allow file-read*)
(allow file-ioctl (regex #"^/dev/(tty.*|ptmx|null)$"))
(allow file-write* (regex #"^/dev/(tty.*|ptmx|null|zero|random|urandom|fd/[0-9]+|stdout|stderr)$"))
"""


def profile(ground: Ground, confinement: Confinement, *, pinned: Iterable[Path] = ()) -> str:
    """Give the profile text; a later rule stands above an earlier one. `pinned` may be read but not written.

    Raises SandboxError for a path that no profile can hold.
    """
    writes = confinement.profile is Profile.WORKSPACE
    writable = [ground.temp, *confinement.write_dirs, *([ground.workspace] if writes else [])]
    kept = [ground.workspace / name for name in PROTECTED]
    kept += [
        folder / name for folder in (*confinement.write_dirs, ground.home) for name in (*PROTECTED, *START_UP)
    ]
    granted = {*confinement.write_dirs}
    lines = [_BASE, *_rules("allow file-write*", "subpath", writable)]
    lines += _rules("deny file-write*", "subpath", [path for path in (*kept, *pinned) if path not in granted])
    lines += _rules("deny file-read* file-write*", "subpath", secret_folders(ground.home))
    lines += _rules("deny file-read* file-write*", "literal", secret_files(ground.home))
    lines += _rules("deny file-read* file-write*", "subpath", ground.hidden)
    lines += _rules("allow file-read*", "subpath", ground.visible)
    if confinement.host_network:
        lines.append("(allow network*)\n(allow system-socket)")
    return "\n".join(lines) + "\n"


def _rules(rule: str, filter_name: str, paths: Iterable[Path]) -> list[str]:
    return [f"({rule} ({filter_name} {_quoted(path)}))" for path in dict.fromkeys(paths)]


def _quoted(path: Path) -> str:
    """Give `path` as a string of the profile language. Raises SandboxError."""
    text = str(path)
    if not text.isprintable():
        raise SandboxError(f"{text!r} holds a character that no sandbox profile can hold")
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


class SeatbeltSandbox:
    """Runs commands under sandbox-exec; one per session. Paths are real ones (/private/tmp, not /tmp)."""

    def __init__(
        self,
        workspace: Path,
        *,
        home: Path,
        temp: Path,
        hidden: Sequence[Path] = (),
        visible: Sequence[Path] = (),
    ) -> None:
        self._ground = Ground(workspace, home, temp, tuple(hidden), tuple(visible))
        self._pinned: tuple[Path, ...] | None = None

    @property
    def strength(self) -> Strength:
        return Strength.STRONG

    @property
    def reason(self) -> str:
        return "sandbox-exec: writes are limited, home secrets are hidden, no network"

    def launch(
        self,
        argv: Sequence[str],
        *,
        cwd: Path,
        confinement: Confinement,
        env: Mapping[str, str],
        keep_fds: tuple[int, ...] = (),
    ) -> Launch:
        """Wrap `argv`. Raises SandboxError when hosts were granted, or writes where the home folder lies."""
        if confinement.profile is Profile.OFF:
            return Launch(tuple(argv), dict(env), cwd, pass_fds=keep_fds)
        if confinement.profile is Profile.WORKSPACE and self._ground.home.is_relative_to(
            self._ground.workspace
        ):
            raise SandboxError(
                f"{self._ground.workspace} holds the home folder; writes are not confined there, start in a project"
            )
        if confinement.hosts and not confinement.host_network:
            raise SandboxError(
                "this sandbox cannot limit a command to some hosts; run it once without the sandbox"
            )
        text = profile(self._ground, confinement, pinned=self._pins())
        environment = {**env, "TMPDIR": f"{self._ground.temp}/"}
        return Launch((str(SANDBOX_EXEC), "-p", text, *argv), environment, cwd, pass_fds=keep_fds)

    def _pins(self) -> tuple[Path, ...]:
        if self._pinned is None:
            pins = find_pins(self._ground.workspace, home=self._ground.home)
            commons = tuple(folder / "commondir" for folder in pins.main)
            self._pinned = (*pins.read_only, *commons, *pins.absent_hooks)
        return self._pinned
