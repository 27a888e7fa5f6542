"""Reads sessions of other programs into records of ours: agent-tui's export, Claude Code, Codex, opencode."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import cast

from agent_tui.protocol.errors import SessionError
from agent_tui.protocol.json_text import parse_json
from agent_tui.protocol.plain_reasons import unreadable
from agent_tui.sessions.encoding import as_object, as_objects
from agent_tui.sessions.frames import Json, RawRecord, text_of
from agent_tui.sessions.import_opencode import opencode_lines

_MAX_BYTES = 512 * 1024 * 1024


def records_from(path: Path) -> tuple[list[RawRecord], str]:
    """Give a foreign session's records and its name. Raises SessionError when nothing in it is understood."""
    try:
        with path.open("rb") as file:
            data = file.read(_MAX_BYTES + 1)  # a device tells no size and may have no end
    except OSError as error:
        raise SessionError(unreadable(error), path=path) from error
    if len(data) > _MAX_BYTES:
        raise SessionError(f"holds more than {_MAX_BYTES:,} bytes: too large to import", path=path)
    lines = [line for raw in data.split(b"\n") if (line := _object(raw))]
    if lines and lines[0].get("type") == "header" and "version" in lines[0]:
        name = next(
            (text_of(r, "name") for r in reversed(lines) if r.get("type") in ("rename", "header")), ""
        )
        return lines[1:], name
    chain = _Chain()
    for line in lines:
        chain.add(line)
    if not chain.records:
        foreign, chain.name = opencode_lines(_object(data), path)
        for line in foreign:
            chain.add(line)
    if not chain.records:
        raise SessionError(
            "holds no session that can be read (JSONL of agent-tui, Claude Code or Codex, what 'opencode export' writes)",
            path=path,
        )
    chain.end()
    return chain.records, chain.name


def _object(line: bytes) -> RawRecord:
    try:
        value = cast("Json", parse_json(line)) if line.strip() else None
    except ValueError:
        return {}
    return as_object(value)


class _Chain:
    """Links foreign messages into one path."""

    def __init__(self) -> None:
        self.records: list[RawRecord] = []
        self.name = ""
        self._names: dict[str, str] = {}

    def add(self, line: RawRecord) -> None:
        """Take one line of Claude Code ({"type", "message"}) or of Codex ({"type": "response_item", "payload"})."""
        match line.get("type"):
            case "user" | "assistant" if not line.get("isSidechain") and not line.get("isMeta"):
                self._claude(text_of(line, "type"), as_object(line.get("message")))
            case "summary":
                self.name = text_of(line, "summary")
            case "response_item":
                self._codex(as_object(line.get("payload")))
            case _:
                pass

    def _claude(self, role: str, message: RawRecord) -> None:
        content = message.get("content")
        plain: list[RawRecord] = [{"type": "text", "text": content}]
        blocks = plain if isinstance(content, str) else as_objects(content)
        if role == "assistant":
            self._reply(
                [block for foreign in blocks for block in _reply_blocks(foreign)], text_of(message, "model")
            )
            return
        results = [_result(block) for block in blocks if block.get("type") == "tool_result"]
        words = "\n\n".join(text_of(block, "text") for block in blocks if block.get("type") == "text")
        if results:
            self._results(results)
        if words.strip():
            self._prompt(words)

    def _codex(self, payload: RawRecord) -> None:
        match payload.get("type"):
            case "message":
                words = "\n\n".join(text_of(block, "text") for block in as_objects(payload.get("content")))
                if payload.get("role") == "user" and not words.lstrip().startswith("<"):
                    self._prompt(words)
                elif payload.get("role") == "assistant" and words.strip():
                    self._reply([{"type": "text", "text": words}], "")
            case "function_call":
                use: RawRecord = {
                    "type": "tool_use",
                    "id": text_of(payload, "call_id"),
                    "name": text_of(payload, "name"),
                    "arguments_json": text_of(payload, "arguments") or "{}",
                }
                self._reply([use], "")
            case "function_call_output":
                output = payload.get("output")
                text = output if isinstance(output, str) else json.dumps(output)
                self._results(
                    [{"type": "tool_result", "tool_use_id": text_of(payload, "call_id"), "content": text}]
                )
            case _:
                pass

    def end(self) -> None:
        """End the last turn, when its last reply asked for no more calls."""
        if as_object(self.records[-1].get("message")).get("stop_reason") == "end_turn":
            self._append({"type": "turn_end", "stop_reason": "end_turn"})

    def _prompt(self, words: str) -> None:
        message: RawRecord = {"role": "user", "content": [{"type": "text", "text": words}]}
        self._append({"type": "user", "text": words, "message": message})

    def _reply(self, blocks: list[RawRecord], model: str) -> None:
        if not blocks:
            return
        uses = {text_of(b, "id"): text_of(b, "name") for b in blocks if b.get("type") == "tool_use"}
        self._names.update(uses)
        message: RawRecord = {
            "role": "assistant",
            "content": cast("Json", blocks),
            "provider": "imported",
            "model": model,
            "stop_reason": "tool_use" if uses else "end_turn",
        }
        self._append({"type": "assistant", "message": message})

    def _results(self, results: list[RawRecord]) -> None:
        for result in results:
            call_id = text_of(result, "tool_use_id")
            name, output = self._names.get(call_id, "tool"), text_of(result, "content")
            is_error = bool(result.get("is_error"))
            outcome: RawRecord = {
                "tool_use_id": call_id,
                "tool_name": name,
                "call": {"call_id": call_id, "name": name, "arguments_json": None},
                "result": {"output": output, "is_error": is_error},
                "display": {
                    "content": output[:10_000],
                    "full_length": len(output),
                    "is_truncated": len(output) > 10_000,
                },
                "effect": "failed" if is_error else "ran",
            }
            self._append({"type": "outcome", "outcome": outcome})
        self._append({"type": "results", "message": {"role": "user", "content": cast("Json", results)}})

    def _append(self, record: RawRecord) -> None:
        parent = text_of(self.records[-1], "id") if self.records else ""
        self.records.append({**record, "id": os.urandom(6).hex(), "parent": parent, "turn_id": "imported"})


def _reply_blocks(block: RawRecord) -> Iterator[RawRecord]:
    match block.get("type"):
        case "text":
            yield {"type": "text", "text": text_of(block, "text")}
        case "thinking":
            yield {"type": "thinking", "text": text_of(block, "thinking")}
        case "tool_use":
            yield {
                "type": "tool_use",
                "id": text_of(block, "id"),
                "name": text_of(block, "name"),
                "arguments_json": json.dumps(block.get("input") or {}),
            }
        case _:
            pass


def _result(block: RawRecord) -> RawRecord:
    content = block.get("content")
    parts = [content] if isinstance(content, str) else [text_of(part, "text") for part in as_objects(content)]
    return {
        "type": "tool_result",
        "tool_use_id": text_of(block, "tool_use_id"),
        "content": "\n".join(parts),
        "is_error": bool(block.get("is_error")),
    }
