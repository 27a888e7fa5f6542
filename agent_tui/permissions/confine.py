"""What an approved command may touch, worked out from what was allowed."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from agent_tui.permissions.decide import READ_ONLY
from agent_tui.protocol.permissions import (
    CommandPart,
    Decision,
    Permission,
    PermissionDecision,
    PermissionKind,
    PermissionRequest,
    Verdict,
)
from agent_tui.sandbox.interface import Confinement, Profile

_ABSOLUTE = re.compile(r"Edit\(/(/.*?)(/\*\*)?\)")
_DOMAIN = re.compile(r"WebFetch\(domain:(.+)\)")


@dataclass
class _Reach:
    """What was allowed so far."""

    writes: bool = False
    folders: tuple[Path, ...] = ()
    hosts: tuple[str, ...] = ()
    host_network: bool = False

    def add_folder(self, path: str, *, project: Path) -> None:
        """Let the command write below a folder outside the project."""
        folder = Path(path)
        if folder != project and project not in folder.parents and folder not in self.folders:
            self.folders = (*self.folders, folder)

    def add_host(self, target: str) -> None:
        """Let the command reach a host, or the host's own network when a proxy cannot serve it."""
        if target.startswith("raw:") or target == "*":
            self.host_network = True
        elif target not in self.hosts:
            self.hosts = (*self.hosts, target)


def confine(
    *,
    project: Path,
    permissions: Iterable[Permission],
    decided: Iterable[PermissionDecision],
    parts: Sequence[CommandPart],
) -> Confinement:
    """Give the confinement of a call for which `permissions` and the allowed ones of `decided` were granted."""
    reach = _Reach()
    for permission in permissions:
        _add_permission(reach, permission, project)
    for decision in decided:
        if decision.decision is Decision.ALLOW:
            _add_pattern(reach, decision.pattern, project)
    only_reads = bool(parts) and not reach.writes and all(part.rule == READ_ONLY for part in parts)
    return Confinement(
        profile=Profile.READ_ONLY if only_reads else Profile.WORKSPACE,
        write_dirs=reach.folders,
        hosts=reach.hosts,
        host_network=reach.host_network,
    )


def _add_permission(reach: _Reach, permission: Permission, project: Path) -> None:
    if permission.kind is PermissionKind.WRITE:
        reach.writes = True
        reach.add_folder(permission.target, project=project)
    elif permission.kind is PermissionKind.NETWORK:
        reach.add_host(permission.target)
    elif permission.kind is PermissionKind.EXECUTE:
        reach.writes = True


def _add_pattern(reach: _Reach, pattern: str, project: Path) -> None:
    if pattern.startswith("Edit("):
        reach.writes = True
    if match := _ABSOLUTE.fullmatch(pattern):
        reach.add_folder(match[1] or "/", project=project)
    elif match := _DOMAIN.fullmatch(pattern):
        reach.add_host(match[1])
    elif pattern.startswith("raw:"):
        reach.add_host(pattern)


def confine_request(request: PermissionRequest, verdict: Verdict, *, project: Path) -> Confinement:
    """Give the confinement of a call that a person allowed."""
    allowed = {d.permission_id for d in verdict.permissions if d.decision is Decision.ALLOW}
    return confine(
        project=project,
        permissions=[permission for permission in request.permissions if permission.id in allowed],
        decided=request.decided,
        parts=request.parts,
    )
