from collections.abc import Sequence
from pathlib import Path

import pytest

from agent_tui.toolkit.context import Question
from tests.support.tool_world import ToolWorld, make_world

OPTIONS = [{"label": "red", "description": "warm"}, {"label": "blue"}]
ONE = {"question": "Which colour?", "header": "Colour", "options": OPTIONS}
MANY = {"question": "Which ones?", "options": [*OPTIONS, {"label": "green"}], "multiple": True}


class Person:
    def __init__(self, answers: Sequence[Sequence[str]] | None) -> None:
        self.answers = answers
        self.asked: list[Question] = []

    async def __call__(self, questions: Sequence[Question]) -> Sequence[Sequence[str]] | None:
        self.asked = list(questions)
        return self.answers


@pytest.fixture
def world(workspace: Path) -> ToolWorld:
    return make_world(workspace)


async def test_h55_answers_come_back_beside_their_questions(world: ToolWorld) -> None:
    person = world.ctx.ask = Person([["blue"], ["red", "green"]])

    result = await world.run("question", questions=[ONE, MANY])

    assert result.output == "Which colour?: blue\nWhich ones?: red, green"
    assert person.asked[0].options[0].description == "warm"
    assert (person.asked[0].multiple, person.asked[1].multiple) == (False, True)


async def test_a108_a_free_answer_is_always_possible(world: ToolWorld) -> None:
    world.ctx.ask = Person([["something else"]])

    assert (await world.run("question", questions=[ONE])).output == "Which colour?: something else"


async def test_item_71_a108_esc_is_declined(world: ToolWorld) -> None:
    world.ctx.ask = Person(None)

    result = await world.run("question", questions=[ONE])

    assert (result.output, result.is_error) == ("The person declined to answer.", False)
    assert world.shown("question", result, questions=[ONE]).summary == "declined"


@pytest.mark.parametrize("answers", [[], [["red"], ["blue"]], [[]], [["  "]], [["red", "blue"]]])
async def test_item_71_h55_answers_that_do_not_match_are_an_error(
    world: ToolWorld, answers: list[list[str]]
) -> None:
    world.ctx.ask = Person(answers)

    assert (await world.run("question", questions=[ONE])).is_error


async def test_h54_without_a_person_it_says_so(world: ToolWorld) -> None:
    result = await world.run("question", questions=[ONE])

    assert result.is_error
    assert "nobody to ask" in result.output


@pytest.mark.parametrize(
    "questions",
    [
        [],
        [{**ONE, "options": []}],
        [{**ONE, "options": OPTIONS[:1]}],
        [{**ONE, "header": "h" * 13}],
        [{**ONE, "question": "  "}],
        [{**ONE, "options": [{"label": "x"}, {"label": "x"}]}],
        [{**ONE, "options": [{"label": " "}, {"label": "x"}]}],
        [ONE] * 11,
    ],
)
async def test_h55_a108_malformed_questions_are_refused(world: ToolWorld, questions: list[object]) -> None:
    with pytest.raises(ValueError, match=r"question|option|label|header"):
        await world.run("question", questions=questions)


async def test_panel_shows_what_was_answered(world: ToolWorld) -> None:
    world.ctx.ask = Person([["blue"], ["red", "mauve"]])
    result = await world.run("question", questions=[ONE, MANY])

    shown = world.shown("question", result, questions=[ONE, MANY])

    assert shown.content == (
        "Which colour?\n  ○ red\n  ● blue\nWhich ones?\n  ● red\n  ○ blue\n  ○ green\n  ● mauve"
    )
    assert world.title("question", questions=[ONE, MANY]) == "2 questions"
    assert world.title("question", questions=[ONE]) == "1 question"
    assert world.summary("question", result, questions=[ONE]) == "[AskUserQuestions: 1 question]"
