import asyncio
import gzip
import zlib
from pathlib import Path

import pytest

from agent_tui.protocol.display import ResultContentType
from agent_tui.protocol.errors import ToolError
from agent_tui.protocol.permissions import PermissionKind
from agent_tui.protocol.tools import ToolResult
from agent_tui.toolkit.web import CACHE_S, WebClient
from tests.support.patience import PATIENCE_S
from tests.support.tool_world import ToolWorld, make_world
from tests.support.web_world import FakeNames, Site, loopback, response, running, zipped

LIMIT = 5 << 20


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def world(workspace: Path, clock: Clock) -> ToolWorld:
    made = make_world(workspace)
    made.ctx.web = WebClient(resolver=FakeNames(), allows=loopback, variables={}, clock=clock)
    return made


async def fetch(world: ToolWorld, site: Site, path: str = "/", **more: object) -> ToolResult:
    return await world.run("webfetch", url=site.url(path), **more)


def text_of(result: ToolResult) -> str:
    return result.output.partition("\n\n")[2]


HTML = """<!doctype html><html><head><title>The  title</title><style>p{}</style><script>evil()</script></head>
<body><nav><a href="/home">Home</a></nav><main><h1>Head</h1><p>Some <b>bold</b> text &amp; &eacute; with a
<a href="../other?x=1">link</a> and <a href="javascript:x()">no link</a>.</p><!-- comment --><ul><li>one<li>two</ul>
<pre><code>x = 1\ny = 2</code></pre><img src="pic.png" alt="a picture"><noscript>no</noscript>""" + (
    f"<p>{'word ' * 60}</p></main><footer>foot</footer></body></html>"
)


async def test_h46_html_becomes_markdown_with_absolute_links(world: ToolWorld) -> None:
    async with running({"/a/b": response(HTML.encode(), content_type="text/html")}) as site:
        result = await fetch(world, site, "/a/b")

    text = text_of(result)
    assert not result.is_error
    assert result.output.startswith(f"{site.url('/a/b')} (200, text/html)\n\n")
    assert f"Some **bold** text & é with a\n[link]({site.url('/other?x=1')}) and no link." in text
    assert "- one\n- two" in text
    assert "x = 1\ny = 2" in text
    assert f"![a picture]({site.url('/a/pic.png')})" in text
    for gone in ("evil", "p{}", "comment", "noscript", "Home", "foot"):
        assert gone not in text


async def test_h46_text_and_html_formats(world: ToolWorld) -> None:
    async with running({"/": response(HTML.encode(), content_type="text/html")}) as site:
        plain = await fetch(world, site, format="text")
        raw = await fetch(world, site, format="html")

    assert "The title\n\nHead\nSome" in text_of(plain)
    assert "<" not in text_of(plain)
    assert text_of(raw) == HTML


async def test_a_page_of_pathological_depth_is_still_text(world: ToolWorld) -> None:
    page = b"<div>" * 20_000 + b"deep words" + b"</div>" * 20_000
    async with running({"/": response(page, content_type="text/html")}) as site:
        result = await fetch(world, site)

    assert not result.is_error or "format html" in result.output
    assert result.is_error or "deep words" in result.output


@pytest.mark.parametrize(
    ("body", "content_type", "expected"),
    [
        ("größe".encode("latin-1"), 'text/plain; charset="ISO-8859-1"', "größe"),
        ("größe".encode("latin-1"), "text/plain; charset='iso-8859-1'; x=y", "größe"),
        ("größe".encode(), "text/plain", "größe"),
        ("größe".encode("latin-1"), "text/plain", "größe"),
        ("“x”".encode("cp1252"), "text/plain; charset=latin1", "“x”"),
        ("größe".encode(), "text/plain; charset=foo", "größe"),
        ("größe".encode(), "text/plain; charset=", "größe"),
        ("größe".encode(), "text/plain; charset=hex", "größe"),
        ("größe".encode("utf-16"), "text/plain", "größe"),
        (b"\xef\xbb\xbfx", "text/plain", "x"),
        (b"a\xffb" + b"x" * 300, "text/plain; charset=utf-8", "a\ufffdb" + "x" * 300),
        ("日本".encode("gb18030"), "text/plain; charset=gb2312", "日本"),
        ("größe".encode(), None, "größe"),
        (b'{"a": 1}', "application/json", '{"a": 1}'),
        (b"<a/>", "application/rss+xml", "<a/>"),
        (b"x = 1", "application/octet-stream", "x = 1"),
    ],
)
async def test_we_03_charsets_and_types_that_are_text(
    world: ToolWorld, body: bytes, content_type: str | None, expected: str
) -> None:
    async with running({"/": response(body, content_type=content_type)}) as site:
        result = await fetch(world, site)

    assert (text_of(result), result.is_error) == (expected, False)


