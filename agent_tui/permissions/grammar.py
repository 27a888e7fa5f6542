"""Reads rules such as `Bash(git diff *)` and `Edit(/src/**)`."""

import hashlib
import re
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from pathlib import Path

from agent_tui.protocol.permissions import Decision, RuleRef

WRITERS = frozenset(
    {"edit", "write", "patch", "multiedit", "multi_edit", "notebookedit", "apply_patch", "applypatch"}
)
READERS = frozenset({"read", "grep", "glob", "list", "ls"})
SHELLS = frozenset({"bash", "shell"})
FETCHERS = frozenset({"webfetch", "fetch"})
_NAMED = frozenset({"task", "agent", "skill"})
_SHAPE = re.compile(r"\s*([A-Za-z*][\w.*-]*)\s*(?:\((.*)\))?\s*", re.DOTALL)
_HOST = re.compile(r"(\*\.)?[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?(:\d+)?|\*|\[[0-9a-f:.]+\]")


class Layer(StrEnum):
    """Where a rule comes from. The allow rules of a PROJECT file count only once it is trusted."""

    MANAGED = "managed"
    CLI = "cli"
    PROJECT = "project"
    USER = "user"
    GRANT = "grant"


class RuleError(ValueError):
    """A rule cannot be read; the text says what is wrong with it."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a rule stands. `line` is 1-based, 0 when there is no file; `base` is what `/x` is relative to."""

    layer: Layer
    base: Path
    file: str = ""
    line: int = 0


@dataclass(frozen=True, slots=True)
class Rule:
    """One parsed rule. `tool` is canonical and in lower case; `specifier` is None for a bare tool name."""

    effect: Decision
    text: str
    tool: str
    specifier: str | None
    origin: Origin
    expires_at: datetime | None = None
    grant_id: str = ""

    @property
    def ref(self) -> RuleRef:
        """Where it stands, for a person."""
        return RuleRef(text=f"{self.effect} {self.text}", file=self.origin.file, line=self.origin.line)

    @property
    def rule_id(self) -> str:
        """A short id that names this rule in commands."""
        if self.grant_id:
            return self.grant_id
        key = f"{self.origin.file}\0{self.effect}\0{self.text}"
        return hashlib.sha256(key.encode()).hexdigest()[:8]


def canonical_tool(name: str) -> str:
    """Give the name that rules compare: lower case, writers are `edit`, shells `bash`, `agent` is `task`."""
    plain = name.casefold()
    if plain in WRITERS:
        return "edit"
    if plain in SHELLS:
        return "bash"
    if plain in FETCHERS:
        return "webfetch"
    return {"agent": "task", "ls": "list"}.get(plain, plain)


def parse_rule(text: str, effect: Decision, origin: Origin) -> Rule:
    """Read one rule. Raises RuleError."""
    match = _SHAPE.fullmatch(text)
    if match is None:
        raise RuleError(f"{text!r} is not `Tool` or `Tool(specifier)`")
    tool = canonical_tool(match[1])
    if "*" in tool and not tool.startswith("mcp__") and tool != "*":
        raise RuleError(f"{text!r}: only mcp__ names may hold a `*`")
    rule = Rule(effect, text.strip(), tool, match[2], origin)
    return rule if rule.specifier is None else replace(rule, specifier=_specifier(rule, text))


def _specifier(rule: Rule, text: str) -> str:
    """Check what stands in the brackets and give it in one spelling."""
    given = rule.specifier or ""
    if not given.strip():
        raise RuleError(f"{text!r}: empty brackets match nothing; leave them out to mean every call")
    if rule.tool == "bash":
        return f"{given[:-2]} *" if given.endswith(":*") else given.strip()
    if rule.tool == "webfetch":
        return _domain(given.strip(), text)
    if rule.tool == "edit" or rule.tool in READERS:
        if given.startswith("!"):
            raise RuleError(f"{text!r}: a rule cannot be negated; write an ask or deny rule")
        return given.strip()
    if rule.tool.startswith("mcp__") and given.strip() != "*":
        raise RuleError(f"{text!r}: rules for MCP tools take no brackets")
    return given.strip()


def _domain(given: str, text: str) -> str:
    """Give the host of `domain:host` in lower case."""
    if not given.startswith("domain:"):
        raise RuleError(f"{text!r}: write WebFetch(domain:HOST)")
    host = given.removeprefix("domain:").strip().lower().rstrip(".")
    if not _HOST.fullmatch(host):
        raise RuleError(f"{text!r}: {host!r} is not a host name")
    return host


def takes_path(tool: str) -> bool:
    """Tell whether the brackets of a rule for `tool` hold a path pattern."""
    return tool == "edit" or tool in READERS
