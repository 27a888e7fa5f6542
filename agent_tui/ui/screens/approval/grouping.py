"""Joins the permissions of many calls into the rows a person decides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agent_tui.protocol.permissions import Permission, PermissionKind, PermissionRequest, Risk

_ORDER = (Risk.LOW, Risk.MEDIUM, Risk.HIGH)


@dataclass(frozen=True)
class PermissionGroup:
    """One (kind, pattern) with the calls that need it. `members` are (call_id, permission) in model order.

    A permission without a pattern stands for itself: its group is its exact target.
    """

    kind: PermissionKind
    pattern: str
    target: str
    members: tuple[tuple[str, Permission], ...]

    @property
    def risk(self) -> Risk:
        """The highest risk of its members."""
        return highest([permission for _, permission in self.members])

    @property
    def calls(self) -> list[str]:
        """The calls that need it, once each."""
        return list(dict.fromkeys(call_id for call_id, _ in self.members))


def highest(permissions: Sequence[Permission]) -> Risk:
    """Give the highest risk, LOW when there is none."""
    return max((permission.risk for permission in permissions), key=_ORDER.index, default=Risk.LOW)


def group(requests: Sequence[PermissionRequest]) -> list[PermissionGroup]:
    """Give one group per (kind, pattern), in the order they are first needed."""
    found: dict[tuple[PermissionKind, str, str], list[tuple[str, Permission]]] = {}
    for request in requests:
        for permission in request.permissions:
            key = (permission.kind, permission.pattern, "" if permission.pattern else permission.target)
            found.setdefault(key, []).append((request.call_id, permission))
    return [
        PermissionGroup(kind, pattern, target or members[0][1].target, tuple(members))
        for (kind, pattern, target), members in found.items()
    ]


def covers(pattern: str, permission: Permission) -> bool:
    """Tell whether a grant of `pattern` also answers `permission`."""
    return bool(pattern) and pattern == permission.pattern
