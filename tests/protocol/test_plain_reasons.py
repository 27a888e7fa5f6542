from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from agent_tui.protocol.plain_reasons import first_misfit
from agent_tui.protocol.toml_text import TomlFault, parse_toml


class Inner(BaseModel):
    word: str


class Model(BaseModel):
    model_config = ConfigDict(extra="forbid")

    whole: int = 0
    number: Annotated[float, Field(gt=0, le=3600)] = 1.0
    text: Annotated[str, Field(min_length=2, max_length=3)] = "ab"
    flag: bool = True
    words: tuple[str, ...] = ()
    filled: Annotated[tuple[str, ...], Field(min_length=1)] = ("a",)
    table: dict[str, str | int] = {}
    chosen: Literal["a", "b"] = "a"
    inner: Inner | None = None
    even: int = 0

    @field_validator("even")
    @classmethod
    def _even(cls, value: int) -> int:
        if value % 2:
            raise ValueError("an even number is expected")
        return value


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"whole": "x"}, "whole: a whole number is expected"),
        ({"whole": 1.5}, "whole: a whole number is expected"),
        ({"number": "x"}, "number: a number is expected"),
        ({"number": 0}, "number: must be more than 0"),
        ({"number": 3601}, "number: must be at most 3600"),
        ({"text": 5}, "text: a text is expected"),
        ({"text": "a"}, "text: needs at least 2 characters"),
        ({"text": "abcd"}, "text: has more than 3 characters"),
        ({"flag": "maybe"}, "flag: true or false is expected"),
        ({"words": "a"}, "words: a list is expected"),
        ({"words": [1]}, "words.0: a text is expected"),
        ({"filled": []}, "filled: must have 1 or more"),
        ({"table": 1}, "table: a table is expected"),
        ({"table": {"a": ["secret"]}}, "table.a: a text is expected"),
        ({"chosen": "c"}, "chosen: one of 'a' or 'b' is expected"),
        ({"inner": {}}, "inner.word: is missing"),
        ({"inner": 3}, "inner: a table is expected"),
        ({"even": 3}, "even: an even number is expected"),
        ({"other": 3}, "other: is not known here"),
        (3, "a table is expected"),
    ],
)
def test_what_does_not_fit_is_told_in_plain_words(given: object, said: str) -> None:
    with pytest.raises(ValidationError) as raised:
        Model.model_validate(given)

    assert first_misfit(raised.value) == said


def test_text_that_is_no_json_is_told_with_its_place() -> None:
    with pytest.raises(ValidationError) as raised:
        Model.model_validate_json('{\n"whole" 1}')

    assert first_misfit(raised.value) == "is not valid JSON: expected `:` at line 2 column 9"


@pytest.mark.parametrize(
    ("text", "reason", "line"),
    [
        ("a = 1\nb\n", "expected '=' after a key in a key/value pair (column 2)", 2),
        ("a = 1\nb = [1,\n\n", "invalid value", 2),
        ("a = " + "[" * 100_000, "the values are nested too deeply", 0),
    ],
)
def test_text_that_is_no_toml_is_told_with_its_line(text: str, reason: str, line: int) -> None:
    with pytest.raises(TomlFault) as raised:
        parse_toml(text)

    assert (raised.value.reason, raised.value.line) == (reason, line)
