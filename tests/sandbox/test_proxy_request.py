import pytest

from agent_tui.sandbox.proxy_request import BadRequest, Wanted, parse


def head(line: bytes, *fields: bytes) -> bytes:
    return b"\r\n".join([line, *fields]) + b"\r\n\r\n"


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        (b"CONNECT api.example.com:443 HTTP/1.1", Wanted("api.example.com", 443)),
        (b"CONNECT API.Example.com:443 HTTP/1.0", Wanted("api.example.com", 443)),
        (b"CONNECT [2606:4700::1]:443 HTTP/1.1", Wanted("2606:4700::1", 443)),
    ],
)
def test_tunnel_names_its_host_and_port(line: bytes, wanted: Wanted) -> None:
    assert parse(head(line)) == wanted


def test_plain_request_is_rewritten_for_the_host_of_its_url() -> None:
    wanted = parse(
        head(
            b"POST http://example.com/a?b=c HTTP/1.1",
            b"Host: other.example",
            b"Proxy-Authorization: Basic x",
            b"Connection: keep-alive",
            b"Content-Length: 2",
        )
    )

    expected = b"POST /a?b=c HTTP/1.1\r\nHost: example.com\r\nConnection: close\r\nContent-Length: 2\r\n\r\n"
    assert wanted == Wanted("example.com", 80, expected)


@pytest.mark.parametrize(
    "text",
    [
        head(b"CONNECT evil.example\0.allowed.example:443 HTTP/1.1"),
        head(b"CONNECT user@allowed.example:443 HTTP/1.1"),
        head(b"CONNECT allowed.example HTTP/1.1"),
        head(b"CONNECT allowed.example:443:443 HTTP/1.1"),
        head(b"CONNECT allowed.example:0 HTTP/1.1"),
        head(b"CONNECT allowed.example:70000 HTTP/1.1"),
        head(b"CONNECT allowed.example.:443 HTTP/1.1"),
        head(b"CONNECT allowed..example:443 HTTP/1.1"),
        head(b"CONNECT \xe2\x93\x94.example:443 HTTP/1.1"),
        head(b"CONNECT  allowed.example:443 HTTP/1.1"),
        head(b"CONNECT\tallowed.example:443 HTTP/1.1"),
        head(b"CONNECT allowed.example:443 HTTP/2"),
        head(b"GET /path HTTP/1.1"),
        head(b"GET https://allowed.example/ HTTP/1.1"),
        head(b"GET http://user@allowed.example/ HTTP/1.1"),
        head(b"GET http://allowed.example\\@evil.example/ HTTP/1.1"),
        head(b"GET http://[::1/ HTTP/1.1"),
        head(b"GET http://allowed.example:x/ HTTP/1.1"),
        head(b"get http://allowed.example/ HTTP/1.1"),
        head(b"GET http://allowed.example/ HTTP/1.1", b"A : b"),
        head(b"GET http://allowed.example/ HTTP/1.1", b"A: b\nHost: c"),
        head(b"GET http://allowed.example/ HTTP/1.1", b" folded: x"),
        head(b"GET http://allowed.example/ HTTP/1.1", b"Content-Length: 1", b"Transfer-Encoding: chunked"),
        head(b""),
    ],
)
def test_odd_request_is_refused(text: bytes) -> None:
    with pytest.raises(BadRequest):
        parse(text)
