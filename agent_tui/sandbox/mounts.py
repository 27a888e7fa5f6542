"""Works out the mounts of one command for bubblewrap: what is writable, pinned, masked and hidden, in that order."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from agent_tui.protocol.errors import SandboxError
from agent_tui.sandbox.gitdirs import GitPins, find_pins, is_git_directory
from agent_tui.sandbox.interface import Confinement, Profile
from agent_tui.sandbox.secrets import START_UP, secret_files, secret_folders
from agent_tui.sandbox.survey import Survey, is_env_file

EMPTY = Path(__file__).with_name(
    "empty.txt"
)  # a device would answer "permission denied", which programs do not expect
TEMP, VAR_TEMP, RUN = Path("/tmp"), Path("/var/tmp"), Path("/run")  # in the sandbox: the session's own
_REPLACED = (TEMP, VAR_TEMP, RUN, Path("/dev"), Path("/proc"))
_KERNEL = (
    "/proc/sys",
    "/proc/irq",
    "/proc/bus",
    "/proc/fs",
    "/proc/scsi",
    "/proc/acpi",
    "/proc/sysrq-trigger",
)
PROTECTED = (
    ".agent-tui", ".agents", ".claude", ".mcp.json", ".envrc", ".vscode", ".idea", ".zed", ".cursor", ".fleet",
    ".devcontainer", ".husky", ".gitmodules",
)  # fmt: skip


@dataclass(frozen=True)
class Ground:
    """What stays the same for all commands of a session. All are real paths.

    `hidden` are folders that no command may see (the program's own); `visible` is shown read-only although it lies in
    a hidden one.
    """

    workspace: Path
    home: Path
    temp: Path
    hidden: tuple[Path, ...] = ()
    visible: tuple[Path, ...] = ()


@dataclass(frozen=True)
class Found:
    """What the search of the workspace gave."""

    pins: GitPins = field(default_factory=GitPins)
    stubs: tuple[Path, ...] = ()
    env_files: tuple[Path, ...] = ()

    @classmethod
    def of(cls, pins: GitPins, stubs: Sequence[Path], survey: Survey) -> "Found":
        """Gather it."""
        return cls(pins, tuple(stubs), tuple(survey.env_files))


def mounts(ground: Ground, found: Found, confinement: Confinement) -> list[str]:
    """Give bubblewrap's mount arguments. Raises SandboxError when a granted folder cannot be mounted safely."""
    writes = confinement.profile is Profile.WORKSPACE
    granted = [_granted(path, ground) for path in confinement.write_dirs]
    wide = [path for path in granted if _is_wide(path)]
    secret = [*secret_folders(ground.home)]
    late = [path for path in granted if _is_below(path, secret)]
    early = [path for path in granted if path not in wide and path not in late]
    arguments = ["--ro-bind", "/", "/", *_binds(wide), *_base(ground.temp)]
    if confinement.host_network:
        arguments += _resolver()
    arguments += _binds(early) + _workspace(ground.workspace, writes=writes)
    if writes:
        arguments += _pinned(found, ground.workspace) + _kept(ground.workspace)
    for path in granted:
        arguments += _guarded(path, ground.home)
    if confinement.hosts or confinement.host_network:
        arguments += _masked(found, ground.workspace)
    arguments += _hides(ground, secret) + _binds(late)
    for path in ground.visible:
        arguments += ["--ro-bind-try", str(path), str(path)]
    return arguments


def _granted(path: Path, ground: Ground) -> Path:
    """Check a granted folder; one that is not there yet stands for the folder it will be made in."""
    if not path.exists() and path.parent.is_dir():
        path = path.parent
    if path.resolve() != path:
        raise SandboxError(
            f"{path} leads to {path.resolve()}, which is not what was allowed; ask again for that"
        )
    if any(path.is_relative_to(own) for own in ground.hidden):
        raise SandboxError(f"{path} belongs to agent-tui itself; no command may write there")
    return path


def _is_wide(path: Path) -> bool:
    return any(place.is_relative_to(path) for place in _REPLACED)


def _is_below(path: Path, folders: Sequence[Path]) -> bool:
    return any(path.is_relative_to(folder) for folder in folders)


def _binds(paths: Sequence[Path]) -> list[str]:
    outer_first = sorted(dict.fromkeys(paths), key=lambda path: len(path.parts))
    return [word for path in outer_first for word in ("--bind-try", str(path), str(path))]


def _base(temp: Path) -> list[str]:
    words = ["--dev", "/dev", "--proc", "/proc", "--tmpfs", str(RUN), "--tmpfs", str(VAR_TEMP)]
    # Root inside is still the owner of the kernel's settings; bubblewrap covers them only where it finds the folder
    # itself writable, which it never is. core_pattern would run a program outside of everything.
    for path in _KERNEL:
        words += ["--ro-bind-try", path, path]
    return [*words, "--bind", str(temp), str(TEMP)]


def _resolver() -> list[str]:
    """Show what /etc/resolv.conf leads to, which often lies in /run."""
    real = Path("/etc/resolv.conf").resolve()
    return ["--ro-bind-try", str(real), str(real)] if real.is_relative_to(RUN) else []


def _workspace(workspace: Path, *, writes: bool) -> list[str]:
    if writes:
        return ["--bind", str(workspace), str(workspace)]
    # A second bind of a folder that holds /tmp or the secrets would show them again.
    covered = _is_below(workspace, _REPLACED) and workspace not in _REPLACED
    return ["--ro-bind", str(workspace), str(workspace)] if covered else []


def _pinned(found: Found, workspace: Path) -> list[str]:
    words: list[str] = []
    for path in found.pins.writable:
        if _is_still(path, workspace):
            words += ["--bind-try", str(path), str(path)]
    for path in dict.fromkeys((*found.pins.read_only, *found.stubs)):
        words += ["--ro-bind-try", str(path), str(path)]
    return words


def _is_still(path: Path, workspace: Path) -> bool:
    """Tell whether a pin is no link by now: one would make its target writable."""
    if path.parent == workspace:
        return not path.is_symlink()
    return os.path.realpath(path) == str(path)


def _kept(folder: Path) -> list[str]:
    """Make what configures programs read-only; what a link of such a name leads to as well."""
    words: list[str] = []
    for name in PROTECTED:
        path = folder / name
        if path.exists():
            real = path.resolve()
            words += ["--ro-bind", str(real), str(real)]
    return words


def _guarded(path: Path, home: Path) -> list[str]:
    """Keep hooks, configuration and start-up files out of a grant that only happens to hold them."""
    words: list[str] = []
    if path == home or home.is_relative_to(path):
        for name in START_UP:
            if (home / name).is_file():
                real = (home / name).resolve()
                words += ["--ro-bind", str(real), str(real)]
    if path.is_dir():
        words += _kept(path)
        words += [word for pin in _git_pins(path) for word in ("--ro-bind-try", str(pin), str(pin))]
    return words


def _git_pins(folder: Path) -> Iterator[Path]:
    git = folder if folder.name == ".git" else folder / ".git"
    if git.is_dir() and not git.is_symlink() and is_git_directory(git):
        here = Survey(git_folders=[git])
        yield from find_pins(git.parent, here).read_only


def _masked(found: Found, workspace: Path) -> list[str]:
    """Make .env files empty: what they hold could leave by the network."""
    here = [entry for entry in workspace.iterdir() if is_env_file(entry.name)] if workspace.is_dir() else []
    words: list[str] = []
    for path in dict.fromkeys((*found.env_files, *here)):
        if path.is_file() and path.resolve() == path:
            words += ["--ro-bind", str(EMPTY), str(path)]
        elif path.is_file():
            words += ["--ro-bind", str(EMPTY), str(path.resolve())]
    return words


def _hides(ground: Ground, secret: Sequence[Path]) -> list[str]:
    words: list[str] = []
    for folder in (*secret, *ground.hidden):
        holds_workspace = ground.workspace.is_relative_to(folder)
        if holds_workspace and folder in ground.hidden:
            raise SandboxError(f"{ground.workspace} belongs to agent-tui itself; no command runs there")
        if folder.is_dir() and not holds_workspace:
            words += ["--tmpfs", str(folder)]
    for file in secret_files(ground.home):
        words += ["--ro-bind", str(EMPTY), str(file)]
    return words
