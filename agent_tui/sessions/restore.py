"""Gives a stored conversation back to the model, with an answer for every call whatever the program died of."""

from collections.abc import Callable, Iterable, Iterator

from pydantic import ValidationError

from agent_tui.protocol.call_names import plain_name, plain_title
from agent_tui.protocol.messages import (
    AssistantMessage,
    ToolResultBlock,
    ToolUseBlock,
    UserMessage,
)
from agent_tui.protocol.permissions import PermissionRequest
from agent_tui.protocol.tools import ToolCallOutcome
from agent_tui.sessions.blobs import Blobs
from agent_tui.sessions.encoding import Filler
from agent_tui.sessions.frames import RawRecord, no_collection
from agent_tui.sessions.records import (
    RECORD_ADAPTER,
    ApprovalRequestRecord,
    ApprovalResponseRecord,
    AssistantRecord,
    CompactedRecord,
    OutcomeRecord,
    ResultsRecord,
    SessionRecord,
    TodoRecord,
    TurnEndRecord,
    UserRecord,
)
from agent_tui.sessions.restored import Restored

INTERRUPTED = (
    "Interrupted: the program ended before this call was answered. It may or may not have taken effect; check before "
    "you repeat it."
)
_OF_A_TURN = (UserRecord, AssistantRecord, OutcomeRecord, ResultsRecord)
NEVER_RAN = "Not run: it waited for an approval that was not given before the program ended."


def typed(path: Iterable[RawRecord], blobs: Blobs) -> Iterator[SessionRecord | None]:
    """Give the entries of `path` as typed records, None for each that could not be understood."""
    filler = Filler(blobs)
    for raw in path:
        try:
            yield RECORD_ADAPTER.validate_python(filler.fill(raw))
        except ValidationError:
            yield None


def restore(
    path: Iterable[RawRecord],
    blobs: Blobs,
    *,
    keep_pending: bool = False,
    replied: Callable[[AssistantMessage], None] | None = None,
) -> Restored:
    """Give the conversation of the entries of `path`, oldest first.

    Calls without a result are answered as interrupted; with `keep_pending` the calls of a last reply that waits for
    approvals stay open, so that the turn can be driven again. Of a `path` that is made as it goes, only what counts in
    the end is held: a compaction lets go of the messages before it. `replied` is told every reply, also those.
    """
    building = _Building(Restored(), replied)
    with no_collection():  # halves the time for 10,000 blocks
        for record in typed(path, blobs):
            building.add(record)
    return building.finish(keep_pending=keep_pending)


class _Building:
    """Collects the conversation record by record."""

    def __init__(self, restored: Restored, replied: Callable[[AssistantMessage], None] | None) -> None:
        self._restored = restored
        self._replied = replied
        self._open: dict[str, ToolUseBlock] = {}
        self._outcomes: dict[str, ToolCallOutcome] = {}
        self._requests: dict[str, PermissionRequest] = {}
        self._in_turn = False

    def add(self, record: SessionRecord | None) -> None:
        """Take one record; None counts as one that could not be understood."""
        restored = self._restored
        if isinstance(record, _OF_A_TURN) and record.turn_id:  # what is pinned is of none
            self._in_turn = True
        match record:
            case None:
                restored.unread += 1
            case UserRecord():
                self._answer_open()
                restored.messages.append(record.message)
            case AssistantRecord():
                self._answer_open()
                restored.messages.append(record.message)
                restored.usage = restored.usage + record.message.usage
                if self._replied is not None:
                    self._replied(record.message)
                self._open = {
                    block.id: block for block in record.message.content if isinstance(block, ToolUseBlock)
                }
                self._outcomes, self._requests = {}, {}
            case OutcomeRecord():
                self._outcomes[record.outcome.tool_use_id] = record.outcome
                if record.outcome.summary:
                    restored.summaries[record.outcome.tool_use_id] = record.outcome.summary
            case ResultsRecord():
                restored.messages.append(record.message)
                self._open, self._requests = {}, {}
            case ApprovalRequestRecord():
                self._requests.update({request.call_id: request for request in record.requests})
            case ApprovalResponseRecord():
                for verdict in record.verdicts:
                    if not verdict.deferred:
                        self._requests.pop(verdict.call_id, None)
            case CompactedRecord():
                restored.messages = list(record.messages)
            case TodoRecord():
                restored.todos = record.items
            case TurnEndRecord():
                self._in_turn = False
            case _:
                pass

    def finish(self, *, keep_pending: bool) -> Restored:
        """Answer what is open and give the whole."""
        restored = self._restored
        restored.pending = tuple(
            request for call_id, request in self._requests.items() if call_id not in self._outcomes
        )
        restored.interrupted = self._in_turn
        restored.unanswered = tuple(
            _label(call) for call_id, call in self._open.items() if call_id not in self._outcomes
        )
        if keep_pending and restored.pending:
            restored.known = {
                call_id: self._outcomes[call_id] for call_id in self._open if call_id in self._outcomes
            }
        else:
            self._answer_open()
        return restored

    def _answer_open(self) -> None:
        """Answer the calls of the last reply that has no message of results: what is known counts."""
        if self._open:
            self._restored.messages.append(
                UserMessage(content=tuple(self._answer(call_id) for call_id in self._open))
            )
        self._open = {}

    def _answer(self, call_id: str) -> ToolResultBlock:
        outcome = self._outcomes.get(call_id)
        if outcome is not None:
            return ToolResultBlock(
                tool_use_id=call_id,
                content=outcome.result.output,
                is_error=outcome.result.is_error,
                images=outcome.result.images,
            )
        text = NEVER_RAN if self._requests else INTERRUPTED
        return ToolResultBlock(tool_use_id=call_id, content=text, is_error=True)


def _label(call: ToolUseBlock) -> str:
    title = plain_title(call.arguments_json)
    return f"{plain_name(call.name)}: {title}" if title else plain_name(call.name)
