import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import pytest

from agent_tui.extensions.mcp.oauth_config import OAuthClient
from agent_tui.extensions.mcp.sign_in import Visit
from agent_tui.extensions.mcp.spec import ServerSpec
from agent_tui.extensions.mcp.tokens import FILE, Kept, TokenBox, token_key
from agent_tui.protocol.errors import ToolError
from agent_tui.toolkit.context import Question
from tests.support.mcp_world import World, world
from tests.support.oauth_server import OAuthWorld, Reply, browse, fetch, oauth_world


def guarded(there: OAuthWorld, **fields: object) -> ServerSpec:
    values: dict[str, object] = {"transport": "http", "start_s": 20.0, "call_s": 20.0, "url": there.url}
    return ServerSpec(name="web", origin="user", file="config.toml", **{**values, **fields})


class Browser:
    """Goes to a page in the background, as a person's browser does."""

    def __init__(self, go: Callable[[str], Awaitable[object]] = browse) -> None:
        self.shown: list[str] = []
        self._go = go
        self._tabs: list[asyncio.Task[object]] = []

    async def show(self, url: str) -> None:
        self.shown.append(url)
        self._tabs.append(asyncio.ensure_future(self._go(url)))

    async def never(self) -> str | None:
        return None

    def visit(self) -> Visit:
        return Visit(self.show, self.never)

    async def close(self) -> None:
        await asyncio.gather(*self._tabs)


async def signed_in(here: World, there: OAuthWorld) -> Browser:
    browser = Browser()
    assert "Signed in" in await here.servers.login("web", browser.visit())
    await browser.close()
    await here.until(lambda: here.status("web").state == "ready")
    here.publish()
    return browser


def state_file(workspace: Path) -> Path:
    return workspace.parent / "state" / FILE


async def test_a_server_that_wants_a_sign_in_says_so_and_registers_nobody(workspace: Path) -> None:
    async with oauth_world() as there, world(workspace, [guarded(there)]) as here:
        assert here.status("web").state == "needs login"
        assert "agent-tui mcp login web" in here.notices[0]
        assert there.clients == {}
        assert {line.split()[1] for line in there.seen} == {"/mcp"}


async def test_signing_in_discovers_registers_proves_and_brings_the_tools(workspace: Path) -> None:
    async with oauth_world() as there, world(workspace, [guarded(there)]) as here:
        browser = await signed_in(here, there)

        assert (await here.call("mcp__web__echo")).output == "let in"
        assert len(browser.shown) == 1
        assert list(there.clients) == ["client-0"]
        (redirect,) = there.clients["client-0"]
        assert redirect.startswith("http://127.0.0.1:")
        assert "code_challenge_method=S256" in there.pages[0]
        assert f"resource={there.url}".replace(":", "%3A").replace("/", "%2F") in there.pages[0]


async def test_the_sign_in_holds_over_the_next_start_in_a_private_file(workspace: Path) -> None:
    async with oauth_world() as there:
        async with world(workspace, [guarded(there)]) as here:
            await signed_in(here, there)
        assert state_file(workspace).stat().st_mode & 0o777 == 0o600

        async with world(workspace, [guarded(there)]) as here:
            assert (await here.call("mcp__web__echo")).output == "let in"
        assert len(there.pages) == 1


async def test_an_expired_token_is_renewed_without_a_person(workspace: Path) -> None:
    async with oauth_world() as there:
        async with world(workspace, [guarded(there)]) as here:
            await signed_in(here, there)
        box, key = TokenBox(workspace.parent / "state"), token_key(guarded(there))
        kept = box.load(key)
        assert kept is not None
        assert kept.expires_at > 0
        box.save(key, kept.model_copy(update={"expires_at": 2.0}))
        there.revoke_access()

        async with world(workspace, [guarded(there)]) as here:
            assert (await here.call("mcp__web__echo")).output == "let in"
        assert len(there.pages) == 1
        assert len(there.clients) == 1


async def test_a_token_that_is_refused_before_its_time_is_renewed_once(workspace: Path) -> None:
    async with oauth_world() as there, world(workspace, [guarded(there)]) as here:
        await signed_in(here, there)
        there.revoke_access()

        with pytest.raises(ToolError, match="renewed"):
            await here.call("mcp__web__echo")
        await here.until(lambda: here.status("web").state == "ready")

        assert (await here.call("mcp__web__echo")).output == "let in"
        assert len(there.pages) == 1


