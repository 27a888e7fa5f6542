"""One session of an editor: its prompts, its slash commands, its stops."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

from acp.exceptions import RequestError
from acp.interfaces import Client
from acp.schema import (
    AvailableCommand,
    AvailableCommandInput,
    AvailableCommandsUpdate,
    PermissionOption,
    PromptResponse,
    RequestPermissionResponse,
    SessionMode,
    SessionModeState,
    StopReason,
    ToolCallUpdate,
    UnstructuredCommandInput,
)

from agent_tui.headless.acp.approver import EditorApprover
from agent_tui.headless.acp.content import Prompt, PromptBlock, read_prompt
from agent_tui.headless.acp.conversation import Conversation
from agent_tui.headless.acp.questions import EditorQuestions
from agent_tui.headless.acp.replay import replayed
from agent_tui.headless.acp.updates import SessionUpdates, Update
from agent_tui.protocol.errors import AgentTuiError
from agent_tui.protocol.slash_line import slash_line
from agent_tui.protocol.tools import TurnResult, TurnStop

INTERNAL_ERROR = -32603
INVALID_REQUEST = -32600
INVALID_PARAMS = -32602
CLOSE_S = 2.0


class EditorSession:
    """Runs one prompt at a time. `client` is the editor."""

    def __init__(self, conversation: Conversation, client: Client) -> None:
        self.conversation = conversation
        self._client = client
        self._updates = SessionUpdates(conversation, self._send)
        self._stopped: asyncio.Event | None = None
        self._idle = asyncio.Event()
        self._idle.set()
        conversation.bind(
            sink=self._updates,
            approver=EditorApprover(self._ask, conversation.workspace, Path.home().resolve()),
            ask=EditorQuestions(self._ask, self._send),
        )

    def modes(self) -> SessionModeState:
        """Give the modes that the editor may offer."""
        return SessionModeState(
            current_mode_id=self.conversation.mode,
            available_modes=[
                SessionMode(id=mode.mode_id, name=mode.name, description=mode.description)
                for mode in self.conversation.modes()
            ],
        )

    def set_mode(self, mode_id: str) -> None:
        """Switch the permission mode. Raises RequestError for one that is not offered."""
        try:
            self.conversation.set_mode(mode_id)
        except AgentTuiError as error:
            raise RequestError(INVALID_PARAMS, str(error)) from error
        self._updates.mode_is_known()

    async def announce(self) -> None:
        """Tell which slash commands there are."""
        commands = [
            AvailableCommand(
                name=one.name,
                description=one.description,
                input=AvailableCommandInput(UnstructuredCommandInput(hint=one.hint)) if one.hint else None,
            )
            for one in await self.conversation.commands()
        ]
        await self._send(
            AvailableCommandsUpdate(session_update="available_commands_update", available_commands=commands)
        )

    async def replay(self) -> None:
        """Tell the whole conversation so far."""
        for update in replayed(await self.conversation.replay(), self.conversation.workspace):
            await self._send(update)
        if self.conversation.todos():
            await self._updates.plan()

    async def prompt(self, blocks: Sequence[PromptBlock]) -> PromptResponse:
        """Run a turn, or a slash command. Raises RequestError when it cannot begin or the model failed."""
        if not self._idle.is_set():
            raise RequestError(
                INVALID_REQUEST, "A turn is running in this session; wait for its end or cancel it."
            )
        prompt = read_prompt(blocks, self.conversation.workspace)
        self._stopped = asyncio.Event()
        self._idle.clear()
        try:
            return PromptResponse(stop_reason=await self._run(prompt, self._stopped))
        except AgentTuiError as error:
            raise RequestError(INTERNAL_ERROR, str(error)) from error
        finally:
            self._stopped = None
            self._idle.set()

    def cancel(self) -> None:
        """Stop the running turn; without one it does nothing."""
        if self._stopped is not None:
            self._stopped.set()
            self.conversation.cancel_turn()

    async def aclose(self) -> None:
        """Stop what runs, and close the session."""
        self.cancel()
        try:
            async with asyncio.timeout(CLOSE_S):
                await self._idle.wait()
        except TimeoutError:
            pass  # a writer that does not end: closing goes on, as at the end of any run
        await self.conversation.aclose()

    async def _run(self, prompt: Prompt, stopped: asyncio.Event) -> StopReason:
        for notice in self.conversation.notices():
            await self._updates.say(notice)
        text = prompt.text
        line = slash_line(text)
        if line is not None:
            answer = await self.conversation.run_command(*line)
            if answer is not None:
                await self._updates.say(answer)
                if unused := _unused(prompt):
                    await self._updates.say(f"{unused}: /{line[0]} takes words only.")
                return "cancelled" if stopped.is_set() else "end_turn"
        if not await self._ready(stopped):
            return "cancelled"
        result = await self.conversation.run_turn(text, beside=prompt.attached, images=prompt.images)
        await self._updates.mode_changed()
        return _stop_reason(result, stopped.is_set())

    async def _ready(self, stopped: asyncio.Event) -> bool:
        """Wait for the session's servers unless the person stops first; tell whether to go on."""
        waits = [asyncio.create_task(self.conversation.ready()), asyncio.create_task(stopped.wait())]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in waits:
                task.cancel()
            await asyncio.wait(waits)
        return not stopped.is_set()

    async def _send(self, update: Update) -> None:
        try:
            await self._client.session_update(self.conversation.session_id, update)
        except ConnectionError:
            self.cancel()  # nobody reads any more; what is done is on disk

    async def _ask(self, call: ToolCallUpdate, options: list[PermissionOption]) -> RequestPermissionResponse:
        return await self._client.request_permission(self.conversation.session_id, call, options)


_STOPS: dict[TurnStop, StopReason] = {
    "max_tokens": "max_tokens",
    "context_overflow": "max_tokens",
    "round_limit": "max_turn_requests",
    "budget": "max_turn_requests",
    "refusal": "refusal",
    "cancelled": "cancelled",
}


def _unused(prompt: Prompt) -> str:
    """Name what came beside the words of a command of the program; "" for nothing."""
    images = len(prompt.images)
    left = [
        "" if not images else "the image" if images == 1 else f"the {images} images",
        "what is attached" if prompt.attached else "",
    ]
    named = " and ".join(filter(None, left))
    return f"Not used: {named}" if named else ""


def _stop_reason(result: TurnResult, stopped: bool) -> StopReason:
    """Give the protocol's word. Raises AgentTuiError when the turn failed."""
    if stopped:
        return "cancelled"
    if result.stop_reason == "failed":
        raise AgentTuiError(result.error)
    return _STOPS.get(result.stop_reason, "end_turn")
