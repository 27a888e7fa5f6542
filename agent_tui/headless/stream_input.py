"""Reads a stream of JSON lines from a descriptor: what the person says, and answers to questions."""

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from agent_tui.protocol.plain_reasons import first_misfit

LINE_LIMIT_BYTES = 10_000_000


class UserLine(BaseModel):
    """A message for the model; the first begins the first turn."""

    model_config = ConfigDict(extra="forbid")

    type: Literal["user"]
    text: str = Field(min_length=1)


class Head(BaseModel):
    """What every line begins with."""

    type: str


_HEAD = TypeAdapter(Head)


def kind_of(line: bytes) -> str:
    """Give the `type` of a line. Raises ValueError with a sentence."""
    try:
        return _HEAD.validate_json(line).type
    except ValidationError as error:
        raise ValueError('expected a JSON object with a "type"') from error


def user_text(line: bytes) -> str:
    """Give the text of a user line. Raises ValueError with a sentence."""
    try:
        return UserLine.model_validate_json(line).text
    except ValidationError as error:
        raise ValueError(first_misfit(error, whole="an object is expected")) from error


async def lines_of(descriptor: int) -> AsyncIterator[bytes]:
    """Give the lines of a descriptor until it ends; empty ones are left out.

    A thread reads, because a file or a terminal cannot be waited for; it may stay in its read when the program
    ends. A line over 10 MB is given cut, which no reader accepts.
    """
    loop = asyncio.get_running_loop()
    queue: asyncio.Queue[bytes | None] = asyncio.Queue()

    def put(item: bytes | None) -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody listens any more
            loop.call_soon_threadsafe(queue.put_nowait, item)

    threading.Thread(target=_read, args=(descriptor, put), name="input", daemon=True).start()
    while (line := await queue.get()) is not None:
        if line.strip():
            yield line


def _read(descriptor: int, put: Callable[[bytes | None], None]) -> None:
    rest = b""
    while True:
        try:
            chunk = os.read(descriptor, 65_536)
        except OSError:
            chunk = b""
        if not chunk:
            break
        *whole, rest = (rest + chunk).split(b"\n")
        for line in whole:
            put(line[:LINE_LIMIT_BYTES])
        rest = rest[: LINE_LIMIT_BYTES + 1]
    put(rest)
    put(None)