@pytest.mark.parametrize("steps", [16, 18, 20])
async def test_the_program_ends_also_while_a_connection_fails(workspace: Path, steps: int) -> None:
    failing = asyncio.Event()

    class Watched(OAuthWorld):
        def answer(self, verb: str, target: str, headers: dict[str, str], body: bytes) -> Reply:
            if "authorization-server" in target and self.pages:
                asyncio.get_running_loop().call_soon(failing.set)
            return super().answer(verb, target, headers, body)

    async with oauth_world(Watched()) as there, world(workspace, [guarded(there)]) as here:
        await signed_in(here, there)
        there.revoke_access()
        failing.clear()
        async with asyncio.TaskGroup() as group:
            group.create_task(_failing_call(here))
            await failing.wait()
            for _ in range(steps):
                await asyncio.sleep(0)  # the end comes at another point of the failure each time
            async with asyncio.timeout(20):
                await here.servers.aclose()


async def _failing_call(here: World) -> None:
    with pytest.raises(ToolError):
        await here.call("mcp__web__echo")


async def test_a_sign_in_that_cannot_be_renewed_asks_for_a_new_one(workspace: Path) -> None:
    async with oauth_world() as there, world(workspace, [guarded(there)]) as here:
        await signed_in(here, there)
        there.revoke_access()
        there.refuses_refresh = True

        with pytest.raises(ToolError, match="renewed"):
            await here.call("mcp__web__echo")
        await here.until(lambda: here.status("web").state == "needs login")

        there.refuses_refresh = False
        await signed_in(here, there)
        assert (await here.call("mcp__web__echo")).output == "let in"


async def test_another_program_that_renewed_first_is_noticed(workspace: Path) -> None:
    async with oauth_world() as there, world(workspace, [guarded(there)]) as here:
        await signed_in(here, there)
        box, key = TokenBox(workspace.parent / "state"), token_key(guarded(there))
        kept = box.load(key)
        assert kept is not None
        assert kept.tokens is not None
        newer = "access-of-another-program"
        box.save(key, kept.model_copy(update={"tokens": {**kept.tokens, "access_token": newer}}))
        there.access = {newer: ""}

        with pytest.raises(ToolError, match="another agent-tui"):
            await here.call("mcp__web__echo")
        await here.until(lambda: here.status("web").state == "ready")

        assert (await here.call("mcp__web__echo")).output == "let in"


async def test_a_denied_sign_in_says_so_and_keeps_nothing(workspace: Path) -> None:
    async with oauth_world(denies="access_denied") as there, world(workspace, [guarded(there)]) as here:
        browser = Browser()
        with pytest.raises(ToolError, match="refused: access_denied"):
            await here.servers.login("web", browser.visit())
        await browser.close()

        assert here.status("web").state == "needs login"
        assert TokenBox(workspace.parent / "state").load(token_key(guarded(there))) is None or (
            "access" not in state_file(workspace).read_text()
        )


async def test_a_return_with_a_foreign_state_does_not_end_the_sign_in(workspace: Path) -> None:
    async def go(url: str) -> None:
        there.foreign_state = True
        assert "nothing here" in await browse(url)
        there.foreign_state = False
        assert "Signed in" in await browse(url)

    async with oauth_world() as there, world(workspace, [guarded(there)]) as here:
        browser = Browser(go)
        assert "Signed in" in await here.servers.login("web", browser.visit())
        await browser.close()


async def test_an_address_pasted_from_a_browser_elsewhere_signs_in(workspace: Path) -> None:
    typed: asyncio.Queue[str] = asyncio.Queue()

    async def show(url: str) -> None:
        _, headers, _ = await fetch(url)
        await typed.put("no address at all")
        await typed.put(headers["location"])

    async with oauth_world() as there, world(workspace, [guarded(there)]) as here:
        assert "Signed in" in await here.servers.login("web", Visit(show, typed.get))
        await here.until(lambda: here.status("web").state == "ready")


async def test_signing_out_forgets_the_tokens(workspace: Path) -> None:
    async with oauth_world() as there, world(workspace, [guarded(there)]) as here:
        await signed_in(here, there)

        assert await here.servers.logout("web") == "Signed out of 'web'."
        await here.until(lambda: here.status("web").state == "needs login")

        assert "access-" not in state_file(workspace).read_text()
        assert await here.servers.logout("web") == "There is no sign-in to 'web'."


