"""What a round needs of the permission policy: a small protocol, so that any policy can stand behind it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from agent_tui.protocol.permissions import (
    CommandPart,
    Permission,
    PermissionDecision,
    PermissionRequest,
    Verdict,
)
from agent_tui.protocol.tools import ToolCall
from agent_tui.sandbox.interface import Confinement


class Review(Protocol):
    """What the rules say of one call.

    `permissions` is everything it needs after a shell command was taken apart into `parts`, `decided` what rules,
    grants and the mode answered, `asking` what is left for a person. `denial` is "" or the text for the model,
    `confinement` what a command of the call may touch when it runs.
    """

    @property
    def permissions(self) -> tuple[Permission, ...]: ...
    @property
    def decided(self) -> tuple[PermissionDecision, ...]: ...
    @property
    def asking(self) -> tuple[Permission, ...]: ...
    @property
    def parts(self) -> tuple[CommandPart, ...]: ...
    @property
    def denial(self) -> str: ...
    @property
    def confinement(self) -> Confinement: ...


class PolicyLike(Protocol):
    """Rules, grants and the mode, as a round sees them."""

    @property
    def asks_nobody(self) -> bool:
        """Whether what would be asked is denied (mode dont-ask)."""
        ...

    def review(
        self,
        *,
        tool: str,
        permissions: Sequence[Permission],
        readable: bool,
        needs_approval: bool,
        cwd: Path,
        vouched: str = "",
    ) -> Review:
        """Say what is allowed, denied or to be asked. `vouched` is the hook that would allow the call, "" for none."""
        ...

    def blocked(self, call: ToolCall, *, title: str, reason: str) -> None:
        """Write down that a hook did not let a call pass. Raises OSError."""
        ...

    async def record(self, request: PermissionRequest, verdict: Verdict, *, edited: bool = False) -> None:
        """Store lasting decisions and write the audit line. Raises OSError: then the answer is no.

        `edited` says that the person wrote the arguments of the request.
        """
        ...

    def confinement(self, request: PermissionRequest, verdict: Verdict) -> Confinement:
        """Say what the approved call may touch."""
        ...
