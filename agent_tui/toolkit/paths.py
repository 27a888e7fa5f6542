"""Where a path that a model wrote leads, and what it takes to go there."""

import os
import re
from dataclasses import dataclass
from pathlib import Path

from agent_tui.protocol.errors import ToolError
from agent_tui.protocol.permissions import Permission, PermissionKind, Risk
from agent_tui.toolkit.context import ToolContext
from agent_tui.toolkit.names import is_protected, is_secret

APP = "agent-tui"
NAME_LIMIT_BYTES = 255
_SPECIAL = re.compile(r"([\\*?\[\]]| $)")


@dataclass(frozen=True)
class Target:
    """A path as it was given and where it leads.

    `real` holds no symlink. `root` is the directory it is opened beneath: the workspace or another root when
    `inside`, else "/". `linked` says that the given spelling goes through a symlink. `shown` is short: relative
    to the workspace when inside it, else absolute. `own_data` marks the session's folder for full outputs.
    """

    given: str
    real: Path
    root: Path
    inside: bool
    linked: bool
    shown: str
    own_data: bool = False


def resolve(given: str, ctx: ToolContext) -> Target:
    """Find where `given` leads; relative paths start at the workspace, `~/` is the home folder.

    The last component need not exist. What was resolved first for a call stands until `permissions` runs again:
    a link that is turned elsewhere meanwhile does not move the call. Raises ToolError for a path that cannot be
    used and for agent-tui's own folders.
    """
    spelled = _spelled(given, ctx.workspace)
    try:
        real = Path(os.path.realpath(spelled))
    except OSError as error:  # a folder that is turned into a link meanwhile
        raise ToolError(f"{given!r} cannot be followed: {error.strerror}. Try again.") from error
    _refuse_foreign_bytes(str(real))
    bound = ctx.files.bound(ctx.call_id, given)
    if bound is not None and bound != real:
        raise ToolError(
            f"{given!r} leads to {real} now, not to {bound} as when the call was checked. Try again."
        )
    return _target(given, spelled, real, ctx)


def bind(given: str, ctx: ToolContext) -> Target:
    """Resolve `given` for what is about to be asked and hold the call to it. For use in `permissions` only."""
    ctx.files.unbind(ctx.call_id, given)
    target = resolve(given, ctx)
    ctx.files.bind(ctx.call_id, given, target.real)
    return target


def read_permission(target: Target, *, permission_id: str = "read", is_folder: bool = False) -> Permission:
    """Say what reading `target` takes: LOW inside the workspace, HIGH for secrets, MEDIUM elsewhere."""
    secret = is_secret(_below_root(target)) and not target.own_data
    risk = Risk.HIGH if secret else Risk.LOW if target.inside or target.own_data else Risk.MEDIUM
    return Permission(
        id=permission_id,
        kind=PermissionKind.READ,
        target=str(target.real),
        pattern="" if secret else f"Read({path_pattern(target, is_folder=is_folder)})",
        risk=risk,
        reason=_reason(target, "may hold secrets" if secret else ""),
    )


def write_permission(target: Target, *, permission_id: str = "write", is_folder: bool = False) -> Permission:
    """Say what changing `target` takes: MEDIUM inside the workspace, HIGH for the rest.

    Secrets and protected places offer no lasting answer: their `pattern` is "".
    """
    secret, protected = is_secret(_below_root(target)), is_protected(_below_root(target))
    why = "may hold secrets" if secret else "can change what runs" if protected else ""
    return Permission(
        id=permission_id,
        kind=PermissionKind.WRITE,
        target=str(target.real),
        pattern="" if why else f"Edit({path_pattern(target, is_folder=is_folder)})",
        risk=Risk.MEDIUM if target.inside and not why else Risk.HIGH,
        reason=_reason(target, why),
    )


