"""The words the model reads when a call did not simply run."""

import json
from collections.abc import Sequence

from agent_tui.executor.hooks import CONTEXT_LIMIT_CHARS
from agent_tui.protocol.permissions import Permission, Verdict

CANCELLED = "cancelled by user"
NOT_RUN = "not run"
STOPPED = "Stopped by the user while it ran; what it did until then stays done."
LOST = "The call began, but its round ended before it had a result; what it did until then stays done."
PENDING = "Waits for approval."
NOT_RECORDED = "Not approved: the question could not be recorded, so nobody was asked"
_HUNKS = "[The user accepted hunk"
_FAULT_CHARS = 500
_ARGUMENT_CHARS = 200


def denied(verdict: Verdict | None, asked: Sequence[Permission]) -> str:
    """Say that a person (or nobody) said no, with the person's words when there are any."""
    if verdict is None:
        return "Denied: the question was closed without an answer. Do not try the same call again unasked."
    if verdict.unasked:
        wanted = ", ".join(dict.fromkeys(f"{item.kind} {item.target}" for item in asked))
        why = verdict.feedback or "Denied: this needs approval and nobody could be asked."
        return f"{why}\n(It needs: {wanted})"
    text = "Denied by the user. Do not try the same call again; take another way or ask."
    return f"{text}\nThe user says: {verdict.feedback}" if verdict.feedback else text


def denied_before(text: str) -> str:
    """Say that the same call was denied earlier in the turn."""
    return f"{text}\n(The same call was denied earlier in this turn; it was not asked again.)"


def changed(path: str) -> str:
    """Say that an approved call did not run because its base moved."""
    return f"{path} changed since approval; the call did not run. Read it again and repeat the call if it is still right."


def timed_out(limit_s: int) -> str:
    """Say that the time limit passed."""
    return f"Operation timed out after {limit_s} s"


def fault(tool: str, error: BaseException) -> str:
    """Say that a tool failed by a fault of its own; at most 500 characters of the error."""
    text = f"{type(error).__name__}: {error}"
    shown = text if len(text) <= _FAULT_CHARS else f"{text[:_FAULT_CHARS]}..."
    return f"The tool {tool!r} failed: {shown}"


def feedback_note(verdict: Verdict) -> str:
    """Give the person's words on a call that was allowed."""
    return f"[The user allowed this call and says: {verdict.feedback}]" if verdict.feedback else ""


def edited_note(arguments_json: str) -> str:
    """Tell the model that the person changed its arguments."""
    return f"[The user changed the arguments of this call before it ran: {arguments_json}]"


def rewritten_note(arguments_json: str) -> str:
    """Tell the model that a hook changed its arguments."""
    return f"[A hook changed the arguments of this call before it ran: {arguments_json}]"


def hunks_note(accepted: Sequence[int], total: int) -> str:
    """Tell the model which hunks were left out; hunks are counted from 1 for it."""
    taken = ", ".join(str(index + 1) for index in accepted)
    left = ", ".join(str(index + 1) for index in range(total) if index not in set(accepted))
    return f"{_HUNKS} {taken} of {total}; left out: {left}.]" if left else ""


def without_hunks(notes: Sequence[str]) -> list[str]:
    """Give the notes without what was said of hunks: a second review chooses anew."""
    return [note for note in notes if not note.startswith(_HUNKS)]


def hook_note(context: str) -> str:
    """Give what a hook adds for the model, cut at 4,096 characters."""
    return context if len(context) <= CONTEXT_LIMIT_CHARS else f"{context[:CONTEXT_LIMIT_CHARS]}..."


def bad_json(name: str, arguments_json: str, reason: str) -> str:
    """Say that the arguments cannot be read, with the start of what came."""
    start = arguments_json[:_ARGUMENT_CHARS]
    more = "..." if len(arguments_json) > _ARGUMENT_CHARS else ""
    return f"Invalid arguments for {name!r}: {reason}. The arguments began with: {json.dumps(start + more)}"
