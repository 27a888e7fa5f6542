"""Leaves out of a record what an earlier one says already, moves large texts to blobs, and undoes both.

A call's arguments stand in the reply, in the round, in the approval and in the outcome, its output in the outcome, in
the display and in the message of results: each is stored once. Null marks what was left out.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import cast

from agent_tui.sessions.blobs import BLOB_CHARS, Blobs
from agent_tui.sessions.frames import Json, RawRecord, dumps, seal, text_of

_DISPLAY_DEFAULTS: dict[str, Json] = {
    "content_type": "plain_text",
    "is_truncated": False,
    "full_length": 0,
    "full_lines": 0,
    "language": "",
    "path": "",
    "first_line": 0,
    "summary": "",
    "starts_open": False,
    "images": [],
}
_OUTCOME_DEFAULTS: dict[str, Json] = {
    "display_name": "",
    "title": "",
    "summary": "",
    "elapsed_s": 0.0,
    "effect": "ran",
}


def as_object(value: Json) -> RawRecord:
    """Give a JSON object, {} for anything else."""
    return value if isinstance(value, dict) else {}


def as_objects(value: Json) -> list[RawRecord]:
    """Give the objects of a JSON list, [] for anything else."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


@dataclass
class _Known:
    """What earlier records said of the calls of the running round, by call id."""

    arguments: dict[str, str] = field(default_factory=dict[str, str])
    results: dict[str, RawRecord] = field(default_factory=dict[str, RawRecord])

    def learn(self, record: RawRecord) -> None:
        """Take note of a whole record."""
        match record.get("type"):
            case "assistant":
                self.arguments.clear()
                self.results.clear()
                for block in as_objects(as_object(record.get("message")).get("content")):
                    if block.get("type") == "tool_use":
                        self.arguments[text_of(block, "id")] = text_of(block, "arguments_json")
            case "outcome":
                outcome = as_object(record.get("outcome"))
                self.results[text_of(outcome, "tool_use_id")] = as_object(outcome.get("result"))
            case _:
                pass


class Slimmer:
    """Makes the line of each record; records come in the order of the file."""

    def __init__(self, redact: Callable[[str], str], put_blob: Callable[[str], str] | None) -> None:
        self._redact = redact
        self._put_blob = put_blob
        self._known = _Known()

    def line(self, record: RawRecord) -> bytes:
        """Give the line of `record`, which is changed on the way. A blob that cannot be stored stays in the line."""
        _slim(record, self._known)
        text = self._json(record)
        if len(text) > BLOB_CHARS and self._put_blob is not None:
            moved = _move_large(record, self._stored)
            if moved:
                record["blobs"] = cast("Json", moved)
                text = self._json(record)
        return seal(text)

    def _json(self, record: RawRecord) -> str:
        return self._redact(dumps(record))

    def _stored(self, text: str) -> str | None:
        if self._put_blob is None:
            return None
        try:
            return self._put_blob(self._redact(text))
        except OSError:
            return None


class Filler:
    """Puts back what was left out; records come in the order of the file. They are changed in place."""

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs
        self._known = _Known()

    def fill(self, record: RawRecord) -> RawRecord:
        """Give `record` whole again. A blob that is lost leaves a sentence in its place."""
        self.load_blobs(record)
        match record.get("type"):
            case "round":
                for call in as_objects(record.get("calls")):
                    self._fill_arguments(call, text_of(call, "call_id"))
            case "approval_request":
                for request in as_objects(record.get("requests")):
                    self._fill_arguments(request, text_of(request, "call_id"))
            case "outcome" | "shell_line":
                outcome = as_object(record.get("outcome"))
                self._fill_arguments(as_object(outcome.get("call")), text_of(outcome, "tool_use_id"))
                display = as_object(outcome.get("display"))
                if display.get("content") is None:
                    display["content"] = as_object(outcome.get("result")).get("output")
            case "results":
                for block in as_objects(as_object(record.get("message")).get("content")):
                    self._fill_result(block)
            case _:
                pass
        self._known.learn(record)
        return record

    def load_blobs(self, record: RawRecord) -> RawRecord:
        """Put only the large texts back."""
        for place in as_objects(record.pop("blobs", None)):
            self._put_back(record, place)
        return record

    def _fill_arguments(self, call: RawRecord, call_id: str) -> None:
        if call.get("arguments_json") is None:
            call["arguments_json"] = self._known.arguments.get(call_id, "{}")

    def _fill_result(self, block: RawRecord) -> None:
        if block.get("type") == "tool_result" and block.get("content") is None:
            known = self._known.results.get(text_of(block, "tool_use_id"), {})
            block["content"] = known.get("output", "(the result was lost)")
            block["is_error"] = known.get("is_error", True)
            block["images"] = known.get("images", [])

    def _put_back(self, record: RawRecord, place: RawRecord) -> None:
        text = self._blobs.get(text_of(place, "blob"))
        target: Json = record
        path = place.get("path")
        steps: list[Json] = path if isinstance(path, list) else []
        try:
            for step in steps[:-1]:
                target = _step(target, step)
            if isinstance(target, dict):
                target[str(steps[-1])] = "(this text was lost with its file)" if text is None else text
            elif isinstance(target, list):
                target[int(cast("int", steps[-1]))] = "" if text is None else text
        except (KeyError, IndexError, TypeError, ValueError):
            return  # a path that leads nowhere: the record is checked as a whole afterwards


