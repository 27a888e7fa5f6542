"""Sends the requests that a sign-in makes for itself: marked, within a time, and only where nobody else can read them."""

from collections.abc import AsyncGenerator
from urllib.parse import urlsplit

import httpx2

from agent_tui.extensions.mcp.faults import ServerFault
from agent_tui.extensions.mcp.spec import ServerSpec
from agent_tui.extensions.plain import one_line

ASIDE = "agent_tui.aside"
"""Marks a request that goes to the sign-in and not to the server itself."""

ASIDE_S = 30.0


class Aside(httpx2.Auth):
    """Stands before one of the SDK's clients; `spec` is the server that is signed in to."""

    spec: ServerSpec
    answered = 0
    """The status of the server's last answer to the request that is signed, 0 before the first."""

    async def async_auth_flow(
        self, request: httpx2.Request
    ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """Run the SDK's flow. Raises ServerFault for an address that is not to be asked."""
        flow = super().async_auth_flow(request)
        try:
            outgoing = await anext(flow)
            while True:
                aside = outgoing is not request
                if aside:
                    check_private(str(outgoing.url), self.spec)
                    times = httpx2.Timeout(ASIDE_S).as_dict()
                    outgoing.extensions = {**outgoing.extensions, ASIDE: True, "timeout": times}
                response = yield outgoing
                if aside:
                    await self.overhear(response)
                else:
                    self.answered = response.status_code
                outgoing = await flow.asend(response)
        except StopAsyncIteration:
            return
        finally:
            await flow.aclose()

    async def overhear(self, response: httpx2.Response) -> None:
        """Look at an answer to one of the sign-in's own requests before the SDK does."""


def check_private(url: str, spec: ServerSpec) -> None:
    """Refuse to send codes and tokens where others can read them. Raises ServerFault."""
    where, own = urlsplit(url), urlsplit(spec.url)
    if where.scheme == "https" or where.hostname in ("localhost", "127.0.0.1", "::1"):
        return
    if where.scheme == "http" and where.netloc == own.netloc:
        return  # the person configured that server without encryption
    shown = one_line(f"{where.scheme}://{where.hostname}", limit_chars=100)
    raise ServerFault(f"its sign-in is not encrypted: {shown}", lasting=True, login=spec.signs_in)
