from pathlib import Path

import pytest

from agent_tui.protocol.permissions import Decision
from tests.support.approval_requests import bash_request, mixed_round
from tests.support.approval_stage import asking, states
from tests.support.screens import stage

EDITING = (
    "left right home end up down delete backspace ctrl+a ctrl+w ctrl+u ctrl+k"  # none of them is a decision
)


@pytest.mark.parametrize("field", ["c", "e", "p"])
async def test_pe_22_no_key_that_edits_text_decides(workspace: Path, field: str) -> None:
    async with stage(workspace, backend=asking(workspace, bash_request("c1"))) as here:
        await here.send("go")
        screen = await here.approval()

        await here.press(field)
        await here.type("abc")
        await here.press(*EDITING.split(), "escape")

        assert states(screen) == {"c1": "open"}
        assert not here.backend.verdicts
        assert here.app.screen is screen
        await here.press("n")
        await here.idle()
        [verdicts] = here.backend.verdicts
        assert {p.decision for p in verdicts["c1"].permissions} == {Decision.DENY}


async def test_pe_22_keys_that_decide_are_letters_while_words_are_typed(workspace: Path) -> None:
    async with stage(workspace, backend=asking(workspace, *mixed_round()), size=(120, 40)) as here:
        await here.send("go")
        screen = await here.approval()
        before = states(screen)

        await here.press("c")
        await here.type("yanNAYx1234?hgtwf")

        assert states(screen) == before
        assert not here.backend.verdicts
        assert here.app.screen is screen
        await here.press("escape", "x")
        await here.press("enter")
        await here.idle()


async def test_pe_22_words_that_were_emptied_again_are_none(workspace: Path) -> None:
    async with stage(workspace, backend=asking(workspace, bash_request("c1"))) as here:
        await here.send("go")
        screen = await here.approval()

        await here.press("c")
        await here.type("abc")
        await here.press(*["backspace"] * 5, "enter")

        assert states(screen) == {"c1": "open"}
        await here.press("n")
        await here.idle()
        assert here.backend.verdicts[0]["c1"].feedback == ""
