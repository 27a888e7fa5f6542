"""Structured output: the synthetic `__respond__` tool that carries a turn's final answer."""

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol, cast

from agent_tui.protocol.data import JsonObject
from agent_tui.protocol.json_text import parse_json
from agent_tui.protocol.tools import ToolSpec

RESPOND = "__respond__"
MAX_RETRIES = 3
ACCEPTED = "Accepted."
NOT_REACHED = f"Not run: {RESPOND} ends the turn, so no other call of the same reply is run."
MISSING = (
    f"This turn must end with a call to {RESPOND} whose arguments follow its schema; plain text is not accepted. "
    f"Call {RESPOND} now."
)


class _Problem(Protocol):
    absolute_path: Sequence[str | int]
    message: str


class _Validator(Protocol):
    """What is used of a jsonschema validator; the package has no types."""

    def iter_errors(self, instance: object) -> Iterable[_Problem]: ...


def respond_spec(schema: JsonObject) -> ToolSpec:
    """Describe the tool whose arguments must follow `schema` (a JSON schema of type object)."""
    return ToolSpec(
        name=RESPOND,
        description=(
            "Gives the final answer of this task as structured data. Call it exactly once, alone, when the work is "
            "done. Its arguments are the answer."
        ),
        input_schema=schema,
    )


def check(schema: JsonObject, arguments_json: str) -> tuple[JsonObject | None, str]:
    """Validate an answer; give it, or None and the text of what is wrong."""
    from jsonschema import validators  # 40 ms, and few runs ask for structured output

    try:
        answer = parse_json(arguments_json)
    except ValueError as error:
        return None, f"The arguments are not valid JSON: {error}. Call {RESPOND} again."
    if not isinstance(answer, dict):
        return None, f"The arguments must be a JSON object. Call {RESPOND} again."
    choose = cast("Callable[[JsonObject], Callable[[JsonObject], _Validator]]", validators.validator_for)  # pyright: ignore[reportUnknownMemberType]  # the package has no types
    validator = choose(schema)(schema)
    problems = sorted(
        (f"- {'/'.join(map(str, problem.absolute_path)) or '(the whole)'}: {problem.message}")
        for problem in validator.iter_errors(cast("JsonObject", answer))
    )
    if not problems:
        return cast("JsonObject", answer), ""
    return None, "\n".join(
        ["The answer does not follow the schema:", *problems[:10], f"Call {RESPOND} again."]
    )
