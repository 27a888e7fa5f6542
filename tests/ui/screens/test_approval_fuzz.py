import random
from pathlib import Path

import pytest

from agent_tui.protocol.permissions import Decision
from tests.support.fake_backend import (
    FakeBackend,
    approve,
    bash_request,
    edit_request,
    fetch_request,
    mixed_round,
)
from tests.support.screens import stage

KEYS = [
    *"yanpNcehgAYx?twfkj12",
    "space",
    "enter",
    "enter",
    "escape",
    "tab",
    "up",
    "down",
    "home",
    "end",
    "pagedown",
    "G",
    "left",
    "backspace",
]
ROUNDS = 6


@pytest.mark.parametrize("seed", range(ROUNDS))
async def test_no_key_sequence_runs_a_call_without_an_answer_for_each_permission(seed: int) -> None:
    dice = random.Random(seed)
    pool = [
        *mixed_round(),
        edit_request("d1", "src/x.py"),
        fetch_request("d2", "https://docs.example.com/2"),
        bash_request("d3", "ls\n" * 40, pattern=""),
    ]
    requests = dice.sample(pool, dice.randint(1, len(pool)))
    workspace = Path("/proj")
    backend = FakeBackend(workspace, script=[[approve(*requests)]])
    async with stage(workspace, backend=backend, size=dice.choice([(120, 40), (80, 24), (20, 5)])) as here:
        await here.send("go")
        await here.approval()
        for _ in range(60):
            if not here.app.driver.busy:
                break
            await here.press(dice.choice(KEYS))
        if here.app.driver.busy:
            await here.press("ctrl+c")
        await here.idle()

        assert not here.app.in_dialog
        assert here.app.link is not None
        assert here.app.link.approver.pending == 0
        answered = backend.verdicts[0] if backend.verdicts else {}
        for request in requests:
            verdict = answered.get(request.call_id)
            allowed = verdict is not None and {p.id for p in request.permissions} == {
                one.permission_id for one in verdict.permissions if one.decision is Decision.ALLOW
            }
            assert (request.call_id in backend.ran) == allowed
        assert backend.ran == [request.call_id for request in requests if request.call_id in backend.ran]
