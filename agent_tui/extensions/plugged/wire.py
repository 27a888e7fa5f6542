"""The messages an extension's process writes: one JSON object a line, told apart by `type`."""

import json
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, TypeAdapter

from agent_tui.protocol.data import without_half_pairs

PROTOCOL = 1
MAX_LINE_BYTES = 16 << 20


class _Message(BaseModel):
    """Unknown fields are skipped, so that a later protocol can add some."""

    model_config = ConfigDict(frozen=True, extra="ignore", defer_build=True)


class RegisterTool(_Message):
    """Offers a tool; before `ready`."""

    type: Literal["register_tool"]
    name: str
    description: str
    parameters: dict[str, JsonValue] | None = Field(default=None, alias="schema")
    readable: bool = False
    timeout_s: float = 0
    detail: bool = False


class RegisterCommand(_Message):
    """Adds a slash command; before `ready`."""

    type: Literal["register_command"]
    name: str
    description: str
    needs_args: bool = False


class Subscribe(_Message):
    """Asks for events; before `ready`."""

    type: Literal["subscribe"]
    events: tuple[str, ...]


class Ready(_Message):
    """Ends the handshake."""

    type: Literal["ready"]
    protocol: int = PROTOCOL


class Result(_Message):
    """Answers `call`, `detail` or `command`. `error` is a text, "" when it went well."""

    type: Literal["result"]
    id: int
    content: str = ""
    detail: str = ""
    output: str = ""
    expanded: bool = False
    error: str = ""


class Output(_Message):
    """Live output of a running call."""

    type: Literal["output"]
    id: int
    text: str


class Confirm(_Message):
    """Asks the person; answered by `confirmed` with the same id."""

    type: Literal["confirm"]
    id: int | str
    title: str
    message: str = ""
    yes: str = "Yes"
    no: str = "No"
    danger: bool = False


class Notify(_Message):
    """Shows a text."""

    type: Literal["notify"]
    level: Literal["info", "warning", "error"] = "info"
    text: str


class Submit(_Message):
    """Queues a message for the model."""

    type: Literal["submit"]
    text: str


class SetStatus(_Message):
    """Shows a text in the status line."""

    type: Literal["set_status"]
    text: str


Said = Annotated[
    RegisterTool
    | RegisterCommand
    | Subscribe
    | Ready
    | Result
    | Output
    | Confirm
    | Notify
    | Submit
    | SetStatus,
    Field(discriminator="type"),
]
_SAID: TypeAdapter[Said] = TypeAdapter(Said, config={"defer_build": True})


def read_message(line: bytes) -> Said:
    """Read one line. Raises ValueError for what is no message."""
    return _SAID.validate_json(without_half_pairs(line.decode("utf-8", "replace")))


def written(message: dict[str, Any]) -> bytes:
    """Give a message of ours as its line. No line break stands inside it."""
    return json.dumps(message, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
