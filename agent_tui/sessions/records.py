"""What a session file may hold: one pydantic type per kind of record."""

from typing import Annotated, Literal

from pydantic import ConfigDict, Field, TypeAdapter

from agent_tui.protocol.data import Data, JsonObject
from agent_tui.protocol.messages import AssistantMessage, Message, UserMessage
from agent_tui.protocol.permissions import PermissionRequest, Verdict
from agent_tui.protocol.tools import ToolCall, ToolCallOutcome


class Record(Data):
    """What every record carries.

    `id` is unique within the file, `parent` names the entry before it ("" for the first), `at` is POSIX time in seconds.
    Fields that a newer program added are ignored: they add facts, they never change what the others mean.
    """

    model_config = ConfigDict(extra="ignore")

    id: str
    parent: str = ""
    at: float = 0.0
    turn_id: str = ""


class HeaderRecord(Record):
    """The first line. `workspace_inode` is "device:inode" of the directory, to find it again when it was renamed.

    `with_screen` is false for one that a script began.
    """

    type: Literal["header"] = "header"
    version: int
    session_id: str
    workspace: str
    workspace_inode: str = ""
    name: str = ""
    program: str = ""
    forked_from: str = ""
    with_screen: bool = True


class UserRecord(Record):
    """A prompt: `text` as typed, "" for a note that the program wrote; `message` as sent."""

    type: Literal["user"] = "user"
    text: str
    message: UserMessage


class AssistantRecord(Record):
    """A whole reply."""

    type: Literal["assistant"] = "assistant"
    message: AssistantMessage


class RoundRecord(Record):
    """The calls of a reply, before any of them was prepared."""

    type: Literal["round"] = "round"
    calls: tuple[ToolCall, ...]


class ApprovalRequestRecord(Record):
    """What was about to be asked."""

    type: Literal["approval_request"] = "approval_request"
    requests: tuple[PermissionRequest, ...]


class ApprovalResponseRecord(Record):
    """The answers, before a tool ran."""

    type: Literal["approval_response"] = "approval_response"
    verdicts: tuple[Verdict, ...]


class SignedResponseRecord(Record):
    """An answer from outside to a deferred approval (`approvals.SignedResponse`); checked when it is used."""

    type: Literal["signed_response"] = "signed_response"
    response: JsonObject


class NonceUsedRecord(Record):
    """A signed answer was used; it never counts again."""

    type: Literal["nonce_used"] = "nonce_used"
    nonce: str


class OutcomeRecord(Record):
    """One call's answer."""

    type: Literal["outcome"] = "outcome"
    outcome: ToolCallOutcome


class ShellLineRecord(Record):
    """What a shell line of a person's `command` came to; it stands behind the prompt and is no call of the model."""

    type: Literal["shell_line"] = "shell_line"
    command: str
    outcome: ToolCallOutcome


class ResultsRecord(Record):
    """The message with all results of a round, and what the person said meanwhile."""

    type: Literal["results"] = "results"
    message: UserMessage


class CompactedRecord(Record):
    """The conversation that replaces the one so far; `summary` is "" when only old results were shortened."""

    type: Literal["compacted"] = "compacted"
    messages: tuple[Message, ...]
    summary: str


class TodoRecord(Record):
    """The todo list as it is from here on."""

    type: Literal["todo"] = "todo"
    items: tuple[JsonObject, ...]


class CheckpointRecord(Record):
    """The state of the files at this point: `tree` names it, `uncovered` says what it leaves out.

    `left` are paths that a move back did not touch because they were the person's.
    """

    type: Literal["checkpoint"] = "checkpoint"
    tree: str
    label: str = ""
    changed: tuple[str, ...] = ()
    uncovered: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    doubtful: bool = False


class TurnEndRecord(Record):
    """How a turn ended."""

    type: Literal["turn_end"] = "turn_end"
    stop_reason: str


class LeafRecord(Record):
    """The active entry is `target` from here on ("" is before the first). Nothing is ever deleted."""

    type: Literal["leaf"] = "leaf"
    target: str
    why: str = ""


class RenameRecord(Record):
    """The person named the session."""

    type: Literal["rename"] = "rename"
    name: str


class LabelRecord(Record):
    """The person named an entry; "" takes the name away."""

    type: Literal["label"] = "label"
    target: str
    label: str


SessionRecord = Annotated[
    HeaderRecord
    | UserRecord
    | AssistantRecord
    | RoundRecord
    | ApprovalRequestRecord
    | ApprovalResponseRecord
    | SignedResponseRecord
    | NonceUsedRecord
    | OutcomeRecord
    | ShellLineRecord
    | ResultsRecord
    | CompactedRecord
    | TodoRecord
    | CheckpointRecord
    | TurnEndRecord
    | LeafRecord
    | RenameRecord
    | LabelRecord,
    Field(discriminator="type"),
]

RECORD_ADAPTER: TypeAdapter[SessionRecord] = TypeAdapter(SessionRecord, config={"defer_build": True})
"""Reads a record from a dict in which everything left out was filled in again (`encoding.Filler`)."""
