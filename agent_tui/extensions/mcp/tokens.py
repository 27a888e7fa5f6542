"""Keeps what signing in to a server gave: in the keyring when there is one, else in a file of its own (0600)."""

import contextlib
import hashlib
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

from pydantic import BaseModel, ConfigDict, ValidationError

from agent_tui.extensions.mcp.spec import ServerSpec
from agent_tui.protocol.data import JsonObject
from agent_tui.protocol.private_file import alone_with, write_private

SERVICE = "agent-tui-mcp"
FILE = "mcp-tokens.json"


class Kept(BaseModel):
    """What is known of one sign-in. `tokens`, `client` and the two metadata are as the servers sent them.

    `expires_at` is a POSIX time in seconds, 0 when the server did not say.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    tokens: JsonObject | None = None
    expires_at: float = 0.0
    client: JsonObject | None = None
    authorization_server: JsonObject | None = None
    resource: JsonObject | None = None


class Keyring(Protocol):
    """The three functions of the `keyring` package that are used."""

    def get_password(self, service_name: str, username: str) -> str | None: ...

    def set_password(self, service_name: str, username: str, password: str) -> None: ...

    def delete_password(self, service_name: str, username: str) -> None: ...


def token_key(spec: ServerSpec) -> str:
    """Give what a sign-in is kept under: the name and the address, so that another address has another."""
    return f"{spec.name} {hashlib.sha256(spec.url.encode()).hexdigest()[:16]}"


class _Package(Keyring, Protocol):
    def get_keyring(self) -> object: ...


def system_keyring() -> Keyring | None:
    """Give the keyring of the system, None without the extra or where none is running."""
    try:
        package = cast("_Package", import_module("keyring"))
        backend = package.get_keyring()
    except Exception:  # foreign code: whatever a backend raises while it is looked up, the file is there
        return None
    unusable = type(backend).__module__ in ("keyring.backends.fail", "keyring.backends.null")
    return None if unusable else package


class TokenBox:
    """Sign-ins by key. What the keyring refuses goes to `state_dir`/mcp-tokens.json. Its methods may block."""

    def __init__(
        self, state_dir: Path, *, find_keyring: Callable[[], Keyring | None] = system_keyring
    ) -> None:
        self._file = state_dir / FILE
        self._find = find_keyring
        self._found: Keyring | None = None
        self._looked = False

    def load(self, key: str) -> Kept | None:
        """Give what is kept, None when nothing (or nothing readable) is."""
        ring = self._keyring()
        if ring is not None:
            with contextlib.suppress(Exception):  # foreign code: a locked or broken keyring has nothing
                text = ring.get_password(SERVICE, key)
                if text:
                    return Kept.model_validate_json(text)
        return self._read().get(key)

    def save(self, key: str, kept: Kept) -> None:
        """Keep a sign-in. Raises OSError."""
        ring = self._keyring()
        if ring is not None:
            try:
                ring.set_password(SERVICE, key, kept.model_dump_json())
            except Exception:  # foreign code: a locked keyring must not lose the sign-in
                self._found = None
            else:
                self._change(key, None)
                return
        self._change(key, kept)

    def forget(self, key: str) -> bool:
        """Forget a sign-in; tell whether there was one. Raises OSError."""
        was = self.load(key) is not None
        ring = self._keyring()
        if ring is not None:
            with contextlib.suppress(Exception):  # foreign code: it raises when there is none
                ring.delete_password(SERVICE, key)
        self._change(key, None)
        return was

    def place(self) -> str:
        """Say where sign-ins are kept."""
        return "the keyring" if self._keyring() is not None else str(self._file)

    def _keyring(self) -> Keyring | None:
        if not self._looked:
            self._found, self._looked = self._find(), True
        return self._found

    def _read(self) -> dict[str, Kept]:
        try:
            return _File.model_validate_json(self._file.read_bytes()).servers
        except (OSError, ValidationError):
            return {}

    def _change(self, key: str, kept: Kept | None) -> None:
        """Raises OSError."""
        if kept is None and not self._file.exists():
            return
        with alone_with(self._file):
            known = self._read()
            changed = {name: value for name, value in known.items() if name != key}
            if kept is not None:
                changed[key] = kept
            if changed != known:
                write_private(self._file, _File(servers=changed).model_dump_json().encode())


class _File(BaseModel):
    model_config = ConfigDict(extra="ignore")

    servers: dict[str, Kept] = {}
