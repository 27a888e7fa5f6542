"""A conversation over two streams of JSON lines: prompts and answers in, events and questions out."""

import asyncio
from collections.abc import AsyncIterable, Awaitable, Callable

from agent_tui.headless.exit_codes import ExitCode, exit_code
from agent_tui.headless.output import Output
from agent_tui.headless.print_mode import Conversation
from agent_tui.headless.questions import AnswerRejected, read_answer
from agent_tui.headless.signals import stopped_by_signals
from agent_tui.headless.stream_approver import StreamApprover
from agent_tui.headless.stream_input import kind_of, user_text


class StreamRun:
    """Runs a turn per user line, one after another; answers are taken at any time, also while a turn runs.

    `unknown` gives the sentence that refuses a prompt, "" for one that can be run.
    """

    def __init__(
        self,
        conversation: Conversation,
        *,
        output: Output,
        approver: StreamApprover,
        unknown: Callable[[str], Awaitable[str]],
        prompt: str = "",
    ) -> None:
        self._conversation = conversation
        self._output = output
        self._approver = approver
        self._unknown = unknown
        self._prompts: asyncio.Queue[tuple[int, str] | None] = asyncio.Queue()
        self._stopped = False
        if prompt:
            self._prompts.put_nowait((0, prompt))

    async def run(self, lines: AsyncIterable[bytes]) -> ExitCode:
        """Run until the input has ended and every turn is done; give the code of the last turn.

        Without any turn the command line made no sense: USAGE. Raises OSError when standard output cannot be written.
        """
        conversation, code = self._conversation, ExitCode.USAGE
        conversation.bind(sink=self._output, approver=self._approver, ask=None)
        reader = asyncio.create_task(self._read(lines))  # owned: ended below
        with stopped_by_signals(self._stop) as stopped:
            try:
                self._output.begin(conversation.status(), [tool.name for tool in conversation.tools()])
                while not self._stopped and (given := await self._prompts.get()) is not None:
                    number, prompt = given
                    if refused := await self._unknown(prompt):
                        self._reject(number, refused)
                        continue
                    result = await conversation.run_prompt(prompt)
                    self._output.finish(conversation.status(), result)
                    code = exit_code(result, overloaded=conversation.last_error_may_pass)
            finally:
                reader.cancel()
                await asyncio.wait([reader])
                unread = None if reader.cancelled() else reader.exception()
                await conversation.aclose()
        if unread is not None:
            raise unread
        return stopped.code or code

    def _stop(self) -> None:
        self._stopped = True
        self._conversation.cancel_turn()
        self._prompts.put_nowait(None)

    async def _read(self, lines: AsyncIterable[bytes]) -> None:
        """Take the lines; when this ends, also by an error, no prompt and no answer comes any more."""
        number = 0
        try:
            async for line in lines:
                number += 1
                try:
                    self._take(number, line)
                except (AnswerRejected, ValueError) as error:
                    self._reject(number, str(error))
        finally:
            self._approver.end()
            self._prompts.put_nowait(None)

    def _reject(self, number: int, error: str) -> None:
        self._output.line({"type": "input_rejected", "line": number, "error": error})

    def _take(self, number: int, line: bytes) -> None:
        """Act on one line. Raises ValueError or AnswerRejected; then nothing of it counts."""
        match kind_of(line):
            case "user":
                self._prompts.put_nowait((number, user_text(line)))
            case "approval_response":
                self._approver.answer(read_answer(line))
            case other:
                raise ValueError(f"the type {other!r} is not known; 'user' and 'approval_response' are")
