"""Keeps lasting decisions outside the project: one JSON object a line, mode 0600, replaced atomically."""

import contextlib
import fcntl
import json
import os
import secrets
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from agent_tui.permissions.grammar import Layer, Origin, Rule, RuleError, parse_rule
from agent_tui.permissions.rules import RuleProblem
from agent_tui.protocol.json_text import parse_json
from agent_tui.protocol.permissions import Decision, PermissionKind, Scope
from agent_tui.protocol.private_file import write_private

Clock = Callable[[], datetime]


def utc_now() -> datetime:
    """Give the time now, with its zone."""
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Grant:
    """A decision that lasts. `project` is the real path it holds for, "" for every project.

    `source` is the line of the transcript it came from; `expires_at` None means never. `line` is its 1-based line
    in the state file, 0 while it lives in memory only.
    """

    grant_id: str
    decision: Decision
    tool: str
    kind: PermissionKind
    pattern: str
    scope: Scope
    project: str
    created_at: datetime
    expires_at: datetime | None = None
    source: str = ""
    line: int = 0

    def same_as(self, other: "Grant") -> bool:
        """Tell whether two grants say the same thing for the same place."""
        mine = (self.decision, self.pattern, self.scope, self.project, self.expires_at)
        return mine == (other.decision, other.pattern, other.scope, other.project, other.expires_at)

    def holds(self, project: str, now: datetime) -> bool:
        """Tell whether it counts in `project` at `now`."""
        return self.project in ("", project) and (self.expires_at is None or now < self.expires_at)

    def as_rule(self, *, project: Path, file: str) -> Rule:
        """Give it as a rule; `/x` in its pattern is relative to the project. Raises RuleError."""
        origin = Origin(Layer.GRANT, project, file if self.line else "", self.line)
        rule = parse_rule(self.pattern, self.decision, origin)
        return replace(rule, expires_at=self.expires_at, grant_id=self.grant_id)


def new_grant(
    *,
    decision: Decision,
    tool: str,
    kind: PermissionKind,
    pattern: str,
    scope: Scope,
    project: Path,
    now: datetime,
    expires_at: datetime | None = None,
    source: str = "",
) -> Grant:
    """Make a grant for `project` (or for every project when the scope is USER)."""
    return Grant(
        grant_id=secrets.token_hex(4),
        decision=decision,
        tool=tool,
        kind=kind,
        pattern=pattern,
        scope=scope,
        project="" if scope is Scope.USER else str(project),
        created_at=now,
        expires_at=expires_at,
        source=source,
    )


@dataclass(frozen=True, slots=True)
class _Contents:
    """What the state file held when it was read; `stamp` is None where there was none."""

    stamp: tuple[int, int, int] | None = None
    grants: tuple[Grant, ...] = ()
    problems: tuple[RuleProblem, ...] = ()


class GrantStore:
    """The state file of project and user grants, shared by all running programs of one user. Any thread may use it.

    A line that cannot be read makes every allow grant of the file void (a lost denial must not turn into an
    allowance) and is told in `problems`.
    """

    def __init__(self, state_dir: Path, *, clock: Clock = utc_now) -> None:
        self.path = state_dir / "grants.jsonl"
        self._clock = clock
        self._known = _Contents()

    @property
    def problems(self) -> Sequence[RuleProblem]:
        """What is wrong with the file."""
        return self._contents().problems

    def all(self) -> Sequence[Grant]:
        """Give every grant that has not expired, in file order."""
        now = self._clock()
        return [g for g in self._contents().grants if g.expires_at is None or now < g.expires_at]

    def holding(self, project: Path) -> Sequence[Grant]:
        """Give the grants that count in `project` now; no allow grant when a line is broken."""
        known, now = self._contents(), self._clock()
        held = [grant for grant in known.grants if grant.holds(str(project), now)]
        return [grant for grant in held if not (known.problems and grant.decision is Decision.ALLOW)]

    def add(self, grant: Grant) -> Grant:
        """Store `grant` at once, or give the one that says the same already. Waits for the disk. Raises OSError."""
        with self._locked() as grants:
            for known in grants:
                if known.same_as(grant):
                    return known
            stored = self._write([*grants, grant])
        return next((kept for kept in stored if kept.grant_id == grant.grant_id), grant)

    def remove(self, grant_id: str) -> Grant | None:
        """Take a grant back; None when there is none of that id. Waits for the disk. Raises OSError."""
        with self._locked() as grants:
            gone = next((grant for grant in grants if grant.grant_id == grant_id), None)
            if gone is not None:
                self._write([grant for grant in grants if grant is not gone])
        return gone

    @contextlib.contextmanager
    def _locked(self) -> Generator[Sequence[Grant]]:
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(self.path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            known = self._contents(fresh=True)
            if known.problems:
                raise OSError(
                    f"{self.path}:{known.problems[0].line}: {known.problems[0].text}; repair it first"
                )
            yield known.grants
        finally:
            os.close(descriptor)

    def _write(self, grants: Sequence[Grant]) -> Sequence[Grant]:
        """Replace the file; give the grants as they stand in it."""
        now = self._clock()
        lines = [_encode(g) for g in grants if g.expires_at is None or now < g.expires_at]
        write_private(self.path, "".join(f"{line}\n" for line in lines).encode())
        return self._contents(fresh=True).grants

    def _contents(self, *, fresh: bool = False) -> _Contents:
        """Give what the file holds; it is read again when it changed, and always when `fresh`."""
        try:
            info = self.path.stat()
        except FileNotFoundError:
            known = self._known = _Contents()
            return known
        known, stamp = self._known, (info.st_ino, info.st_size, info.st_mtime_ns)
        if fresh or stamp != known.stamp:  # one assignment: another thread may read at the same time
            known = self._known = _Contents(stamp, *_decode_all(self.path))
        return known


def _encode(grant: Grant) -> str:
    return json.dumps(
        {
            "id": grant.grant_id,
            "decision": grant.decision.value,
            "pattern": grant.pattern,
            "tool": grant.tool,
            "kind": grant.kind.value,
            "scope": grant.scope.value,
            "project": grant.project,
            "created_at": grant.created_at.isoformat(),
            "expires_at": grant.expires_at.isoformat() if grant.expires_at else None,
            "source": grant.source,
        },
        ensure_ascii=True,
    )


def _decode_all(path: Path) -> tuple[tuple[Grant, ...], tuple[RuleProblem, ...]]:
    grants: list[Grant] = []
    problems: list[RuleProblem] = []
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        return (), (RuleProblem(f"cannot be read: {error}", str(path)),)
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            grants.append(_decode(parse_json(line), number))
        except (ValueError, KeyError, TypeError, RuleError) as error:
            problems.append(RuleProblem(f"not a grant ({error})", str(path), number))
    return tuple(grants), tuple(problems)


def _decode(record: dict[str, str | None], line: int) -> Grant:
    """Read one stored grant. Raises ValueError, KeyError or TypeError."""
    expires = record["expires_at"]
    grant = Grant(
        grant_id=str(record["id"]),
        decision=Decision(record["decision"]),
        tool=str(record["tool"]),
        kind=PermissionKind(record["kind"]),
        pattern=str(record["pattern"]),
        scope=Scope(record["scope"]),
        project=str(record["project"]),
        created_at=datetime.fromisoformat(str(record["created_at"])),
        expires_at=datetime.fromisoformat(expires) if expires else None,
        source=str(record.get("source") or ""),
        line=line,
    )
    grant.as_rule(project=Path("/"), file="")
    return grant
