"""Keys that come faster than the screen: a slow machine, a slow connection, a program that types."""

from collections.abc import Callable
from pathlib import Path

import pytest

from agent_tui.ui.app import AgentApp
from agent_tui.ui.screens.dialog import Dialog
from agent_tui.ui.screens.help import Help
from agent_tui.ui.screens.picker import Choice, Picker
from agent_tui.ui.screens.secret import SecretScreen
from agent_tui.ui.widgets.editor import Field
from tests.support.approval_requests import bash_request
from tests.support.approval_stage import asking, states
from tests.support.screens import Stage, stage


async def at_once(here: Stage, *keys: str) -> None:
    for key in keys:
        await here.key(key)
    await here.settle()


def picker(app: AgentApp) -> Dialog[str]:
    return Picker(app.keys, "Pick", [Choice("a", "jar"), Choice("b", "qux")])


@pytest.mark.parametrize(
    "make",
    [
        picker,
        lambda app: Help(app.keys, app.registry),
        lambda app: SecretScreen(app.keys, "Key", "Paste it."),
    ],
    ids=["picker", "help", "secret"],
)
async def test_what_is_typed_while_a_dialog_opens_stands_in_its_field(
    workspace: Path, make: Callable[[AgentApp], Dialog[object]]
) -> None:
    async with stage(workspace) as here:
        dialog = make(here.app)
        here.app.push_screen(dialog)
        await at_once(here, "j", "q", "x", "left", "!")
        await here.until(lambda: dialog.query_one(Field).text == "jq!x")

        assert here.app.prompt.text == ""


async def test_words_typed_right_after_the_key_for_them_decide_nothing(workspace: Path) -> None:
    async with stage(workspace, backend=asking(workspace, bash_request("c1"))) as here:
        await here.send("go")
        screen = await here.approval()

        await at_once(here, "c", "n", "o", "y", "enter")

        assert states(screen) == {"c1": "open"}
        assert not here.backend.verdicts
        await here.press("n")
        await here.idle()
        assert here.backend.verdicts[0]["c1"].feedback == "noy"


async def test_what_waits_for_a_frame_of_a_dialog_that_closes_meanwhile_is_dropped(workspace: Path) -> None:
    async with stage(workspace) as here:
        dialog, called = picker(here.app), list[str]()
        here.app.push_screen(dialog)
        await here.settle()

        dialog.call_after_refresh(called.append, "open")
        await here.until(lambda: called)
        dialog.call_after_refresh(called.append, "closed")
        dialog.finish(None)
        await here.until(lambda: not here.app.in_dialog)
        await here.settle()

        assert called == ["open"]
