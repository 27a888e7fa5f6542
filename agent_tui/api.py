"""The agent as a Python object: what `from agent_tui import Agent` gives."""

import inspect
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from agent_tui.conversation.core import Core
from agent_tui.headless.approver import NobodyApprover
from agent_tui.headless.function_approver import Decide, FunctionApprover
from agent_tui.headless.output import final_text
from agent_tui.protocol.data import JsonObject
from agent_tui.protocol.errors import AgentTuiError, UsageError
from agent_tui.protocol.events import (
    ApprovalDecided,
    ApprovalRequested,
    AssistantFinished,
    Compacted,
    Event,
    Notice,
    Retrying,
    RoundStarted,
    TextDelta,
    ThinkingDelta,
    ToolDenied,
    ToolFinished,
    ToolOutput,
    ToolStarted,
    TurnCancelled,
    TurnFailed,
    TurnFinished,
    TurnStarted,
    Usage,
)
from agent_tui.protocol.messages import AssistantMessage, ImageBlock, TokenUsage, UserMessage
from agent_tui.protocol.permissions import (
    Approver,
    Decision,
    Permission,
    PermissionDecision,
    PermissionKind,
    PermissionRequest,
    Risk,
    Scope,
    Verdict,
)
from agent_tui.protocol.tools import TurnResult, TurnStop
from agent_tui.run.assembly import assemble
from agent_tui.run.options import MODES, RunOptions
from agent_tui.toolkit.context import Ask, Question, QuestionOption
from agent_tui.ui.backend import ModeName

__all__ = (
    "Agent",
    "AgentTuiError",
    "ApprovalDecided",
    "ApprovalRequested",
    "Approver",
    "Ask",
    "AssistantFinished",
    "AssistantMessage",
    "Compacted",
    "Decide",
    "Decision",
    "Event",
    "ImageBlock",
    "Notice",
    "OnEvent",
    "Permission",
    "PermissionDecision",
    "PermissionKind",
    "PermissionRequest",
    "Question",
    "QuestionOption",
    "Result",
    "Retrying",
    "Risk",
    "RoundStarted",
    "Scope",
    "TextDelta",
    "ThinkingDelta",
    "TokenUsage",
    "ToolDenied",
    "ToolFinished",
    "ToolOutput",
    "ToolStarted",
    "TurnCancelled",
    "TurnFailed",
    "TurnFinished",
    "TurnStarted",
    "Usage",
    "UserMessage",
    "Verdict",
)

OnEvent = Callable[[Event], Awaitable[None] | None]
"""Gets every event as it happens; it is waited for when it is async, so nothing is dropped."""
ServerSource = str | Path | Mapping[str, object]


@dataclass(frozen=True)
class Result:
    """What one prompt came to.

    `text` is the last reply, "" when there was none; `structured` the answer to a schema, None without one.
    `stop_reason` says why it ended: "end_turn" or "stop_sequence" when the model was done, "max_tokens" when its reply was
    cut, "context_overflow" when the conversation is too long, "refusal", "round_limit" at `max_rounds`, "budget" at
    `max_tokens` or `max_budget_usd`, "cancelled", "failed", and "pending_approvals" when an approver put its answer off.
    `error` says why it failed, "" when it did not; `denied` counts calls that were denied because nobody could be
    asked. `usage` sums the tokens of all its requests, `cost_usd` their price in USD, None when a price is not known.
    `messages` is what the turn added to the conversation, oldest first, its prompt included.
    """

    text: str
    stop_reason: TurnStop
    error: str
    structured: JsonObject | None
    usage: TokenUsage
    cost_usd: float | None
    messages: tuple[UserMessage | AssistantMessage, ...]
    denied: int

    @property
    def ok(self) -> bool:
        """Whether the model ended the turn by itself, with a whole answer: nothing failed, cut or stopped it."""
        return not self.error and self.stop_reason in ("end_turn", "stop_sequence")


