"""A hook that is a Python function of an extension: it gets the facts and gives an answer like a command's JSON."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from pydantic import JsonValue, TypeAdapter, ValidationError

from agent_tui.extensions.hooks.answers import answer_of
from agent_tui.extensions.hooks.events import (
    GUARDING,
    OTHER_NAMES,
    EventName,
    HookAnswer,
    HookEvent,
    HookFailed,
)
from agent_tui.protocol.data import JsonObject
from agent_tui.protocol.near_names import did_you_mean

LIMIT_S = 5.0
_ANSWER: TypeAdapter[JsonValue] = TypeAdapter(JsonValue)


@dataclass(frozen=True)
class PythonHook:
    """A function of the extension `owner`. `call` runs it wherever it may run; `limit_s` is its time."""

    owner: str
    event: EventName
    call: Callable[[JsonObject], Awaitable[object]]
    limit_s: float = LIMIT_S

    @property
    def label(self) -> str:
        """Name the extension."""
        return f"extension {self.owner}"

    def wants(self, event: HookEvent) -> bool:
        """Tell whether the event is this hook's."""
        return event.name is self.event

    def guards(self, event: HookEvent) -> bool:
        """Tell whether a failure is a no, as it is for commands without a word of their own."""
        return event.name in GUARDING

    async def on(self, event: HookEvent) -> HookAnswer | None:
        """Call the function. Raises HookFailed, and what the function raised."""
        try:
            async with asyncio.timeout(self.limit_s):
                answer = await self.call({"event": str(event.name), **event.facts})
        except TimeoutError as error:
            raise HookFailed(f"no answer within {self.limit_s:g} s") from error
        if answer is None:
            return None
        try:
            return answer_of(event, _ANSWER.validate_python(answer))
        except ValidationError as error:
            raise HookFailed(f"its answer is no JSON object: {type(answer).__name__}") from error


def hook_name(name: str) -> EventName:
    """Give the event that is called `name`. Raises ValueError."""
    if name in OTHER_NAMES:
        return OTHER_NAMES[name]
    try:
        return EventName(name)
    except ValueError:
        raise ValueError(f"there is no hook {name!r}{did_you_mean(name, EventName)}") from None
