"""Turns what tools declare and what the shell analysis found into needs that can be decided one by one."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from agent_tui.permissions.paths import is_inside, is_secret, protected_by, real_path
from agent_tui.permissions.patterns import path_pattern
from agent_tui.permissions.rules import Subject
from agent_tui.permissions.shell.model import Analysis, Part, Touch
from agent_tui.protocol.permissions import Permission, PermissionKind, Risk

Analyse = Callable[[str, Path], Analysis]
"""Analyses a command that starts in the given directory."""


@dataclass(frozen=True, slots=True)
class Need:
    """One permission with the facts that decide it.

    `reads_only` runs unasked; `needs_strong` limits that to a strong sandbox. `inside` says that a path lies in the
    project (or a readable folder). `sealed` is why no rule and no mode may allow it, "" when they may; `lasting`
    says that rules may. `unclear` marks a command that cannot be judged. `own` marks agent-tui's own folders.
    """

    permission: Permission
    subject: Subject
    reads_only: bool = False
    needs_strong: bool = False
    inside: bool = False
    sealed: str = ""
    lasting: bool = True
    unclear: bool = False
    own: bool = False
    part: int = -1


@dataclass(frozen=True)
class Places:
    """Real paths that decide what a path means: the project, home, agent-tui's own folders, folders that may be
    read although they lie outside (full outputs of this session, skills)."""

    project: Path
    home: Path
    own: tuple[Path, ...] = ()
    readable: tuple[Path, ...] = ()

    def is_own(self, paths: Sequence[str]) -> bool:
        """Tell whether one of the spellings lies in agent-tui's own folders."""
        return any(is_inside(path, str(folder)) for path in paths for folder in self.own)

    def is_readable(self, paths: Sequence[str]) -> bool:
        """Tell whether all spellings lie in folders that are open to the file tools."""
        return all(any(is_inside(path, str(folder)) for folder in self.readable) for path in paths)

    def is_inside(self, paths: Sequence[str]) -> bool:
        """Tell whether all spellings lie in the project."""
        return all(is_inside(path, str(self.project)) for path in paths)


class Expander:
    """Expands the permissions of a call into needs."""

    def __init__(self, places: Places, analyse: Analyse) -> None:
        self._places = places
        self._analyse = analyse

    def expand(
        self, tool: str, permissions: Sequence[Permission], cwd: Path
    ) -> tuple[list[Need], list[Part]]:
        """Give the needs of a call, in order, and the parts of its commands."""
        needs: list[Need] = []
        parts: list[Part] = []
        for permission in permissions:
            if permission.kind is PermissionKind.EXECUTE:
                analysis = self._analyse(permission.target, cwd)
                needs.extend(self._command(tool, permission, analysis, len(parts)))
                parts.extend(analysis.parts)
            else:
                needs.append(self._declared(tool, permission))
        return needs, parts

    def _declared(self, tool: str, permission: Permission) -> Need:
        match permission.kind:
            case PermissionKind.READ | PermissionKind.WRITE:
                return self._path(tool, permission)
            case PermissionKind.NETWORK:
                subject = Subject(tool, permission.kind, host=host_of(permission.target))
                return Need(permission, subject)
            case _:
                subject = Subject(tool, permission.kind, name=_name_in(permission.target))
                return Need(permission, subject)

    def _path(self, tool: str, permission: Permission) -> Need:
        target = permission.target
        paths = tuple(dict.fromkeys((target, real_path(target))))
        writes = permission.kind is PermissionKind.WRITE
        readable = not writes and self._places.is_readable(paths)
        sealed = "" if readable else sealed_reason(permission.kind, paths)
        return Need(
            permission.model_copy(update=_sealed_update(sealed)) if sealed else permission,
            Subject(tool, permission.kind, paths=paths),
            reads_only=not writes and not sealed and (readable or self._places.is_inside(paths)),
            inside=readable or self._places.is_inside(paths),
            sealed=sealed,
            own=not readable and self._places.is_own(paths),
        )

    def _command(self, tool: str, permission: Permission, analysis: Analysis, first: int) -> Iterator[Need]:
        ids = (f"{permission.id}.{number}" for number in range(1, 10_000))
        if analysis.clear:
            for index, part in enumerate(analysis.parts):
                yield self._part(tool, permission, part, next(ids), first + index)
        else:
            yield _whole(tool, permission, analysis, next(ids))
        for touch in analysis.touches:
            yield self._touch(tool, touch, next(ids))

    def _part(self, tool: str, permission: Permission, part: Part, name: str, index: int) -> Need:
        asked = Permission(
            id=name,
            kind=PermissionKind.EXECUTE,
            target=part.source,
            pattern=part.pattern if part.lasting else "",
            risk=Risk.LOW if part.safe else max_risk(part.risk, permission.risk),
            reason=part.why,
        )
        return Need(
            asked,
            _subject_of(tool, part),
            reads_only=part.safe,
            needs_strong=part.needs_strong,
            sealed=part.sealed,
            lasting=part.lasting,
            own=any(self._places.is_own(paths) for paths in part.mentions),
            part=index,
        )

    def _touch(self, tool: str, touch: Touch, name: str) -> Need:
        asked = Permission(
            id=name,
            kind=touch.kind,
            target=touch.target,
            pattern=touch_pattern(touch, self._places.project) if touch.lasting else "",
            risk=touch.risk,
            reason=touch.reason,
        )
        host = "" if touch.target.startswith("raw:") else touch.target
        aimed = tuple(dict.fromkeys((touch.target, *touch.paths)))
        subject = (
            Subject(tool, touch.kind, host=host.lower())
            if touch.kind is PermissionKind.NETWORK
            else Subject(tool, touch.kind, paths=aimed)
        )
        return Need(
            asked,
            subject,
            inside=touch.kind is not PermissionKind.NETWORK and not touch.outside,
            sealed=touch.sealed,
            lasting=touch.lasting,
            own=self._places.is_own(touch.paths),
        )


