import socket

import pytest

from agent_tui.protocol.errors import (
    AuthError,
    BadResponse,
    ContextTooLong,
    Overloaded,
    ProviderError,
    RateLimited,
)
from agent_tui.providers._failures import (
    Server,
    cut,
    from_kind,
    from_network,
    from_status,
    retry_after,
    web_page,
)

SERVER = Server(
    name="Anthropic",
    base_url="https://api.example",
    key_hint="Check ANTHROPIC_API_KEY.",
    model="m1",
    secrets=("sk-secret-123",),
)


def body(message: str, kind: str = "invalid_request_error") -> dict[str, object]:
    return {"type": "error", "error": {"type": kind, "message": message}}


@pytest.mark.parametrize(
    ("status", "said", "expected"),
    [
        (400, "messages: bad", BadResponse),
        (400, "prompt is too long: 250000 tokens > 200000 maximum", ContextTooLong),
        (400, "This model's maximum context length is 8192 tokens", ContextTooLong),
        (400, "the request exceeds the available context size", ContextTooLong),
        (400, "Your credit balance is too low", AuthError),
        (401, "invalid x-api-key", AuthError),
        (402, "pay", AuthError),
        (403, "not allowed", AuthError),
        (404, "model: m1", BadResponse),
        (408, "timeout", Overloaded),
        (413, "request too large", ContextTooLong),
        (422, "bad", BadResponse),
        (429, "slow", RateLimited),
        (429, "You exceeded your current quota, please check your plan and billing", AuthError),
        (500, "oops", Overloaded),
        (502, "oops", Overloaded),
        (503, "oops", Overloaded),
        (504, "oops", Overloaded),
        (529, "Overloaded", Overloaded),
    ],
)
def test_a_status_becomes_one_error_of_its_class(
    status: int, said: str, expected: type[ProviderError]
) -> None:
    error = from_status(SERVER, status, body(said), {})

    assert type(error) is expected
    assert error.status == status
    assert said[:40] in str(error)
    assert "\n" not in str(error)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"error": "model 'x' not found"}, "model 'x' not found"),
        ({"message": "Unauthorized"}, "Unauthorized"),
        ({"detail": "Not Found"}, "Not Found"),
        ([{"error": {"message": "API key not valid"}}], "API key not valid"),
        ("plain words", "plain words"),
        ("<html><head><title>502 Bad\nGateway</title></head></html>", "502 Bad Gateway"),
        ("<html><body>nothing said</body></html>", "a web page"),
        (None, "418"),
        (12, "418"),
    ],
)
def test_the_words_of_any_error_body_are_found(given: object, words: str) -> None:
    assert words in str(from_status(SERVER, 418, given, {}))


def test_the_key_never_stands_in_an_error() -> None:
    error = from_status(SERVER, 401, body("key sk-secret-123 is wrong"), {})

    assert "sk-secret" not in str(error)
    assert "***" in str(error)


def test_long_bodies_are_cut() -> None:
    assert len(str(from_status(SERVER, 500, "x" * 100_000, {}))) < 500


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "2"}, 2.0),
        ({"Retry-After": "0"}, 0.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after-ms": "500"}, 0.5),
        ({"retry-after-ms": "500", "retry-after": "9"}, 0.5),
        ({"retry-after": "86400"}, 86400.0),
        ({"retry-after": "Thu, 01 Jan 1970 00:16:50 GMT"}, 10.0),
        ({"retry-after": "Thu, 01 Jan 1970 00:00:00 GMT"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-5"}, None),
        ({}, None),
    ],
)
def test_pr_11_retry_after_is_read_in_every_form(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers, now=1000.0) == seconds


def test_pr_11_a_date_far_away_is_a_long_wait() -> None:
    wait = retry_after({"retry-after": "Wed, 21 Oct 2065 07:28:00 GMT"}, now=0.0)

    assert wait is not None
    assert wait > 1e9


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("overloaded_error", Overloaded),
        ("api_error", Overloaded),
        ("rate_limit_error", RateLimited),
        ("authentication_error", AuthError),
        ("invalid_request_error", BadResponse),
        ("request_too_large", ContextTooLong),
        ("something_new", Overloaded),
    ],
)
def test_an_error_inside_a_stream_becomes_its_class(kind: str, expected: type[ProviderError]) -> None:
    assert type(from_kind(SERVER, body("words", kind))) is expected


