import asyncio
from pathlib import Path

import pytest

from agent_tui.protocol.events import Notice, TurnFailed
from agent_tui.protocol.messages import TextBlock, UserMessage
from agent_tui.protocol.tools import TurnResult
from agent_tui.ui.commands.registry import Command, CommandHost
from tests.support.fake_backend import FakeBackend, emit, wait_for
from tests.support.screens import stage


def refused(text: str) -> Notice:
    return Notice(turn_id="t", level="warning", text="Your message was not sent: a hook.", returned=text)


async def test_what_was_not_sent_during_a_turn_is_in_the_prompt_again(workspace: Path) -> None:
    backend = FakeBackend(workspace)
    backend.script.append([emit(refused("my secret")), emit(refused("and this"))])
    async with stage(workspace, backend=backend) as here:
        await here.send("go")
        await here.until(lambda: here.app.prompt.text == "my secret\nand this")
        await here.idle()

        assert here.app.status.hint.startswith("Your message is back in the input")


async def test_what_is_being_written_stays_when_something_comes_back(workspace: Path) -> None:
    gate = asyncio.Event()
    backend = FakeBackend(workspace)
    backend.script.append([wait_for(gate), emit(refused("my secret"))])
    async with stage(workspace, backend=backend) as here:
        await here.send("go")
        await here.type("new")
        gate.set()
        await here.idle()

        assert here.app.prompt.text == "new"
        assert here.app.status.hint.startswith("Your message was not put over what you write; ")


async def test_a_prompt_that_was_never_taken_up_is_in_the_prompt_again(workspace: Path) -> None:
    class Refusing(FakeBackend):
        async def run_turn(self, text: str) -> TurnResult:
            error = "The prompt was not sent, blocked by a hook."
            await self.emit(TurnFailed(turn_id="t", error=error, prompt_returned=True, returned=text))
            given_up = (UserMessage(content=(TextBlock(text="results of an open round"),)),)
            return TurnResult(stop_reason="failed", error="blocked", messages=given_up, prompt_returned=True)

    async with stage(workspace, backend=Refusing(workspace)) as here:
        await here.send("my secret")
        await here.until(lambda: here.app.prompt.text == "my secret")

        assert here.app.status.hint == "Your message is back in the input; Ctrl+U clears it"
        await here.press("ctrl+u")
        assert (here.app.prompt.text, here.app.status.hint) == ("", "")


async def test_a_message_of_the_persons_comes_back_from_a_series_and_its_own_prompt_does_not(
    workspace: Path,
) -> None:
    gate = asyncio.Event()

    class Refusing(FakeBackend):
        async def run_turn(self, text: str) -> TurnResult:
            if text == "again":
                return await super().run_turn(text)
            await self.emit(TurnFailed(turn_id="t", error="No.", prompt_returned=True, returned=text))
            return TurnResult(stop_reason="failed", error="No.", prompt_returned=True)

    async with stage(workspace, backend=Refusing(workspace, script=[[wait_for(gate)]])) as here:
        await here.send("/loop 3 again")
        await here.until(lambda: here.app.driver.busy)
        await here.send("my secret")
        gate.set()
        await here.idle()

        assert here.app.prompt.text == "my secret"
        await here.press("ctrl+u")
        await here.send("/loop 3 never")
        await here.until(lambda: here.app.driver.series is None)
        await here.idle()
        assert here.app.prompt.text == ""


@pytest.mark.parametrize("waits", ["in the queue", "behind a command"])
async def test_a_message_that_is_taken_back_is_no_command(workspace: Path, waits: str) -> None:
    gate = asyncio.Event()

    async def hold(_host: CommandHost, _args: str) -> None:
        await gate.wait()

    backend = FakeBackend(workspace, script=[[wait_for(gate)]])
    async with stage(workspace, backend=backend, commands=[Command("hold", "wait", hold)]) as here:
        await here.send("go" if waits == "in the queue" else "/hold")
        await here.until(lambda: here.app.driver.is_taken)
        await here.send("//clear this flag")
        await here.press("up")

        assert here.app.prompt.text == "//clear this flag"
        gate.set()


async def test_a_prompt_that_stands_in_the_conversation_does_not_come_back(workspace: Path) -> None:
    class Failing(FakeBackend):
        async def run_turn(self, text: str) -> TurnResult:
            await self.emit(TurnFailed(turn_id="t", error="The server is down."))
            return TurnResult(stop_reason="failed", error="down")

    async with stage(workspace, backend=Failing(workspace)) as here:
        await here.send("a long task")
        await here.idle()

        assert here.app.prompt.text == ""


async def test_a_stop_before_the_turn_has_begun_sends_nothing_and_gives_the_prompt_back(
    workspace: Path,
) -> None:
    backend = FakeBackend(workspace)
    backend.script.append([emit(refused("never sent"))])
    async with stage(workspace, backend=backend) as here:
        here.app.driver.send("/go")
        here.app.driver.stop()
        await here.idle()

        assert here.app.prompt.text == "//go"
        assert ("notice", "Stopped.") in here.shown
        assert len(backend.script) == 1


async def test_a_command_that_is_stopped_before_its_turn_has_begun_comes_back(workspace: Path) -> None:
    async def hold(_host: CommandHost, _args: str) -> None:
        raise AssertionError("it was stopped")

    async def never() -> TurnResult:
        raise AssertionError("it was stopped")

    async with stage(workspace, backend=FakeBackend(workspace)) as here:
        here.app.driver.begin(Command("review", "look", hold), "this", never)
        here.app.driver.stop()
        await here.idle()

        assert here.app.prompt.text == "/review this"
