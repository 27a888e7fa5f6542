import asyncio
import json
import signal
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

from tests.e2e.conftest import Place, Served
from tests.e2e.test_offline import READY
from tests.support.fake_servers import Script, message

Serve = Callable[[Script], AbstractContextManager[Served]]


def kept(place: Place) -> list[Path]:
    return list((place.home / ".local/share/agent-tui/sessions").glob("*/*/unsent.json"))


def words(place: Place) -> list[str]:
    return [text for file in kept(place) for text in json.loads(file.read_bytes())]


def test_kill_9_loses_no_message_that_was_typed_ahead(place: Place, serve: Serve) -> None:
    gate = asyncio.Event()
    held = message("A long answer that never ends because the server waits.", piece=6).held(gate, before=6)
    with serve([held, message("Both are done."), message("Nothing left.")]) as served:
        with place.terminal(**served.env) as terminal:
            terminal.until(READY)
            terminal.send("begin\r")
            terminal.until("A long")
            terminal.send("then use tabs\r")
            terminal.until("then use tabs  at the next step")
            terminal.send("and test it\t")
            terminal.until("and test it  after this turn")
            terminal.until(lambda _: words(place) == ["then use tabs", "and test it"])
            terminal.kill(signal.SIGKILL)
            terminal.wait()
        served.open(gate)
        asked = len(served.requests)

        with place.terminal("--continue", **served.env) as terminal:
            screen = terminal.until("2 messages typed ahead were never sent")
            terminal.until("› then use tabs")
            terminal.quiet(0.5)
            assert len(served.requests) == asked
            assert screen.count("never sent") == 1
            terminal.send("\r")
            terminal.until("Both are done.")
            terminal.until(lambda _: not kept(place))
            terminal.kill(signal.SIGKILL)
            terminal.wait()
        last = json.dumps(served.requests[-1]["messages"])

        with place.terminal("--continue", **served.env) as terminal:
            terminal.until("Both are done.")
            assert "never sent" not in terminal.quiet(0.5)

    assert "then use tabs\\nand test it" in last