def test_a_number_as_code_of_a_stream_error_is_its_status() -> None:
    assert type(from_kind(SERVER, {"error": {"code": 429, "message": "slow"}})) is RateLimited


def test_a_refused_loopback_connection_says_to_start_the_server() -> None:
    local = Server(name="Ollama", base_url="http://127.0.0.1:11434/v1", key_hint="", model="m")
    error = from_network(local, ConnectionRefusedError(111, "Connection refused"))

    assert type(error) is BadResponse
    assert "No server listens at http://127.0.0.1:11434/v1" in str(error)


def test_a_server_that_is_called_by_its_address_is_named_once() -> None:
    local = Server(
        name="The server at http://127.0.0.1:9/v1", base_url="http://127.0.0.1:9/v1", key_hint="", model="m"
    )

    assert str(from_status(local, 404, body("gone"), {})).count("127.0.0.1") == 1
    assert str(from_status(SERVER, 404, body("gone"), {})).startswith(
        "Anthropic at https://api.example knows no"
    )


def test_a_refused_connection_is_told_in_the_systems_words() -> None:
    told = from_network(SERVER, ConnectionRefusedError(111, "Connect call failed ('127.0.0.1', 1)"))

    assert "(Connection refused)" in str(told)


def test_a_proxy_that_does_not_answer_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    refused = ConnectionRefusedError(111, "Connection refused")
    monkeypatch.setenv("HTTPS_PROXY", "http://me:word@127.0.0.1:1")
    dead = from_network(SERVER, refused)
    monkeypatch.setenv("HTTPS_PROXY", "proxy.example:3128")
    far = from_network(SERVER, OSError("Name or service not known"))
    monkeypatch.setenv("NO_PROXY", "api.example")
    beside = from_network(SERVER, refused)

    assert type(dead) is BadResponse
    assert str(dead) == (
        "No proxy listens at http://127.0.0.1:1 (Connection refused). Start it, or unset HTTPS_PROXY."
    )
    assert type(far) is Overloaded
    assert "through the proxy http://proxy.example:3128 (Name or service not known)" in str(far)
    assert "proxy" not in str(beside)


def test_an_unreachable_host_may_be_tried_again() -> None:
    assert type(from_network(SERVER, OSError("Name or service not known"))) is Overloaded


def test_a_name_that_is_not_found_is_told_without_a_number() -> None:
    error = from_network(SERVER, socket.gaierror(socket.EAI_NONAME, "Name or service not known"))

    assert "cannot be reached (Name or service not known)" in str(error)


def test_a_web_page_names_its_title_and_the_base_url() -> None:
    text = str(web_page(SERVER, "<html><title>Login</title></html>"))

    assert "Login" in text
    assert "https://api.example" in text


@pytest.mark.parametrize(
    ("name", "inside"), [("Anthropic", "Anthropic"), ("The server at http://x", "the server at http://x")]
)
def test_a_server_without_a_name_begins_no_sentence_inside_one(name: str, inside: str) -> None:
    server = Server(name=name, base_url="http://x", key_hint="", model="m")

    assert str(cut(server, OSError("gone"))) == f"The connection to {inside} broke: gone"


def test_a_web_page_without_a_title_is_quoted() -> None:
    text = str(web_page(SERVER, f"<html>\n<body>log in {'x' * 500}"))

    assert "answered with status 200 and a web page (<html> <body>log in xxx" in text
    assert len(text) < 400
