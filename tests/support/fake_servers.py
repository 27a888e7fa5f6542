"""Loopback servers that speak the Messages stream and chat completions, and can misbehave on request.

async with MessagesServer([message("Hello"), status(529)]) as server:
    server.url, server.requests
"""

import asyncio
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any, Self


@dataclass(frozen=True)
class Answer:
    """What the server does with one request.

    `chunks` are written one by one as HTTP chunks. `ending` is "whole" (proper end), "cut" (the connection is
    closed without the end), "reset" (closed before any byte of the answer) or "hang" (nothing more comes, the
    connection stays open). `gate` is waited for before chunk `gate_before`.
    """

    chunks: tuple[bytes, ...] = ()
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=lambda: {"content-type": "text/event-stream"})
    ending: str = "whole"
    pause_s: float = 0.0
    gate: asyncio.Event | None = None
    gate_before: int = 0

    def cut_at(self, size: int) -> "Answer":
        """Send only the first `size` bytes, then close the connection."""
        return replace(self, chunks=(b"".join(self.chunks)[:size],), ending="cut")

    def chunked(self, sizes: Callable[[int], int]) -> "Answer":
        """Send the same bytes in chunks; `sizes` gives the size of the n-th."""
        body, parts, start, index = b"".join(self.chunks), [], 0, 0
        while start < len(body):
            size = max(1, sizes(index))
            parts.append(body[start : start + size])
            start, index = start + size, index + 1
        return replace(self, chunks=tuple(parts))

    def mapped(self, change: Callable[[bytes], bytes]) -> "Answer":
        """Send the changed bytes as one chunk."""
        return replace(self, chunks=(change(b"".join(self.chunks)),))

    def held(self, gate: asyncio.Event, *, before: int) -> "Answer":
        """Wait for `gate` before the n-th chunk (0-based)."""
        return replace(self, gate=gate, gate_before=before)

    @property
    def body(self) -> bytes:
        return b"".join(self.chunks)


@dataclass(frozen=True)
class Recorded:
    """One request as it came."""

    method: str
    path: str
    headers: Mapping[str, str]
    raw: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.raw) if self.raw else None


Script = Iterable[Answer] | Callable[[Recorded], Answer]


