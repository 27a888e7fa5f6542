"""Decides which requests of a browser are answered: only those with the token, from this machine, of our own page."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field

TOKEN_BYTES = 32


@dataclass(frozen=True)
class Door:
    """The address of one run. Every path begins with the token, so that no other page can name one.

    A cookie would be sent to every server on 127.0.0.1, whatever its port; a path is not.
    """

    port: int
    token: str = field(default_factory=lambda: secrets.token_urlsafe(TOKEN_BYTES))

    @property
    def base(self) -> str:
        """The address without the token."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        """The address to open."""
        return f"{self.base}/{self.token}/"

    @property
    def hosts(self) -> tuple[str, str]:
        """What a Host header may say: another name that leads here would be somebody's rebinding."""
        return (f"127.0.0.1:{self.port}", f"localhost:{self.port}")

    def refusal(self, path: str, headers: Mapping[str, str], *, is_socket: bool) -> str:
        """Say why a request is refused, "" when it is answered."""
        if headers.get("Host", "") not in self.hosts:
            return "This address is not served here."
        origin = headers.get("Origin", "")
        if origin not in {f"http://{host}" for host in self.hosts} and (origin or is_socket):
            return "Another page may not talk to this program."
        given = path.split("/")[1] if path.startswith("/") else ""
        if not secrets.compare_digest(given.encode(), self.token.encode()):
            return "Open the whole address that agent-tui serve printed; it holds a token."
        return ""

    @property
    def answer_headers(self) -> dict[str, str]:
        """What every answer tells the browser: load nothing from elsewhere, tell nobody the address, no frames."""
        sockets = " ".join(f"ws://{host}" for host in self.hosts)
        policy = (
            "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
            f"font-src 'self'; connect-src 'self' {sockets}; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
        )
        return {
            "Content-Security-Policy": policy,
            "Referrer-Policy": "no-referrer",
            "X-Content-Type-Options": "nosniff",
            "Cross-Origin-Resource-Policy": "same-origin",
            "Cross-Origin-Opener-Policy": "same-origin",
            "Cache-Control": "no-store",
        }
