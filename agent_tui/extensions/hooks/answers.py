"""Reads what a hook command answered: its exit code, its output, its errors."""

from typing import cast

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from agent_tui.extensions.hooks.events import EventName, HookAnswer, HookEvent, HookFailed, Word
from agent_tui.protocol.data import JsonObject
from agent_tui.protocol.json_text import parse_json
from agent_tui.protocol.plain_reasons import first_misfit

BLOCK_CODE = 2
MAX_REASON_CHARS = 2_000
_PLAIN_IS_CONTEXT = frozenset({EventName.SESSION_START, EventName.USER_PROMPT})
_NO_REASON = "it gave no reason"
_WORDS: dict[str, Word] = {
    "": "",
    "allow": "allow",
    "approve": "allow",
    "deny": "deny",
    "block": "deny",
    "ask": "ask",
}


class _Inner(BaseModel):
    """The part of an answer that hooks written for other agents put their words into, in their spelling."""

    model_config = ConfigDict(extra="forbid")

    hookEventName: str = ""
    permissionDecision: str = ""
    permissionDecisionReason: str = ""
    updatedInput: JsonObject | None = None
    additionalContext: str = ""


class _Answer(BaseModel):
    """An answer as JSON. Unknown keys are refused: a misspelt "deny" must not pass for no opinion."""

    model_config = ConfigDict(extra="forbid")

    decision: str = ""
    reason: str = ""
    arguments: JsonObject | None = None
    output: str | None = None
    context: str = ""
    stop: str = ""
    go_on: bool = Field(default=True, alias="continue")
    stopReason: str = ""
    systemMessage: str = ""
    suppressOutput: bool = False
    hookSpecificOutput: _Inner = _Inner()


def read_answer(event: HookEvent, code: int, stdout: bytes, stderr: bytes) -> HookAnswer:
    """Give what a command that ended with `code` said. Raises HookFailed when it is not usable."""
    if code == BLOCK_CODE:
        reason = _text(stderr) or _text(stdout) or _NO_REASON
        return HookAnswer(decision="deny", reason=reason[:MAX_REASON_CHARS])
    if code != 0:
        said = _text(stderr).partition("\n")[0][:200]
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        raise HookFailed(f"{how}: {said}" if said else how)
    text = _text(stdout)
    if text.startswith("{"):
        return _from_json(event, text)
    if not text:
        return HookAnswer()
    if event.name in _PLAIN_IS_CONTEXT:
        return HookAnswer(context=text)
    raise HookFailed(f"its output is not a JSON object: {text[:80]!r}")


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace").strip()


def _from_json(event: HookEvent, text: str) -> HookAnswer:
    try:
        value = cast("JsonValue", parse_json(text))
    except RecursionError as error:
        raise HookFailed("its answer is nested too deeply") from error
    except ValueError as error:
        raise HookFailed(f"its answer is not valid JSON: {error}") from error
    return answer_of(event, value)


def answer_of(event: HookEvent, value: JsonValue) -> HookAnswer:
    """Give the answer that JSON holds. Raises HookFailed."""
    try:
        said = _Answer.model_validate(value)
    except ValidationError as error:
        reason = first_misfit(error, whole="an object is expected")
        raise HookFailed(f"its answer is not usable: {reason}") from error
    except ValueError as error:
        raise HookFailed(f"its answer is not valid JSON: {error}") from error
    return _as_answer(event, said)


def _as_answer(event: HookEvent, said: _Answer) -> HookAnswer:
    inner = said.hookSpecificOutput
    word = _WORDS.get((inner.permissionDecision or said.decision).lower())
    if word is None:
        raise HookFailed(f"the decision {(inner.permissionDecision or said.decision)!r} is none it may give")
    reason = (inner.permissionDecisionReason or said.reason or said.stopReason)[:MAX_REASON_CHARS]
    stop = said.stop
    if not said.go_on:
        if event.name is EventName.POST_TOOL:
            stop = stop or reason or _NO_REASON
        else:
            word = "deny"
    return HookAnswer(
        decision=word,
        reason=reason or (_NO_REASON if word == "deny" else ""),
        arguments=inner.updatedInput if inner.updatedInput is not None else said.arguments,
        output=said.output,
        context=inner.additionalContext or said.context,
        stop=stop[:MAX_REASON_CHARS],
    )
