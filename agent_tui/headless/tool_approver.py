"""Asks a tool of an MCP server about each call that waits for an approval: one call per request."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, TypeAdapter, ValidationError

from agent_tui.headless.approver import NobodyApprover
from agent_tui.protocol.data import JsonObject
from agent_tui.protocol.errors import ToolError
from agent_tui.protocol.json_text import parse_json
from agent_tui.protocol.permissions import (
    DecidedBy,
    Decision,
    PermissionDecision,
    PermissionRequest,
    Verdict,
)
from agent_tui.protocol.plain_reasons import first_misfit

AskTool = Callable[[JsonObject], Awaitable[str]]
"""Calls the tool and gives the text of its answer. Raises ToolError."""


class _Allow(BaseModel):
    """The call may run; `updatedInput` are the arguments it runs with, those that were asked about when left out."""

    model_config = ConfigDict(extra="ignore")

    behavior: Literal["allow"]
    updatedInput: dict[str, JsonValue] | None = None


class _Deny(BaseModel):
    """The call must not run; `message` is for the model."""

    model_config = ConfigDict(extra="ignore")

    behavior: Literal["deny"]
    message: str = ""


_ANSWER: TypeAdapter[_Allow | _Deny] = TypeAdapter(
    Annotated[_Allow | _Deny, Field(discriminator="behavior")], config={"defer_build": True}
)


class ToolApprover:
    """Every answer holds once. Whatever goes wrong - the server, its time, its words - is a no, and is said."""

    def __init__(self, name: str, ask: AskTool, *, say: Callable[[str], None]) -> None:
        self._name = name
        self._ask = ask
        self._say = say

    async def review(self, requests: Sequence[PermissionRequest]) -> Mapping[str, Verdict]:
        """Ask about one request after the other, in the order of the round."""
        return {request.call_id: await self._verdict(request) for request in requests}

    async def _verdict(self, request: PermissionRequest) -> Verdict:
        arguments: JsonObject = parse_json(request.arguments_json)
        asked: JsonObject = {"tool_name": request.tool, "input": arguments, "tool_use_id": request.call_id}
        try:
            answer = _ANSWER.validate_json(await self._ask(asked))
        except (ToolError, ValidationError) as error:
            is_misfit = isinstance(error, ValidationError)
            why = first_misfit(error, whole="an object is expected") if is_misfit else error
            self._say(f"{self._name} gave no usable answer ({why}); the call of {request.tool} is denied.")
            return (await NobodyApprover().review([request]))[request.call_id]
        if isinstance(answer, _Deny):
            return _decided(request, Decision.DENY, feedback=answer.message)
        edited = answer.updatedInput if answer.updatedInput != arguments else None
        return _decided(request, Decision.ALLOW, edited=edited)


def _decided(
    request: PermissionRequest,
    decision: Decision,
    *,
    feedback: str = "",
    edited: dict[str, JsonValue] | None = None,
) -> Verdict:
    return Verdict(
        call_id=request.call_id,
        permissions=tuple(
            PermissionDecision(permission_id=one.id, decision=decision, decided_by=DecidedBy.HOOK)
            for one in request.permissions
        ),
        feedback=feedback,
        edited_arguments=edited,
    )
