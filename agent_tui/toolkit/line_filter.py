"""Picks lines of a file by a foreign regular expression, in a child that is killed at its limit."""

import os
import sys
from pathlib import Path

from agent_tui.protocol.errors import ToolError
from agent_tui.toolkit.capture import capture

SCRIPT = Path(__file__).with_name("_line_filter.py")
TIMEOUT_S = 5.0
LIMIT_BYTES = 120_000


async def matching_lines(
    path: str, pattern: str, *, start: int, end: int, timeout_s: float = TIMEOUT_S
) -> str:
    """Give the lines of bytes `start` to `end` of `path` that match `pattern`, "" when there is no file.

    Raises ToolError for an invalid expression and for one that does not end.
    """
    if not path:
        return ""
    argv = [sys.executable, "-I", "-S", str(SCRIPT), path, str(start), str(end), pattern]
    try:
        answer = await capture(
            argv, cwd=Path("/"), env={"PATH": os.defpath}, timeout_s=timeout_s, limit_bytes=LIMIT_BYTES
        )
    except TimeoutError as error:
        raise ToolError(
            f"The pattern {pattern!r} took longer than {timeout_s:.0f} s; use a simpler one."
        ) from error
    except (OSError, ValueError) as error:
        raise ToolError(f"The pattern {pattern!r} could not be used: {error}") from error
    if answer.exit_code != 0 and not answer.is_cut:
        raise ToolError(
            f"Invalid regular expression {pattern!r}: {answer.stderr.decode('utf-8', 'replace').strip()}"
        )
    return answer.stdout.decode("utf-8", "replace")
