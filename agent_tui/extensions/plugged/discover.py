"""Finds the extensions there are: files of the person, installed packages, files of a trusted project."""

import contextlib
import os
import sys
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from agent_tui.extensions.loader import execute_plugin, plugin_units
from agent_tui.extensions.plugged.faults import ExtensionFault
from agent_tui.protocol.errors import ToolLoadError

GROUP = "agent_tui.extensions"
Origin = Literal["user", "package", "project"]


@dataclass(frozen=True)
class Found:
    """An extension that was not looked into yet. `find` gives its code and is None for a manifest (`path`)."""

    name: str
    origin: Origin
    where: str
    path: Path | None = None
    find: Callable[[], object] | None = None


@dataclass(frozen=True)
class Places:
    """Where extensions are looked for; `project` is None as long as it is not trusted."""

    user: Path | None = None
    project: Path | None = None
    packages: bool = True


@dataclass
class Findings:
    """What there is, in the order in which names are taken, and what a person should know of it."""

    found: list[Found] = field(default_factory=list[Found])
    notices: list[str] = field(default_factory=list[str])


def find_extensions(places: Places, *, disabled: Collection[str] = ()) -> Findings:
    """Find what there is: the person's, installed packages', the project's. Runs nothing.

    Of two with one name the project's counts before the person's, the person's before a package's.
    """
    kept: dict[str, Found] = {}
    findings = Findings()
    user = list(_in_folder(places.user, "user")) if places.user else []
    packages = list(_packages()) if places.packages else []
    project = list(_in_folder(places.project, "project")) if places.project else []
    for one in (*packages, *user, *project):
        if one.name in disabled:
            continue
        other = kept.pop(one.name, None)
        if other is not None:
            findings.notices.append(
                f"The extension {one.name!r} of {other.where} is left out: {one.where} takes its place."
            )
        kept[one.name] = one
    rank = {"user": 0, "package": 1, "project": 2}
    findings.found = sorted(kept.values(), key=lambda one: rank[one.origin])
    return findings


def _in_folder(folder: Path, origin: Origin) -> Iterator[Found]:
    for stem, path in plugin_units(folder):
        yield Found(stem, origin, str(path), path, _code_of(stem, path, origin))
    if folder.is_dir():
        for path in sorted(folder.glob("*.toml")):
            if not path.name.startswith(("_", ".")) and path.is_file():
                yield Found(path.stem, origin, str(path), path)


def _code_of(stem: str, path: Path, origin: Origin) -> Callable[[], object]:
    def find() -> object:
        try:
            return execute_plugin(stem, path, source=f"{origin}_extensions")
        except ToolLoadError as error:
            raise ExtensionFault(str(error).removeprefix(f"{path}: ")) from error

    return find


def _packages() -> Iterator[Found]:
    if not _is_named():
        return
    from importlib.metadata import entry_points  # 15 ms of CPU and 2 MiB, with the first package

    for entry in entry_points(group=GROUP):
        package = entry.dist.name if entry.dist is not None else entry.value
        yield Found(entry.name, "package", f"the package {package}", find=entry.load)


def _is_named() -> bool:
    """Tell whether an installed package may have an extension, by the bare text of its `entry_points.txt`."""
    for place in dict.fromkeys(sys.path):
        if os.path.isfile(place):
            return True  # an archive: only its importer can look inside
        with contextlib.suppress(OSError):
            for name in os.listdir(place or "."):
                if name.endswith((".dist-info", ".egg-info")) and _names_group(Path(place, name)):
                    return True
    return False


def _names_group(info: Path) -> bool:
    try:
        return GROUP.encode() in (info / "entry_points.txt").read_bytes()
    except OSError:
        return False
