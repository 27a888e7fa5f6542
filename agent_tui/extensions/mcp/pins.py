"""Remembers how each tool was described when it was accepted; a changed description switches the tool off."""

import contextlib
import difflib
from collections.abc import Collection, Generator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from agent_tui.extensions.mcp.catalogue import McpTool
from agent_tui.extensions.plain import plain
from agent_tui.protocol.private_file import alone_with, write_private


@dataclass(frozen=True)
class ChangedTool:
    """A tool whose server describes it differently than when it was accepted. Texts are the server's own words."""

    name: str
    original: str
    old_description: str
    new_description: str
    old_schema: str
    new_schema: str

    def diff(self) -> str:
        """Give the difference of description and schema in unified form, without hidden characters."""
        before = [*plain(self.old_description).splitlines(), *_spread(self.old_schema)]
        after = [*plain(self.new_description).splitlines(), *_spread(self.new_schema)]
        return "\n".join(difflib.unified_diff(before, after, "accepted", "now", lineterm=""))


@dataclass(frozen=True)
class Sorted:
    """The tools of a listing: those that may be used, those that changed, and the names that are new."""

    accepted: tuple[McpTool, ...]
    changed: tuple[ChangedTool, ...]
    fresh: tuple[str, ...]


class _Pin(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")

    original: str
    fingerprint: str
    description: str
    schema_text: str


class _Pins(BaseModel):
    model_config = ConfigDict(extra="ignore")

    servers: dict[str, dict[str, _Pin]] = {}


class PinStore:
    """Accepted definitions in `state_dir`/mcp-pins.json (0600). A server is known by a key of its own.

    What a server lists first is accepted, because a person added the server; its calls are still asked for.
    """

    def __init__(self, state_dir: Path) -> None:
        self._file = state_dir / "mcp-pins.json"

    def sort(self, server_key: str, tools: Sequence[McpTool]) -> Sorted:
        """Compare a listing with what was accepted and keep what is new. Raises OSError."""
        known = self._load().servers.get(server_key, {})
        changed = [t for t in tools if t.name in known and known[t.name].fingerprint != t.fingerprint]
        fresh = [tool for tool in tools if tool.name not in known]
        if fresh:
            self._keep(server_key, fresh)
        off = {tool.name for tool in changed}
        return Sorted(
            accepted=tuple(tool for tool in tools if tool.name not in off),
            changed=tuple(_difference(known[tool.name], tool) for tool in changed),
            fresh=tuple(tool.name for tool in fresh) if known else (),
        )

    def accept(self, server_key: str, tools: Sequence[McpTool], names: Collection[str]) -> None:
        """Accept the tools called `names` as they are described now. Raises OSError."""
        self._keep(server_key, [tool for tool in tools if tool.name in names])

    def forget(self, server_key: str) -> None:
        """Forget a server. Raises OSError."""
        with self._changing() as pins:
            pins.servers.pop(server_key, None)

    def _keep(self, server_key: str, tools: Sequence[McpTool]) -> None:
        with self._changing() as pins:
            pins.servers.setdefault(server_key, {}).update({tool.name: _pin(tool) for tool in tools})

    def _load(self) -> _Pins:
        """Read what was accepted. A damaged file is an error: it must not accept what it does not know."""
        try:
            return _Pins.model_validate_json(self._file.read_bytes())
        except FileNotFoundError:
            return _Pins()
        except ValidationError as error:
            raise OSError(f"{self._file} is damaged; delete it to accept all tools anew") from error

    @contextlib.contextmanager
    def _changing(self) -> Generator[_Pins]:
        """Give the pins for a change, alone, and write them back whole or not at all."""
        with alone_with(self._file):
            pins = self._load()
            yield pins
            write_private(self._file, pins.model_dump_json().encode())


def _pin(tool: McpTool) -> _Pin:
    return _Pin(
        original=tool.original,
        fingerprint=tool.fingerprint,
        description=tool.description,
        schema_text=tool.schema_json,
    )


def _difference(pin: _Pin, tool: McpTool) -> ChangedTool:
    return ChangedTool(
        name=tool.name,
        original=tool.original,
        old_description=pin.description,
        new_description=tool.description,
        old_schema=pin.schema_text,
        new_schema=tool.schema_json,
    )


def _spread(schema_json: str) -> list[str]:
    """Give a schema one member a line, so that a difference shows what changed."""
    return plain(schema_json).replace(', "', ',\n"').splitlines()
