"""Search services behind one small interface: Exa, Brave, Tavily and SearXNG."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, cast
from urllib.parse import urlencode

from pydantic import JsonValue

from agent_tui.protocol.errors import ToolError
from agent_tui.protocol.json_text import parse_json
from agent_tui.toolkit.context import Web

SNIPPET_CHARS = 500
TIMEOUT_S = 30.0


@dataclass(frozen=True)
class SearchRequest:
    """What is sent to a service; an empty body makes it a GET. `${NAME}` stands for a variable the client puts in."""

    url: str
    headers: tuple[tuple[str, str], ...] = ()
    body: str = ""


@dataclass(frozen=True)
class SearchHit:
    """One result; `snippet` has at most 500 characters."""

    title: str
    url: str
    snippet: str


class SearchService(Protocol):
    """A service: which variable it needs, where it is, what to ask it, how to read its answer."""

    name: str
    variable: str
    url: str

    def request(self, query: str, *, num_results: int, domains: Sequence[str]) -> SearchRequest:
        """Give the request for a search."""
        ...

    def hits(self, answer: JsonValue) -> list[SearchHit]:
        """Read the hits out of an answer; what is not as documented is skipped."""
        ...


class Exa:
    """https://docs.exa.ai/reference/search"""

    name = "Exa"
    variable = "EXA_API_KEY"
    url = "https://api.exa.ai/search"

    def request(self, query: str, *, num_results: int, domains: Sequence[str]) -> SearchRequest:
        body: dict[str, JsonValue] = {
            "query": query,
            "numResults": num_results,
            "contents": {"text": {"maxCharacters": SNIPPET_CHARS}},
        }
        if domains:
            body["includeDomains"] = list(domains)
        return SearchRequest(self.url, (("x-api-key", "${EXA_API_KEY}"),), json.dumps(body))

    def hits(self, answer: JsonValue) -> list[SearchHit]:
        return _hits(_at(answer, "results"), title="title", snippet=("text", "summary"))


class Brave:
    """https://api-dashboard.search.brave.com/app/documentation"""

    name = "Brave"
    variable = "BRAVE_API_KEY"
    url = "https://api.search.brave.com/res/v1/web/search"
    _MOST = 20

    def request(self, query: str, *, num_results: int, domains: Sequence[str]) -> SearchRequest:
        parameters = urlencode({"q": _with_sites(query, domains), "count": min(num_results, self._MOST)})
        return SearchRequest(f"{self.url}?{parameters}", (("x-subscription-token", "${BRAVE_API_KEY}"),))

    def hits(self, answer: JsonValue) -> list[SearchHit]:
        return _hits(_at(answer, "web", "results"), title="title", snippet=("description",))


class Tavily:
    """https://docs.tavily.com/documentation/api-reference/endpoint/search"""

    name = "Tavily"
    variable = "TAVILY_API_KEY"
    url = "https://api.tavily.com/search"
    _MOST = 20

    def request(self, query: str, *, num_results: int, domains: Sequence[str]) -> SearchRequest:
        body: dict[str, JsonValue] = {"query": query, "max_results": min(num_results, self._MOST)}
        if domains:
            body["include_domains"] = list(domains)
        return SearchRequest(self.url, (("authorization", "Bearer ${TAVILY_API_KEY}"),), json.dumps(body))

    def hits(self, answer: JsonValue) -> list[SearchHit]:
        return _hits(_at(answer, "results"), title="title", snippet=("content",))


class SearXNG:
    """https://docs.searxng.org/dev/search_api.html"""

    name = "SearXNG"
    variable = "SEARXNG_URL"
    url = "${SEARXNG_URL}/search"

    def request(self, query: str, *, num_results: int, domains: Sequence[str]) -> SearchRequest:
        parameters = urlencode({"q": _with_sites(query, domains), "format": "json"})
        return SearchRequest(f"{self.url}?{parameters}")

    def hits(self, answer: JsonValue) -> list[SearchHit]:
        return _hits(_at(answer, "results"), title="title", snippet=("content",))


def services() -> tuple[SearchService, ...]:
    """Give the services in the order they are tried."""
    return (Exa(), Brave(), Tavily(), SearXNG())


def configured(variables: Mapping[str, str] | None = None) -> SearchService | None:
    """Give the first service whose variable is set, None when there is none. Looks at names, sends nothing."""
    known = os.environ if variables is None else variables
    return next((service for service in services() if known.get(service.variable, "").strip()), None)


def address_of(service: SearchService, variables: Mapping[str, str] | None = None) -> str:
    """Give the URL that `service` is asked at, for a person to see."""
    own = (os.environ if variables is None else variables).get(SearXNG.variable, "")
    return service.url.replace("${SEARXNG_URL}", own.strip().rstrip("/"))


def no_service() -> ToolError:
    """Say which variables would make the search work."""
    names = [service.variable for service in services()]
    return ToolError(
        f"No search service is configured, nothing was sent. Set {', '.join(names[:-1])} or {names[-1]} and restart."
    )


async def search(
    web: Web, service: SearchService, query: str, *, num_results: int, domains: Sequence[str]
) -> list[SearchHit]:
    """Ask `service` and give at most `num_results` hits. Raises ToolError."""
    request = service.request(query, num_results=num_results, domains=domains)
    text = await web.post_json(request.url, body=request.body, headers=request.headers, timeout_s=TIMEOUT_S)
    try:
        answer = cast("JsonValue", parse_json(text))
    except ValueError as error:
        raise ToolError(f"{service.name} answered with something that is no JSON: {text[:200]!r}") from error
    return service.hits(answer)[:num_results]


def _with_sites(query: str, domains: Sequence[str]) -> str:
    sites = " OR ".join(f"site:{domain}" for domain in domains)
    return f"{query} ({sites})" if len(domains) > 1 else f"{query} {sites}".strip()


def _at(value: JsonValue, *keys: str) -> JsonValue:
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _hits(entries: JsonValue, *, title: str, snippet: Sequence[str]) -> list[SearchHit]:
    found: list[SearchHit] = []
    for entry in entries if isinstance(entries, list) else []:
        url = _text(entry, "url")
        if url:
            words = next((text for key in snippet if (text := _text(entry, key))), "")
            found.append(SearchHit(_text(entry, title) or url, url, _short(words)))
    return found


def _text(entry: JsonValue, key: str) -> str:
    value = _at(entry, key)
    return " ".join(value.split()) if isinstance(value, str) else ""


def _short(text: str) -> str:
    return text if len(text) <= SNIPPET_CHARS else f"{text[: SNIPPET_CHARS - 1]}…"
