"""One call of a round while it is worked on."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from agent_tui.executor.gate import Review
from agent_tui.protocol.display import ChangePreview, DisplayResult
from agent_tui.protocol.permissions import Permission, PermissionKind, PermissionRequest, Risk
from agent_tui.protocol.tools import Effect, ToolCall, ToolCallOutcome
from agent_tui.sandbox.interface import Confinement
from agent_tui.toolkit.context import ToolContext

TASK_TOOL = "task"
_RISKS = (Risk.LOW, Risk.MEDIUM, Risk.HIGH)


@dataclass(frozen=True)
class Refusal:
    """Why a call is answered without running: the text for the model and how it counts.

    `unasked` says that it was denied only because nobody could be asked.
    """

    text: str
    effect: Effect
    unasked: bool = False


@dataclass
class RoundCall:
    """A call with everything the round learns of it. `call` holds the repaired name and the arguments to be run.

    `cwd` is the shell's directory the permissions were worked out for. `edited` says that the person put other
    arguments in place of the model's. `notes` are appended to the result for the
    model. `outcome` is set once and for all when the call is answered.
    """

    call: ToolCall
    context: ToolContext
    display_name: str
    title: str
    readable: bool = False
    foreign: bool = False
    cwd: Path = Path()
    review: Review | None = None
    hook_asks: str = ""
    hook_allows: str = ""
    hook_denied: bool = False
    hook_rewrote: bool = False
    edited: bool = False
    preview: DisplayResult | None = None
    request: PermissionRequest | None = None
    to_ask: tuple[Permission, ...] = ()
    approved: tuple[Permission, ...] = ()
    confinement: Confinement = field(default_factory=Confinement)
    bases: dict[str, str] = field(default_factory=dict[str, str])
    notes: list[str] = field(default_factory=list[str])
    may_change: bool = False
    second_review: bool = False
    moved: Path | None = None
    claimed: bool = False
    began: bool = False
    outcome: ToolCallOutcome | None = None

    @property
    def answered(self) -> bool:
        """Tell whether the call has its one result."""
        return self.outcome is not None

    @property
    def asking(self) -> tuple[Permission, ...]:
        """Give what a person has to decide."""
        rules = self.review.asking if self.review else ()
        if not self.hook_asks:
            return rules
        return (*rules, hook_permission(self.call.name, self.hook_asks))

    @property
    def executes(self) -> bool:
        """Tell whether the call runs a command."""
        permissions = self.review.permissions if self.review else ()
        return any(permission.kind is PermissionKind.EXECUTE for permission in permissions)

    @property
    def may_change_files(self) -> bool:
        """Tell whether the call could change any file, so that later previews may be outdated."""
        return self.executes or self.call.name == TASK_TOOL or (self.foreign and not self.readable)

    @property
    def hunks(self) -> int:
        """Give into how many separately acceptable pieces the preview divides."""
        return self.preview.hunks if isinstance(self.preview, ChangePreview) else 0

    def write_targets(self) -> list[str]:
        """Give the real paths the call writes; none for a command, whose targets are not known exactly."""
        if self.executes or self.call.name == TASK_TOOL or self.review is None:
            return []
        return [item.target for item in self.review.permissions if item.kind is PermissionKind.WRITE]

    def make_request(
        self, *, origin: str, agent_name: str, permissions: Sequence[Permission], reason: str = ""
    ) -> PermissionRequest:
        """Build what is asked.

        The id is made of the call and its arguments, so that an answer stored outside finds it in a resumed turn.
        """
        sha256 = digest(self.call.arguments_json)
        change = self.preview if isinstance(self.preview, ChangePreview) else None
        suffix = "/2" if self.second_review else ""
        return PermissionRequest(
            request_id=f"{origin}/{self.call.call_id}/{sha256[:16]}{suffix}",
            call_id=self.call.call_id,
            tool=self.call.name,
            title=self.title,
            permissions=tuple(permissions),
            decided=self.review.decided if self.review else (),
            display_name=self.display_name,
            preview=self.preview,
            parts=self.review.parts if self.review else (),
            bases=dict(change.bases) if change else {},
            origin=agent_name,
            arguments_json=self.call.arguments_json,
            args_sha256=sha256,
            may_change=self.may_change and change is not None,
            second_review=self.second_review,
            reason=reason,
        )


def digest(arguments_json: str) -> str:
    """Give the SHA-256 (hex) that binds an approval to its arguments."""
    return hashlib.sha256(arguments_json.encode()).hexdigest()


def hook_permission(tool: str, reason: str) -> Permission:
    """Give the permission that stands for "a hook wants a person to look"."""
    return Permission(id="hook", kind=PermissionKind.TOOL, target=tool, risk=Risk.MEDIUM, reason=reason)


def beyond(
    asking: Sequence[Permission], approved: Sequence[Permission], *, own_words: bool = False
) -> tuple[Permission, ...]:
    """Give what of `asking` the person has not approved: another kind or another target.

    With `own_words` (the person typed the command) a command no riskier than the approved one counts as approved.
    """
    return tuple(
        permission
        for permission in asking
        if not any(_covers(known, permission, own_words=own_words) for known in approved)
    )


def _covers(known: Permission, wanted: Permission, *, own_words: bool) -> bool:
    """Tell whether an approved permission answers for a wanted one."""
    if known.kind is not wanted.kind:
        return False
    if known.target == wanted.target:
        return True
    is_command = wanted.kind is PermissionKind.EXECUTE
    return own_words and is_command and _RISKS.index(wanted.risk) <= _RISKS.index(known.risk)
