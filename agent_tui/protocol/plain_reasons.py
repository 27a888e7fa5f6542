"""Says in plain words why a file cannot be read, or why what others wrote does not fit what was expected."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the screen's first frame needs no pydantic
    from pydantic import ValidationError
    from pydantic_core import ErrorDetails

_EXPECTED = {
    "bool": "true or false is expected",
    "dataclass": "a table is expected",
    "date": "a date is expected",
    "dict": "a table is expected",
    "float": "a number is expected",
    "finite": "a number is expected",
    "int": "a whole number is expected",
    "iterable": "a list is expected",
    "list": "a list is expected",
    "mapping": "a table is expected",
    "model": "a table is expected",
    "set": "a list is expected",
    "string": "a text is expected",
    "tuple": "a list is expected",
}
"""What is wanted, by the first word of the kind of misfit."""
_EXACTLY = {
    "missing": "is missing",
    "extra_forbidden": "is not known here",
    "greater_than": "must be more than {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than": "must be less than {lt}",
    "less_than_equal": "must be at most {le}",
    "too_short": "must have {min_length} or more",
    "too_long": "must have at most {max_length}",
    "string_too_short": "needs at least {min_length} characters",
    "string_too_long": "has more than {max_length} characters",
    "string_pattern_mismatch": "does not follow the pattern {pattern}",
    "literal_error": "one of {expected} is expected",
    "enum": "one of {expected} is expected",
    "json_invalid": "is not valid JSON: {error}",
    "value_error": "{error}",
}


def unreadable(error: OSError | UnicodeError) -> str:
    """Say why a file cannot be read."""
    if isinstance(error, UnicodeError):
        return "is not UTF-8; save it as UTF-8"
    return f"cannot be read: {error.strerror or error}"


def misfit(details: "ErrorDetails") -> str:
    """Say why one value does not fit. The value itself, which may be a secret, is not repeated."""
    kind = details["type"]
    if kind in _EXACTLY:
        return _EXACTLY[kind].format_map({name: _plain(one) for name, one in details.get("ctx", {}).items()})
    said = details["msg"]
    return _EXPECTED.get(kind.partition("_")[0], f"{said[:1].lower()}{said[1:]}")


def first_misfit(error: "ValidationError", *, whole: str = "a table is expected") -> str:
    """Say where the first value stands that does not fit, and why; `whole` where it is all of it."""
    first, *others = error.errors(include_url=False)
    place = first["loc"]
    if first["type"] != "missing" and any(
        other["loc"][:-1] == place[:-1] and other["input"] is first["input"] for other in others
    ):
        place = place[:-1]  # each type that would do is a place of its own
    if place:
        return f"{'.'.join(map(str, place))}: {misfit(first)}"
    return misfit(first) if first["type"] == "json_invalid" else whole


def _plain(value: object) -> object:
    return int(value) if isinstance(value, float) and value.is_integer() else value