class Agent:
    """An agent in one folder, with a session of its own: `async with Agent(workspace=...) as agent`.

    Settings files, rules, grants, skills and the sandbox count as at the screen. Without an `approver` what would
    have to be asked is denied; it is a function that gets each request, or an object with `review` that gets those
    of a round together. `ask` answers the agent's own questions; without it there are none. One prompt at a time.

    `workspace` must exist. `model` is NAME or PROVIDER:NAME; what is "" or None comes from the settings. `resume` is the
    id, its beginning, or the name of an earlier session, `continue_last` opens the last one of the folder; without
    `persistent` nothing is kept on disk. `schema` is a JSON schema of type object. `tools` are the only ones the model
    gets, `allowed_tools` and `disallowed_tools` rules such as ``Bash(git *)``. `mcp_servers` are files, JSON texts or
    mappings {"mcpServers": {...}}. `max_rounds` counts the rounds of tool calls of one prompt, `max_tokens` (in and out)
    and `max_budget_usd` what this object has used; 0 is no limit, None that of the settings. A value that no
    setting can have counts as not given, and `notices` names it. Before the session is opened and after its end every
    other member raises AgentTuiError.
    """

    def __init__(
        self,
        workspace: str | Path = ".",
        *,
        model: str = "",
        provider: str | None = None,
        base_url: str = "",
        effort: str | None = None,
        mode: ModeName = "default",
        approver: Approver | Decide | None = None,
        on_event: OnEvent | None = None,
        ask: Ask | None = None,
        resume: str = "",
        continue_last: bool = False,
        persistent: bool = True,
        name: str = "",
        system_prompt: str = "",
        append_system_prompt: str = "",
        schema: Mapping[str, object] | None = None,
        tools: Sequence[str] | None = None,
        allowed_tools: Sequence[str] = (),
        disallowed_tools: Sequence[str] = (),
        add_dirs: Sequence[str | Path] = (),
        mcp_servers: Sequence[ServerSource] = (),
        trust: bool = False,
        max_rounds: int | None = None,
        max_tokens: int | None = None,
        max_budget_usd: float | None = None,
    ) -> None:
        self._workspace = Path(workspace)
        self._options = RunOptions(
            print_mode=True,
            model=model,
            provider=provider,
            base_url=base_url,
            effort=effort,
            permission_mode=MODES.get(mode, mode),
            resume=resume,
            continue_last=continue_last,
            ephemeral=not persistent,
            name=name,
            system_prompt=system_prompt,
            append_system_prompt=append_system_prompt,
            json_schema=json.dumps(schema) if schema is not None else "",
            tools=None if tools is None else ",".join(tools),
            allowed_tools=tuple(allowed_tools),
            disallowed_tools=tuple(disallowed_tools),
            add_dirs=tuple(Path(path) for path in add_dirs),
            mcp_config=tuple(_server_source(source) for source in mcp_servers),
            trust=trust,
            max_rounds=max_rounds,
            max_tokens=max_tokens,
            max_budget_usd=max_budget_usd,
        )
        self._approver = _approver(approver)
        self._on_event = on_event
        self._ask = ask
        self._core: Core | None = None

    async def __aenter__(self) -> Self:
        """Open the session. Raises AgentTuiError when the folder, the session, a key, a file of settings or the schema cannot be used."""
        if self._core is not None:
            raise AgentTuiError("This agent is open already.")
        try:
            workspace = self._workspace.resolve(strict=True)
        except OSError as error:
            raise UsageError(f"cannot work in {str(self._workspace)!r}: {error.strerror}") from error
        if not workspace.is_dir():
            raise UsageError(f"cannot work in {str(self._workspace)!r}: it is no directory")
        core = await assemble(self._options, workspace, with_screen=False, with_person=self._ask is not None)
        self._core = core
        core.bind(sink=self._tell, approver=self._approver, ask=self._ask)
        try:
            await core.servers.settled()
        except BaseException:
            await self.__aexit__(None, None, None)
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop what runs and close the session."""
        core, self._core = self._opened, None
        await core.aclose()

    async def run(self, prompt: str, *, images: Sequence[ImageBlock] = ()) -> Result:
        """Run one prompt to its end, with `images` before its text.

        A failure of the model or the disk is in the result. Raises AgentTuiError when the agent is not open or a
        prompt is running, and what `on_event` raises.
        """
        result = await self._opened.run_turn(prompt, images=images)
        return _result(result)

    def cancel(self) -> None:
        """Stop the running prompt: `run` then returns with stop_reason "cancelled". Without one it does nothing."""
        self._opened.cancel_turn()

    @property
    def session_id(self) -> str:
        """The id of the session, for `resume`. Without `persistent` it names nothing once the session is closed."""
        return self._opened.status().session_id

    @property
    def model(self) -> str:
        """The model that answers, as PROVIDER:NAME."""
        status = self._opened.status()
        return f"{status.provider}:{status.model}"

    @property
    def mode(self) -> ModeName:
        """The permission mode; may be set between prompts and while one runs. Raises ValueError for a wrong word."""
        return self._opened.mode

    @mode.setter
    def mode(self, mode: ModeName) -> None:
        self._opened.set_mode(mode)

    @property
    def usage(self) -> TokenUsage:
        """Tokens of all requests of this object, sub-agents included; not those of earlier runs of its session."""
        return self._opened.agent.spending.usage

    @property
    def tools(self) -> Sequence[str]:
        """The names of the tools that the model has now; those of MCP servers come and go with them."""
        return [tool.name for tool in self._opened.tools()]

    @property
    def notices(self) -> Sequence[str]:
        """What a person should know of the start: a tool that was left out, settings that do not count.

        Reading it uses nothing up. What becomes known later is a `Notice` event too.
        """
        return self._opened.all_notices()

    @property
    def _opened(self) -> Core:
        if self._core is None:
            raise AgentTuiError("The agent is not open; use it as 'async with Agent(...) as agent'.")
        return self._core

    async def _tell(self, event: Event) -> None:
        if self._on_event is not None:
            told = self._on_event(event)
            if inspect.isawaitable(told):
                await told


def _approver(given: Approver | Decide | None) -> Approver:
    if given is None:
        return NobodyApprover()
    return FunctionApprover(given) if callable(given) else given


def _server_source(source: ServerSource) -> str:
    """Give a source as --mcp-config takes it: a file, a JSON text, or the mapping itself."""
    return json.dumps(source) if isinstance(source, Mapping) else str(source)


def _result(result: TurnResult) -> Result:
    return Result(
        text=final_text(result),
        stop_reason=result.stop_reason,
        error=result.error,
        structured=result.structured,
        usage=result.usage,
        cost_usd=result.cost_usd,
        messages=result.messages,
        denied=result.denied_unasked,
    )
