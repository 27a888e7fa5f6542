import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from agent_tui.protocol.display import ResultContentType
from agent_tui.protocol.errors import ToolError
from agent_tui.protocol.permissions import PermissionKind
from agent_tui.toolkit.context import FetchedPage
from agent_tui.toolkit.web import NotConfigured, WebClient
from agent_tui.toolkit.web_search import services
from tests.support.patience import PATIENCE_S
from tests.support.tool_world import ToolWorld, make_world
from tests.support.web_world import FakeNames, loopback, response, running

HIT = {
    "title": "A  title",
    "url": "https://a.example/x",
    "description": "words",
    "content": "words",
    "text": "words",
}
ANSWERS = {
    "EXA_API_KEY": {"results": [HIT]},
    "BRAVE_API_KEY": {"web": {"results": [HIT]}},
    "TAVILY_API_KEY": {"results": [HIT]},
    "SEARXNG_URL": {"results": [HIT]},
}


class FakeWeb:
    def __init__(self, answer: str) -> None:
        self.answer = answer
        self.sent: list[tuple[str, str, dict[str, str]]] = []

    async def get(self, url: str, *, timeout_s: float) -> FetchedPage:
        raise AssertionError("a search does not fetch")

    async def post_json(
        self, url: str, *, body: str, headers: Sequence[tuple[str, str]], timeout_s: float
    ) -> str:
        assert timeout_s == 30
        self.sent.append((url, body, dict(headers)))
        return self.answer


@pytest.fixture
def world(workspace: Path) -> ToolWorld:
    return make_world(workspace)


async def test_h49_item_53_without_a_key_nothing_is_sent_and_the_variables_are_named(
    world: ToolWorld,
) -> None:
    web = FakeWeb("{}")
    world.ctx.web = web

    result = await world.run("websearch", query="x")

    assert result.is_error
    assert not web.sent
    for service in services():
        assert service.variable in result.output


@pytest.mark.parametrize("variable", sorted(ANSWERS))
async def test_every_service_gives_numbered_hits(
    world: ToolWorld, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv(variable, "https://searx.example" if variable.endswith("URL") else "k")
    web = FakeWeb(json.dumps(ANSWERS[variable]))
    world.ctx.web = web

    result = await world.run(
        "websearch", query="two words", domains=["a.example", "b.example"], num_results=3
    )

    assert result.output == "1. A title\n   https://a.example/x\n   words"
    url, body, headers = web.sent[0]
    assert "k" not in headers.values()
    assert "two" in url + body
    assert "a.example" in url + body
    assert "b.example" in url + body


@pytest.mark.parametrize(("asked", "sent"), [(8, 8), (500, 50), (0, 1), (-3, 1)])
async def test_h49_the_number_of_results_is_bounded(
    world: ToolWorld, monkeypatch: pytest.MonkeyPatch, asked: int, sent: int
) -> None:
    monkeypatch.setenv("EXA_API_KEY", "k")
    web = FakeWeb(json.dumps({"results": [HIT] * 100}))
    world.ctx.web = web

    result = await world.run("websearch", query="x", num_results=asked)

    assert json.loads(web.sent[0][1])["numResults"] == sent
    assert result.output.count("https://a.example") == sent


async def test_h49_snippets_are_short_and_nothing_found_is_success(
    world: ToolWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TAVILY_API_KEY", "k")
    world.ctx.web = FakeWeb(json.dumps({"results": [{**HIT, "content": "x" * 2000}]}))
    long = await world.run("websearch", query="x")
    world.ctx.web = FakeWeb('{"results": []}')
    nothing = await world.run("websearch", query="x")

    assert long.output.endswith("x" * 499 + "…")
    assert (nothing.output, nothing.is_error) == ("No search results found", False)


@pytest.mark.parametrize(
    "answer", ["not json", "[]", "null", '{"results": "x"}', '{"results": [1, {"url": 2}]}']
)
async def test_an_answer_that_is_not_as_documented_raises_nothing(
    world: ToolWorld, monkeypatch: pytest.MonkeyPatch, answer: str
) -> None:
    monkeypatch.setenv("EXA_API_KEY", "k")
    world.ctx.web = FakeWeb(answer)

    result = await world.run("websearch", query="x")

    assert "no JSON" in result.output if answer == "not json" else result.output == "No search results found"


async def test_an_empty_query_is_refused(world: ToolWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EXA_API_KEY", "k")
    world.ctx.web = FakeWeb("{}")

    assert (await world.run("websearch", query="  ")).is_error


async def test_a_key_reaches_its_own_service_only() -> None:
    client = WebClient(resolver=FakeNames(), allows=loopback, variables={"EXA_API_KEY": "sesame"})

    async with running({"/": response(b"{}")}) as site:
        with pytest.raises(ToolError, match="EXA_API_KEY is not sent to"):
            await client.post_json(
                site.url(), body="{}", headers=[("x-api-key", "${EXA_API_KEY}")], timeout_s=PATIENCE_S
            )
        with pytest.raises(ToolError, match="is not sent"):
            await client.post_json(
                f"{site.url()}?k=${{EXA_API_KEY}}", body="", headers=[], timeout_s=PATIENCE_S
            )

    assert site.requests == []


async def test_a_missing_variable_is_noticed_before_anything_is_sent() -> None:
    with pytest.raises(NotConfigured, match="EXA_API_KEY is not set"):
        await WebClient(resolver=FakeNames(), allows=loopback, variables={}).post_json(
            "https://api.exa.ai/search",
            body="{}",
            headers=[("x-api-key", "${EXA_API_KEY}")],
            timeout_s=PATIENCE_S,
        )


async def test_a_search_server_of_ones_own_may_be_near(
    world: ToolWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running({"/sub/search": response(json.dumps(ANSWERS["SEARXNG_URL"]).encode())}) as site:
        monkeypatch.setenv("SEARXNG_URL", f"http://127.0.0.1:{site.port}/sub/")
        world.ctx.web = WebClient()
        result = await world.run("websearch", query="two words")

    assert result.output.startswith("1. A title")
    assert site.requests == ["/sub/search?q=two+words&format=json"]
    assert world.asked[0].target == f"http://127.0.0.1:{site.port}/sub/search"


@pytest.mark.parametrize(
    ("status", "words"), [("401 No", "check its key"), ("429 Slow", "status 429"), ("302 Found", "302")]
)
async def test_a_refusal_is_told(status: str, words: str) -> None:
    async with running({"/search": response(b"why", status=status, Location="http://127.0.0.1:1/")}) as site:
        client = WebClient(variables={"SEARXNG_URL": f"http://127.0.0.1:{site.port}"})
        with pytest.raises(ToolError, match=words):
            await client.post_json("${SEARXNG_URL}/search", body="", headers=[], timeout_s=PATIENCE_S)


async def test_permission_panel_and_summary(world: ToolWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BRAVE_API_KEY", "k")
    world.ctx.web = FakeWeb(json.dumps({"web": {"results": [{**HIT, "title": "x](http://evil)"}]}}))

    result = await world.run("websearch", query="q")

    assert (world.asked[0].kind, world.asked[0].pattern) == (PermissionKind.NETWORK, "WebSearch")
    assert world.asked[0].target == "https://api.search.brave.com/res/v1/web/search"
    shown = world.shown("websearch", result, query="q")
    assert shown.content_type is ResultContentType.MARKDOWN
    assert shown.content == "- [x)(http://evil)](<https://a.example/x>)\n  words"
    assert shown.summary == "1 result"
    assert world.summary("websearch", result, query="q") == "[WebSearch: q]"