async def test_we_03_a_page_that_names_its_charset_only_inside(world: ToolWorld) -> None:
    page = '<html><head><meta charset="shift_jis"><title>x</title></head><body><p>日本語</p></body></html>'
    async with running({"/": response(page.encode("shift_jis"), content_type="text/html")}) as site:
        result = await fetch(world, site)

    assert "日本語" in result.output


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (b"%PDF-1.7\n%\xe2\xe3", "application/pdf"),
        (b"\x89PNG\r\n\x1a\n\0\0", "image/png"),
        (b"a\0b" * 100, "application/octet-stream"),
        (b"a\0b" * 100, None),
        (b"\x01\x02\x03\x04\x05\x06", None),
        (b"PK\x03\x04\0", "application/zip"),
        (b"\0\0", "text/html"),
    ],
)
async def test_we_03_item_52_binaries_are_named_and_not_dumped(
    world: ToolWorld, body: bytes, content_type: str | None
) -> None:
    async with running({"/": response(body, content_type=content_type)}) as site:
        result = await fetch(world, site)

    assert result.is_error
    assert f"{len(body):,} bytes of {content_type or 'binary data'}" in result.output
    assert len(result.output) < 300


async def endless(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n")
    while True:
        writer.write(b"10000\r\n" + b"x" * 65536 + b"\r\n")
        await writer.drain()


async def dripping(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n")
    while True:
        writer.write(b"x")
        await writer.drain()
        await asyncio.sleep(0.05)


async def silent(_writer: asyncio.StreamWriter) -> None:
    await asyncio.sleep(600)


async def test_we_02_an_endless_body_is_stopped_at_the_size(world: ToolWorld) -> None:
    async with running({"/": endless}) as site:
        result = await fetch(world, site)
        await asyncio.wait_for(site.closed.wait(), PATIENCE_S)

    assert result.is_error
    assert "larger than the limit of 5,242,880 bytes" in result.output


@pytest.mark.parametrize("answer", [dripping, silent])
async def test_we_02_a_slow_answer_is_stopped_at_the_time(world: ToolWorld, answer: object) -> None:
    async with running({"/": answer}) as site:
        for limit_s in (1, 5, 60):  # the time runs from before the connection
            async with asyncio.timeout(2 * PATIENCE_S):
                result = await fetch(world, site, timeout=limit_s)
            assert result.is_error
            assert f"within {limit_s} s" in result.output
            if site.requests:
                break
        await asyncio.wait_for(site.closed.wait(), PATIENCE_S) if answer is dripping else None

    assert site.requests


async def test_we_02_cancel_ends_at_once(world: ToolWorld) -> None:
    async with running({"/": dripping}) as site:
        call = asyncio.create_task(fetch(world, site))
        while not site.requests:
            await asyncio.sleep(0.01)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await asyncio.wait_for(site.closed.wait(), PATIENCE_S)


@pytest.mark.parametrize("wrapper", [gzip.compress, zlib.compress])
async def test_we_02_a_bomb_is_stopped_before_it_unfolds(world: ToolWorld, wrapper: object) -> None:
    import resource

    packed = wrapper(b"\0" * (200 << 20))
    encoding = "gzip" if wrapper is gzip.compress else "deflate"
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    async with running({"/": response(packed, Content_Encoding=encoding)}) as site:
        result = await fetch(world, site)

    assert result.is_error
    assert "larger than the limit" in result.output
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024 < 50


@pytest.mark.parametrize(
    ("packed", "encoding"),
    [
        (gzip.compress(b"hello", mtime=0), "gzip"),
        (zlib.compress(b"hello"), "deflate"),
        (zlib.compress(b"hello")[2:-4], "deflate"),
        (b"hello", "identity"),
    ],
)
async def test_packed_bodies_are_unpacked(world: ToolWorld, packed: bytes, encoding: str) -> None:
    async with running({"/": response(packed, Content_Encoding=encoding)}) as site:
        assert text_of(await fetch(world, site)) == "hello"


@pytest.mark.parametrize("encoding", ["br", "gzip, gzip", "zstd"])
async def test_an_unknown_packing_is_an_error(world: ToolWorld, encoding: str) -> None:
    async with running({"/": response(b"x", Content_Encoding=encoding)}) as site:
        assert "not supported" in (await fetch(world, site)).output


async def test_a_damaged_body_is_an_error(world: ToolWorld) -> None:
    async with running({"/": response(b"\x1f\x8bnot gzip at all", Content_Encoding="gzip")}) as site:
        assert (await fetch(world, site)).is_error


async def test_h47_item_52_a_length_over_the_limit_is_refused_up_front(world: ToolWorld) -> None:
    async with running({"/": response(b"x", length=LIMIT + 1)}) as site:
        result = await fetch(world, site)

    assert "The response has 5,242,881 bytes" in result.output


@pytest.mark.parametrize("length", [3, 100_000])
async def test_item_52_a_lying_length_neither_hangs_nor_raises(world: ToolWorld, length: int) -> None:
    async with running({"/": response(b"hello", length=length)}) as site:
        result = await fetch(world, site, timeout=60)

    assert result.is_error == (length > 5)
    assert result.is_error or text_of(result) == "hel"


@pytest.mark.parametrize(("size", "fits"), [(LIMIT, True), (LIMIT + 1, False)])
async def test_h46_five_mebibytes_pass(world: ToolWorld, size: int, fits: bool) -> None:
    async with running({"/": response(b"x" * size, length=None), "/z": zipped(b"x" * size)}) as site:
        assert (await fetch(world, site)).is_error != fits
        assert (await fetch(world, site, "/z")).is_error != fits


@pytest.mark.parametrize("status", ["404 Not Found", "500 Internal Server Error", "403 Forbidden"])
async def test_we_02_h47_a_failure_is_an_error_with_a_short_excerpt(world: ToolWorld, status: str) -> None:
    async with running(
        {"/": response(b"<p>why</p> " + b"x" * 9000, status=status, content_type="text/html")}
    ) as site:
        result = await fetch(world, site)

    assert result.is_error
    assert f"({status[:3]}, text/html) failed. <p>why</p> xxx" in result.output
    assert len(result.output) < 800


@pytest.mark.parametrize(
    "answer",
    [response(b""), response(status="204 No Content", length=None), response(b"", content_type=None)],
)
async def test_we_02_an_empty_answer_says_so(world: ToolWorld, answer: bytes) -> None:
    async with running({"/": answer}) as site:
        result = await fetch(world, site)

    assert (text_of(result), result.is_error) == ("(empty)", False)


async def test_h47_output_is_cut_at_fifty_thousand_characters(world: ToolWorld) -> None:
    async with running({"/a": response(b"x" * 50_000), "/b": response(b"x" * 50_001)}) as site:
        whole, cut = await fetch(world, site, "/a"), await fetch(world, site, "/b")

    assert text_of(whole) == "x" * 50_000
    assert text_of(cut) == "x" * 50_000 + "\n\n[1 characters left out]"


async def test_redirects_on_one_host_are_followed(world: ToolWorld) -> None:
    answers = {
        "/": response(status="301 Moved", Location="/b"),
        "/b": response(status="307 Moved", Location="c?x=1"),
        "/c": response(b"there"),
    }
    async with running(answers) as site:
        result = await fetch(world, site)

    assert text_of(result) == "there"
    assert site.requests == ["/", "/b", "/c?x=1"]
    assert site.url("/c?x=1") in result.output


@pytest.mark.parametrize(
    "target", ["http://other.test/x", "//other.test/x", "http://www.site.test/", "http://site.test:1/"]
)
async def test_redirects_to_another_place_are_reported_and_not_followed(
    world: ToolWorld, target: str
) -> None:
    async with running({"/": response(status="302 Found", Location=target)}) as site:
        result = await fetch(world, site)

    assert not result.is_error
    assert "Call webfetch with that URL" in result.output
    assert len(site.requests) == 1


@pytest.mark.parametrize(
    "target", ["file:///etc/passwd", "ftp://site.test/", "http://a@site.test/", "http://site.test\\@evil/"]
)
async def test_redirects_to_what_is_no_web_address_are_refused(world: ToolWorld, target: str) -> None:
    async with running({"/": response(status="302 Found", Location=target)}) as site:
        assert (await fetch(world, site)).is_error


@pytest.mark.parametrize(
    ("status", "headers"),
    [
        ("304 Not Modified", {}),
        ("304 Not Modified", {"Location": "/b"}),
        ("300 Multiple Choices", {}),
        ("302 Found", {"Location": " "}),
    ],
)
async def test_a_redirect_that_leads_nowhere_is_told_as_that(
    world: ToolWorld, status: str, headers: dict[str, str]
) -> None:
    answers = {"/": response(status="301 Moved", Location="/a"), "/a": response(status=status, **headers)}
    async with running(answers) as site:
        result = await fetch(world, site)

    assert (result.is_error, site.requests) == (True, ["/", "/a"])
    assert result.output == (
        f"{site.url('/a')} answered with status {status[:3]}, neither a page nor the place of one; "
        "try another URL of it."
    )


async def test_a_circle_of_redirects_ends(world: ToolWorld) -> None:
    async with running({"/": response(status="302 Found", Location="/")}) as site:
        result = await fetch(world, site)

    assert "redirects more than 5 times" in result.output
    assert len(site.requests) == 6


async def test_pages_are_remembered_for_a_quarter_of_an_hour(world: ToolWorld, clock: Clock) -> None:
    async with running({"/": response(b"hello"), "/gone": response(b"x", status="500 No")}) as site:
        await fetch(world, site)
        clock.now = CACHE_S - 1
        again = await fetch(world, site)
        clock.now = CACHE_S + 1
        await fetch(world, site)
        await fetch(world, site, "/gone")
        await fetch(world, site, "/gone")

    assert "from cache" in again.output
    assert site.requests == ["/", "/", "/gone", "/gone"]


async def test_the_environment_and_credentials_play_no_part(
    world: ToolWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    Path.home().joinpath(".netrc").write_text("machine site.test login a password b\n")
    async with running({"/": response(b"hello", Set_Cookie="a=b"), "/b": response(b"x")}) as site:
        await fetch(world, site)
        await fetch(world, site, "/b")

    assert not any(name in head for head in site.headers for name in ("authorization", "cookie", "referer"))
    assert site.headers[0]["user-agent"].startswith("agent-tui/")


async def test_a_host_that_does_not_exist_or_answer(world: ToolWorld) -> None:
    async with running({}) as site:
        pass

    assert "could not be found" in (await world.run("webfetch", url="http://missing.test/")).output
    assert "does not answer" in (await fetch(world, site)).output


async def test_without_a_client_it_says_so(workspace: Path) -> None:
    result = await make_world(workspace).run("webfetch", url="http://site.test/")

    assert result.is_error


def test_the_permission_names_url_and_host(world: ToolWorld) -> None:
    (permission,) = world.permissions("webfetch", url="HTTPS://Docs.Example.com/a#b")

    assert permission.kind is PermissionKind.NETWORK
    assert permission.target == "https://docs.example.com/a"
    assert permission.pattern == "WebFetch(domain:docs.example.com)"


async def test_panel_shows_the_kind_of_the_page(world: ToolWorld) -> None:
    answers = {
        "/m": response(HTML.encode(), content_type="text/html"),
        "/j": response(b'{"a": 1}', content_type="application/json"),
    }
    async with running(answers) as site:
        page, data = await fetch(world, site, "/m"), await fetch(world, site, "/j")

    shown = world.shown("webfetch", page, url="http://x.test/")
    assert shown.content_type is ResultContentType.MARKDOWN
    assert shown.summary.startswith("status 200, ")
    assert not shown.content.startswith("http")
    assert world.shown("webfetch", data, url="http://x.test/").content_type is ResultContentType.JSON
    assert world.summary("webfetch", page, url="http://x.test/") == "[WebFetch: http://x.test/ (200)]"


async def test_the_preview_shows_the_address_and_that_very_address_is_dialled(workspace: Path) -> None:
    names = FakeNames()
    made = make_world(workspace)
    made.ctx.web = WebClient(resolver=names, allows=loopback, variables={})
    async with running({"/": response(b"hello")}) as site:
        shown = await made.preview("webfetch", url=site.url())
        names.answers["site.test"] = ["203.0.113.9"]
        result = await made.run("webfetch", url=site.url())

    assert shown is not None
    assert (
        shown.content == f"GET {site.url()}\nHost site.test\n  at 127.0.0.1\nGiven to the model as markdown"
    )
    assert text_of(result) == "hello"
    assert names.asked == ["site.test"]


async def test_the_preview_of_a_private_address_says_that_the_call_cannot_work(workspace: Path) -> None:
    made = make_world(workspace)
    made.ctx.web = WebClient(resolver=FakeNames(inside_test=["10.0.0.7"]), variables={})

    with pytest.raises(ToolError, match=r"leads to 10\.0\.0\.7"):
        await made.preview("webfetch", url="http://inside.test/")


@pytest.mark.parametrize("host", ["c2VjcmV0IGtleSBvZiB0aGUgcHJvamVjdA.evil.test", "a.b.c.d.evil.test"])
async def test_a_name_that_could_carry_data_is_not_looked_up_before_it_is_allowed(
    workspace: Path, host: str
) -> None:
    names = FakeNames()
    made = make_world(workspace)
    made.ctx.web = WebClient(resolver=names, variables={})

    shown = await made.preview("webfetch", url=f"https://{host}/")

    assert shown is not None
    assert "not looked up before" in shown.content
    assert names.asked == []
