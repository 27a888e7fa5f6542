"""The text that is piped in beside a prompt."""

import select
import sys
from typing import TextIO

from agent_tui.protocol.errors import UsageError

MAX_PIPED_BYTES = 10_000_000
PATIENCE_S = 3.0
"""After this long without a byte the person is told what is waited for."""


def piped_text(stream: TextIO | None, *, patience_s: float = PATIENCE_S) -> str:
    """Read a standard input to its end, "" at a terminal or when nothing is connected.

    A slow writer loses nothing: however long the first byte takes, it is waited for. That is said once,
    since a parent that hands down its own input and never closes it looks the same as a slow writer.

    Raises:
        UsageError: more than `MAX_PIPED_BYTES` came.
    """
    if stream is None or stream.closed or stream.isatty():
        return ""
    if not _begins_within(stream, patience_s):
        print(
            "agent-tui: waiting for the end of standard input, which is part of the prompt; "
            "add `< /dev/null` where nothing is piped in",
            file=sys.stderr,
            flush=True,
        )
    data = stream.buffer.read(MAX_PIPED_BYTES + 1)
    if len(data) > MAX_PIPED_BYTES:
        raise UsageError(
            f"more than {MAX_PIPED_BYTES:,} bytes on standard input; put them in a file and name it"
        )
    return data.decode("utf-8", errors="replace")


def _begins_within(stream: TextIO, seconds: float) -> bool:
    try:
        return bool(select.select([stream], [], [], seconds)[0])
    except (OSError, ValueError):  # not a thing that can be waited for: its read says what is wrong
        return True