async def test_a_call_that_needs_more_rights_asks_the_person_and_goes_on(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked: list[str] = []

    async def answer(questions: Sequence[Question]) -> list[list[str]]:
        asked.append(questions[0].question)
        if "Open its page" in questions[0].question:
            return [["Open the page"]]
        await browse(questions[0].details)
        return [["Done"]]

    async with (
        oauth_world() as there,
        world(workspace, [guarded(there)], desk={"ask": lambda: answer}) as here,
    ):
        await signed_in(here, there)
        there.needs_scope = "write"

        result = await here.call("mcp__web__echo")

        assert result.output == "let in"
        assert "wants you to sign in" in asked[0]
        assert "scope=write" in there.pages[1]


async def test_a_call_that_needs_more_rights_fails_where_nobody_is(workspace: Path) -> None:
    async with oauth_world() as there, world(workspace, [guarded(there)]) as here:
        await signed_in(here, there)
        there.needs_scope = "write"

        with pytest.raises(ToolError, match="sign in"):
            await here.call("mcp__web__echo")
        await here.until(lambda: here.status("web").state == "needs login")


async def test_h_p6_no_token_reaches_a_log_a_notice_or_an_error(
    workspace: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    said: list[str] = []
    async with oauth_world() as there, world(workspace, [guarded(there)]) as here:
        await signed_in(here, there)
        await here.call("mcp__web__echo")
        there.revoke_access()
        there.refuses_refresh = True
        with pytest.raises(ToolError) as failed:
            await here.call("mcp__web__echo")
        await here.until(lambda: here.status("web").state == "needs login")
        said = [str(failed.value), *here.servers.log("web"), *here.publish(), str(here.servers.statuses())]

        shown = "\n".join([*said, *here.notices, caplog.text])
        assert len(there.secrets) >= 3
        assert [secret for secret in there.secrets if secret in shown] == []


async def test_a_configured_header_takes_the_place_of_a_sign_in(workspace: Path) -> None:
    async with oauth_world() as there:
        there.access["mine"] = ""
        spec = guarded(there, headers={"authorization": "Bearer mine"})
        async with world(workspace, [spec]) as here:
            assert (await here.call("mcp__web__echo")).output == "let in"
            with pytest.raises(ToolError, match="Authorization header"):
                await here.servers.login("web", Browser().visit())


async def test_a_registration_of_the_settings_is_used(workspace: Path) -> None:
    async with oauth_world() as there:
        port = await _free_port()
        there.clients["mine"] = [f"http://127.0.0.1:{port}/callback"]
        spec = guarded(there, oauth=OAuthClient(client_id="mine", redirect_port=port))
        async with world(workspace, [spec]) as here:
            await signed_in(here, there)

        assert list(there.clients) == ["mine"]
        assert "client_id=mine" in there.pages[0]


async def _free_port() -> int:
    server = await asyncio.start_server(lambda _r, _w: None, "127.0.0.1", 0)
    port = int(server.sockets[0].getsockname()[1])
    server.close()
    await server.wait_closed()
    return port


class Ring:
    """A keyring in memory; `broken` raises as a locked one does."""

    def __init__(self) -> None:
        self.kept: dict[tuple[str, str], str] = {}
        self.broken = False

    def get_password(self, service_name: str, username: str) -> str | None:
        self._check()
        return self.kept.get((service_name, username))

    def set_password(self, service_name: str, username: str, password: str) -> None:
        self._check()
        self.kept[service_name, username] = password

    def delete_password(self, service_name: str, username: str) -> None:
        self._check()
        del self.kept[service_name, username]

    def _check(self) -> None:
        if self.broken:
            raise RuntimeError("locked")


def test_tokens_go_into_the_keyring_when_there_is_one(tmp_path: Path) -> None:
    ring = Ring()
    box = TokenBox(tmp_path, find_keyring=lambda: ring)
    box.save("web 1", Kept(tokens={"access_token": "t"}))

    assert box.load("web 1") == Kept(tokens={"access_token": "t"})
    assert not (tmp_path / FILE).exists()
    assert box.forget("web 1")
    assert ring.kept == {}
    assert not box.forget("web 1")


def test_a_locked_keyring_loses_no_sign_in(tmp_path: Path) -> None:
    ring = Ring()
    ring.broken = True
    box = TokenBox(tmp_path, find_keyring=lambda: ring)

    box.save("web 1", Kept(tokens={"access_token": "t"}))

    assert json.loads((tmp_path / FILE).read_text())["servers"]["web 1"]["tokens"] == {"access_token": "t"}
    assert box.load("web 1") is not None
