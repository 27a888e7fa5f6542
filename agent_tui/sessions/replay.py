"""Makes the transcript's blocks from records, fast enough for 10,000 of them before the first paint."""

from collections.abc import Iterable, Sequence
from typing import cast

from agent_tui.protocol.call_names import plain_name, plain_title
from agent_tui.protocol.json_text import parse_json
from agent_tui.protocol.replay import ReplayBlock, ToolState
from agent_tui.sessions.blobs import Blobs
from agent_tui.sessions.decided import decided
from agent_tui.sessions.encoding import Filler, as_object, as_objects
from agent_tui.sessions.frames import Json, RawRecord, text_of

INTERRUPTED = "Interrupted: the program ended before this call was answered."
WAITS = "Waits for an approval."
NOTE_MARKS = ("<system-note>", "<environment>")
"""How texts begin that the program put into the conversation; the loop writes them."""

_STATES: dict[str, ToolState] = {
    "ran": "done",
    "failed": "error",
    "timeout": "error",
    "invalid": "error",
    "unknown_tool": "error",
    "denied": "denied",
    "cancelled": "cancelled",
    "not_run": "cancelled",
    "pending": "waiting",
}
_TURN_ENDS = {
    "cancelled": "Stopped.",
    "failed": "The turn ended by an error.",
    "round_limit": "The turn ended at its limit of rounds.",
    "budget": "The turn ended at its budget.",
    "pending_approvals": "The turn waits for approvals.",
}


def blocks_of(path: Iterable[RawRecord], blobs: Blobs) -> list[ReplayBlock]:
    """Give the blocks of the entries of `path`, oldest first."""
    replay = Replay(blobs)
    for record in path:
        replay.add(record)
    replay.close()
    return replay.blocks


class Replay:
    """Collects blocks. The calls of a round stand in the order of the request, as they were shown when it began; one that
    has no outcome (a crash) is shown as cut off, unless its turn ended to wait for approvals.
    """

    def __init__(self, blobs: Blobs) -> None:
        self.blocks: list[ReplayBlock] = []
        self._filler = Filler(blobs)
        self._open_calls: dict[str, str] = {}
        self._answered: set[str] = set()
        self._is_paused = False
        self._places: dict[str, int] = {}
        self._arguments: dict[str, str] = {}
        self._asked: dict[str, RawRecord] = {}

    def add(self, record: RawRecord) -> Sequence[int]:
        """Add the blocks of one entry, whose large texts are put back; give where those stand that it tells whole."""
        before = len(self.blocks)
        answered = self._add(record)
        return [answered] if answered is not None else range(before, len(self.blocks))

    def _add(self, record: RawRecord) -> int | None:
        """Add the blocks of one entry; give the place of an outcome."""
        if "blobs" in record and record.get("type") in ("user", "assistant", "compacted"):
            self._filler.load_blobs(record)
        record_id = text_of(record, "id")
        match record.get("type"):
            case "user":
                self._go_on()
                text = text_of(record, "text")
                if text:
                    images = _labels(as_objects(as_object(record.get("message")).get("content")))
                    self.blocks.append(ReplayBlock("user", text, record_id=record_id, images=images))
            case "assistant":
                self._go_on()
                self._add_reply(as_object(record.get("message")), record_id)
            case "round":
                self._begin(as_objects(record.get("calls")))
            case "outcome":
                return self._add_outcome(as_object(record.get("outcome")), record_id)
            case "shell_line":
                self.blocks.append(tool_block(as_object(record.get("outcome")), record_id))
            case "results":
                self._go_on()
                self._add_words(as_object(record.get("message")), record_id)
            case "compacted":
                text = text_of(record, "summary") or "Older results were shortened."
                self.blocks.append(ReplayBlock("notice", f"Compacted. {text}", record_id=record_id))
            case "approval_request":
                for request in as_objects(record.get("requests")):
                    self._asked[text_of(request, "call_id")] = request
            case "approval_response":
                self._add_decision(as_objects(record.get("verdicts")), record_id)
            case "turn_end":
                stop_reason = text_of(record, "stop_reason")
                self._is_paused = stop_reason == "pending_approvals"
                self.close()
                said = _TURN_ENDS.get(stop_reason)
                if said:
                    self.blocks.append(ReplayBlock("notice", said, record_id=record_id))
            case _:
                pass
        return None

    def close(self) -> None:
        """Show calls that have no answer: they wait while their turn is paused, else they never got one."""
        for call_id, tool in self._open_calls.items():
            self.blocks[self._places[call_id]] = self._unanswered(call_id, tool)
        if not self._is_paused:
            self._open_calls = {}

    def _go_on(self) -> None:
        """End a pause: what is open still never gets an answer."""
        self._is_paused = False
        self.close()

    def _begin(self, calls: Sequence[RawRecord]) -> None:
        """Keep a place for each call of a round; after a pause a call has one already, or even its answer."""
        self._is_paused = False
        names = {text_of(call, "call_id"): text_of(call, "name") for call in calls}
        self._open_calls = {call_id: name for call_id, name in names.items() if call_id not in self._answered}
        for call_id, tool in self._open_calls.items():
            if call_id not in self._places:
                self._places[call_id] = len(self.blocks)
                self.blocks.append(ReplayBlock("tool", "", call_id, tool))

    def _unanswered(self, call_id: str, tool: str) -> ReplayBlock:
        arguments, asked = self._arguments.get(call_id, ""), self._asked.get(call_id, {})
        name = text_of(asked, "display_name") or text_of(asked, "tool") or plain_name(tool)
        title = text_of(asked, "title") if asked else plain_title(arguments)
        why = WAITS if self._is_paused else INTERRUPTED
        text = f"{why}\n\n{_readable(arguments)}" if arguments else why
        return ReplayBlock(
            "tool",
            text,
            call_id=call_id,
            tool=tool,
            display_name=name,
            title=title,
            state="waiting" if self._is_paused else "interrupted",
            full_length=len(text),
        )

    def _add_reply(self, message: RawRecord, record_id: str) -> None:
        self._arguments, self._places, self._asked, self._answered = {}, {}, {}, set()
        for block in as_objects(message.get("content")):
            kind = block.get("type")
            text = text_of(block, "text")
            if kind == "text" and text.strip():
                self.blocks.append(ReplayBlock("assistant", text, record_id=record_id))
            elif kind == "thinking" and text.strip():
                self.blocks.append(ReplayBlock("thinking", text, record_id=record_id))
            elif kind == "tool_use":
                self._arguments[text_of(block, "id")] = text_of(block, "arguments_json")

    def _add_words(self, message: RawRecord, record_id: str) -> None:
        for block in as_objects(message.get("content")):
            text = text_of(block, "text")
            if block.get("type") == "text" and not text.startswith(NOTE_MARKS):
                self.blocks.append(ReplayBlock("user", text, record_id=record_id))

    def _add_outcome(self, outcome: RawRecord, record_id: str) -> int:
        call_id = text_of(outcome, "tool_use_id")
        self._open_calls.pop(call_id, None)
        self._answered.add(call_id)
        at = self._places.get(call_id, len(self.blocks))
        self.blocks[at : at + 1] = [tool_block(outcome, record_id)]
        return at

    def _add_decision(self, verdicts: Sequence[RawRecord], record_id: str) -> None:
        for verdict in verdicts:
            call_id = text_of(verdict, "call_id")
            if asked := self._asked.get(call_id):
                text = decided(asked, verdict)
                self.blocks.append(ReplayBlock("decision", text, call_id, record_id=record_id))


