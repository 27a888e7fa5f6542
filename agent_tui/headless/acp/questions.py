"""Asks the person the agent's own questions through the editor's permission window: one choice each."""

from collections.abc import Sequence

from acp.exceptions import RequestError
from acp.schema import AllowedOutcome, PermissionOption, ToolCallProgress, ToolCallUpdate
from pydantic import ValidationError

from agent_tui.headless.acp import calls
from agent_tui.headless.acp.approver import AskClient
from agent_tui.headless.acp.updates import Send
from agent_tui.protocol.display import ResultContentType
from agent_tui.toolkit.context import Question

NONE = "none"


class EditorQuestions:
    """Implements `toolkit.context.Ask`. A question without options cannot be asked; that and "none" decline it."""

    def __init__(self, ask: AskClient, send: Send) -> None:
        self._ask = ask
        self._send = send
        self._count = 0

    async def __call__(self, questions: Sequence[Question]) -> Sequence[Sequence[str]] | None:
        """Ask one after another; None when one is declined."""
        answers: list[list[str]] = []
        for question in questions:
            chosen = await self._one(question)
            if chosen is None:
                return None
            answers.append([chosen])
        return answers

    async def _one(self, question: Question) -> str | None:
        if not question.options:
            return None
        self._count += 1
        call_id = f"question-{self._count}"
        options = [
            PermissionOption(
                option_id=str(number),
                name=f"{option.label} - {option.description}" if option.description else option.label,
                kind="allow_once",
            )
            for number, option in enumerate(question.options)
        ]
        options.append(PermissionOption(option_id=NONE, name="None of these", kind="reject_once"))
        details = calls.text_contents(question.details, ResultContentType.MARKDOWN)
        call = ToolCallUpdate(
            tool_call_id=call_id,
            title=calls.title_of(question.header, question.question)
            if question.header
            else question.question,
            kind="other",
            status="pending",
            content=list(details) or None,
        )
        chosen = await self._chosen(call, options, question)
        await self._send(
            ToolCallProgress(
                session_update="tool_call_update",
                tool_call_id=call_id,
                status="failed" if chosen is None else "completed",
                raw_output={"answer": chosen},
            )
        )
        return chosen

    async def _chosen(
        self, call: ToolCallUpdate, options: list[PermissionOption], question: Question
    ) -> str | None:
        try:
            outcome = (await self._ask(call, options)).outcome
        except (RequestError, ConnectionError, ValidationError):
            return None
        labels = {str(number): option.label for number, option in enumerate(question.options)}
        return labels.get(outcome.option_id) if isinstance(outcome, AllowedOutcome) else None