def _subject_of(tool: str, part: Part) -> Subject:
    return Subject(
        tool,
        PermissionKind.EXECUTE,
        spellings=part.spellings,
        allow_as=part.allow_as,
        mentions=part.mentions,
        exact_only=part.exact_only,
    )


def _whole(tool: str, permission: Permission, analysis: Analysis, name: str) -> Need:
    """Make one need of a command that cannot be judged by its parts; deny rules still see them."""
    high = any(part.risk is Risk.HIGH for part in analysis.parts)
    reason = "; ".join(dict.fromkeys(analysis.unclear))
    asked = permission.model_copy(
        update={
            "id": name,
            "pattern": "",
            "risk": Risk.HIGH if high else permission.risk,
            "reason": reason,
        }
    )
    subject = Subject(
        tool,
        PermissionKind.EXECUTE,
        spellings=tuple(spelling for part in analysis.parts for spelling in part.spellings),
        mentions=tuple(paths for part in analysis.parts for paths in part.mentions),
    )
    sealed = next((part.sealed for part in analysis.parts if part.sealed), "")
    return Need(asked, subject, sealed=sealed, lasting=False, unclear=True)


def touch_pattern(touch: Touch, project: Path) -> str:
    """Give what "always" would store for a touch, in the rule grammar."""
    if touch.kind is PermissionKind.NETWORK:
        known = not touch.target.startswith("raw:") and touch.target != "*"
        return f"WebFetch(domain:{touch.target})" if known else ""
    tool = "Edit" if touch.kind is PermissionKind.WRITE else "Read"
    specifier = path_pattern(touch.target, project=str(project))
    return f"{tool}({specifier.rstrip('/')}/**)" if touch.is_folder else f"{tool}({specifier})"


def sealed_reason(kind: PermissionKind, paths: Sequence[str]) -> str:
    """Say why no rule may allow this access to a path; "" when one may."""
    for path in paths:
        if kind is PermissionKind.WRITE and (name := protected_by(path)):
            return f"{name} is protected"
        if kind is PermissionKind.READ and is_secret(path):
            return f"{path.rsplit('/', 1)[-1]} may hold secrets"
    return ""


def _sealed_update(reason: str) -> dict[str, str | Risk]:
    return {"pattern": "", "risk": Risk.HIGH, "reason": reason}


def max_risk(left: Risk, right: Risk) -> Risk:
    """Give the higher of two risks."""
    order = (Risk.LOW, Risk.MEDIUM, Risk.HIGH)
    return max(left, right, key=order.index)


def host_of(target: str) -> str:
    """Give the host that a URL or host name means, in lower case; "" when there is none."""
    try:
        host = urlsplit(target if "//" in target else f"//{target}").hostname
    except ValueError:
        return ""
    return (host or "").rstrip(".")


def _name_in(target: str) -> str:
    """Give `x` of `Task(x)` or `x`."""
    match = re.fullmatch(r"\w+\((.*)\)", target, re.DOTALL)
    return match[1] if match else target
