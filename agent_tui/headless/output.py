"""Writes a headless run to standard output and standard error in one of three formats."""

import errno
import json
import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Literal, Protocol, TextIO

from pydantic import JsonValue

from agent_tui.protocol.data import JsonObject
from agent_tui.protocol.errors import UsageError
from agent_tui.protocol.events import (
    AssistantFinished,
    Event,
    Notice,
    Retrying,
    TextDelta,
    ThinkingDelta,
    ToolDenied,
    ToolFinished,
    ToolStarted,
    TurnFailed,
)
from agent_tui.protocol.messages import AssistantMessage, TextBlock, ThinkingBlock
from agent_tui.protocol.tools import TurnResult
from agent_tui.toolkit.terminal_text import strip_sequences

OutputFormat = Literal["text", "json", "stream-json"]


class RunFacts(Protocol):
    """What the first and the last line of a run tell."""

    @property
    def session_id(self) -> str: ...

    @property
    def provider(self) -> str: ...

    @property
    def model(self) -> str: ...

    @property
    def mode(self) -> str: ...

    @property
    def workspace(self) -> str: ...


class Output:
    """An event sink. `out` gets the answer, `err` the progress; `partial` adds deltas to stream-json.

    `last_message` is a file that gets the answer too. `verbose` adds thoughts, arguments and whole results to the
    progress.
    """

    def __init__(
        self,
        kind: OutputFormat,
        *,
        out: TextIO,
        err: TextIO,
        quiet: bool = False,
        verbose: bool = False,
        partial: bool = False,
        last_message: Path | None = None,
    ) -> None:
        self._kind = kind
        self._out = out
        self._err = err
        self._quiet = quiet
        self._verbose = verbose
        self._partial = partial
        self._last_message = last_message
        self._started = time.monotonic()
        self._denied: list[JsonObject] = []
        self.error = ""

    def begin(self, facts: RunFacts, tools: list[str]) -> None:
        """Write the first line of stream-json: who runs, with which tools."""
        if self._kind == "stream-json":
            self.line(
                {
                    "type": "session_started",
                    "session_id": facts.session_id,
                    "provider": facts.provider,
                    "model": facts.model,
                    "mode": facts.mode,
                    "cwd": facts.workspace,
                    "tools": list[JsonValue](tools),
                }
            )

    async def __call__(self, event: Event) -> None:
        """Write one event."""
        if isinstance(event, ToolDenied) and not event.origin:
            self._denied.append({"call_id": event.call_id, "tool": event.tool, "reason": event.reason})
        if isinstance(event, TurnFailed) and not event.origin:
            self.error = event.error
        if self._kind == "stream-json":
            if self._partial or not isinstance(event, TextDelta | ThinkingDelta):
                self._out.write(event.model_dump_json() + "\n")
                self._out.flush()
        elif self._kind == "text" and not self._quiet:
            self._progress(event)
            if self._verbose:
                self._details(event)

    def _progress(self, event: Event) -> None:
        match event:
            case ToolStarted():
                self.say(f"{event.display_name}: {event.title}" if event.title else event.display_name)
            case ToolFinished(is_error=True):
                self.say(f"{event.display_name} failed: {_first_line(event.output)}")
            case ToolDenied():
                self.say(
                    f"{event.display_name or event.tool}: {event.title} - not run: {_first_line(event.reason)}"
                )
            case Retrying():
                self.say(
                    f"{event.reason.rstrip('.')}; attempt {event.attempt} of {event.max_attempts} in {event.wait_s:.0f} s"
                )
            case Notice():
                self.say(event.text)
            case _:
                pass

    def _details(self, event: Event) -> None:
        """Write what the line of progress leaves out."""
        match event:
            case AssistantFinished():
                for block in event.message.content:
                    if isinstance(block, ThinkingBlock):
                        self._say_all("thinking", block.text)
            case ToolStarted() if event.arguments_json not in ("", "{}"):
                self._say_all("arguments", event.arguments_json)
            case ToolFinished():
                self._say_all("result", event.output)
            case _:
                pass

    def _say_all(self, what: str, text: str) -> None:
        for line in text.strip().split("\n") if text.strip() else ():
            self.say(f"  {what}: {line}")

    def say(self, text: str) -> None:
        """Write a line for the person to standard error, blanks in the place of control characters."""
        with suppress(OSError):  # progress that nobody can read must not cost the answer
            self._err.write(f"{_printable(text)}\n")
            self._err.flush()

    def finish(self, facts: RunFacts, result: TurnResult) -> None:
        """Write the answer; a structured one as JSON. Raises UsageError when the file cannot be written."""
        text = final_text(result)
        if result.structured is not None:
            text = json.dumps(result.structured, ensure_ascii=False)
        try:
            self._write_answer(facts, result, text)
        finally:  # also when standard output refuses
            self._keep_last(text)
        self._denied.clear()
        self._started = time.monotonic()

    def _write_answer(self, facts: RunFacts, result: TurnResult, text: str) -> None:
        if self._kind == "text":
            if self._out.isatty():
                text = strip_sequences(text)  # a model must not set the clipboard or hide what it says
            if text:
                self._out.write(text if text.endswith("\n") else f"{text}\n")
            if result.error:
                self.say(result.error)
        else:
            self.line(self._result(facts, result, text))
        self._out.flush()

    def _keep_last(self, text: str) -> None:
        if self._last_message is None:
            return
        try:
            self._last_message.write_text(text, encoding="utf-8", errors="replace")
        except OSError as error:
            raise UsageError(f"cannot write {str(self._last_message)!r}: {error.strerror}") from error

    def _result(self, facts: RunFacts, result: TurnResult, text: str) -> JsonObject:
        return {
            "type": "result",
            "session_id": facts.session_id,
            "provider": facts.provider,
            "model": facts.model,
            "result": text,
            "stop_reason": result.stop_reason,
            "is_error": bool(result.error),
            "error": result.error,
            "usage": result.usage.model_dump(mode="json"),
            "cost_usd": result.cost_usd,
            "duration_s": round(time.monotonic() - self._started, 3),
            "denied": list(self._denied),
            "pending_approvals": [request.request_id for request in result.pending_approvals],
            "structured": result.structured,
        }

    def line(self, data: JsonObject) -> None:
        """Write one object as a line of its own."""
        self._out.write(json.dumps(data, ensure_ascii=False) + "\n")
        self._out.flush()


def check_answer_file(path: Path) -> None:
    """Refuse a file that the answer cannot be written to, before anything is asked. Raises UsageError."""
    code = 0
    if not path.parent.is_dir():
        code = errno.ENOTDIR if path.parent.exists() else errno.ENOENT
    elif not os.access(path if path.exists() else path.parent, os.W_OK):
        code = errno.EACCES
    if code:
        raise UsageError(f"--output-last-message: cannot write {str(path)!r}: {os.strerror(code)}")


def final_text(result: TurnResult) -> str:
    """Give the text of the last reply of the turn, "" when there is none."""
    for message in reversed(result.messages):
        if isinstance(message, AssistantMessage):
            return "".join(block.text for block in message.content if isinstance(block, TextBlock))
    return ""


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0][:200]


def _printable(text: str) -> str:
    """Keep control characters of tools and models away from the terminal."""
    return "".join(char if char.isprintable() or char == "\t" else " " for char in text)
