"""Facts about paths: where they really lead, what is protected, what is secret."""

import os
from pathlib import Path

from agent_tui.toolkit import names
from agent_tui.toolkit.names import folded


def real_path(path: str | Path) -> str:
    """Give where `path` leads: links followed, also a dangling last one; what is missing is kept as it is."""
    return os.path.realpath(path)


def is_inside(path: str, root: str) -> bool:
    """Tell whether `path` is `root` or below it, by whole components. Both must be absolute and normal."""
    return path == root or path.startswith(root if root.endswith("/") else f"{root}/")


def is_secret(path: str) -> bool:
    """Tell whether a file of this name usually holds keys or passwords."""
    return names.are_secret(part for part in path.split("/") if part not in ("", "."))


def protected_by(path: str) -> str:
    """Say which protected name makes a write to `path` something no rule may allow; "" when none does."""
    parts = [part for part in folded(path).split("/") if part]
    for part in parts:
        if part in names.PROTECTED_FOLDERS:
            return part
    last = parts[-1] if parts else ""
    if last in names.PROTECTED_NAMES or is_secret(path):
        return last
    system = ("/etc/cron", "/etc/systemd", "/etc/profile", "/etc/sudoers", "/var/spool/cron")
    if (
        folded(path).startswith(system)
        or "/.config/autostart/" in folded(path)
        or "/systemd/user/" in folded(path)
    ):
        return last
    return ""


def volume_ignores_case(folder: Path) -> bool:
    """Tell whether `folder` lies on a volume where `a` and `A` are one file."""
    for part in (folder, *folder.parents):
        swapped = part.name.swapcase()
        if swapped == part.name:
            continue
        try:
            return part.with_name(swapped).samefile(part)
        except OSError:
            return False
    return False


def same_file(left: str, right: str) -> bool:
    """Tell whether two paths name one existing file (or directory)."""
    try:
        return os.path.samefile(left, right)
    except OSError:
        return False
