"""Turns what a server or the network answered instead of a reply into one clear error; shared by all providers."""

import errno
import os
import re
import ssl
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import cast
from urllib.parse import urlsplit

from agent_tui.protocol.errors import (
    AuthError,
    BadResponse,
    ContextTooLong,
    Overloaded,
    ProviderError,
    RateLimited,
    StreamCut,
)
from agent_tui.providers._sse import TooLarge

_OVERFLOW = re.compile(
    r"prompt is too long|input length and .{0,3}max_tokens.{0,3} exceed|context[_ ](?:length|window|size|limit)"
    r"|maximum context|too many (?:input )?tokens|request_too_large|exceeds? the (?:available )?context"
    r"|input (?:is )?too (?:long|large)|reduce the length|larger than the (?:maximum )?context"
    r"|maximum prompt length|token count .{0,40}exceeds",
    re.IGNORECASE,
)
_NO_MONEY = re.compile(
    r"insufficient_quota|credit balance|billing|exceeded your current quota|spend_limit|payment required",
    re.IGNORECASE,
)
_LOOPBACK = re.compile(r"^https?://(?:localhost|127\.|\[::1\])", re.IGNORECASE)
_MAX_QUOTE_CHARS = 300
_MAX_PAGE_CHARS = 200
_TITLE_WITHIN_CHARS = 8192


@dataclass(frozen=True)
class Server:
    """Who was asked, for the sentences: name, base URL, where the key comes from, and the model."""

    name: str
    base_url: str
    key_hint: str
    model: str
    secrets: tuple[str, ...] = ()

    @property
    def place(self) -> str:
        """The name with the address behind it, once: a server without a name of its own is called by its address."""
        return self.name if self.base_url in self.name else f"{self.name} at {self.base_url}"

    @property
    def inside(self) -> str:
        """The name as it stands inside a sentence."""
        return f"the {self.name[4:]}" if self.name.startswith("The ") else self.name

    def clean(self, text: str) -> str:
        """Take the key out of a text and make it one short line."""
        for secret in self.secrets:
            if secret:
                text = text.replace(secret, "***")
        line = " ".join(text.split())
        return line if len(line) <= _MAX_QUOTE_CHARS else f"{line[:_MAX_QUOTE_CHARS]}..."


def from_status(
    server: Server, status: int, body: object, headers: Mapping[str, str], *, now: float | None = None
) -> ProviderError:
    """Give the error for an HTTP status. `body` is parsed JSON, text or None; `now` is unix time."""
    said = server.clean(_with_place(body))
    quote = f"{status}: {said}" if said else str(status)
    wait = retry_after(headers, now=time.time() if now is None else now)
    everything = f"{kind_of(body)} {message_of(body)}"
    if 300 <= status < 400:
        return _moved(server, status, headers)
    if status == 413 or (status in {400, 422, 500} and _OVERFLOW.search(everything)):
        return ContextTooLong(
            f"The conversation is too long for {server.model} ({quote}). Compact it with /compact.",
            status=status,
        )
    if status in {400, 402, 403, 429} and _NO_MONEY.search(everything):
        return AuthError(
            f"{server.name} refuses for want of credit ({quote}). Check the account's plan and billing.",
            status=status,
        )
    match status:
        case 401:
            return AuthError(
                f"{server.name} did not accept the key ({quote}). {server.key_hint}", status=status
            )
        case 402 | 403:
            return AuthError(
                f"{server.name} does not allow this key to use {server.model} ({quote}). {server.key_hint}",
                status=status,
            )
        case 404:
            return BadResponse(
                f"{server.place} knows no model {server.model!r} or no such address ({quote}). "
                "Choose another with /model, or check the base URL.",
                status=status,
            )
        case 429:
            return RateLimited(
                f"{server.name} asks to slow down ({quote}).", status=status, retry_after_s=wait
            )
        case 408 | 409 | 425:
            return Overloaded(
                f"{server.name} did not finish in time ({quote}).", status=status, retry_after_s=wait
            )
        case _ if status >= 500:
            return Overloaded(
                f"{server.name} cannot answer now ({quote}).", status=status, retry_after_s=wait
            )
        case _:
            return BadResponse(f"{server.name} refused the request ({quote}).", status=status)


