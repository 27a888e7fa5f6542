"""Answers to approvals that come later, from outside: signed here, checked when the turn goes on."""

import hashlib
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from agent_tui.protocol.data import Data, JsonObject
from agent_tui.protocol.errors import SessionError
from agent_tui.protocol.permissions import (
    DecidedBy,
    Decision,
    PermissionDecision,
    PermissionRequest,
    RuleRef,
    Verdict,
)
from agent_tui.protocol.private_file import alone_with, write_private

if TYPE_CHECKING:  # cryptography takes 30 ms, and few runs sign anything
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

KEY_NAME = "approvals.key"
LIFETIME_S = 7 * 86_400
Answerer = Literal["person", "program"]
"""Who ran the command that signs: a person at a terminal, or a program, whose answers are automatic."""
_KEY_BYTES = 32


class SignedResponse(Data):
    """An answer bound to one request of one turn, byte for byte.

    `edited_arguments` are the person's; the approval stays bound to `arguments_json`, the ones proposed. `reason`
    says who decided (an `Answerer`), so that an automatic approval can be told apart. `expires_at` is POSIX seconds, `nonce` is
    used once, `key_id` names the key, `signature` is Ed25519 over all the rest (hex).
    """

    version: int = 1
    session_id: str
    turn_id: str
    cwd: str
    request_id: str
    call_id: str
    tool: str
    arguments_json: str
    bases: Mapping[str, str] = {}
    permissions: tuple[PermissionDecision, ...] = ()
    edited_arguments: JsonObject | None = None
    feedback: str = ""
    reason: str = "person"
    expires_at: float
    nonce: str
    key_id: str
    signature: str = ""

    def signed_bytes(self) -> bytes:
        """Give what the signature covers."""
        return b"agent-tui approval\n" + self.model_copy(update={"signature": ""}).model_dump_json().encode()

    def verdict(self) -> Verdict:
        """Give the answer as a round takes it."""
        return Verdict(
            call_id=self.call_id,
            permissions=self.permissions,
            feedback=self.feedback,
            edited_arguments=self.edited_arguments,
        )


