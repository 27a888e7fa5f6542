"""What a hook is told and what it may answer: plain data for shell commands and for Python subscribers alike."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Literal, Protocol

from agent_tui.protocol.data import JsonObject

CONTEXT_LIMIT_BYTES = 4_096

Word = Literal["", "allow", "deny", "ask"]


class EventName(StrEnum):
    """The moments of a session that hooks hear of."""

    SESSION_START = "session_start"
    SESSION_END = "session_end"
    USER_PROMPT = "user_prompt"
    PRE_TOOL = "pre_tool"
    POST_TOOL = "post_tool"
    APPROVAL = "approval"
    STOP = "stop"
    COMPACTION = "compaction"
    NOTIFICATION = "notification"


OTHER_NAMES: Mapping[str, EventName] = {
    "SessionStart": EventName.SESSION_START,
    "SessionEnd": EventName.SESSION_END,
    "UserPromptSubmit": EventName.USER_PROMPT,
    "PreToolUse": EventName.PRE_TOOL,
    "PostToolUse": EventName.POST_TOOL,
    "PermissionRequest": EventName.APPROVAL,
    "Stop": EventName.STOP,
    "PreCompact": EventName.COMPACTION,
    "Notification": EventName.NOTIFICATION,
}
"""What other agents call the same moments: accepted in settings, told beside our own names."""

GUARDING = frozenset({EventName.USER_PROMPT, EventName.PRE_TOOL, EventName.APPROVAL})
"""Events whose hooks fail closed unless their settings say otherwise."""

ANSWERS: Mapping[EventName, frozenset[str]] = {
    EventName.SESSION_START: frozenset({"context"}),
    EventName.SESSION_END: frozenset(),
    EventName.USER_PROMPT: frozenset({"deny", "context"}),
    EventName.PRE_TOOL: frozenset({"allow", "deny", "ask", "arguments", "context"}),
    EventName.POST_TOOL: frozenset({"deny", "output", "context", "stop"}),
    EventName.APPROVAL: frozenset({"allow", "deny"}),
    EventName.STOP: frozenset({"deny"}),
    EventName.COMPACTION: frozenset({"deny", "context"}),
    EventName.NOTIFICATION: frozenset(),
}
"""What an answer may hold at each event; anything else makes the answer unusable."""


@dataclass(frozen=True)
class HookEvent:
    """One moment. `facts` are what a hook reads as JSON; `tool` is the name a matcher looks at, "" without a tool.

    For a call `facts` holds `tool_name`, `tool_input` and `call_id`, after its run also `tool_response`.
    """

    name: EventName
    facts: JsonObject
    tool: str = ""


@dataclass(frozen=True)
class HookAnswer:
    """What a hook says; an empty answer has no opinion.

    `arguments` replace those of a call, `output` the text of a result, `context` is added for the model. `stop` is why
    the turn should end after this round. `by` names the hook whose word `decision` is; `Hooks` fills it in.
    """

    decision: Word = ""
    reason: str = ""
    arguments: JsonObject | None = None
    output: str | None = None
    context: str = ""
    stop: str = ""
    by: str = ""


class HookFailed(Exception):
    """A hook gave no usable answer; the text says why, for the person."""


class Subscriber(Protocol):
    """Whoever listens: a shell command of the settings, or an extension.

    `label` names it for people. `on` is called only when `wants` says so. A subscriber that raises has failed: where
    `guards` says so that is a no, else one notice.
    """

    @property
    def label(self) -> str: ...

    def wants(self, event: HookEvent) -> bool: ...

    def guards(self, event: HookEvent) -> bool: ...

    async def on(self, event: HookEvent) -> HookAnswer | None:
        """Answer an event; None is no opinion. What the event does not take (see ANSWERS) is a failure."""
        ...


def cut_context(text: str) -> str:
    """Give at most 4 KiB of what a hook adds, cut between characters, with a note when it was cut."""
    data = text.encode("utf-8", "replace")
    if len(data) <= CONTEXT_LIMIT_BYTES:
        return data.decode()
    note = "\n[cut at 4 KiB]"
    return data[: CONTEXT_LIMIT_BYTES - len(note)].decode("utf-8", "ignore") + note


def used(answer: HookAnswer) -> set[str]:
    """Name what an answer holds, in the words of ANSWERS."""
    held: set[str] = {answer.decision} if answer.decision else set()
    parts = {
        "arguments": answer.arguments is not None,
        "output": answer.output is not None,
        "context": bool(answer.context),
        "stop": bool(answer.stop),
    }
    return held | {name for name, there in parts.items() if there}


def checked(event: HookEvent, answer: HookAnswer) -> HookAnswer:
    """Give the answer with its context cut. Raises HookFailed for what the event does not take."""
    wrong = sorted(used(answer) - ANSWERS[event.name])
    if wrong:
        raise HookFailed(f"it answered {wrong[0]!r}, which {event.name} does not take")
    return replace(answer, context=cut_context(answer.context)) if answer.context else answer
