"""Searches the web with the service that is configured."""

from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict, Field

from agent_tui.toolkit.api import (
    DisplayConfig,
    DisplayResult,
    JsonObject,
    Permission,
    PermissionKind,
    ResultContentType,
    Tool,
    ToolContext,
    ToolError,
    ToolResult,
    count,
    display_text,
)
from agent_tui.toolkit.web_search import SearchHit, address_of, configured, no_service, search

DEFAULT_RESULTS = 8
MAX_RESULTS = 50
DOMAINS_LIMIT = 20
CALL_TIMEOUT_S = 60  # the request itself has 30 s


class WebsearchParams(BaseModel):
    """Arguments of websearch."""

    model_config = ConfigDict(extra="ignore")

    query: str = Field(description="What to search for.")
    num_results: int = Field(default=DEFAULT_RESULTS, description="How many results; default 8, at most 50.")
    domains: list[str] = Field(default_factory=list[str], description="Only results from these domains.")


def _listing(hits: Sequence[SearchHit]) -> str:
    """Number the hits: title, URL, snippet."""
    parts: list[str] = []
    for number, hit in enumerate(hits, 1):
        snippet = f"\n   {hit.snippet}" if hit.snippet else ""
        parts.append(f"{number}. {hit.title}\n   {hit.url}{snippet}")
    return "\n\n".join(parts)


def _content(params: WebsearchParams, result: ToolResult) -> DisplayResult:
    hits = result.data.get("hits")
    if result.is_error or not isinstance(hits, list):
        return display_text(result.output)
    lines: list[str] = []
    for hit in hits:
        if isinstance(hit, dict):
            lines.append(
                f"- [{_plain(hit.get('title'))}](<{hit.get('url')}>)\n  {_plain(hit.get('snippet'))}".rstrip()
            )
    return display_text(
        "\n".join(lines) or result.output, ResultContentType.MARKDOWN, summary=count(len(hits), "result")
    )


def _plain(text: object) -> str:
    """Keep words of a foreign page from being read as markdown links."""
    return str(text).replace("[", "(").replace("]", ")")


class Websearch(Tool[WebsearchParams]):
    name = "websearch"
    description = (
        "Search the web; gives titles, URLs and snippets. Read a result with webfetch. Needs a search service: "
        "EXA_API_KEY, BRAVE_API_KEY, TAVILY_API_KEY or SEARXNG_URL."
    )
    params_type = WebsearchParams
    timeout_s = CALL_TIMEOUT_S
    interruptible = True
    display = DisplayConfig(
        display_name="Web search", display_title=lambda params: params.query, display_content=_content
    )

    def permissions(self, params: WebsearchParams, ctx: ToolContext) -> Sequence[Permission]:
        service = configured()
        if service is None:
            raise no_service()
        return (
            Permission(
                id="search",
                kind=PermissionKind.NETWORK,
                target=address_of(service),
                pattern="WebSearch",
                reason=f"sends the query to {service.name}",
            ),
        )

    async def run(self, params: WebsearchParams, ctx: ToolContext) -> ToolResult:
        query = params.query.strip()
        if not query:
            raise ToolError("The query is empty.")
        service = configured()
        if service is None:
            raise no_service()
        if ctx.web is None:
            raise ToolError("There is no web client here.")
        number = max(1, min(params.num_results, MAX_RESULTS))
        domains = [domain.strip() for domain in params.domains if domain.strip()][:DOMAINS_LIMIT]
        hits = await search(ctx.web, service, query, num_results=number, domains=domains)
        data: JsonObject = {
            "service": service.name,
            "hits": [{"title": hit.title, "url": hit.url, "snippet": hit.snippet} for hit in hits],
        }
        return ToolResult.success(_listing(hits) or "No search results found", data=data)

    def compact_summary(self, params: WebsearchParams, result: ToolResult) -> str:
        return f"[WebSearch: {params.query}]"
