import json
from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest

from tests.e2e.conftest import Place, Served
from tests.support.fake_servers import Script, message, status

Serve = Callable[[Script], AbstractContextManager[Served]]


def keep(place: Place, key: str) -> None:
    file = place.home / ".local/state/agent-tui/keys.json"
    file.write_text(json.dumps({"anthropic": key}))
    file.chmod(0o600)


@pytest.mark.parametrize("code", [401, 403])
def test_a_refused_key_leads_to_login_and_the_next_prompt_has_the_new_one(
    place: Place, serve: Serve, code: int
) -> None:
    keep(place, "sk-old")
    with serve([status(code, message="no such key"), message("Petals it is.")]) as served:
        url = {"ANTHROPIC_BASE_URL": served.server.url}
        with place.terminal("hello", **url) as terminal:
            terminal.until(lambda screen: "no such key" in screen and "/login anthropic" in screen)
            terminal.send("/login anthropic")
            terminal.until("› /login anthropic")
            terminal.send("\r")
            terminal.until("Key of anthropic")
            terminal.send("sk-new\r")
            terminal.until("is asked with it from now on")
            terminal.send("again")
            terminal.until("› again")
            terminal.send("\r")
            terminal.until("Petals it is.")
        keys = [request.headers["authorization"] for request in served.server.requests]

    assert keys == ["Bearer sk-old", "Bearer sk-new"]


def test_a_refused_key_of_the_environment_is_named(place: Place, serve: Serve) -> None:
    with serve([status(401, message="no such key")]) as served:
        done = place.run("-p", "hello", **served.env)

    assert done.returncode == 1
    assert "It comes from ANTHROPIC_API_KEY, which wins over a stored key" in done.stderr
    assert "sk-test-key" not in done.stderr
