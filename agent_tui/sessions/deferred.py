"""Approvals that wait in session files: found, answered with a signature, and used when the turn goes on."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic import ValidationError

from agent_tui.protocol.errors import SessionNameError
from agent_tui.protocol.permissions import PermissionRequest
from agent_tui.sessions.approvals import ApprovalKey, RecordedApprover, SignedResponse
from agent_tui.sessions.frames import RawRecord, active_path, text_of
from agent_tui.sessions.restore import restore
from agent_tui.sessions.session import Session
from agent_tui.sessions.store import SessionStore

if TYPE_CHECKING:
    from pathlib import Path

WAITS = "pending_approvals"


@dataclass(frozen=True)
class Waiting:
    """A request that waits for an answer. `answered` says that one was signed already, and not used yet."""

    session_id: str
    turn_id: str
    workspace: str
    request: PermissionRequest
    answered: bool


def waiting(store: SessionStore) -> Iterator[Waiting]:
    """List what waits in all sessions."""
    for path in store.paths():
        yield from waiting_in(store, path.stem)


def waiting_in(store: SessionStore, session_id: str) -> Iterator[Waiting]:
    """List what waits in one session. Raises SessionError."""
    records = store.read(session_id).records
    path = active_path(records)
    if not path or path[-1].get("type") != "turn_end" or path[-1].get("stop_reason") != WAITS:
        return
    turn_id, workspace = text_of(path[-1], "turn_id"), text_of(records[0], "workspace")
    used = set(used_nonces(records))
    answered = {r.request_id for r in responses_of(records) if r.nonce not in used}
    for request in restore(path, store.blobs, keep_pending=True).pending:
        yield Waiting(session_id, turn_id, workspace, request, request.request_id in answered)


def responses_of(records: Sequence[RawRecord]) -> list[SignedResponse]:
    """Give the signed answers in a file as they stand there, unchecked."""
    found: list[SignedResponse] = []
    for record in records:
        if record.get("type") == "signed_response":
            try:
                found.append(SignedResponse.model_validate(record.get("response")))
            except ValidationError:
                continue  # whatever it is, it is no answer
    return found


def used_nonces(records: Sequence[RawRecord]) -> list[str]:
    """Give the nonces of the answers that were used."""
    return [text_of(record, "nonce") for record in records if record.get("type") == "nonce_used"]


def find_waiting(store: SessionStore, name: str) -> Waiting:
    """Give the waiting request that `name` means: its call id or request id, or the beginning of one.

    Raises SessionError when there is none, or more than one.
    """
    found = [
        item
        for item in waiting(store)
        if item.request.call_id.startswith(name) or item.request.request_id.startswith(name)
    ]
    if len(found) != 1:
        raise SessionNameError(
            f"{len(found) or 'No'} waiting approvals are called {name!r}. Looked in {store.root}; "
            "'agent-tui approvals list' lists what waits.",
            path=store.root,
        )
    return found[0]


async def answer(store: SessionStore, item: Waiting, response: SignedResponse) -> None:
    """Write a signed answer into its session. Raises SessionInUseError while that is open."""
    session = store.open(item.session_id)
    try:
        await session.add_response(response.model_dump(mode="json"))
    finally:
        session.close()


def recorded_approver(session: Session, *, key: ApprovalKey, cwd: "Path") -> RecordedApprover:
    """Give what answers from the signed responses in `session` when its turn is driven again."""
    records = session.records()
    turns = {text_of(r, "turn_id") for r in active_path(records) if r.get("turn_id")}
    return RecordedApprover(
        responses_of(records),
        key=key,
        session_id=session.id,
        cwd=str(cwd),
        turns=sorted(turns),
        use=session.use_nonce,
        used=used_nonces(records),
    )
