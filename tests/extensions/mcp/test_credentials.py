import json
import logging
from collections.abc import Callable
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

from agent_tui.extensions.mcp.config import read_source
from agent_tui.extensions.mcp.sign_in import Visit
from agent_tui.extensions.mcp.spec import ServerSpec
from agent_tui.extensions.mcp.tokens import FILE
from agent_tui.protocol.errors import ToolError
from tests.support.mcp_world import World, world
from tests.support.oauth_grants import CLIENT, ID_TOKEN, SECRET, GrantWorld, PrivateKey, pem
from tests.support.oauth_server import oauth_world
from tests.support.patience import PATIENCE_S

KEYS: list[Callable[[], PrivateKey]] = [
    lambda: rsa.generate_private_key(65537, 2048),
    lambda: ec.generate_private_key(ec.SECP256R1()),
    lambda: ec.generate_private_key(ec.SECP384R1()),
    ed25519.Ed25519PrivateKey.generate,
]


def server(there: GrantWorld, **oauth: object) -> ServerSpec:
    values = {"grant": "client_credentials", "client_id": CLIENT, "issuer": f"{there.origin}/as", **oauth}
    entry = {"url": there.url, "oauth": values, "startup_timeout_s": PATIENCE_S, "timeout_s": PATIENCE_S}
    text = json.dumps({"mcpServers": {"web": entry}})
    (spec,) = read_source(text, origin="flag", environ={"SECRET": SECRET})
    assert spec.problem == ""
    return spec


def by_company(there: GrantWorld, **idp: object) -> ServerSpec:
    known = {"token_endpoint": f"{there.origin}/idp/token", "client_id": "desk", "id_token": ID_TOKEN, **idp}
    return server(there, grant="enterprise_managed", client_secret=SECRET, idp=known)


def told(here: World) -> str:
    return "\n".join([*here.servers.log("web"), *here.publish(), *here.notices, str(here.servers.statuses())])


@pytest.mark.parametrize("takes", [("client_secret_basic",), ("client_secret_post",)])
async def test_a_secret_lets_in_without_a_person_and_no_token_is_kept(
    workspace: Path, takes: tuple[str, ...]
) -> None:
    async with oauth_world(GrantWorld(takes=takes)) as there:
        async with world(workspace, [server(there, client_secret="${SECRET}")]) as here:
            assert (await here.call("mcp__web__echo")).output == "let in"

        assert there.pages == []
        assert there.clients == {}
        assert not (workspace.parent / "state" / FILE).exists()


@pytest.mark.parametrize("make", KEYS)
async def test_a_private_key_signs_what_lets_in(workspace: Path, make: Callable[[], PrivateKey]) -> None:
    key = make()
    (workspace / "key.pem").write_text(pem(key))
    async with (
        oauth_world(GrantWorld(key=key)) as there,
        world(workspace, [server(there, private_key_file="key.pem")]) as here,
    ):
        assert (await here.call("mcp__web__echo")).output == "let in"


async def test_a_private_key_may_stand_in_a_variable_on_one_line(workspace: Path) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    async with oauth_world(GrantWorld(key=key)) as there:
        spec = server(there, private_key=pem(key).replace("\n", "\\n"))
        async with world(workspace, [spec]) as here:
            assert (await here.call("mcp__web__echo")).output == "let in"


async def test_another_token_is_fetched_when_one_does_not_count_any_more(workspace: Path) -> None:
    async with oauth_world(GrantWorld()) as there:
        async with world(workspace, [server(there, client_secret=SECRET)]) as here:
            there.revoke_access()

            assert (await here.call("mcp__web__echo")).output == "let in"

        assert len(there.forms) == 2


async def test_the_scopes_of_the_settings_are_asked_for_and_more_when_a_call_needs_more(
    workspace: Path,
) -> None:
    async with oauth_world(GrantWorld()) as there:
        async with world(workspace, [server(there, client_secret=SECRET, scopes="read list")]) as here:
            there.needs_scope = "write"
            assert (await here.call("mcp__web__echo")).output == "let in"

        assert [form["scope"] for form in there.forms] == ["read list", "read list write"]


