"""Joins what the calls of a round need into the rows of the approval screen, and decides them together.

Pure functions over protocol types: nothing here asks, stores or draws.
"""

import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from agent_tui.permissions.grammar import Layer, Origin, Rule, RuleError, parse_rule
from agent_tui.permissions.needs import host_of, max_risk
from agent_tui.permissions.patterns import has_wildcard, path_pattern
from agent_tui.permissions.rules import Matcher, Spelling, Subject
from agent_tui.permissions.shell.judge import reads_by_nature
from agent_tui.permissions.shell.words import Word
from agent_tui.protocol.permissions import (
    Decision,
    Permission,
    PermissionDecision,
    PermissionKind,
    PermissionRequest,
    Risk,
    RuleRef,
    Scope,
    Verdict,
)

Key = tuple[str, str]
"""Names one permission of one call: (call_id, permission_id)."""
Decisions = Mapping[Key, PermissionDecision]
Grouping = Literal["permission", "tool", "file", "agent"]
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


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much of a row (or round) a pattern covers: `covered` of `total` permissions."""

    covered: int
    total: int

    def __str__(self) -> str:
        return f"covers {self.covered} of {self.total}"


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
    return tuple(replace(row, suggested=_suggested(row, targets[key], project)) for key, row in found.items())


def _suggested(row: Row, targets: Sequence[str], project: Path) -> str:
    """Give a pattern that covers the row and is never wider in level or depth than what was asked."""
    if not row.pattern or row.kind not in _PATHS:
        return row.pattern
    distinct = list(dict.fromkeys(targets))
    tool = "Edit" if row.kind is PermissionKind.WRITE else "Read"
    if len(distinct) == 1:
        tail = "/**" if row.pattern.endswith("/**)") and os.path.isdir(distinct[0]) else ""
        return f"{tool}({path_pattern(distinct[0], project=str(project))}{tail})"
    common = os.path.commonpath(distinct)
    if common in ("/", str(project), str(project.parent)):
        return row.pattern
    return f"{tool}({path_pattern(common, project=str(project))}/**)"


def shared_patterns(requests: Sequence[PermissionRequest], *, project: Path) -> tuple[str, ...]:
    """Give patterns for the round: one per directory and level with more than one target, else exact ones."""
    folders: dict[tuple[PermissionKind, str], list[str]] = {}
    others: dict[str, None] = {}
    for request in requests:
        for permission in request.permissions:
            if not permission.pattern:
                continue
            if permission.kind in _PATHS:
                folder = os.path.dirname(permission.target)
                folders.setdefault((permission.kind, folder), []).append(permission.target)
            else:
                others[permission.pattern] = None
    paths = [
        p for (kind, folder), targets in folders.items() for p in _shared(kind, folder, targets, project)
    ]
    return (*paths, *others)


def _shared(kind: PermissionKind, folder: str, targets: Sequence[str], project: Path) -> list[str]:
    """Give one pattern for the directory of several targets, or an exact one for each."""
    tool = "Edit" if kind is PermissionKind.WRITE else "Read"
    distinct = list(dict.fromkeys(targets))
    if len(distinct) == 1 or folder in ("/", str(project)):
        return [f"{tool}({path_pattern(target, project=str(project))})" for target in distinct]
    return [f"{tool}({path_pattern(folder, project=str(project))}/**)"]


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
            return Subject(
                rule.tool, permission.kind, paths=(permission.target, os.path.realpath(permission.target))
            )
        case PermissionKind.NETWORK:
            return Subject("webfetch", permission.kind, host=host_of(permission.target))
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


def coverage(pattern: str, requests: Sequence[PermissionRequest], *, project: Path, home: Path) -> Coverage:
    """Say how many permissions of the round a pattern covers."""
    permissions = [permission for request in requests for permission in request.permissions]
    hits = sum(covers(pattern, permission, project=project, home=home) for permission in permissions)
    return Coverage(hits, len(permissions))


def row_coverage(
    pattern: str, row: Row, requests: Sequence[PermissionRequest], *, project: Path, home: Path
) -> Coverage:
    """Say how many members of a row an edited pattern still covers."""
    chosen = [p for key, p in _permissions(requests) if key in row.members]
    hits = sum(covers(pattern, permission, project=project, home=home) for permission in chosen)
    return Coverage(hits, len(chosen))


def is_wider(pattern: str, row: Row) -> bool:
    """Tell whether an edited pattern reaches beyond the one that was suggested, so that a person is warned."""
    if pattern in (row.pattern, row.suggested) or not has_wildcard(pattern):
        return False
    stem, known = pattern.split("*", 1)[0], (row.suggested or row.pattern).split("*", 1)[0]
    return not stem.startswith(known) or stem == known


def _permissions(requests: Sequence[PermissionRequest]) -> list[tuple[Key, Permission]]:
    return [((request.call_id, p.id), p) for request in requests for p in request.permissions]


def grouped(requests: Sequence[PermissionRequest], by: Grouping) -> dict[str, tuple[PermissionRequest, ...]]:
    """Group calls by what they need, their tool, the file they touch or the agent that asks; order is kept.

    With "permission" and "file" a call stands in every group that it belongs to.
    """
    names: dict[Grouping, Callable[[PermissionRequest], list[str]]] = {
        "permission": lambda r: [permission.pattern or permission.target for permission in r.permissions],
        "tool": lambda r: [r.display_name or r.tool],
        "file": lambda r: [p.target for p in r.permissions if p.kind in _PATHS] or [""],
        "agent": lambda r: [r.origin],
    }
    groups: dict[str, list[PermissionRequest]] = {}
    for request in requests:
        for name in dict.fromkeys(names[by](request)):
            groups.setdefault(name, []).append(request)
    return {name: tuple(members) for name, members in groups.items()}


def decide_row(
    requests: Sequence[PermissionRequest],
    decisions: Decisions,
    row: Row,
    decision: Decision,
    *,
    scope: Scope = Scope.ONCE,
    pattern: str = "",
    project: Path,
    home: Path,
) -> dict[Key, PermissionDecision]:
    """Decide every member of a row, and with a lasting scope whatever else the pattern covers and is undecided.

    With an edited pattern that no longer covers a member, that member is decided once only.
    """
    chosen = pattern or row.suggested or row.pattern
    lasting = scope is not Scope.ONCE and bool(chosen)
    out = dict(decisions)
    for key, permission in _permissions(requests):
        reached = covers(chosen, permission, project=project, home=home)
        if key in row.members:
            held = scope if lasting and (reached or decision is Decision.DENY) else Scope.ONCE
            out[key] = PermissionDecision(
                permission_id=permission.id,
                decision=decision,
                scope=held,
                pattern=chosen if held is not Scope.ONCE else "",
            )
        elif lasting and reached and key not in out and permission.risk is not Risk.HIGH:
            out[key] = _released(permission, decision, scope, chosen)
    return out


def _released(permission: Permission, decision: Decision, scope: Scope, pattern: str) -> PermissionDecision:
    """Decide a sibling by the answer that was just given, and say so."""
    rule = RuleRef(text=f"{decision} {pattern}", file=f"just decided ({scope})")
    return PermissionDecision(permission_id=permission.id, decision=decision, rule=rule)


def verdicts(requests: Sequence[PermissionRequest], decisions: Decisions) -> dict[str, Verdict]:
    """Give the verdict of every call that is decided: denied as soon as one of its permissions is.

    Calls with an undecided permission and no denial are left out. Two calls never share a decision by accident:
    keys hold the call id.
    """
    found: dict[str, Verdict] = {}
    for request in requests:
        keys = [(request.call_id, permission.id) for permission in request.permissions]
        given = [decisions[key] for key in keys if key in decisions]
        denied = any(decision.decision is Decision.DENY for decision in given)
        if denied or len(given) == len(keys):
            found[request.call_id] = Verdict(call_id=request.call_id, permissions=tuple(given))
    return found


def runs(verdict: Verdict) -> bool:
    """Tell whether a verdict lets its call run: each permission allowed, none denied."""
    return bool(verdict.permissions) and all(d.decision is Decision.ALLOW for d in verdict.permissions)
