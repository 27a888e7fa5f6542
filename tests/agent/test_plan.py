from collections.abc import Sequence
from pathlib import Path

import pytest

from agent_tui.agent.notes import note
from agent_tui.agent.plan import (
    ACCEPT,
    ACCEPT_EDITS,
    KEEP,
    PLAN_OFF,
    PLAN_ON,
    PlanMode,
    PlanReminder,
    inside_reminder,
)
from agent_tui.permissions.modes import Mode
from agent_tui.protocol.messages import TextBlock, UserMessage
from agent_tui.providers.scripted import text
from agent_tui.toolkit.context import Question
from tests.support.agent_world import world


class Switch:
    def __init__(self, mode: Mode = Mode.PLAN) -> None:
        self.mode = mode


class Person:
    def __init__(self, answers: Sequence[Sequence[str]] | None) -> None:
        self.answers = answers
        self.asked: list[Question] = []
        self.told: list[Mode] = []

    async def ask(self, questions: Sequence[Question]) -> Sequence[Sequence[str]] | None:
        self.asked += questions
        return self.answers

    async def hear(self, mode: Mode) -> None:
        self.told.append(mode)


@pytest.mark.parametrize(
    ("answers", "accepted", "words", "mode"),
    [
        ([[ACCEPT_EDITS]], True, "", Mode.ACCEPT_EDITS),
        ([[ACCEPT]], True, "", Mode.DEFAULT),
        ([[KEEP]], False, "", Mode.PLAN),
        ([["tests first"]], False, "tests first", Mode.PLAN),
        ([[ACCEPT, "but tests first"]], False, "but tests first", Mode.PLAN),
        ([[]], False, "", Mode.PLAN),
        ([], False, "", Mode.PLAN),
        (None, False, "", Mode.PLAN),
    ],
)
async def test_only_a_clear_yes_leaves_plan_mode(
    answers: list[list[str]] | None, accepted: bool, words: str, mode: Mode
) -> None:
    policy, person = Switch(), Person(answers)

    found = await PlanMode(policy, person.ask, person.hear).leave_plan("# Plan\n1. do it")

    assert found == (accepted, words)
    assert policy.mode is mode
    assert person.told == ([mode] if accepted else [])
    assert [question.details for question in person.asked] == ["# Plan\n1. do it"]


async def test_mode_that_was_changed_by_a_key_meanwhile_stays() -> None:
    policy = Switch()
    person = Person([[ACCEPT_EDITS]])

    async def ask(questions: Sequence[Question]) -> Sequence[Sequence[str]] | None:
        policy.mode = Mode.DEFAULT
        return await person.ask(questions)

    accepted, _ = await PlanMode(policy, ask, person.hear).leave_plan("plan")

    assert accepted
    assert policy.mode is Mode.DEFAULT


async def test_model_is_told_with_the_next_prompt_when_plan_mode_changes() -> None:
    policy = Switch(Mode.DEFAULT)
    place = world(text("1"), text("2"), text("3"), text("4"))
    agent = place.agent(reminders=PlanReminder(policy, lambda: agent.history))

    told: list[list[str]] = []
    for mode in (Mode.DEFAULT, Mode.PLAN, Mode.PLAN, Mode.ACCEPT_EDITS):
        policy.mode = mode
        await agent.run("go")
        last = place.provider.requests[-1].messages[-1]
        told.append([block.text for block in last.content if isinstance(block, TextBlock)])

    assert told == [["go"], [note(PLAN_ON), "go"], ["go"], [note(PLAN_OFF), "go"]]


def test_note_that_compaction_took_away_is_given_again() -> None:
    told = UserMessage(content=(TextBlock(text=note(PLAN_ON)), TextBlock(text="go")))
    reminder = PlanReminder(Switch(), lambda: ())

    assert PlanReminder(Switch(), lambda: (told,))() == ()
    assert reminder() == (PLAN_ON,)


def test_words_of_the_person_are_no_note() -> None:
    said = UserMessage(content=(TextBlock(text=PLAN_ON),))

    assert PlanReminder(Switch(), lambda: (said,))() == (PLAN_ON,)


def test_sub_agent_is_told_of_plan_mode_without_a_way_out(tmp_path: Path) -> None:
    policy = Switch()
    reminder = inside_reminder(policy)

    [words] = reminder()
    policy.mode = Mode.DEFAULT

    assert "exit_plan_mode" not in words
    assert reminder() == ()