async def test_a_secret_goes_to_the_authorization_server_of_the_settings_alone(workspace: Path) -> None:
    async with oauth_world(GrantWorld()) as there:
        for issuer in ("", "https://login.example", f"{there.origin}/another"):
            async with world(workspace, [server(there, client_secret=SECRET, issuer=issuer)]) as here:
                status = here.status("web")
                assert status.state == "failed"
                assert f"{there.origin}/as; if that is right, put it into oauth.issuer" in status.detail

        assert there.forms == []


async def test_an_authorization_server_that_is_busy_is_asked_again(workspace: Path) -> None:
    async with oauth_world(GrantWorld(busy=2)) as there:
        async with world(workspace, [server(there, client_secret=SECRET)], settle=False) as here:
            await here.until(lambda: here.status("web").state == "ready")

        assert len(there.forms) == 3


async def test_a_wrong_secret_is_told_without_a_word_of_it(
    workspace: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    wrong = "wrong-and-secret"
    async with (
        oauth_world(GrantWorld()) as there,
        world(workspace, [server(there, client_secret=wrong)]) as here,
    ):
        status = here.status("web")
        shown = told(here)

    assert (status.state, status.detail) == ("failed", "the sign-in failed: invalid_client")
    assert wrong not in shown + caplog.text


async def test_no_secret_key_or_token_reaches_a_log_a_notice_or_an_error(
    workspace: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    key = ec.generate_private_key(ec.SECP256R1())
    text = pem(key)
    async with oauth_world(GrantWorld(key=key)) as there:
        spec = server(there, private_key=text)
        async with world(workspace, [spec]) as here:
            await here.call("mcp__web__echo")
            shown = told(here)
        async with world(workspace, [by_company(there)]) as here:
            await here.call("mcp__web__echo")
            shown += told(here)
        hidden = [*there.secrets, ID_TOKEN, SECRET, *text.splitlines()[1:-1]]

    assert len(hidden) > 5
    assert [secret for secret in hidden if secret in f"{shown}{caplog.text}{spec!r}"] == []


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (None, "cannot be read: No such file"),
        ("hello", "not an unencrypted PEM key"),
        ("x" * 70_000, "not a small text file"),
        (b"\xff\xfe", "not a small text file"),
    ],
)
async def test_a_key_that_cannot_be_used_is_told_and_nobody_is_asked(
    workspace: Path, content: str | bytes | None, why: str
) -> None:
    if content is not None:
        (workspace / "key.pem").write_bytes(content.encode() if isinstance(content, str) else content)
    async with oauth_world(GrantWorld()) as there:
        async with world(workspace, [server(there, private_key_file="key.pem")]) as here:
            assert here.status("web").state == "failed"
            assert why in here.status("web").detail

        assert there.seen == []


async def test_nobody_signs_in_to_a_server_whose_settings_do(workspace: Path) -> None:
    async def unused(_: str = "") -> None:
        raise AssertionError

    async with (
        oauth_world(GrantWorld()) as there,
        world(workspace, [server(there, client_secret=SECRET)]) as here,
    ):
        assert not here.status("web").signs_in
        with pytest.raises(ToolError, match="nobody needs to"):
            await here.servers.login("web", Visit(unused, unused))


async def test_a_companys_sign_in_vouches_for_the_person(workspace: Path) -> None:
    async with oauth_world(GrantWorld()) as there:
        async with world(workspace, [by_company(there, client_secret="desk secret")]) as here:
            assert (await here.call("mcp__web__echo")).output == "let in"

        exchange, grant = there.forms
        assert (exchange["audience"], exchange["resource"]) == (f"{there.origin}/as", there.url)
        assert exchange["subject_token"] == ID_TOKEN
        assert exchange["basic"] == "desk:desk secret"
        assert grant["assertion"].startswith("jag-")
        assert not any("oauth-protected-resource" in line for line in there.seen)


