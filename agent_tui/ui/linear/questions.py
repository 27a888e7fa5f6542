"""Puts the model's questions to the person, one after the other."""

from __future__ import annotations

from collections.abc import Sequence

from agent_tui.toolkit.context import Question
from agent_tui.ui.linear.choosing import choose, choose_several
from agent_tui.ui.linear.lines import Lines

_OWN = "Something else"


async def ask_questions(lines: Lines, questions: Sequence[Question]) -> list[list[str]] | None:
    """Give a list of answers for each question; None as soon as one is left without an answer."""
    answers: list[list[str]] = []
    for number, question in enumerate(questions, start=1):
        lines.bell()
        answer = await _ask(lines, question, f"Question {number} of {len(questions)}")
        if answer is None:
            lines.say("No answer was given.")
            return None
        answers.append(answer)
    return answers


async def _ask(lines: Lines, question: Question, label: str) -> list[str] | None:
    if question.details:
        lines.say(question.details)
    head = f"{label}: {question.question}"
    if not question.options:
        lines.say(head)
        text = await lines.ask("Your answer:")
        return [text.strip()] if text and text.strip() else None
    options = [
        f"{one.label}: {one.description}" if one.description else one.label for one in question.options
    ]
    if question.multiple:
        chosen = await choose_several(lines, head, [*options, _OWN])
    else:
        one = await choose(lines, head, [*options, _OWN])
        chosen = None if one is None else [one]
    if chosen is None:
        return None
    answers = [question.options[index].label for index in chosen if index < len(question.options)]
    if len(options) in chosen:
        text = await lines.ask("Your own words:")
        if not text or not text.strip():
            return None
        answers.append(text.strip())
    return answers
