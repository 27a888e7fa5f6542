"""Asks whoever reads the event stream, and takes the answers from the input stream."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from agent_tui.headless.approver import NobodyApprover
from agent_tui.headless.questions import (
    AnswerRejected,
    ApprovalAnswer,
    Ground,
    question,
    verdicts,
)
from agent_tui.protocol.data import JsonObject
from agent_tui.protocol.permissions import DecidedBy, PermissionRequest, Verdict


@dataclass(frozen=True)
class _Open:
    requests: Sequence[PermissionRequest]
    answered: asyncio.Future[Mapping[str, Verdict]]


class StreamApprover:
    """One question line per review, with an id of its own. Once the input has ended the answer is no."""

    def __init__(self, write: Callable[[JsonObject], None], ground: Ground) -> None:
        self._write = write
        self._ground = ground
        self._open: dict[str, _Open] = {}
        self._count = 0
        self._ended = False
        self._nobody = NobodyApprover()

    async def review(self, requests: Sequence[PermissionRequest]) -> Mapping[str, Verdict]:
        """Ask and wait for the answer; there is no time limit."""
        if self._ended:
            return await self._nobody.review(requests)
        self._count += 1
        request_id = f"approval-{self._count}"
        answered: asyncio.Future[Mapping[str, Verdict]] = asyncio.get_running_loop().create_future()
        self._open[request_id] = _Open(requests, answered)
        try:
            self._write(question(request_id, requests, self._ground))
            return await answered
        except EOFError:
            return await self._nobody.review(requests)
        finally:
            del self._open[request_id]

    def answer(self, given: ApprovalAnswer) -> None:
        """Take an answer. Raises AnswerRejected: the question then stays open."""
        waiting = self._open.get(given.request_id)
        if waiting is None or waiting.answered.done():
            raise AnswerRejected(f"no open question has the id {given.request_id!r}")
        waiting.answered.set_result(verdicts(given, waiting.requests, self._ground, by=DecidedBy.PERSON))

    def end(self) -> None:
        """Nobody will answer any more: whatever is open is denied."""
        self._ended = True
        for waiting in self._open.values():
            if not waiting.answered.done():
                waiting.answered.set_exception(EOFError())
