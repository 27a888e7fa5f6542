"""Turns what a server lists into tools with legal names, usable schemas and fingerprints."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from agent_tui.extensions.mcp.names import tool_names
from agent_tui.extensions.mcp.schema import UnusableSchema, usable_schema
from agent_tui.extensions.mcp.spec import ServerSpec
from agent_tui.extensions.plain import one_line, plain
from agent_tui.protocol.data import JsonObject
from agent_tui.protocol.tools import ToolSpec

MAX_TOOLS = 512
MAX_DESCRIPTION_CHARS = 4_000
_NAMED_PROBLEMS = 20


@dataclass(frozen=True)
class McpTool:
    """One tool. `name` is what the model calls, `original` the server's own name.

    `description` and `schema_json` are the server's own words; `spec` is what the model is told. `fingerprint` is the
    SHA-256 of name, description and schema.
    """

    name: str
    original: str
    title: str
    description: str
    schema_json: str
    spec: ToolSpec
    fingerprint: str


@dataclass(frozen=True)
class Catalogue:
    """The usable tools in the server's order, and a sentence for each that is not."""

    tools: tuple[McpTool, ...] = ()
    problems: tuple[str, ...] = ()


def read_catalogue(server: ServerSpec, legal_name: str, listed: Sequence[JsonValue]) -> Catalogue:
    """Read the tools a server listed. One that cannot be used costs only itself."""
    problems: list[str] = []
    kept: dict[str, JsonObject] = {}
    for entry in listed:
        original = entry.get("name") if isinstance(entry, dict) else None
        if not isinstance(entry, dict) or not isinstance(original, str):
            problems.append("a tool without a name is left out")
        elif _chosen(server, original) and original in kept:
            problems.append(
                f"the tool {one_line(original, limit_chars=60)!r} is listed twice; the first counts"
            )
        elif _chosen(server, original):
            kept[original] = entry
    if len(kept) > MAX_TOOLS:
        problems.append(f"{len(kept):,} tools are offered; the first {MAX_TOOLS} count")
    originals = list(kept)[:MAX_TOOLS]
    names = tool_names(legal_name, originals)
    tools: list[McpTool] = []
    for original in originals:
        try:
            tools.append(_tool(names[original], original, kept[original]))
        except KeyError:
            problems.append(f"the tool {one_line(original, limit_chars=60)!r} is left out: its name clashes")
        except UnusableSchema as error:
            problems.append(f"the tool {one_line(original, limit_chars=60)!r} is left out: {error}")
    return Catalogue(tuple(tools), _shortened(problems))


def _shortened(problems: list[str]) -> tuple[str, ...]:
    if len(problems) <= _NAMED_PROBLEMS:
        return tuple(problems)
    return (*problems[:_NAMED_PROBLEMS], f"... and {len(problems) - _NAMED_PROBLEMS} more")


def _chosen(server: ServerSpec, original: str) -> bool:
    return original not in server.without and (server.tools is None or original in server.tools)


def _tool(name: str, original: str, entry: JsonObject) -> McpTool:
    """Read one tool. Raises UnusableSchema."""
    given, label = entry.get("description"), entry.get("title")
    description = given if isinstance(given, str) else ""
    raw = entry.get("inputSchema")
    schema = usable_schema(raw)
    schema_json = json.dumps(raw, sort_keys=True, ensure_ascii=False)
    words = json.dumps([original, description, schema_json])
    shown = plain(description)
    if len(shown) > MAX_DESCRIPTION_CHARS:
        shown = f"{shown[:MAX_DESCRIPTION_CHARS]}... (cut)"
    return McpTool(
        name=name,
        original=original,
        title=one_line(label, limit_chars=80) if isinstance(label, str) else "",
        description=description,
        schema_json=schema_json,
        spec=ToolSpec(
            name=name, description=shown or f"The tool {one_line(original)!r}.", input_schema=schema
        ),
        fingerprint=hashlib.sha256(words.encode("utf-8", "replace")).hexdigest(),
    )
