"""Reads a session of opencode: what `opencode export` writes, or the session's own file below its `storage/session`."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import cast

from agent_tui.protocol.json_text import parse_json
from agent_tui.sessions.encoding import as_object, as_objects
from agent_tui.sessions.frames import Json, RawRecord, text_of

_CUT_OFF = "The call did not end."
_MAX_BYTES = 64 * 1024 * 1024


def opencode_lines(whole: RawRecord, path: Path) -> tuple[list[RawRecord], str]:
    """Give the messages as lines of Claude Code's kind, and the title; none when it is no session of opencode."""
    messages = as_objects(whole.get("messages"))
    info = as_object(whole.get("info")) if messages else whole
    if not messages:
        messages = _stored(path, text_of(whole, "id"))
    lines = [line for message in messages for line in _lines(message)]
    return lines, text_of(info, "title")


def _stored(path: Path, session_id: str) -> list[RawRecord]:
    """Read messages and parts that lie beside the session's file, each in a file of its own, ordered by id."""
    storage = path.resolve().parent.parent.parent
    if not session_id or "/" in session_id or session_id.startswith("."):
        return []
    found: list[RawRecord] = []
    for info in _objects(storage / "message" / session_id):
        message_id = text_of(info, "id")
        if message_id and "/" not in message_id and not message_id.startswith("."):
            parts = cast("Json", list(_objects(storage / "part" / message_id)))
            found.append({"info": info, "parts": parts})
    return sorted(found, key=lambda message: _created(as_object(message["info"])))


def _objects(folder: Path) -> Iterator[RawRecord]:
    for file in sorted(folder.glob("*.json")):
        try:
            if file.stat().st_size <= _MAX_BYTES:
                yield as_object(cast("Json", parse_json(file.read_bytes())))
        except (OSError, ValueError):
            continue


def _created(info: RawRecord) -> float:
    at = as_object(info.get("time")).get("created")
    return float(at) if isinstance(at, int | float) else 0.0


def _lines(message: RawRecord) -> Iterator[RawRecord]:
    info, parts = as_object(message.get("info")), as_objects(message.get("parts"))
    match text_of(info, "role"):
        case "user":
            words = [
                text_of(part, "text")
                for part in parts
                if part.get("type") == "text" and not part.get("synthetic") and not part.get("ignored")
            ]
            yield {"type": "user", "message": {"content": "\n\n".join(filter(None, words))}}
        case "assistant":
            for step in _steps(parts):
                yield from _step(step, text_of(info, "modelID"))
        case _:
            pass


def _steps(parts: Sequence[RawRecord]) -> Iterator[list[RawRecord]]:
    """Split a reply's parts into the requests it took: each ends with its calls."""
    step: list[RawRecord] = []
    for part in parts:
        if part.get("type") != "tool" and step and step[-1].get("type") == "tool":
            yield step
            step = []
        if part.get("type") in ("text", "reasoning", "tool"):
            step.append(part)
    if step:
        yield step


def _step(parts: Sequence[RawRecord], model: str) -> Iterator[RawRecord]:
    content: list[Json] = []
    results: list[Json] = []
    for part in parts:
        text = text_of(part, "text")
        match part.get("type"):
            case "text" if text.strip():
                content.append({"type": "text", "text": text})
            case "reasoning" if text.strip():
                content.append({"type": "thinking", "thinking": text})
            case "tool":
                state = as_object(part.get("state"))
                call_id = text_of(part, "callID") or text_of(part, "id")
                arguments = as_object(state.get("input"))
                content.append(
                    {"type": "tool_use", "id": call_id, "name": text_of(part, "tool"), "input": arguments}
                )
                results.append(_result(call_id, state))
            case _:
                pass
    if content:
        yield {"type": "assistant", "message": {"content": content, "model": model}}
    if results:
        yield {"type": "user", "message": {"content": results}}


def _result(call_id: str, state: RawRecord) -> RawRecord:
    failed = state.get("status") != "completed"
    output = (text_of(state, "error") if failed else "") or text_of(state, "output")
    return {
        "type": "tool_result",
        "tool_use_id": call_id,
        "content": output or (_CUT_OFF if failed else ""),
        "is_error": failed,
    }
