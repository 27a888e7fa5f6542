"""Fetches a web page and gives it as markdown or text."""

from collections.abc import Sequence
from typing import Literal

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
from agent_tui.toolkit.context import FetchedPage
from agent_tui.toolkit.text import CAPPED_BY_TOOL
from agent_tui.toolkit.web_address import check_url
from agent_tui.toolkit.web_text import decoded, kind_of, readable

DEFAULT_TIMEOUT_S = 30
MAX_TIMEOUT_S = 120
OUTPUT_LIMIT_CHARS = 50_000
EXCERPT_CHARS = 500
LABELS_LIMIT = 5
LABEL_LIMIT_CHARS = 24
CALL_TIMEOUT_S = 150  # the limits above are this tool's own; converting comes on top


class WebfetchParams(BaseModel):
    """Arguments of webfetch."""

    model_config = ConfigDict(extra="ignore")

    url: str = Field(description="http:// or https:// URL of a public host.")
    format: Literal["markdown", "text", "html"] = Field(default="markdown", description="How HTML is given.")
    timeout: int = Field(default=DEFAULT_TIMEOUT_S, description="Time limit in seconds, at most 120.")


def _describe(page: FetchedPage) -> str:
    kind = page.content_type or "no content type"
    return f"{page.url} ({page.status}, {kind}{', from cache' if page.from_cache else ''})"


def _facts(page: FetchedPage, *, kind: str = "") -> JsonObject:
    return {
        "url": page.url,
        "status": page.status,
        "content_type": page.content_type,
        "bytes": len(page.body),
        "kind": kind,
        CAPPED_BY_TOOL: True,
    }


def _moved(params: WebfetchParams, page: FetchedPage) -> ToolResult:
    return ToolResult.success(
        f"{params.url} redirects to another place: {page.url}\nIt was not followed. Call webfetch with that URL "
        "if it is what you need.",
        data=_facts(page, kind="redirect"),
    )


def _failed(page: FetchedPage) -> ToolResult:
    excerpt = " ".join(decoded(page).split())[:EXCERPT_CHARS] if kind_of(page) else ""
    return ToolResult.error(f"{_describe(page)} failed. {excerpt}".strip(), data=_facts(page))


def _content(params: WebfetchParams, result: ToolResult) -> DisplayResult:
    kind = result.data.get("kind")
    body = result.output if result.is_error else result.output.partition("\n\n")[2] or result.output
    content_type = {
        "markdown": ResultContentType.MARKDOWN,
        "html": ResultContentType.XML,
        "json": ResultContentType.JSON,
        "xml": ResultContentType.XML,
    }.get(str(kind), ResultContentType.PLAIN_TEXT)
    status, size = result.data.get("status"), result.data.get("bytes")
    summary = f"status {status}, {count(size, 'byte')}" if isinstance(size, int) else ""
    return display_text(body, content_type, summary=summary)


def _shown_kind(page: FetchedPage, kind: str, wanted: str) -> str:
    if kind == "html":
        return wanted
    for name in ("json", "xml", "markdown"):
        if name in page.content_type:
            return name
    return "text"


def _tells_too_much(host: str) -> bool:
    """Tell whether a mere look-up of the name could carry data to whoever answers for it."""
    labels = host.split(".")
    return len(labels) > LABELS_LIMIT or any(len(label) > LABEL_LIMIT_CHARS for label in labels)


class Webfetch(Tool[WebfetchParams]):
    name = "webfetch"
    description = (
        "Fetch a public web page by GET, HTML as markdown with its links. At most 5 MiB, 50,000 characters are "
        "given; no login, no local addresses. A redirect to another host is reported, not followed."
    )
    params_type = WebfetchParams
    timeout_s = CALL_TIMEOUT_S
    interruptible = True
    display = DisplayConfig(
        display_name="Web fetch", display_title=lambda params: params.url, display_content=_content
    )

    def permissions(self, params: WebfetchParams, ctx: ToolContext) -> Sequence[Permission]:
        url = check_url(params.url)
        return (
            Permission(
                id="url",
                kind=PermissionKind.NETWORK,
                target=url.text,
                pattern=f"WebFetch(domain:{url.host})",
                reason=f"fetches from {url.host}",
            ),
        )

    async def preview(self, params: WebfetchParams, ctx: ToolContext) -> DisplayResult | None:
        url = check_url(params.url)
        lines = [f"GET {url.text}", f"Host {url.host}"]
        if ctx.web is None:
            return display_text("\n".join(lines))
        if _tells_too_much(url.host):
            lines.append("The name is unusually long; it is not looked up before you allow the call.")
        else:
            lines += [f"  at {address}" for address in await ctx.web.addresses(params.url)]
        return display_text("\n".join([*lines, f"Given to the model as {params.format}"]))

    async def run(self, params: WebfetchParams, ctx: ToolContext) -> ToolResult:
        if ctx.web is None:
            raise ToolError("There is no web client here.")
        page = await ctx.web.get(params.url, timeout_s=max(1, min(params.timeout, MAX_TIMEOUT_S)))
        if 300 <= page.status < 400:
            return _moved(params, page)
        if not 200 <= page.status < 300:
            return _failed(page)
        kind = kind_of(page)
        if not page.body:
            return ToolResult.success(f"{_describe(page)}\n\n(empty)", data=_facts(page))
        if not kind:
            return ToolResult.error(
                f"{_describe(page)} is not text: {len(page.body):,} bytes of {page.content_type or 'binary data'}.",
                data=_facts(page),
            )
        text = await readable(page, wanted=params.format)
        more = ""
        if len(text) > OUTPUT_LIMIT_CHARS:
            more = f"\n\n[{len(text) - OUTPUT_LIMIT_CHARS:,} characters left out]"
        output = f"{_describe(page)}\n\n{text[:OUTPUT_LIMIT_CHARS]}{more}"
        return ToolResult.success(output, data=_facts(page, kind=_shown_kind(page, kind, params.format)))

    def compact_summary(self, params: WebfetchParams, result: ToolResult) -> str:
        return f"[WebFetch: {params.url} ({'error' if result.is_error else result.data.get('status')})]"
