"""Asks a program of the person's: one JSON object on its standard input, one on its standard output."""

import asyncio
import json
import os
import secrets
import signal
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from agent_tui.headless.approver import NobodyApprover
from agent_tui.headless.questions import AnswerRejected, Ground, question, read_answer, verdicts
from agent_tui.protocol.permissions import DecidedBy, PermissionRequest, Verdict

LIMIT_S = 60.0
OUTPUT_LIMIT_BYTES = 1_000_000


class CommandApprover:
    """Runs `command` for each review. Whatever goes wrong - time, exit code, words - is a no, and is said."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        ground: Ground,
        say: Callable[[str], None],
        limit_s: float = LIMIT_S,
    ) -> None:
        self._command = list(command)
        self._ground = ground
        self._say = say
        self._limit_s = limit_s
        self._nobody = NobodyApprover()

    async def review(self, requests: Sequence[PermissionRequest]) -> Mapping[str, Verdict]:
        """Ask the program."""
        request_id = f"approval-{secrets.token_hex(8)}"
        asked = json.dumps(question(request_id, requests), ensure_ascii=False).encode() + b"\n"
        try:
            answer = read_answer(await self._run(asked))
            if answer.request_id != request_id:
                raise AnswerRejected(f"it answers {answer.request_id!r}, which was not asked")
            return verdicts(answer, requests, self._ground, by=DecidedBy.HOOK)
        except (AnswerRejected, OSError, TimeoutError) as error:
            reason = f"no answer within {self._limit_s:g} s" if isinstance(error, TimeoutError) else error
            self._say(f"The permission command gave no usable answer ({reason}); the calls are denied.")
            return await self._nobody.review(requests)

    async def _run(self, asked: bytes) -> bytes:
        """Give what the program answered. Raises OSError, TimeoutError, AnswerRejected."""
        process = await asyncio.create_subprocess_exec(
            *self._command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env={**os.environ, "AGENT_TUI_CHILD": "1"},
            start_new_session=True,
        )
        try:
            async with asyncio.timeout(self._limit_s):
                output = await _exchange(process, asked)
                code = await process.wait()
        finally:
            with suppress(ProcessLookupError):  # its group may still hold what it started
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
        if code != 0:
            raise AnswerRejected(f"exit code {code}")
        return output


async def _exchange(process: asyncio.subprocess.Process, asked: bytes) -> bytes:
    """Write the question, read the answer. Raises AnswerRejected when there is too much of it."""
    if process.stdin is None or process.stdout is None:
        raise AnswerRejected("it has no streams")
    with suppress(BrokenPipeError, ConnectionResetError):  # it need not read the question to say no
        process.stdin.write(asked)
        await process.stdin.drain()
    process.stdin.close()
    output = b""
    while chunk := await process.stdout.read(65_536):
        output += chunk
        if len(output) > OUTPUT_LIMIT_BYTES:
            raise AnswerRejected(f"more than {OUTPUT_LIMIT_BYTES:,} bytes")
    return output
