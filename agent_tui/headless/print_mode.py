"""One prompt in, one answer out, no screen."""

from collections.abc import Sequence
from typing import Protocol

from agent_tui.headless.exit_codes import ExitCode, exit_code
from agent_tui.headless.output import Output, RunFacts
from agent_tui.headless.signals import stopped_by_signals
from agent_tui.protocol.events import EventSink
from agent_tui.protocol.permissions import Approver
from agent_tui.protocol.tools import TurnResult


class NamedTool(Protocol):
    """A tool as far as the first line names it."""

    @property
    def name(self) -> str: ...


class Conversation(Protocol):
    """The core as a run without a screen sees it."""

    def bind(self, *, sink: EventSink, approver: Approver, ask: None) -> None: ...

    def status(self) -> RunFacts: ...

    def tools(self) -> Sequence[NamedTool]: ...

    async def run_prompt(self, text: str, *, beside: str = "") -> TurnResult:
        """Run a turn; a line that names a command of the person's is run as that. `beside` is no words of theirs."""
        ...

    async def redrive(self) -> TurnResult: ...

    def cancel_turn(self) -> None: ...

    @property
    def last_error_may_pass(self) -> bool: ...

    async def aclose(self) -> None: ...


async def run_print(
    conversation: Conversation, prompt: str | None, *, output: Output, approver: Approver, beside: str = ""
) -> ExitCode:
    """Run one turn, or go on with the one that waits (`prompt` None), and give the exit code.

    `beside` is what was piped in: it goes along below the prompt.

    SIGINT and SIGTERM stop the turn; what is done is kept.
    """
    conversation.bind(sink=output, approver=approver, ask=None)
    with stopped_by_signals(conversation.cancel_turn) as stopped:
        try:
            output.begin(conversation.status(), [tool.name for tool in conversation.tools()])
            if prompt is None:
                result = await conversation.redrive()
            else:
                result = await conversation.run_prompt(prompt, beside=beside)
            output.finish(conversation.status(), result)
        finally:
            await conversation.aclose()
    return stopped.code or exit_code(result, overloaded=conversation.last_error_may_pass)
