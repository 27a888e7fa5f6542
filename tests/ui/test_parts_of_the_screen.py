import time
from pathlib import Path

import pytest

from agent_tui.protocol.display import DisplayResult
from agent_tui.protocol.events import ToolFinished, ToolStarted
from agent_tui.toolkit.context import Question, QuestionOption
from agent_tui.ui.backend import SessionView
from agent_tui.ui.screens.question import QuestionScreen
from agent_tui.ui.screens.sessions import SessionPicker
from agent_tui.ui.settings import AppSettings
from tests.support.approval_requests import bash_request
from tests.support.fake_backend import FakeBackend, approve, emit, say
from tests.support.screens import stage

THEMES = Path(__file__).parents[2] / "themes"
SESSIONS = [
    SessionView("s-1", "here", 1000.0, 3, "first words"),
    SessionView("s-2", "Parser", 900.0, 1, "write a parser"),
]


async def test_a95_the_screen_has_all_its_parts(workspace: Path) -> None:
    call = {"turn_id": "t", "call_id": "c9", "tool": "read", "display_name": "Read", "title": "a.py"}
    done = ToolFinished(
        is_error=False, output="x", display=DisplayResult(content="x", full_length=1, full_lines=1), **call
    )
    script = [[emit(ToolStarted(**call)), emit(done), approve(bash_request("c1")), say("All done.")]]
    backend = FakeBackend(workspace, script=script)
    backend.session_views = SESSIONS
    async with stage(workspace, backend=backend) as here:
        await here.send("go")
        screen = await here.approval()
        assert [row.call_id for row in screen.round.rows] == ["c1"]
        await here.press("y", "enter")
        await here.idle()
        picture = here.picture()
        assert "Read: a.py" in picture
        assert "All done." in picture
        assert "scripted-1" in picture

        question = Question(
            question="Which one?",
            header="One",
            options=(QuestionOption(label="This"), QuestionOption(label="That")),
        )
        asked = here.app.run_worker(backend.ask([question]))
        await here.until(lambda: isinstance(here.app.screen, QuestionScreen))
        await here.press("enter")
        await here.until(lambda: asked.is_finished)

        await here.type("/se")
        await here.until(lambda: here.app.completion.is_open)
        assert "/search" in here.picture()
        await here.press("escape")
        here.app.prompt.clear()
        await here.send("/sessions")
        await here.until(lambda: isinstance(here.app.screen, SessionPicker))
        assert "Parser" in here.picture()
        await here.press("escape")


async def test_x24_sessions_are_listed_resumed_by_name_in_any_case_and_cleared(workspace: Path) -> None:
    backend = FakeBackend(workspace)
    backend.session_views = SESSIONS
    async with stage(workspace, backend=backend) as here:
        await here.send("/resume parser")
        await here.until(lambda: "resume s-2" in backend.calls)
        await here.send("/clear")
        await here.until(lambda: "new_session" in backend.calls)
        await here.send("/resume nothing")
        await here.until(lambda: any("There is no session 'nothing'" in text for text in here.notices))


@pytest.mark.parametrize(
    ("word", "name"), [("LIGHT", "light"), ("Terminal", "terminal"), ("Dracula", "dracula")]
)
async def test_x24_a_theme_is_found_whatever_its_case(workspace: Path, word: str, name: str) -> None:
    settings = AppSettings(grace_s=0.0, typing_s=0.0, theme_folders=(THEMES,))
    async with stage(workspace, settings=settings) as here:
        await here.send(f"/theme {word}")
        await here.until(lambda: here.app.chosen_theme.name == name)


async def test_tu_22_many_turns_add_no_widgets_and_keys_stay_quick(workspace: Path) -> None:
    script = [[say(f"Answer {n}. " + "word " * 60)] for n in range(200)]
    async with stage(workspace, backend=FakeBackend(workspace, script=script)) as here:
        await here.send("turn 0")
        await here.idle()
        widgets = len(list(here.app.screen.walk_children()))
        for n in range(1, 200):
            here.app.driver.send(f"turn {n}")
            await here.until(lambda: not here.app.driver.busy)
        assert len(list(here.app.screen.walk_children())) == widgets
        assert len(here.app.transcript.document.blocks) == 400

        started = time.process_time()
        for _ in range(20):
            await here.key("x")
        await here.until(lambda: here.app.prompt.text == "x" * 20)
        assert time.process_time() - started < 2.0
