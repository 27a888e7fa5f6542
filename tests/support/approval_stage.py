from pathlib import Path

from agent_tui.protocol.permissions import Decision, Scope
from agent_tui.ui.screens.approval.screen import ApprovalScreen
from tests.support.fake_backend import FakeBackend, approve
from tests.support.screens import Stage


def asking(workspace: Path, *requests, more=()) -> FakeBackend:
    return FakeBackend(workspace, script=[[approve(*requests), *more]])


def states(screen: ApprovalScreen) -> dict[str, str]:
    return {row.call_id: row.state for row in screen.round.rows}


def decided(here: Stage) -> dict[str, tuple[Decision, Scope, str]]:
    [verdicts] = here.backend.verdicts
    return {
        call_id: (one.decision, one.scope, one.pattern)
        for call_id, verdict in verdicts.items()
        for one in verdict.permissions[:1]
    }


async def read(here: Stage, screen: ApprovalScreen) -> None:
    row = screen.row
    assert row is not None
    await here.until(lambda: row.read)
