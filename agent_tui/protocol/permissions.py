"""What a call needs, what was asked and what was decided."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from agent_tui.protocol.data import Data, JsonObject
from agent_tui.protocol.display import ChangePreview, DisplayResult


class PermissionKind(StrEnum):
    """What is touched. A write covers a read of the same target, never the reverse."""

    READ = "read"
    WRITE = "write"
    EXECUTE = "execute"
    NETWORK = "network"
    TOOL = "tool"


class Risk(StrEnum):
    """HIGH is never pre-checked, never decided by a key for everything before it was looked at."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


class Decision(StrEnum):
    """ASK is a verdict of rules only: it leaves the decision to whoever answers."""

    ALLOW = "allow"
    DENY = "deny"
    ASK = "ask"


class Scope(StrEnum):
    """How long a decision holds: for this round, until the program ends, for the project, for the user."""

    ONCE = "once"
    SESSION = "session"
    PROJECT = "project"
    USER = "user"


class DecidedBy(StrEnum):
    """Where a decision came from; NOBODY where it waits for an answer, or was denied because nobody could be asked."""

    PERSON = "person"
    RULE = "rule"
    HOOK = "hook"
    MODE = "mode"
    NOBODY = "nobody"


class RuleRef(Data):
    """Where a decision came from: the rule's text with `file` and 1-based `line`, or a built-in reason (`line` 0)."""

    text: str
    file: str = ""
    line: int = 0


class Permission(Data):
    """One thing a call needs.

    `target` is exact: a resolved path, the full command, a URL. `pattern` is what "always" would store, in the rule
    grammar, such as `Edit(/src/**)`; "" offers no lasting answer. `id` is unique within its call.
    """

    id: str
    kind: PermissionKind
    target: str
    pattern: str = ""
    risk: Risk = Risk.MEDIUM
    reason: str = ""


class PermissionDecision(Data):
    """The answer to one permission. ASK never stands here.

    `pattern` is what a lasting answer stores; it ends at `expires_at`, None is never. `rule` names what decided: a rule, a
    hook or a built-in reason; None when a person did.
    """

    permission_id: str
    decision: Decision
    scope: Scope = Scope.ONCE
    pattern: str = ""
    expires_at: datetime | None = None
    decided_by: DecidedBy = DecidedBy.PERSON
    rule: RuleRef | None = None


class CommandPart(Data):
    """One simple command of a shell text, for the preview.

    `argv` are its words as far as they are known before it runs; `rule` is the rule that decided, None when none did.
    """

    argv: tuple[str, ...]
    decision: Decision
    why: str = ""
    rule: RuleRef | None = None


class PermissionRequest(Data):
    """A call that waits for a person.

    `permissions` holds only what is not covered yet; `decided` what rules and grants answered. `bases` maps real
    path to SHA-256 of what the preview showed. `origin` is "" for the main agent, else the sub-agent's name.
    `preview` is what the call would do, None when its tool shows nothing. `may_change` marks one that an earlier command
    of the same round could outdate; `second_review` that the call was allowed before and its file has changed since.
    `arguments_json` is the exact text bound by `args_sha256` (hex).
    """

    request_id: str
    call_id: str
    tool: str
    title: str
    permissions: tuple[Permission, ...]
    decided: tuple[PermissionDecision, ...] = ()
    display_name: str = ""
    preview: ChangePreview | DisplayResult | None = None
    parts: tuple[CommandPart, ...] = ()
    bases: Mapping[str, str] = {}
    origin: str = ""
    arguments_json: str = "{}"
    args_sha256: str = ""
    may_change: bool = False
    second_review: bool = False
    reason: str = ""


class Verdict(Data):
    """The answer to one request. The call runs only if all its permissions are allowed.

    `feedback` reaches the model with the call's result, allowed or denied. `edited_arguments` replaces the
    arguments; they are analysed again. `accepted_hunks` are 0-based; None accepts all. `unasked` marks a denial
    given only because nobody could be asked; `deferred` leaves the call open for a later answer.
    """

    call_id: str
    permissions: tuple[PermissionDecision, ...] = ()
    feedback: str = ""
    edited_arguments: JsonObject | None = None
    accepted_hunks: tuple[int, ...] | None = None
    unasked: bool = False
    deferred: bool = False


class Approver(Protocol):
    """Whoever answers for the person."""

    async def review(self, requests: Sequence[PermissionRequest]) -> Mapping[str, Verdict]:
        """Ask once for all `requests`; keys of the answer are call ids, a missing id is a denial.

        May be called again while a review is open: the rows join the open one and each caller is answered when
        its own rows are decided.
        """
        ...
