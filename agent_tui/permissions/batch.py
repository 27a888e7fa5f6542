"""Joins what the calls of a round need into the rows of the approval screen."""

import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from agent_tui.permissions.grammar import Layer, Origin, Rule, RuleError, parse_rule, takes_path
from agent_tui.permissions.needs import host_of, max_risk
from agent_tui.permissions.patterns import has_wildcard, path_pattern
from agent_tui.permissions.rules import Matcher, Spelling, Subject
from agent_tui.permissions.shell.judge import reads_by_nature
from agent_tui.permissions.shell.words import Word
from agent_tui.protocol.permissions import (
    Decision,
    Permission,
    PermissionKind,
    PermissionRequest,
    Risk,
)

Key = tuple[str, str]
"""Names one permission of one call: (call_id, permission_id)."""
_PATHS = (PermissionKind.READ, PermissionKind.WRITE)


@dataclass(frozen=True, slots=True)
class Row:
    """One (kind, pattern) with everything it decides. A permission that offers no pattern is a row by its target.

    `members` are in model order; `suggested` is the pattern that "always" begins with, "" for none.
    """

    kind: PermissionKind
    pattern: str
    target: str
    members: tuple[Key, ...]
    risk: Risk
    suggested: str = ""

    @property
    def calls(self) -> tuple[str, ...]:
        """The calls that need it, once each."""
        return tuple(dict.fromkeys(call_id for call_id, _ in self.members))

    @property
    def count(self) -> int:
        """How many calls need it."""
        return len(self.calls)


def rows(requests: Sequence[PermissionRequest], *, project: Path) -> tuple[Row, ...]:
    """Give one row per (kind, pattern), in the order in which they are first needed."""
    found: dict[tuple[PermissionKind, str, str], Row] = {}
    targets: dict[tuple[PermissionKind, str, str], list[str]] = {}
    for request in requests:
        for permission in request.permissions:
            key = (permission.kind, permission.pattern, "" if permission.pattern else permission.target)
            row = found.get(key) or Row(permission.kind, permission.pattern, permission.target, (), Risk.LOW)
            member = (request.call_id, permission.id)
            risk = max_risk(row.risk, permission.risk)
            found[key] = replace(row, members=(*row.members, member), risk=risk)
            targets.setdefault(key, []).append(permission.target)
    return tuple(
        replace(row, suggested=_suggested(row.kind, row.pattern, targets[key], project))
        for key, row in found.items()
    )


def lasting(requests: Sequence[PermissionRequest], *, project: Path) -> Mapping[Key, str]:
    """Give for each permission the pattern that a lasting answer to it stores: that of its row, "" for none."""
    return {member: row.suggested for row in rows(requests, project=project) for member in row.members}


def narrowest(permission: Permission, *, project: Path) -> str:
    """Give the pattern that a lasting answer to this permission alone stores, "" for none."""
    return _suggested(permission.kind, permission.pattern, [permission.target], project)


def _suggested(kind: PermissionKind, pattern: str, targets: Sequence[str], project: Path) -> str:
    """Give a pattern that covers the targets and is never wider in level or depth than what was asked."""
    if not pattern or kind not in _PATHS:
        return pattern
    distinct = list(dict.fromkeys(targets))
    tool = "Edit" if kind is PermissionKind.WRITE else "Read"
    if len(distinct) == 1:
        tail = "/**" if pattern.endswith("/**)") and os.path.isdir(distinct[0]) else ""
        return f"{tool}({path_pattern(distinct[0], project=str(project))}{tail})"
    common = os.path.commonpath(distinct)
    if common in ("/", str(project), str(project.parent)):
        return pattern
    return f"{tool}({path_pattern(common, project=str(project))}/**)"


def covers(pattern: str, permission: Permission, *, project: Path, home: Path) -> bool:
    """Tell whether a grant of `pattern` would answer `permission`; never one that offers no lasting answer."""
    if not pattern or not permission.pattern:
        return False
    if pattern == permission.pattern:
        return True
    rule = _as_rule(pattern, project)
    return rule is not None and Matcher(project, home).matches(rule, _subject(permission, rule))


def _as_rule(pattern: str, project: Path) -> Rule | None:
    try:
        return parse_rule(pattern, Decision.ALLOW, Origin(Layer.GRANT, project))
    except RuleError:
        return None


def _subject(permission: Permission, rule: Rule) -> Subject:
    match permission.kind:
        case PermissionKind.READ | PermissionKind.WRITE:
            # only a rule for paths speaks of other tools' permissions: a tool's bare name means its own calls
            own = "edit" if permission.kind is PermissionKind.WRITE else "read"
            tool = rule.tool if rule.specifier is not None and takes_path(rule.tool) else own
            return Subject(
                tool, permission.kind, paths=(permission.target, os.path.realpath(permission.target))
            )
        case PermissionKind.NETWORK:
            # a command's host stands without a scheme, and no bare rule covers one
            tool = "webfetch" if "//" in permission.target else "bash"
            return Subject(tool, permission.kind, host=host_of(permission.target))
        case PermissionKind.EXECUTE:
            return _command_subject(permission)
        case _:
            return Subject(permission.target, permission.kind, name=permission.target)


def _command_subject(permission: Permission) -> Subject:
    try:
        argv = tuple(shlex.split(permission.target))
    except ValueError:
        argv = ()
    words = tuple(Word(text, text) for text in argv)
    hazard = bool(words) and not has_wildcard(permission.pattern) and reads_by_nature(words)
    spelling = (Spelling(" ".join(permission.target.split()), argv),)
    return Subject("bash", permission.kind, allow_as=spelling, exact_only=hazard)


def is_wider(pattern: str, suggested: str) -> bool:
    """Tell whether an edited pattern reaches beyond the one that was suggested, so that a person is warned."""
    if pattern == suggested or not has_wildcard(pattern):
        return False
    stem, known = pattern.split("*", 1)[0], suggested.split("*", 1)[0]
    return not stem.startswith(known) or stem == known
