from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from agent_tui.extensions.mcp.sign_in import Visit
from agent_tui.extensions.mcp.spec import ServerSpec
from agent_tui.protocol.errors import ToolError
from tests.support.mcp_world import World, world
from tests.support.oauth_server import OAuthWorld, Reply, browse, oauth_world, reply
from tests.support.patience import PATIENCE_S

SERVER, RESOURCE = "/.well-known/oauth-authorization-server", "/.well-known/oauth-protected-resource"


@dataclass
class OldWorld(OAuthWorld):
    """Speaks 2025-03-26: no protected resource metadata, its own authorization server, metadata at the root."""

    issuer: Callable[[str], str] = "{}/as".format
    announces: bool = False
    resource_status: int = 404

    def answer(self, verb: str, target: str, headers: dict[str, str], body: bytes) -> Reply:
        if target.startswith(RESOURCE):
            self.seen.append(f"{verb} {target}")
            return reply({"error": "not_found"}, self.resource_status)
        if target == SERVER:
            self.seen.append(f"{verb} {target}")
            return reply({**self._metadata(), "issuer": self.issuer(self.origin)})
        status, fields, content = super().answer(verb, target, headers, body)
        if status == 401 and not self.announces:
            fields = {**fields, "www-authenticate": "Bearer"}
        return status, fields, content


class Strict(OAuthWorld):
    """Publishes protected resource metadata, and authorization server metadata of another path's issuer."""

    def _metadata(self) -> dict[str, object]:
        return {**super()._metadata(), "issuer": f"{self.origin}/other"}


def guarded(there: OAuthWorld) -> ServerSpec:
    limits = {"start_s": PATIENCE_S, "call_s": PATIENCE_S}
    return ServerSpec(
        name="web", origin="user", file="config.toml", transport="http", url=there.url, **limits
    )


async def sign_in(here: World) -> str:
    async def show(url: str) -> None:
        await browse(url)

    async def never() -> str | None:
        return None

    return await here.servers.login("web", Visit(show, never))


@pytest.mark.parametrize("issuer", ["{}", "{}/", "{}/as", "{}/deep/er"])
async def test_an_old_server_is_its_own_authorization_server_whatever_path_it_names(
    workspace: Path, issuer: str
) -> None:
    async with (
        oauth_world(OldWorld(issuer=issuer.format)) as there,
        world(workspace, [guarded(there)]) as here,
    ):
        assert "Signed in" in await sign_in(here)
        await here.until(lambda: here.status("web").state == "ready")
        here.publish()

        assert (await here.call("mcp__web__echo")).output == "let in"
        assert there.seen.count(f"GET {SERVER}") == 1


async def test_the_registration_with_an_old_server_is_kept_when_its_token_is_renewed(workspace: Path) -> None:
    async with oauth_world(OldWorld()) as there, world(workspace, [guarded(there)]) as here:
        await sign_in(here)
        await here.until(lambda: here.status("web").state == "ready")
        here.publish()
        there.revoke_access()

        with pytest.raises(ToolError, match="renewed"):
            await here.call("mcp__web__echo")
        await here.until(lambda: here.status("web").state == "ready")

        assert (await here.call("mcp__web__echo")).output == "let in"
        assert len(there.clients) == 1


@pytest.mark.parametrize(
    "issuer",
    [
        lambda own: "http://127.0.0.1:1/as",
        lambda own: own.replace("http", "https"),
        lambda own: own.replace("127.0.0.1", "localhost"),
        lambda own: f"https://login.example/{own}",
    ],
    ids=["port", "scheme", "host", "elsewhere"],
)
async def test_an_old_server_cannot_name_an_issuer_of_another_origin(
    workspace: Path, issuer: Callable[[str], str]
) -> None:
    async with oauth_world(OldWorld(issuer=issuer)) as there, world(workspace, [guarded(there)]) as here:
        with pytest.raises(ToolError, match="issuer mismatch"):
            await sign_in(here)

        assert there.clients == {}
        assert there.pages == []


@pytest.mark.parametrize(
    "there", [Strict(), OldWorld(announces=True)], ids=["published", "announced and not there"]
)
async def test_a_server_of_a_newer_revision_is_held_to_the_issuer_it_was_found_by(
    workspace: Path, there: OAuthWorld
) -> None:
    async with oauth_world(there), world(workspace, [guarded(there)]) as here:
        with pytest.raises(ToolError, match="issuer mismatch"):
            await sign_in(here)

        assert there.clients == {}


@pytest.mark.parametrize("status", [429, 500, 503])
async def test_a_server_that_cannot_answer_now_is_not_taken_for_an_old_one(
    workspace: Path, status: int
) -> None:
    async with (
        oauth_world(OldWorld(resource_status=status)) as there,
        world(workspace, [guarded(there)]) as here,
    ):
        with pytest.raises(ToolError, match=f"HTTP {status}"):
            await sign_in(here)

        assert f"GET {SERVER}" not in there.seen
