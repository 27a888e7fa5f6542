"""Joins the permissions of many calls into the rows a person decides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from agent_tui.permissions import batch
from agent_tui.protocol.permissions import Permission, PermissionKind, PermissionRequest, Risk

_ORDER = (Risk.LOW, Risk.MEDIUM, Risk.HIGH)


@dataclass(frozen=True)
class PermissionGroup:
    """One (kind, pattern) with the calls that need it. `members` are (call_id, permission) in model order.

    `pattern` is what "always" begins with; "" for a permission that stands for its exact target only.
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


@dataclass(frozen=True)
class Grouper:
    """Reads patterns as the rules of `project` would; `home` is the user's folder, lasting answers go to `grants_file`."""

    project: Path
    home: Path
    grants_file: Path | None = None

    @property
    def kept_in(self) -> str:
        """The file of lasting answers as a person reads it, "" when it is not known."""
        if self.grants_file is None:
            return ""
        inside = self.grants_file.is_relative_to(self.home)
        return f"~/{self.grants_file.relative_to(self.home)}" if inside else str(self.grants_file)

    def groups(self, requests: Sequence[PermissionRequest]) -> list[PermissionGroup]:
        """Give one group per (kind, pattern), in the order they are first needed."""
        known = {(r.call_id, p.id): p for r in requests for p in r.permissions}
        return [
            PermissionGroup(
                row.kind,
                row.suggested or row.pattern,
                row.target,
                tuple((call_id, known[call_id, permission_id]) for call_id, permission_id in row.members),
            )
            for row in batch.rows(requests, project=self.project)
        ]

    def lasting(self, requests: Sequence[PermissionRequest]) -> Mapping[tuple[str, str], str]:
        """Give the pattern that "always" begins with, for each (call_id, permission id)."""
        return batch.lasting(requests, project=self.project)

    def covers(self, pattern: str, permission: Permission) -> bool:
        """Tell whether a grant of `pattern` also answers `permission`."""
        return batch.covers(pattern, permission, project=self.project, home=self.home)

    def is_wider(self, pattern: str, suggested: str) -> bool:
        """Tell whether an edited pattern reaches beyond the suggested one."""
        return batch.is_wider(pattern, suggested)