def _moved(server: Server, status: int, headers: Mapping[str, str]) -> ProviderError:
    told = "".join(char for char in headers.get("location", "") if char.isprintable())
    where = server.clean(told) or "another address"
    return BadResponse(
        f"{server.place} sends the request on to {where} ({status}), and no conversation follows "
        "a redirect. If you trust the new address, set it as the base URL.",
        status=status,
    )


def from_kind(server: Server, body: object) -> ProviderError:
    """Give the error for an error object inside a stream, which has a kind instead of a status."""
    kind = kind_of(body)
    return from_status(server, _KIND_STATUS.get(kind, _status_in(body)), body, {})


_KIND_STATUS = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "insufficient_quota": 429,
    "api_error": 500,
    "server_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
    "context_length_exceeded": 400,
    "invalid_prompt": 400,
    "tool_use_failed": 400,
}


def _status_in(body: object) -> int:
    """The status an error object names in its code, 500 when it names none."""
    for value in (_inner(body).get("code"), _inner(body).get("status_code"), _inner(body).get("status")):
        if isinstance(value, int) and 400 <= value < 600:
            return value
        if isinstance(value, str) and value.isdigit() and 400 <= int(value) < 600:
            return int(value)
    return 500


def cut(server: Server, error: Exception, *, where: str = "") -> StreamCut:
    """Give the error for a connection that broke in the middle; `where` says after how much."""
    words = str(error) or type(error).__name__
    return StreamCut(server.clean(f"The connection to {server.inside} broke{where}: {words}"))


def not_sent(server: Server, error: Exception) -> BadResponse:
    """Give the error for a request that the SDK itself refuses to send."""
    return BadResponse(server.clean(f"The request cannot be sent: {error}"))


def from_network(server: Server, error: BaseException) -> ProviderError:
    """Give the error for a connection that could not be made or broke before the answer."""
    causes = _chain(error)
    if too_large := next((cause for cause in causes if isinstance(cause, TooLarge)), None):
        return _too_much(server, too_large)
    words = server.clean(_plain_words(causes[-1]))
    if any(isinstance(cause, ssl.SSLCertVerificationError) for cause in causes):
        return BadResponse(
            f"The certificate of {server.base_url} is not trusted ({words}). Check the address, or SSL_CERT_FILE."
        )
    refused = (
        any(isinstance(cause, ConnectionRefusedError) for cause in causes)
        or "refused" in words.lower()
        or "all connection attempts failed" in words.lower()
    )
    variable, proxy = _proxy(server.base_url)
    if refused and _LOOPBACK.match(proxy):
        return BadResponse(f"No proxy listens at {proxy} ({words}). Start it, or unset {variable}.")
    if proxy:
        return Overloaded(
            f"{server.place} cannot be reached through the proxy {proxy} ({words}). Check the network and {variable}."
        )
    if refused and _LOOPBACK.match(server.base_url):
        return BadResponse(
            f"No server listens at {server.base_url} ({words}). Start it, or choose another with --base-url."
        )
    return Overloaded(f"{server.place} cannot be reached ({words}). Check the network.")


def _too_much(server: Server, error: TooLarge) -> BadResponse:
    return BadResponse(f"{server.name} sent too much: {error}. Check the base URL.")


def _proxy(url: str) -> tuple[str, str]:
    """Give the variable that names the proxy for `url` and the proxy, without user and password; ("", "") for none."""
    from urllib.request import getproxies_environment, proxy_bypass  # not before something fails

    parts, proxies = urlsplit(url), getproxies_environment()
    scheme = next((name for name in (parts.scheme, "all") if proxies.get(name)), "")
    if not scheme or proxy_bypass(parts.netloc):
        return "", ""
    address = urlsplit(proxies[scheme] if "://" in proxies[scheme] else f"http://{proxies[scheme]}")
    return f"{scheme.upper()}_PROXY", f"{address.scheme}://{address.netloc.rpartition('@')[2]}"