def tool_block(outcome: RawRecord, record_id: str, *, whole: bool = False) -> ReplayBlock:
    """Give the panel of an outcome; `whole` shows what the model read instead of the cut text for the screen."""
    display, result = as_object(outcome.get("display")), as_object(outcome.get("result"))
    content = display.get("content")
    if whole or not isinstance(content, str):
        content = text_of(result, "output")
    effect = text_of(outcome, "effect") or "ran"
    state = _STATES.get(effect, "error")
    if state == "done" and result.get("is_error"):
        state = "error"
    tool = text_of(outcome, "tool_name")
    return ReplayBlock(
        "tool",
        content,
        text_of(outcome, "tool_use_id"),
        tool,
        text_of(outcome, "display_name") or tool,
        text_of(outcome, "title"),
        state,
        _number(outcome.get("elapsed_s")),
        "plain_text" if whole else text_of(display, "content_type") or "plain_text",
        text_of(display, "language"),
        text_of(display, "path"),
        0 if whole else int(_number(display.get("first_line"))),
        bool(display.get("is_truncated")) and not whole,
        int(_number(display.get("full_length"))) or len(content),
        int(_number(display.get("full_lines"))),
        text_of(display, "summary"),
        "",
        record_id,
        bool(display.get("starts_open")),
        tuple(line for line in _list(display.get("images")) if isinstance(line, str)),
    )


def _labels(blocks: Sequence[RawRecord]) -> tuple[str, ...]:
    """Give the lines that stand for the images among the blocks of a message."""
    images = (block for block in blocks if block.get("type") == "image")
    return tuple(text_of(block, "label") or text_of(block, "media_type") or "an image" for block in images)


def _list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []


def _readable(arguments_json: str) -> str:
    """Give arguments one a line, as they were written when they are no object."""
    try:
        arguments: object = parse_json(arguments_json)
    except ValueError:
        return arguments_json
    if not isinstance(arguments, dict):
        return arguments_json
    return "\n".join(f"{key}: {value}" for key, value in cast("dict[str, object]", arguments).items())


def _number(value: Json) -> float:
    return cast("float", value) if isinstance(value, int | float) else 0.0
