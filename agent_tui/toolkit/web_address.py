"""Which URLs the web tools may reach: public hosts by http or https, nothing near this machine."""

import ipaddress
import re
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from agent_tui.protocol.addresses import AddressPolicy, Resolver
from agent_tui.protocol.errors import ToolError

PORTS = {"http": 80, "https": 443}
URL_LIMIT_CHARS = 8_000
_FORBIDDEN = re.compile(r"[\x00-\x20\x7f-\xa0\\\u2028\u2029\ufeff]")


@dataclass(frozen=True)
class WebUrl:
    """A checked URL. `host` is ASCII and lower case, without brackets; `text` is what is requested."""

    scheme: str
    host: str
    port: int
    text: str


def check_url(url: str) -> WebUrl:
    """Check the form of `url`. Raises ToolError that says what is wrong with it."""
    if len(url) > URL_LIMIT_CHARS:
        raise ToolError(f"The URL is longer than {URL_LIMIT_CHARS:,} characters.")
    if _FORBIDDEN.search(url):
        raise ToolError("The URL holds a blank, a control character or a backslash; encode it.")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise ToolError(f"{url!r} is not a URL: {error}.") from error
    scheme = parts.scheme.lower()
    if scheme not in PORTS or not url[len(scheme) :].startswith("://"):
        raise ToolError(f"{url!r} is not an http:// or https:// URL; other schemes are not fetched.")
    if "@" in parts.netloc:
        raise ToolError("The URL holds a user name or password; they are not sent.")
    host = _ascii_host(parts.hostname or "", url)
    if port == 0:
        raise ToolError("The URL has port 0.")
    return WebUrl(scheme, host, port or PORTS[scheme], _rebuilt(parts, scheme, host, port))


def _ascii_host(host: str, url: str) -> str:
    if not host or "%" in host:
        raise ToolError(f"{url!r} has no usable host.")
    if not host.isascii():
        import idna  # with its tables 20 ms, only needed for other scripts

        try:
            host = idna.encode(host, uts46=True, transitional=False).decode("ascii")
        except idna.IDNAError as error:
            raise ToolError(f"The host of {url!r} is not a valid name: {error}.") from error
    return host.lower()


def _rebuilt(parts: SplitResult, scheme: str, host: str, port: int | None) -> str:
    """Give the URL again from its parts, so that nothing is requested but what was checked."""
    shown = f"[{host}]" if ":" in host else host
    netloc = shown if port in (None, PORTS[scheme]) else f"{shown}:{port}"
    query = f"?{parts.query}" if parts.query else ""
    return f"{scheme}://{netloc}{parts.path or '/'}{query}"


async def allowed_addresses(url: WebUrl, *, resolver: Resolver, allows: AddressPolicy) -> list[str]:
    """Resolve the host once and give its addresses. Raises ToolError when one of them may not be dialled."""
    try:
        found = await resolver(url.host, url.port)
    except (OSError, UnicodeError) as error:
        raise ToolError(f"The host {url.host!r} could not be found: {error}.") from error
    if not found:
        raise ToolError(f"The host {url.host!r} has no address.")
    for text in found:
        try:
            address = ipaddress.ip_address(text.partition("%")[0])
        except ValueError as error:
            raise ToolError(f"The host {url.host!r} has an address that is none: {text!r}.") from error
        if not allows(address):
            raise ToolError(
                f"{url.host!r} leads to {text}, which is not a public address; it is not fetched."
            )
    return list(found)
