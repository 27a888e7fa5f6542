"""Asks a program of the person's: one JSON object on its standard input, one on its standard output."""

import json
import os
import secrets
from collections.abc import Callable, Mapping, Sequence

from agent_tui.headless.approver import NobodyApprover
from agent_tui.headless.questions import AnswerRejected, Ground, question, read_answer, verdicts
from agent_tui.protocol.permissions import DecidedBy, PermissionRequest, Verdict
from agent_tui.toolkit.capture import capture

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
        asked = json.dumps(question(request_id, requests, self._ground), ensure_ascii=False).encode() + b"\n"
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
        try:
            answer = await capture(
                self._command,
                env={**os.environ, "AGENT_TUI_CHILD": "1"},
                stdin=asked,
                stderr=None,  # the person is to see what it says
                timeout_s=self._limit_s,
                limit_bytes=OUTPUT_LIMIT_BYTES,
            )
        except ValueError as error:
            raise AnswerRejected(f"it cannot be started: {error}") from error
        if answer.is_cut:
            raise AnswerRejected(f"more than {OUTPUT_LIMIT_BYTES:,} bytes")
        if answer.exit_code != 0:
            raise AnswerRejected(f"exit code {answer.exit_code}")
        return answer.stdout
