"""What a server may ask of this program: roots, a question to the person, an answer of the model, a place to log."""

import asyncio
import json
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import mcp_types as types
from mcp.client.session import ClientRequestContext

from agent_tui.extensions.log import ServerLog
from agent_tui.extensions.mcp.guest import Desk, SampleRequest
from agent_tui.extensions.mcp.questions import Field, WrongAnswer, form_answers, form_questions
from agent_tui.extensions.plain import one_line, plain
from agent_tui.protocol.data import JsonObject
from agent_tui.toolkit.context import Ask, Question, QuestionOption

_TRIES = 2
_SHOWN_CHARS = 4_000
_REFUSED = types.ErrorData(code=types.INVALID_REQUEST, message="The person did not allow it.")


@dataclass
class Host:
    """Answers one server's requests. Without a person every answer is no.

    `waiting` is called with True while a person is being asked, with False afterwards: a call's time stands still.
    `lists_changed` is called when the server says that its tools changed, `others_changed` for prompts and resources.
    """

    server: str
    desk: Desk
    log: ServerLog
    waiting: Callable[[bool], None]
    lists_changed: Callable[[], None]
    in_call: Callable[[], bool]
    others_changed: Callable[[], None] = lambda: None
    _one_at_a_time: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def roots(self, context: ClientRequestContext) -> types.ListRootsResult:
        """Tell which folders are worked on."""
        return types.ListRootsResult(roots=[_root(path) for path in self.desk.roots])

    async def elicit(
        self, context: ClientRequestContext, params: types.ElicitRequestParams
    ) -> types.ElicitResult | types.ErrorData:
        """Put the server's question before the person."""
        ask = self.desk.ask()
        if ask is None:
            return types.ElicitResult(action="decline")
        with self.waits():
            async with self._one_at_a_time:
                if isinstance(params, types.ElicitRequestURLParams):
                    return await self._elicit_url(ask, params)
                return await self._elicit_form(ask, params)

    async def _elicit_url(self, ask: Ask, params: types.ElicitRequestURLParams) -> types.ElicitResult:
        details = (
            f"{plain(params.message)[:_SHOWN_CHARS]}\n\n{one_line(params.url, limit_chars=_SHOWN_CHARS)}"
        )
        question = Question(
            question=f"The MCP server {self.server!r} asks you to open this address yourself. Done?",
            header="MCP",
            options=(QuestionOption(label="Done"), QuestionOption(label="No")),
            details=details,
        )
        answers = await ask([question])
        if answers is None:
            return types.ElicitResult(action="cancel")
        return types.ElicitResult(action="accept" if _first(answers) == "Done" else "decline")

    async def _elicit_form(self, ask: Ask, params: types.ElicitRequestFormParams) -> types.ElicitResult:
        schema: JsonObject = params.requested_schema
        try:
            questions = form_questions(self.server, params.message, schema)
        except ValueError as error:
            self.log.add("state", f"a question was declined: {error}")
            return types.ElicitResult(action="decline")
        for _ in range(_TRIES):
            answers = await ask(questions)
            if answers is None:
                return types.ElicitResult(action="cancel")
            if not schema.get("properties"):
                return types.ElicitResult(
                    action="accept" if _first(answers) == "Yes" else "decline", content={}
                )
            try:
                content: dict[str, Field | None] = {**form_answers(schema, answers)}
            except WrongAnswer as error:
                first = questions[0]
                questions[0] = first.model_copy(update={"details": f"{error}.\n\n{first.details}"})
                continue
            return types.ElicitResult(action="accept", content=content)
        return types.ElicitResult(action="cancel")

    async def sample(
        self, context: ClientRequestContext, params: types.CreateMessageRequestParams
    ) -> types.CreateMessageResult | types.ErrorData:
        """Let the model answer for the server, if the person allows this very request and a call of ours runs."""
        ask, sampler = self.desk.ask(), self.desk.sampler
        if ask is None or sampler is None or not self.in_call():
            return _REFUSED
        request = SampleRequest(
            server=self.server,
            system=plain(params.system_prompt or ""),
            turns=tuple((message.role, _words(message)) for message in params.messages),
            max_tokens=max(1, min(params.max_tokens, 8_192)),
        )
        with self.waits():
            async with self._one_at_a_time:
                answers = await ask([_sample_question(request)])
                if answers is None or _first(answers) != "Allow once":
                    self.log.add("state", "a request to the model was denied")
                    return _REFUSED
                reply = await sampler(request)
        return types.CreateMessageResult(
            role="assistant",
            content=types.TextContent(type="text", text=reply.text),
            model=reply.model,
            stop_reason="maxTokens" if reply.cut else "endTurn",
        )

    async def take_log(self, params: types.LoggingMessageNotificationParams) -> None:
        """Keep a line the server logged."""
        data: object = params.data
        text = data if isinstance(data, str) else json.dumps(data, default=str)[:2_000]
        self.log.add("log", f"{params.level}: {text}")

    async def notice(self, message: types.ServerNotification | Exception) -> None:
        """Look at what the server announces. Never waits: it must not hold up the reader."""
        if isinstance(message, types.ToolListChangedNotification):
            self.lists_changed()
        elif isinstance(message, types.PromptListChangedNotification | types.ResourceListChangedNotification):
            self.others_changed()
        elif isinstance(message, Exception):
            self.log.add("noise", str(message))

    async def confirm_sign_in(self) -> bool:
        """Ask whether the person signs in (again) while a call waits for it; without a person the answer is no."""
        ask = self.desk.ask()
        if ask is None or not self.in_call():
            return False
        question = Question(
            question=f"The MCP server {self.server!r} wants you to sign in for this call. Open its page?",
            header="MCP",
            options=(QuestionOption(label="Open the page"), QuestionOption(label="No")),
        )
        answers = await ask([question])
        return answers is not None and _first(answers) == "Open the page"

    @contextmanager
    def waits(self) -> Generator[None]:
        self.waiting(True)
        try:
            yield
        finally:
            self.waiting(False)


def _root(path: Path) -> types.Root:
    return types.Root.model_validate({"uri": path.as_uri(), "name": path.name})


def _first(answers: Sequence[Sequence[str]]) -> str:
    return answers[0][0] if answers and answers[0] else ""


def _words(message: types.SamplingMessage) -> str:
    texts = [
        block.text if isinstance(block, types.TextContent) else f"[{block.type} left out]"
        for block in message.content_as_list
    ]
    return plain("\n".join(texts))


def _sample_question(request: SampleRequest) -> Question:
    shown = "\n\n".join(f"{role}: {text}" for role, text in request.turns)
    system = f"system: {request.system}\n\n" if request.system else ""
    whole = f"{system}{shown}"
    cut = f"\n... ({len(whole):,} characters in all)" if len(whole) > _SHOWN_CHARS else ""
    return Question(
        question=f"The MCP server {request.server!r} wants your model to answer this. It costs tokens.",
        header="MCP",
        options=(QuestionOption(label="Deny"), QuestionOption(label="Allow once")),
        details=f"{whole[:_SHOWN_CHARS]}{cut}",
    )