def path_pattern(target: Target, *, is_folder: bool = False) -> str:
    """Give the pattern that names the directory of `target`, as rules write it.

    `/src/**` is relative to the project, `//etc/**` absolute. A file directly in the project, in the home folder
    or in `/` is named alone, because its directory would be too much.
    """
    folder = target.real if is_folder else target.real.parent
    too_wide = folder in (Path("/"), Path.home(), target.root)
    path, tail = (target.real, "") if too_wide and not is_folder else (folder, "/**")
    base = Path("/") if not _in_workspace(target) else target.root
    below = path.relative_to(base).as_posix()
    prefix = "/" if _in_workspace(target) else "//"
    return f"{prefix}{_escaped(below)}{tail}" if below != "." else f"{prefix}**"


def _escaped(path: str) -> str:
    """Write `path` so that an ignore pattern takes each character as it is."""
    return _SPECIAL.sub(r"\\\1", path)


def own_folders() -> tuple[Path, ...]:
    """Give agent-tui's config, data, state and cache folders as real paths; no file tool may touch them."""
    from platformdirs.unix import Unix  # 4 ms, needed only once a tool runs

    dirs = Unix(APP, appauthor=False)
    names = (dirs.user_config_dir, dirs.user_data_dir, dirs.user_state_dir, dirs.user_cache_dir)
    return (*(Path(os.path.realpath(name)) for name in names), Path("/etc") / APP)


def is_below(path: Path, folder: Path) -> bool:
    """Tell whether `path` is `folder` or below it; `/a/bc` is not below `/a/b`."""
    return path == folder or folder in path.parents


def _spelled(given: str, workspace: Path) -> Path:
    """Give the absolute spelling of `given`, links and `..` included. Raises ToolError."""
    if not given.strip():
        raise ToolError("The path is empty.")
    if "\0" in given:
        raise ToolError("The path holds a NUL character.")
    _refuse_foreign_bytes(given)
    if any(len(os.fsencode(part)) > NAME_LIMIT_BYTES for part in given.split("/")):
        raise ToolError(f"A name in the path is longer than {NAME_LIMIT_BYTES} bytes.")
    spelled = workspace / given
    if given.startswith("@") and not os.path.lexists(spelled):
        mentioned = workspace / given[1:].strip('"')  # a prompt writes @path for a file, models copy it
        return mentioned if len(given) > 1 and os.path.lexists(mentioned) else spelled
    if given.startswith("~/") and not os.path.lexists(spelled):
        return Path.home() / given[2:]
    return spelled


def _refuse_foreign_bytes(path: str) -> None:
    """Refuse a name that is not UTF-8: it could be neither shown nor recorded as it is. Raises ToolError."""
    try:
        path.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ToolError("The path is not valid UTF-8. Use bash for such a name.") from error


def _target(given: str, spelled: Path, real: Path, ctx: ToolContext) -> Target:
    """Classify `real`. Raises ToolError for agent-tui's own folders."""
    own_data = is_below(real, Path(os.path.realpath(ctx.data_dir)))
    if not own_data and any(is_below(real, folder) for folder in own_folders()):
        raise ToolError(f"{given!r} is inside agent-tui's own folders, which no tool may touch.")
    roots = (ctx.workspace, *ctx.extra_roots)
    root = next((root for root in roots if is_below(real, root)), None)
    in_workspace = root == ctx.workspace
    return Target(
        given=given,
        real=real,
        root=root or Path("/"),
        inside=root is not None,
        linked=Path(os.path.normpath(spelled)) != real,
        shown=real.relative_to(ctx.workspace).as_posix() if in_workspace else str(real),
        own_data=own_data,
    )


def _in_workspace(target: Target) -> bool:
    return target.inside and not Path(target.shown).is_absolute()


def _below_root(target: Target) -> Path:
    """Give the part of the path that the project is answerable for: a workspace below ~/.claude is no secret."""
    return target.real.relative_to(target.root) if target.inside else target.real


def _reason(target: Target, why: str) -> str:
    """Join what a person should know of the target into one sentence."""
    outside = "" if target.inside or target.own_data else f"outside the project, in {target.real.parent}"
    link = f"{target.given} is a link to {target.real}" if target.linked else ""
    return "; ".join(part for part in (why, outside, link) if part)
