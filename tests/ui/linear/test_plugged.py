import asyncio
from pathlib import Path

from agent_tui.ui.plugged import PluggedCommand
from tests.support.fake_backend import FakeBackend
from tests.support.linear_world import talk


async def test_x07_a_command_of_an_extension_runs_and_its_question_is_read_out_with_its_labels(
    tmp_path: Path,
) -> None:
    backend = FakeBackend(tmp_path)
    backend.extensions.offered = [PluggedCommand("release", "Releases a version", False, "ship")]

    async with talk(tmp_path, backend) as here:
        await here.until(lambda: backend.extensions.person is not None)
        here.type("/release v2\n")
        await here.until(lambda: backend.extensions.calls == [("release", "v2")])
        person = backend.extensions.person
        assert person is not None
        person.notify("warning", "ship: slow")
        await here.until("ship: slow")
        question = asyncio.ensure_future(
            person.confirm("ship: Release", "Release v2?", yes="Ship it", no="Wait", danger=False)
        )
        said = await here.until("Wait")
        assert "Release v2?" in said
        assert "Ship it" in said
        here.type("1\n")
        assert await question is True
