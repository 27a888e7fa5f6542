"""Asks the person."""

from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict, Field, model_validator

from agent_tui.toolkit.api import (
    DisplayConfig,
    DisplayResult,
    JsonObject,
    ResultContentType,
    Tool,
    ToolContext,
    ToolError,
    ToolResult,
    count,
    display_text,
)
from agent_tui.toolkit.context import Question, QuestionOption

QUESTIONS_LIMIT = 10
OPTIONS_MIN = 2
OPTIONS_LIMIT = 20
HEADER_CHARS = 12
DECLINED = "The person declined to answer."
CALL_TIMEOUT_S = 3_600  # a person may take any time; this is the longest a call can have


class OptionParams(BaseModel):
    """One answer to choose."""

    model_config = ConfigDict(extra="ignore")

    label: str = Field(min_length=1, description="The answer, in a few words.")
    description: str = Field(default="", description="What it means.")


class QuestionParams(BaseModel):
    """One question."""

    model_config = ConfigDict(extra="ignore")

    question: str = Field(min_length=1, description="The whole question.")
    header: str = Field(default="", max_length=HEADER_CHARS, description="Its tab, at most 12 characters.")
    options: list[OptionParams] = Field(
        min_length=OPTIONS_MIN,
        max_length=OPTIONS_LIMIT,
        description="At least two answers; a free answer is always possible, do not list it.",
    )
    multiple: bool = Field(default=False, description="Whether several answers may be chosen.")

    @model_validator(mode="after")
    def _check_labels(self) -> "QuestionParams":
        labels = [option.label.strip() for option in self.options]
        if not all(labels) or not self.question.strip():
            raise ValueError("a question and every label need words")
        if len(set(labels)) < len(labels):
            raise ValueError(f"two options of {self.question!r} have the same label")
        return self


class AskParams(BaseModel):
    """Arguments of question."""

    model_config = ConfigDict(extra="ignore")

    questions: list[QuestionParams] = Field(
        min_length=1, max_length=QUESTIONS_LIMIT, description="One to ten questions, asked together."
    )


def _check_answers(questions: Sequence[QuestionParams], answers: Sequence[Sequence[str]]) -> None:
    """Check what came back against what was asked. Raises ToolError."""
    if len(answers) != len(questions):
        raise ToolError(
            f"{count(len(questions), 'question')} got {count(len(answers), 'answer')}; nothing is answered."
        )
    for question, chosen in zip(questions, answers, strict=True):
        if not any(answer.strip() for answer in chosen):
            raise ToolError(f"{question.question!r} was left without an answer.")
        if len(chosen) > 1 and not question.multiple:
            raise ToolError(f"{question.question!r} takes one answer and got {len(chosen)}.")


def _content(params: AskParams, result: ToolResult) -> DisplayResult:
    answers = result.data.get("answers")
    if not isinstance(answers, list):
        return display_text(result.output, summary="declined" if result.output == DECLINED else "")
    lines: list[str] = []
    for question, chosen in zip(params.questions, answers, strict=False):
        marks = [str(answer) for answer in chosen] if isinstance(chosen, list) else []
        lines.append(question.question)
        lines += [f"  {'●' if option.label in marks else '○'} {option.label}" for option in question.options]
        known = {option.label for option in question.options}
        lines += [f"  ● {answer}" for answer in marks if answer not in known]
    return display_text("\n".join(lines), ResultContentType.PLAIN_TEXT, summary=count(len(answers), "answer"))


class AskPerson(Tool[AskParams]):
    name = "question"
    description = (
        "Ask the person one or more questions with answers to choose from, when a decision is theirs and you cannot "
        "find it out. They may also answer freely or decline."
    )
    params_type = AskParams
    timeout_s = CALL_TIMEOUT_S
    interruptible = True
    display = DisplayConfig(
        display_name="Question",
        display_title=lambda params: count(len(params.questions), "question"),
        display_content=_content,
    )

    async def run(self, params: AskParams, ctx: ToolContext) -> ToolResult:
        if ctx.ask is None:
            raise ToolError("There is nobody to ask here; decide by yourself and say what you assumed.")
        questions = [
            Question(
                question=asked.question,
                header=asked.header,
                options=tuple(
                    QuestionOption(label=o.label, description=o.description) for o in asked.options
                ),
                multiple=asked.multiple,
            )
            for asked in params.questions
        ]
        answers = await ctx.ask(questions)
        if answers is None:
            return ToolResult.success(DECLINED, data={"declined": True})
        _check_answers(params.questions, answers)
        data: JsonObject = {"answers": [list(chosen) for chosen in answers]}
        lines = [f"{q.question}: {', '.join(chosen)}" for q, chosen in zip(questions, answers, strict=True)]
        return ToolResult.success("\n".join(lines), data=data)

    def compact_summary(self, params: AskParams, result: ToolResult) -> str:
        return f"[AskUserQuestions: {count(len(params.questions), 'question')}]"