class ApprovalKey:
    """The local key: made on first use, 0600 in a 0700 folder that no command and no tool may touch."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / KEY_NAME

    def answer(
        self,
        request: PermissionRequest,
        *,
        session_id: str,
        turn_id: str,
        cwd: str,
        allow: bool,
        edited_arguments: JsonObject | None = None,
        feedback: str = "",
        reason: Answerer = "person",
        now: float | None = None,
    ) -> SignedResponse:
        """Sign an answer to all permissions of `request`, once and not lasting. Raises SessionError."""
        key, key_id = self._key(create=True)
        decision = Decision.ALLOW if allow else Decision.DENY
        response = SignedResponse(
            session_id=session_id,
            turn_id=turn_id,
            cwd=cwd,
            request_id=request.request_id,
            call_id=request.call_id,
            tool=request.tool,
            arguments_json=request.arguments_json,
            bases=request.bases,
            permissions=tuple(
                _decision(permission.id, decision, by=reason) for permission in request.permissions
            ),
            edited_arguments=edited_arguments,
            feedback=feedback,
            reason=reason,
            expires_at=(time.time() if now is None else now) + LIFETIME_S,
            nonce=secrets.token_hex(16),
            key_id=key_id,
        )
        return response.model_copy(update={"signature": key.sign(response.signed_bytes()).hex()})

    def is_genuine(self, response: SignedResponse) -> bool:
        """Tell whether this very key signed `response` as it is."""
        from cryptography.exceptions import InvalidSignature

        try:
            key, key_id = self._key(create=False)
            key.public_key().verify(bytes.fromhex(response.signature), response.signed_bytes())
        except (SessionError, InvalidSignature, ValueError):
            return False
        return key_id == response.key_id

    def _key(self, *, create: bool) -> "tuple[Ed25519PrivateKey, str]":
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        try:
            if create and not self._path.exists():
                self._make()
            raw = self._path.read_bytes()
        except OSError as error:
            raise SessionError(
                f"the approval key cannot be used: {error.strerror}", path=self._path
            ) from error
        if len(raw) != _KEY_BYTES:
            raise SessionError("is no approval key; remove it to get a new one", path=self._path)
        key = Ed25519PrivateKey.from_private_bytes(raw)
        return key, hashlib.sha256(key.public_key().public_bytes_raw()).hexdigest()[:16]

    def _make(self) -> None:
        with alone_with(self._path):  # of two programs that make the key at once, one wins
            if not self._path.exists():
                write_private(self._path, secrets.token_bytes(_KEY_BYTES))


def _decision(permission_id: str, decision: Decision, *, by: Answerer) -> PermissionDecision:
    """Give a decision that holds once; a program's counts as a hook's wherever decisions are told and kept."""
    if by == "person":
        return PermissionDecision(permission_id=permission_id, decision=decision)
    return PermissionDecision(
        permission_id=permission_id,
        decision=decision,
        decided_by=DecidedBy.HOOK,
        rule=RuleRef(text=f"a program that ran agent-tui approvals {decision}"),
    )


def refusal(
    response: SignedResponse,
    request: PermissionRequest,
    *,
    key: ApprovalKey,
    session_id: str,
    cwd: str,
    turns: Sequence[str],
    used: Sequence[str],
    now: float,
) -> str:
    """Give why `response` does not count for `request`, "" when it does. `turns` are the session's turns."""
    if not key.is_genuine(response):
        return "its signature is not ours"
    if response.version != 1:
        return "its version is not known"
    if response.session_id != session_id or response.turn_id not in turns:
        return "it is for another turn"
    if response.cwd != cwd:
        return "it is for another directory"
    if (response.request_id, response.call_id, response.tool) != (
        request.request_id,
        request.call_id,
        request.tool,
    ):
        return "it is for another call"
    if response.arguments_json != request.arguments_json:
        return "the arguments are not the ones that were approved"
    if dict(response.bases) != dict(request.bases):
        return "the files changed since"
    if {d.permission_id for d in response.permissions} != {p.id for p in request.permissions}:
        return "the call needs other permissions than were answered"
    if response.nonce in used:
        return "it was used before"
    if response.expires_at < now:
        return "it is too old"
    return ""


class RecordedApprover:
    """Answers from signed responses; what has none stays deferred. `refused` says which did not count, and why.

    `use` writes down that a response was used, before its verdict is given out.
    """

    def __init__(
        self,
        responses: Sequence[SignedResponse],
        *,
        key: ApprovalKey,
        session_id: str,
        cwd: str,
        turns: Sequence[str],
        use: Callable[[str], Awaitable[None]],
        used: Sequence[str] = (),
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.refused: list[str] = []
        self._responses = list(responses)
        self._key = key
        self._session_id = session_id
        self._cwd = cwd
        self._turns = tuple(turns)
        self._use = use
        self._used = list(used)
        self._clock = clock

    async def review(self, requests: Sequence[PermissionRequest]) -> Mapping[str, Verdict]:
        """Give the verdicts that were signed for exactly these requests; the newest that counts wins."""
        return {request.call_id: await self._verdict(request) for request in requests}

    async def _verdict(self, request: PermissionRequest) -> Verdict:
        for response in reversed(self._responses):
            if response.call_id != request.call_id:
                continue
            why = refusal(
                response,
                request,
                key=self._key,
                session_id=self._session_id,
                cwd=self._cwd,
                turns=self._turns,
                used=self._used,
                now=self._clock(),
            )
            if not why:
                self._used.append(response.nonce)
                await self._use(response.nonce)
                return response.verdict()
            self.refused.append(f"The answer to {request.tool} does not count: {why}.")
        return Verdict(call_id=request.call_id, deferred=True)


class DeferringApprover:
    """Puts every question off: the turn ends, and the answers come from outside."""

    async def review(self, requests: Sequence[PermissionRequest]) -> Mapping[str, Verdict]:
        """Defer all."""
        return {request.call_id: Verdict(call_id=request.call_id, deferred=True) for request in requests}
