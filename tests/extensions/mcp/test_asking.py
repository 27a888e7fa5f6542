import asyncio
import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from agent_tui.extensions.mcp.guest import SampleReply, SampleRequest
from agent_tui.extensions.mcp.questions import WrongAnswer, form_answers, form_questions
from agent_tui.toolkit.context import Ask, Question
from tests.support.mcp_world import spec, world


class Person:
    def __init__(self, *answers: Sequence[Sequence[str]] | None) -> None:
        self.asked: list[list[Question]] = []
        self._answers = list(answers)

    async def __call__(self, questions: Sequence[Question]) -> Sequence[Sequence[str]] | None:
        self.asked.append(list(questions))
        return self._answers.pop(0)

    def there(self) -> Ask | None:
        return self


async def test_a_server_can_ask_the_person(workspace: Path) -> None:
    person = Person([["Ann"], ["Yes"]])
    async with world(workspace, [spec()], desk={"ask": person.there, "interactive": True}) as here:
        said = json.loads((await here.call("mcp__tiny__ask")).output)

    assert said == {"action": "accept", "content": {"name": "Ann", "sure": True}}
    first, second = person.asked[0]
    assert "The MCP server 'tiny' asks:\n\nWho are you?" in first.details
    assert [option.label for option in second.options] == ["Yes", "No"]


async def test_a_wrong_answer_is_asked_for_again_with_the_reason(workspace: Path) -> None:
    person = Person([["Ann"], ["perhaps"]], [["Ann"], ["No"]])
    async with world(workspace, [spec()], desk={"ask": person.there, "interactive": True}) as here:
        said = json.loads((await here.call("mcp__tiny__ask")).output)

    assert said["content"] == {"name": "Ann", "sure": False}
    assert "'sure' must be yes or no" in person.asked[1][0].details


async def test_who_closes_the_question_cancels_it(workspace: Path) -> None:
    async with world(workspace, [spec()], desk={"ask": Person(None).there, "interactive": True}) as here:
        assert json.loads((await here.call("mcp__tiny__ask")).output) == {"action": "cancel"}


async def test_without_a_person_questions_are_declined(workspace: Path) -> None:
    async with world(workspace, [spec()], desk={"interactive": True}) as here:
        assert json.loads((await here.call("mcp__tiny__ask")).output) == {"action": "decline"}
    async with world(workspace, [spec()]) as here:
        assert "not supported" in (await here.call("mcp__tiny__ask")).output


async def test_a_calls_time_stands_still_while_the_person_thinks(workspace: Path) -> None:
    class Slow(Person):
        async def __call__(self, questions: Sequence[Question]) -> Sequence[Sequence[str]] | None:
            await asyncio.sleep(1.5)
            return await super().__call__(questions)

    person = Slow([["Ann"], []])
    async with world(workspace, [spec(call_s=1.0)], desk={"ask": person.there, "interactive": True}) as here:
        assert "Ann" in (await here.call("mcp__tiny__ask")).output


@pytest.mark.parametrize(("answer", "allowed"), [("Allow once", True), ("Deny", False), ("", False)])
async def test_the_model_answers_for_a_server_only_if_the_person_allows_it(
    workspace: Path, answer: str, allowed: bool
) -> None:
    requests: list[SampleRequest] = []

    async def sample(request: SampleRequest) -> SampleReply:
        requests.append(request)
        return SampleReply(text="four", model="m")

    person = Person([[answer]])
    desk = {"ask": person.there, "interactive": True, "sampler": sample}
    async with world(workspace, [spec()], desk=desk) as here:
        said = json.loads((await here.call("mcp__tiny__sample")).output)

    assert bool(requests) == allowed
    assert ("four" in json.dumps(said)) == allowed
    assert "user: 2+2?" in person.asked[0][0].details
    assert person.asked[0][0].options[0].label == "Deny"


async def test_with_nobody_to_ask_the_model_answers_no_server(workspace: Path) -> None:
    async def sample(request: SampleRequest) -> SampleReply:
        raise AssertionError("nobody allowed it")

    async with world(workspace, [spec()], desk={"sampler": sample, "interactive": True}) as here:
        assert "did not allow" in (await here.call("mcp__tiny__sample")).output


def test_a_form_becomes_questions_and_its_answers_values() -> None:
    schema = {
        "type": "object",
        "properties": {
            "size": {"type": "integer", "title": "Size", "description": "in MB"},
            "colour": {"type": "string", "enum": ["r", "g"], "enumNames": ["Red", "Green"]},
            "kind": {"type": "string", "oneOf": [{"const": "a", "title": "Apple"}]},
            "tags": {"type": "array", "items": {"type": "string", "enum": ["x", "y"]}},
            "note": {"type": "string", "default": "none"},
        },
        "required": ["size"],
    }

    questions = form_questions("s", "Please", schema)
    answers = form_answers(schema, [["3"], ["Green"], ["Apple"], ["x", "y"], []])

    assert questions[0].question == "Size: in MB"
    assert questions[1].question == "colour (may be left empty)"
    assert [option.label for option in questions[1].options] == ["Red", "Green"]
    assert questions[3].multiple
    assert answers == {"size": 3, "colour": "g", "kind": "a", "tags": ["x", "y"], "note": "none"}
    for wrong in ([["three"]], [[]], [["3"], ["Blue"]]):
        with pytest.raises(WrongAnswer):
            form_answers(schema, wrong)


def test_a_form_that_is_too_long_is_refused() -> None:
    with pytest.raises(ValueError, match="more than 12 fields"):
        form_questions("s", "m", {"properties": {f"f{i}": {"type": "string"} for i in range(13)}})