class FakeServer:
    """Answers POSTs from a script, in order; `requests` holds only those. GETs of models are answered aside."""

    prefix = ""

    def __init__(self, script: Script = (), *, models: Sequence[str] = ("fake-model",)) -> None:
        self.requests: list[Recorded] = []
        self.gets: list[Recorded] = []
        self.problems: list[str] = []
        self._models = list(models)
        self._answers = script if callable(script) else iter(script)
        self._open: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None
        self._stopped = asyncio.Event()
        self.url = ""

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        port = self._server.sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{port}{self.prefix}"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._stopped.set()
        self._server.close()
        for task in list(self._open):
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)
        await self._server.wait_closed()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        try:
            while await self._one(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self._open.discard(task)
            writer.close()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = await reader.readuntil(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        method, path, _ = lines[0].split(" ", 2)
        headers = {n.lower(): v.strip() for n, _, v in (line.partition(":") for line in lines[1:] if line)}
        raw = await reader.readexactly(int(headers.get("content-length", "0")))
        request = Recorded(method, path, headers, raw)
        return await self._write(writer, self._answer(request))

    def _answer(self, request: Recorded) -> Answer:
        if request.method == "GET":
            self.gets.append(request)
            return json_answer(self.listing())
        if request.path.endswith("/count_tokens"):
            return json_answer({"input_tokens": len(request.raw) // 4})
        if request.path.endswith("/api/show"):
            self.gets.append(request)
            return json_answer({"error": "unknown path"}, code=404)
        self.requests.append(request)
        answer = self._answers(request) if callable(self._answers) else next(self._answers, None)
        if answer is None:
            problem = f"the script has no answer for request {len(self.requests)}"
            self.problems.append(problem)
            return json_answer({"error": {"type": "invalid_request_error", "message": problem}}, code=400)
        return answer

    def listing(self) -> dict[str, Any]:
        """The answer to GET /models."""
        raise NotImplementedError

    async def _write(self, writer: asyncio.StreamWriter, answer: Answer) -> bool:
        if answer.ending == "reset":
            writer.transport.abort()
            return False
        lines = [f"HTTP/1.1 {answer.status} x", "transfer-encoding: chunked"]
        lines += [f"{name}: {value}" for name, value in answer.headers.items()]
        writer.write(("\r\n".join(lines) + "\r\n\r\n").encode())
        for index, chunk in enumerate(answer.chunks):
            if answer.gate is not None and index == answer.gate_before:
                await answer.gate.wait()
            if answer.pause_s:
                await asyncio.sleep(answer.pause_s)
            if chunk:
                writer.write(f"{len(chunk):x}\r\n".encode() + chunk + b"\r\n")
            await writer.drain()
        if answer.ending == "hang":
            await self._stopped.wait()
        if answer.ending == "whole":
            writer.write(b"0\r\n\r\n")
            await writer.drain()
        return answer.ending == "whole"


class MessagesServer(FakeServer):
    """Speaks the Messages API."""

    def listing(self) -> dict[str, Any]:
        data = [
            {"type": "model", "id": name, "display_name": name, "created_at": "2026-01-01T00:00:00Z"}
            for name in self._models
        ]
        return {"data": data, "has_more": False, "first_id": None, "last_id": None}


class ChatServer(FakeServer):
    """Speaks chat completions (and the responses API: the script decides)."""

    prefix = "/v1"

    def listing(self) -> dict[str, Any]:
        return {"object": "list", "data": [{"id": name, "object": "model"} for name in self._models]}


def json_answer(body: object, *, code: int = 200, headers: Mapping[str, str] | None = None) -> Answer:
    """One JSON body."""
    return Answer(
        chunks=(json.dumps(body).encode(),),
        status=code,
        headers={"content-type": "application/json", **(headers or {})},
    )


def status(
    code: int, *, message: str = "no", kind: str = "api_error", headers: Mapping[str, str] | None = None
) -> Answer:
    """An error in the shape both APIs share."""
    return json_answer(
        {"type": "error", "error": {"type": kind, "message": message}}, code=code, headers=headers
    )


def page(html: str, *, code: int = 502) -> Answer:
    """A web page where an answer should be."""
    return Answer(chunks=(html.encode(),), status=code, headers={"content-type": "text/html"})


def sse(events: Iterable[object], *, named: bool) -> Answer:
    """A stream, one HTTP chunk per event; `named` adds the `event:` lines of the Messages API."""
    chunks: list[bytes] = []
    for event in events:
        data = event if isinstance(event, str) else json.dumps(event, ensure_ascii=False)
        name = f"event: {event.get('type')}\n" if named and isinstance(event, dict) else ""
        chunks.append(f"{name}data: {data}\n\n".encode())
    return Answer(chunks=tuple(chunks))


@dataclass(frozen=True)
class Tool:
    """A call the fake model makes; `arguments` as a dict or as raw text."""

    id: str
    name: str
    arguments: Mapping[str, Any] | str = field(default_factory=dict)

    @property
    def json(self) -> str:
        return self.arguments if isinstance(self.arguments, str) else json.dumps(self.arguments)


def message_events(
    text: str = "",
    *,
    tools: Sequence[Tool] = (),
    thinking: str = "",
    signature: str = "",
    redacted: str = "",
    stop_reason: str = "",
    model: str = "claude-sonnet-5-5",
    usage: Mapping[str, int] | None = None,
    piece: int = 8,
) -> list[dict[str, Any]]:
    """The events of one Messages reply: thinking, redacted thinking, text, tools, in pieces of `piece` characters."""
    events: list[dict[str, Any]] = [
        {
            "type": "message_start",
            "message": {
                "id": "msg_1",
                "type": "message",
                "role": "assistant",
                "model": model,
                "content": [],
                "stop_reason": None,
                "stop_sequence": None,
                "usage": {"input_tokens": 25, "output_tokens": 1, **(usage or {})},
            },
        }
    ]
    blocks: list[tuple[dict[str, Any], list[dict[str, Any]]]] = []
    if thinking or signature:
        deltas = [{"type": "thinking_delta", "thinking": part} for part in _parts(thinking, piece)]
        deltas.append({"type": "signature_delta", "signature": signature})
        blocks.append(({"type": "thinking", "thinking": "", "signature": ""}, deltas))
    if redacted:
        blocks.append(({"type": "redacted_thinking", "data": redacted}, []))
    if text:
        blocks.append(
            (
                {"type": "text", "text": ""},
                [{"type": "text_delta", "text": part} for part in _parts(text, piece)],
            )
        )
    for tool in tools:
        start = {"type": "tool_use", "id": tool.id, "name": tool.name, "input": {}}
        blocks.append(
            (
                start,
                [
                    {"type": "input_json_delta", "partial_json": part}
                    for part in ["", *_parts(tool.json, piece)]
                ],
            )
        )
    for index, (start, deltas) in enumerate(blocks):
        events.append({"type": "content_block_start", "index": index, "content_block": start})
        events.extend({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas)
        events.append({"type": "content_block_stop", "index": index})
    events.append(
        {
            "type": "message_delta",
            "delta": {
                "stop_reason": stop_reason or ("tool_use" if tools else "end_turn"),
                "stop_sequence": None,
            },
            "usage": {"output_tokens": 15},
        }
    )
    events.append({"type": "message_stop"})
    return events


def message(text: str = "", **parts: Any) -> Answer:
    """One Messages reply as a stream; the parts of `message_events`."""
    return sse(message_events(text, **parts), named=True)


def completion_events(
    text: str = "",
    *,
    tools: Sequence[Tool] = (),
    reasoning: str = "",
    reasoning_field: str = "reasoning_content",
    finish_reason: str = "",
    usage: Mapping[str, Any] | None = None,
    piece: int = 8,
) -> list[Any]:
    """The events of one chat completion, `[DONE]` last."""

    def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        return {
            "id": "chatcmpl-1",
            "object": "chat.completion.chunk",
            "created": 1,
            "model": "fake-model",
            "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
        }

    events: list[Any] = [chunk({"role": "assistant", "content": None})]
    events.extend(chunk({reasoning_field: part}) for part in _parts(reasoning, piece))
    events.extend(chunk({"content": part}) for part in _parts(text, piece))
    for index, tool in enumerate(tools):
        start = {
            "index": index,
            "id": tool.id,
            "type": "function",
            "function": {"name": tool.name, "arguments": ""},
        }
        events.append(chunk({"tool_calls": [start]}))
        events.extend(
            chunk({"tool_calls": [{"index": index, "function": {"arguments": part}}]})
            for part in _parts(tool.json, piece)
        )
    events.append(chunk({}, finish_reason or ("tool_calls" if tools else "stop")))
    if usage is not None:
        events.append(
            {"id": "chatcmpl-1", "object": "chat.completion.chunk", "choices": [], "usage": dict(usage)}
        )
    return [*events, "[DONE]"]


def completion(text: str = "", **parts: Any) -> Answer:
    """One chat completion as a stream; the parts of `completion_events`."""
    return sse(completion_events(text, **parts), named=False)


def _parts(text: str, size: int) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)]