def _plain_words(error: BaseException) -> str:
    """The system's own words for an error it has a number for: asyncio and httpx put Python's tuples there."""
    if isinstance(error, OSError) and error.errno is not None and error.errno in errno.errorcode:
        return os.strerror(error.errno)
    if isinstance(error, OSError) and error.strerror:  # a failed look-up has numbers of its own
        return error.strerror
    return str(error) or type(error).__name__


@contextmanager
def expected(server: Server, what: str) -> Generator[None]:
    """Turn an answer of another kind than `what` into an error: the SDKs do not check what they were given."""
    try:
        yield
    except (AttributeError, TypeError, ValueError) as error:
        if "authentication" in str(error):  # how one SDK says that there is no key
            raise
        if isinstance(error, TooLarge):
            raise _too_much(server, error) from error
        raise BadResponse(
            f"{server.place} did not answer with {what}. Check the base URL.", status=200
        ) from error


def web_page(server: Server, body: str, *, status: int = 200) -> ProviderError:
    """Give the error for a web page where a reply should be."""
    words = _title(body) or " ".join(body.split())[:_MAX_PAGE_CHARS]
    return BadResponse(
        f"{server.base_url} answered with status {status} and a web page ({server.clean(words)}), not with a reply of "
        "a model. Check the base URL, or the proxy.",
        status=status,
    )


def message_of(body: object) -> str:
    """The words of an error body, whatever its shape."""
    if isinstance(body, str):
        return _title(body) or "a web page" if body.lstrip()[:1] == "<" else body
    inner = _inner(body)
    for key in ("message", "detail", "error", "msg"):
        value = inner.get(key)
        if isinstance(value, str):
            return value
    return ""


def _with_place(body: object) -> str:
    """The words of an error body, behind the place in the request that it complains of, if that is a tool."""
    said, place = message_of(body), _inner(body).get("param")
    if not isinstance(place, str) or not place.startswith("tools") or place in said:
        return said
    return f"{place}: {said}"


def kind_of(body: object) -> str:
    """The machine word of an error body: its type or code."""
    inner = _inner(body)
    words = [value for key in ("type", "code") if isinstance(value := inner.get(key), str)]
    known = [word for word in words if word in _KIND_STATUS]
    return (known or words or [""])[0]


def _inner(body: object) -> Mapping[str, object]:
    if isinstance(body, list) and body:
        return _inner(cast("list[object]", body)[0])
    if not isinstance(body, dict):
        return {}
    outer = cast("dict[str, object]", body)
    inner = outer.get("error")
    return cast("dict[str, object]", inner) if isinstance(inner, dict) else outer


def _title(page: str) -> str:
    """Give the title or first heading of a page, "" when it has none."""
    head = page[:_TITLE_WITHIN_CHARS]  # the search takes the square of it where nothing closes
    found = re.search(r"<title[^>]*>(.*?)</title>|<h1[^>]*>(.*?)</h1>", head, re.IGNORECASE | re.DOTALL)
    words = re.sub(r"<[^>]*>", " ", (found[1] or found[2] or "") if found else "")
    return " ".join(words.split())


def retry_after(headers: Mapping[str, str], *, now: float) -> float | None:
    """Read retry-after-ms or retry-after (seconds or a date) in seconds; None when absent or junk."""
    lower = {name.lower(): value for name, value in headers.items()}
    for name, factor in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        value = lower.get(name, "").strip()
        if re.fullmatch(r"\d+(?:\.\d+)?", value):
            return float(value) * factor
    from email.utils import parsedate_to_datetime  # 5 ms of CPU and 0.4 MiB, with the first refusal

    try:
        when = parsedate_to_datetime(lower.get("retry-after", ""))
    except ValueError:
        return None
    return max(0.0, when.timestamp() - now)


def _chain(error: BaseException) -> list[BaseException]:
    chain: list[BaseException] = []
    current: BaseException | None = error
    while current is not None and current not in chain:
        chain.append(current)
        current = current.__cause__ or current.__context__
    return chain
