from collections.abc import Sequence
from pathlib import Path

from agent_tui.protocol.events import ToolStarted
from agent_tui.toolkit.context import Question, QuestionOption
from agent_tui.ui.notify import Notifier
from agent_tui.ui.screens.question import QuestionScreen
from agent_tui.ui.settings import AppSettings
from tests.support.fake_backend import FakeBackend, emit
from tests.support.screens import Clock, Stage, stage

LANGUAGE = Question(
    question="Which language?",
    header="Language",
    options=(QuestionOption(label="Python", description="typed"), QuestionOption(label="Rust")),
)
PARTS = Question(
    question="Which parts?",
    header="Parts",
    options=(QuestionOption(label="cli"), QuestionOption(label="tui"), QuestionOption(label="docs")),
    multiple=True,
)
OPEN = Question(question="What [name]?")


def asking(workspace: Path, *questions: Question) -> FakeBackend:
    async def step(backend: FakeBackend) -> None:
        backend.answers.append(await backend.ask(questions))

    return FakeBackend(workspace, script=[[step]])


async def begin(here: Stage) -> None:
    await here.send("go")
    await here.until(lambda: isinstance(here.app.screen, QuestionScreen))


async def answers(here: Stage) -> Sequence[Sequence[str]] | None:
    await here.until(lambda: here.backend.answers)
    await here.idle()
    return here.backend.answers[0]


async def test_an_option_is_chosen_with_enter(workspace: Path) -> None:
    async with stage(workspace, backend=asking(workspace, LANGUAGE)) as here:
        await begin(here)
        await here.press("down", "enter")

        assert await answers(here) == [["Rust"]]


async def test_several_questions_are_tabs_and_go_back_as_one_answer(workspace: Path) -> None:
    async with stage(workspace, backend=asking(workspace, LANGUAGE, PARTS)) as here:
        await begin(here)
        assert "○ Language" in here.picture()
        await here.press("enter", "space", "down", "down", "space", "enter")

        assert await answers(here) == [["Python"], ["cli", "docs"]]


async def test_a_free_text_answers_in_own_words(workspace: Path) -> None:
    async with stage(workspace, backend=asking(workspace, LANGUAGE)) as here:
        await begin(here)
        await here.press("tab")
        await here.type("Zig, y n 1")
        await here.press("enter")

        assert await answers(here) == [["Zig, y n 1"]]


async def test_a_question_without_options_takes_text_and_shows_markup_as_it_is(workspace: Path) -> None:
    async with stage(workspace, backend=asking(workspace, OPEN)) as here:
        await begin(here)
        assert "What [name]?" in here.picture()
        await here.type("Ada")
        await here.press("enter")

        assert await answers(here) == [["Ada"]]


async def test_escape_declines(workspace: Path) -> None:
    async with stage(workspace, backend=asking(workspace, LANGUAGE)) as here:
        await begin(here)
        await here.press("escape")

        assert await answers(here) is None


async def test_escape_in_the_free_text_goes_back_to_the_options_first(workspace: Path) -> None:
    async with stage(workspace, backend=asking(workspace, LANGUAGE)) as here:
        await begin(here)
        await here.press("tab")
        await here.type("abc")
        await here.press("escape")
        assert here.app.in_dialog
        await here.press("enter")

        assert await answers(here) == [["Python"]]


async def test_what_was_typed_ahead_answers_nothing(workspace: Path) -> None:
    clock = Clock()
    settings = AppSettings(clock=clock, typing_s=0.0)
    async with stage(workspace, backend=asking(workspace, LANGUAGE), settings=settings) as here:
        await begin(here)
        await here.press("enter", "escape")
        assert here.app.in_dialog
        clock.now += 1
        await here.press("enter")

        assert await answers(here) == [["Python"]]


async def test_stopping_the_turn_closes_the_question(workspace: Path) -> None:
    async with stage(workspace, backend=asking(workspace, LANGUAGE)) as here:
        await begin(here)
        await here.press("ctrl+c")
        await here.idle()

        assert not here.app.in_dialog
        assert "cancel_turn" in here.backend.calls


async def test_what_is_to_be_read_first_is_shown_as_markdown_and_scrolls(workspace: Path) -> None:
    steps = "\n".join(f"{number}. step {number:02}" for number in range(1, 41))
    plan = LANGUAGE.model_copy(update={"details": f"# The plan\n\n{steps}"})
    async with stage(workspace, backend=asking(workspace, plan, PARTS)) as here:
        await begin(here)
        first = here.picture()
        await here.press("pagedown", "pagedown", "pagedown")
        await here.until(lambda: "step 40" in here.picture())
        await here.press("enter")
        await here.until(lambda: "step 40" not in here.picture())
        second = here.picture()
        await here.press("space", "enter")

        assert "The plan" in first
        assert "# The plan" not in first
        assert "step 40" not in first
        assert "PgDn reads on" in first
        assert "step 40" not in second
        assert await answers(here) == [["Python"], ["cli"]]


async def test_nothing_moves_while_a_question_waits(workspace: Path) -> None:
    async def step(backend: FakeBackend) -> None:
        backend.answers.append(await backend.ask([LANGUAGE]))

    running = ToolStarted(turn_id="t", call_id="c1", tool="question", display_name="Question", title="")
    sent: list[str] = []
    async with stage(workspace, backend=FakeBackend(workspace, script=[[emit(running), step]])) as here:
        here.app.notifier = Notifier("auto", send=sent.append, has_focus=lambda: False)
        await begin(here)
        assert here.app.transcript.document.running
        assert not here.app.transcript.spins
        assert not here.app.activity.spins
        assert "waits for your answer" in sent[-1]

        await here.press("enter")
        await answers(here)
        assert "\x1b]0;agent-tui\x1b\\" in sent
