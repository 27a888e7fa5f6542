import asyncio
import json
import signal
from collections.abc import Callable
from contextlib import AbstractContextManager

from tests.e2e.conftest import Place, Served
from tests.e2e.test_offline import READY
from tests.support.fake_servers import Script, message

Serve = Callable[[Script], AbstractContextManager[Served]]


def test_a_steered_message_that_a_hook_blocks_comes_back_into_the_prompt(place: Place, serve: Serve) -> None:
    config = place.home / ".config/agent-tui/config.toml"
    config.parent.mkdir(parents=True)
    command = "if grep -q petalcode; then echo no codes >&2; exit 2; fi"
    config.write_text(f"[[hooks.user_prompt]]\ncommand = {json.dumps(command)}\ntimeout_s = 60\n")
    gate = asyncio.Event()
    with serve([message("I count petals.", piece=3).held(gate, before=4), message("never")]) as served:
        with place.terminal(**served.env) as terminal:
            terminal.until(READY)
            terminal.send("count")
            terminal.until("› count")
            terminal.send("\r")
            terminal.until(lambda _: bool(served.requests))
            terminal.send("the petalcode is 7")
            terminal.until("› the petalcode is 7")
            terminal.send("\r")
            terminal.until("1 queued")
            served.open(gate)
            terminal.until("blocked by a hook: no codes")
            terminal.until("› the petalcode is 7")
        sent = json.dumps(served.requests)

    assert "petalcode" not in sent


def test_what_was_being_written_is_given_back_when_the_system_ends_the_program(place: Place) -> None:
    with place.terminal("--provider", "offline") as terminal:
        terminal.until(READY)
        terminal.send("count the petals")
        terminal.until("› count the petals")
        terminal.kill(signal.SIGTERM)
        code = terminal.wait()

    assert code == 143
    assert "count the petals" in terminal.text.partition("Typed and not sent:")[2]