def _step(target: Json, step: Json) -> Json:
    if isinstance(target, dict):
        return target[str(step)]
    if isinstance(target, list):
        return target[int(cast("int", step))]
    raise KeyError(step)


def _slim(record: RawRecord, known: _Known) -> None:
    match record.get("type"):
        case "round":
            for call in as_objects(record.get("calls")):
                _slim_arguments(call, text_of(call, "call_id"), known)
        case "approval_request":
            for request in as_objects(record.get("requests")):
                _slim_arguments(request, text_of(request, "call_id"), known)
        case "outcome":
            outcome = as_object(record.get("outcome"))
            known.results[text_of(outcome, "tool_use_id")] = dict(as_object(outcome.get("result")))
            _slim_outcome(outcome, known)
        case "shell_line":
            _slim_outcome(as_object(record.get("outcome")), known)
        case "results":
            for block in as_objects(as_object(record.get("message")).get("content")):
                _slim_result(block, known)
        case "assistant":
            known.learn(record)
        case _:
            pass


def _slim_arguments(call: RawRecord, call_id: str, known: _Known) -> None:
    if call.get("arguments_json") == known.arguments.get(call_id):
        call["arguments_json"] = None


def _slim_outcome(outcome: RawRecord, known: _Known) -> None:
    _slim_arguments(as_object(outcome.get("call")), text_of(outcome, "tool_use_id"), known)
    display, result = as_object(outcome.get("display")), as_object(outcome.get("result"))
    if display.get("content") == result.get("output"):
        display["content"] = None
    _drop(display, _DISPLAY_DEFAULTS)
    _drop(outcome, _OUTCOME_DEFAULTS)


def _slim_result(block: RawRecord, known: _Known) -> None:
    result = known.results.get(text_of(block, "tool_use_id"))
    if (
        result is not None
        and block.get("content") == result.get("output")
        and block.get("is_error") == result.get("is_error")
        and block.get("images") == result.get("images")
    ):
        for key in ("content", "is_error", "images"):
            del block[key]


def _drop(values: RawRecord, defaults: RawRecord) -> None:
    for key, default in defaults.items():
        if values.get(key) == default:
            values.pop(key, None)


def _move_large(record: RawRecord, store: Callable[[str], str | None]) -> list[RawRecord]:
    """Replace strings over 64 KB by "" and say where they stood and which blob holds them."""
    moved: list[RawRecord] = []
    for holder, key, path in list(_large(record, [])):
        text = cast("str", cast("RawRecord", holder)[cast("str", key)])
        name = store(text)
        if name is not None:
            cast("RawRecord", holder)[cast("str", key)] = ""
            moved.append({"path": path, "blob": name})
    return moved


def _large(value: Json, path: list[Json]) -> Iterator[tuple[Json, Json, list[Json]]]:
    items: list[tuple[Json, Json]] = []
    if isinstance(value, dict):
        items = [(key, item) for key, item in value.items()]
    elif isinstance(value, list):
        items = list(enumerate(value))
    for key, item in items:
        if isinstance(item, str):
            if len(item) > BLOB_CHARS:
                yield value, key, [*path, key]
        elif isinstance(item, dict | list):
            yield from _large(item, [*path, key])