async def test_an_id_token_is_read_anew_for_each_token(workspace: Path) -> None:
    async with oauth_world(GrantWorld(takes=("client_secret_post",))) as there:
        (workspace / "id").write_text("b2xk.b25l.c2ln\n")
        async with world(workspace, [by_company(there, id_token="", id_token_file="id")]) as here:
            (workspace / "id").write_text(ID_TOKEN)
            there.revoke_access()

            assert (await here.call("mcp__web__echo")).output == "let in"

        sent = [form["subject_token"] for form in there.forms if "subject_token" in form]
        assert sent == ["b2xk.b25l.c2ln", ID_TOKEN]


async def test_a_file_that_holds_no_id_token_is_sent_to_nobody(workspace: Path) -> None:
    async with oauth_world(GrantWorld()) as there:
        (workspace / "id").write_text("-----BEGIN KEY-----\nprivate\n")
        async with world(workspace, [by_company(there, id_token="", id_token_file="id")]) as here:
            assert here.status("web").detail == "what its settings give as ID token is none"

        assert there.forms == []


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"idp_refuses": "invalid_grant"}, "the company's sign-in refused: invalid_grant"),
        (
            {"idp_answers": {"issued_token_type": "urn:ietf:params:oauth:token-type:access_token"}},
            "gave no ID-JAG",
        ),
        ({"idp_answers": {"access_token": "another"}}, "the sign-in failed: invalid_client"),
    ],
)
async def test_a_company_that_does_not_vouch_is_told(
    workspace: Path, fields: dict[str, object], why: str
) -> None:
    there = GrantWorld(**fields)
    async with oauth_world(there), world(workspace, [by_company(there)]) as here:
        assert here.status("web").state == "failed"
        assert why in here.status("web").detail
        assert ID_TOKEN not in told(here)


SECRETS = {"client_id": "c", "client_secret": "s"}


@pytest.mark.parametrize(
    ("oauth", "why"),
    [
        ({"grant": "password"}, "oauth.grant: one of 'authorization_code', "),
        ({"grant": "client_credentials", "client_secret": "s"}, "oauth.client_id is needed"),
        (
            {"grant": "client_credentials", "client_id": "c"},
            "exactly one of oauth.client_secret, oauth.private_key",
        ),
        ({"grant": "client_credentials", **SECRETS, "private_key": "k"}, "exactly one of"),
        (
            {"grant": "client_credentials", "client_id": "c", "client_secret": "${NONE}"},
            "variable NONE is not set",
        ),
        (
            {"grant": "client_credentials", **SECRETS, "issuer": "login.example"},
            "oauth.issuer must begin with",
        ),
        ({"grant": "enterprise_managed", **SECRETS}, "oauth.issuer is needed"),
        (
            {"grant": "enterprise_managed", **SECRETS, "issuer": "https://x", "idp": {"client_id": "i"}},
            "oauth.idp.token_endpoint is needed",
        ),
        (
            {
                "grant": "enterprise_managed",
                **SECRETS,
                "issuer": "https://x",
                "idp": {"client_id": "i", "token_endpoint": "https://y"},
            },
            "exactly one of oauth.idp.id_token and oauth.idp.id_token_file",
        ),
    ],
)
def test_what_a_grant_needs_is_said(oauth: dict[str, object], why: str) -> None:
    text = json.dumps({"mcpServers": {"web": {"url": "https://x.example/mcp", "oauth": oauth}}})

    (spec,) = read_source(text, origin="flag", environ={})

    assert why in spec.problem


@pytest.mark.parametrize(
    "entry", [{"command": "c"}, {"url": "https://x.example/mcp", "headers": {"authorization": "Bearer t"}}]
)
def test_a_grant_is_for_a_server_over_http_without_a_key(entry: dict[str, object]) -> None:
    oauth = {"grant": "client_credentials", **SECRETS}

    (spec,) = read_source(
        json.dumps({"mcpServers": {"web": {**entry, "oauth": oauth}}}), origin="flag", environ={}
    )

    assert "is for a url without an Authorization header" in spec.problem
