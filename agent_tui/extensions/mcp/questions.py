"""Puts a server's form before the person as questions and turns the answers back into its fields."""

from collections.abc import Sequence

from pydantic import JsonValue

from agent_tui.extensions.plain import one_line, plain
from agent_tui.protocol.data import JsonObject
from agent_tui.toolkit.context import Question, QuestionOption

MAX_FIELDS = 12
MAX_OPTIONS = 50
Field = str | int | float | bool | list[str]


class WrongAnswer(ValueError):
    """An answer does not fit its field; the text says how."""


def form_questions(server: str, message: str, schema: JsonObject) -> list[Question]:
    """Give one question for each field; a form without fields is a yes or no. Raises ValueError for a strange form."""
    fields = _fields(schema)
    details = f"The MCP server {one_line(server)!r} asks:\n\n{plain(message)[:4_000]}"
    if not fields:
        yes_no = (QuestionOption(label="Yes"), QuestionOption(label="No"))
        question = one_line(message, limit_chars=300) or "Go on?"
        return [
            Question(
                question=question, header=one_line(server, limit_chars=20), options=yes_no, details=details
            )
        ]
    needed = _names(schema.get("required"))
    questions: list[Question] = []
    for number, (name, field) in enumerate(fields.items()):
        label = one_line(_word(field, "title") or name, limit_chars=100)
        about = one_line(_word(field, "description"), limit_chars=300)
        optional = "" if name in needed else " (may be left empty)"
        questions.append(
            Question(
                question=f"{label}{f': {about}' if about else ''}{optional}",
                header=one_line(server, limit_chars=20),
                options=tuple(QuestionOption(label=label) for label, _ in _choices(field)[:MAX_OPTIONS]),
                multiple=field.get("type") == "array",
                details=details if number == 0 else "",
            )
        )
    return questions


def form_answers(schema: JsonObject, answers: Sequence[Sequence[str]]) -> dict[str, Field]:
    """Give the fields of a form; one that was left empty takes its default or is left out. Raises WrongAnswer."""
    needed = _names(schema.get("required"))
    content: dict[str, Field] = {}
    for (name, field), given in zip(_fields(schema).items(), answers, strict=False):
        words = [word for word in given if word.strip()]
        if words:
            content[name] = _value(name, field, words)
            continue
        default = field.get("default")
        if isinstance(default, str | int | float | bool):
            content[name] = default
        elif name in needed:
            raise WrongAnswer(f"{name!r} must be answered")
    return content


def _value(name: str, field: JsonObject, words: list[str]) -> Field:
    """Read the answer to one field. Raises WrongAnswer."""
    values = dict(_choices(field))
    kind = field.get("type")
    if kind == "array":
        return [str(values.get(word, word)) for word in words]
    word = words[0].strip()
    if kind == "boolean":
        if word.casefold() not in ("yes", "no", "true", "false"):
            raise WrongAnswer(f"{name!r} must be yes or no, not {word!r}")
        return word.casefold() in ("yes", "true")
    if kind in ("integer", "number"):
        try:
            return int(word) if kind == "integer" else float(word)
        except ValueError as error:
            raise WrongAnswer(f"{name!r} must be a number, not {word!r}") from error
    if values and word not in values and word not in values.values():
        raise WrongAnswer(f"{name!r} must be one of {', '.join(values)}, not {word!r}")
    return values.get(word, word)


def _choices(field: JsonObject) -> list[tuple[str, str]]:
    """Give (label, value) of what can be chosen, none for free text."""
    if field.get("type") == "boolean":
        return [("Yes", "true"), ("No", "false")]
    inner = field.get("items")
    source = inner if field.get("type") == "array" and isinstance(inner, dict) else field
    for word in ("oneOf", "anyOf"):
        titled = source.get(word)
        if isinstance(titled, list):
            pairs = [
                (_word(e, "title") or _word(e, "const"), _word(e, "const"))
                for e in titled
                if isinstance(e, dict)
            ]
            return [(one_line(label), value) for label, value in pairs if value]
    values = [value for value in _list(source.get("enum")) if isinstance(value, str)]
    labels = [str(label) for label in _list(source.get("enumNames"))]
    return [(one_line(labels[i] if i < len(labels) else value), value) for i, value in enumerate(values)]


def _fields(schema: JsonObject) -> dict[str, JsonObject]:
    """Raises ValueError for a form that is too long."""
    found = schema.get("properties")
    fields = {k: v for k, v in found.items() if isinstance(v, dict)} if isinstance(found, dict) else {}
    if len(fields) > MAX_FIELDS:
        raise ValueError(f"the form has more than {MAX_FIELDS} fields")
    return fields


def _word(table: JsonObject, key: str) -> str:
    value = table.get(key)
    return value if isinstance(value, str) else ""


def _list(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else []


def _names(value: JsonValue) -> set[str]:
    return {name for name in _list(value) if isinstance(name, str)}
