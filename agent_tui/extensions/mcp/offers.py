"""What servers offer besides tools: resources and prompts."""

from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import JsonValue

from agent_tui.extensions.mcp.faults import RequestFailed
from agent_tui.extensions.mcp.names import tool_names
from agent_tui.extensions.mcp.results import OUTPUT_LIMIT_CHARS, content_text
from agent_tui.extensions.mcp.server import Server
from agent_tui.extensions.plain import one_line, plain
from agent_tui.protocol.data import JsonObject

MAX_LISTED = 2_000
MAX_SUGGESTED = 100


@dataclass(frozen=True)
class Resource:
    """Something a server can be asked to read; mentioned as `@server:uri`. `template` says that `uri` has blanks."""

    server: str
    uri: str
    name: str
    description: str = ""
    media_type: str = ""
    template: bool = False


@dataclass(frozen=True)
class PromptArgument:
    """One blank of a prompt."""

    name: str
    description: str = ""
    required: bool = False


@dataclass(frozen=True)
class Prompt:
    """A prompt a server can fill in. `command` is its slash command, `mcp__server__prompt`."""

    server: str
    name: str
    command: str
    description: str = ""
    arguments: tuple[PromptArgument, ...] = ()


async def resources_of(server: Server) -> list[Resource]:
    """List a server's resources and templates. Raises ToolError, TimeoutError, RequestFailed, ConnectionGone."""
    async with server.session() as (connection, _):
        plain_ones = await connection.list_all("resources/list", "resources")
        templates = await connection.list_all("resources/templates/list", "resourceTemplates")
    found = [
        _resource(server.spec.name, e, "uri") for e in plain_ones.entries[:MAX_LISTED] if isinstance(e, dict)
    ]
    found += [
        _resource(server.spec.name, e, "uriTemplate")
        for e in templates.entries[:MAX_LISTED]
        if isinstance(e, dict)
    ]
    return [resource for resource in found if resource.uri]


def _resource(server: str, entry: JsonObject, key: str) -> Resource:
    uri = _word(entry, key)
    return Resource(
        server=server,
        uri=uri if uri == plain(uri) and len(uri) <= 2_000 else "",
        name=one_line(_word(entry, "title") or _word(entry, "name")),
        description=one_line(_word(entry, "description")),
        media_type=one_line(_word(entry, "mimeType"), limit_chars=80),
        template=key == "uriTemplate",
    )


async def resource_text(server: Server, uri: str) -> str:
    """Read a resource as text of at most 100,000 characters. Raises like `resources_of`."""
    async with server.session() as (connection, _):
        answer = await connection.request("resources/read", {"uri": uri})
    contents = answer.get("contents")
    blocks: list[JsonValue] = [
        {"type": "resource", "resource": content}
        for content in (contents if isinstance(contents, list) else [])
    ]
    return _cut(content_text(blocks)) or "(empty)"


async def prompts_of(server: Server) -> list[Prompt]:
    """List a server's prompts. Raises like `resources_of`."""
    async with server.session() as (connection, _):
        listing = await connection.list_all("prompts/list", "prompts")
    entries = [e for e in listing.entries[:MAX_LISTED] if isinstance(e, dict) and _word(e, "name")]
    commands = tool_names(server.legal_name, [_word(entry, "name") for entry in entries])
    return [
        _prompt(server.spec.name, entry, commands[_word(entry, "name")])
        for entry in entries
        if _word(entry, "name") in commands
    ]


def _prompt(server: str, entry: JsonObject, command: str) -> Prompt:
    listed = entry.get("arguments")
    return Prompt(
        server=server,
        name=_word(entry, "name"),
        command=command,
        description=one_line(_word(entry, "description") or _word(entry, "title")),
        arguments=tuple(
            PromptArgument(_word(a, "name"), one_line(_word(a, "description")), a.get("required") is True)
            for a in (listed if isinstance(listed, list) else [])
            if isinstance(a, dict) and _word(a, "name")
        ),
    )


async def prompt_text(server: Server, name: str, arguments: dict[str, str]) -> str:
    """Give the text of a prompt, its messages one after the other. Raises like `resources_of`."""
    given: JsonObject = {**arguments}
    async with server.session() as (connection, _):
        answer = await connection.request("prompts/get", {"name": name, "arguments": given})
    listed = answer.get("messages")
    texts = [
        _message(message)
        for message in (listed if isinstance(listed, list) else [])
        if isinstance(message, dict)
    ]
    return _cut("\n\n".join(text for text in texts if text))


async def completions(
    server: Server, prompt: str, argument: str, typed: str, given: Mapping[str, str]
) -> list[str]:
    """Ask for values of a prompt's argument; none when the server has none. Raises like `resources_of`."""
    async with server.session() as (connection, _):
        try:
            answer = await connection.request(
                "completion/complete",
                {
                    "ref": {"type": "ref/prompt", "name": prompt},
                    "argument": {"name": argument, "value": typed},
                    "context": {"arguments": {**given}},
                },
            )
        except RequestFailed:
            return []
    found = answer.get("completion")
    values = found.get("values") if isinstance(found, dict) else None
    words = [value for value in (values if isinstance(values, list) else []) if isinstance(value, str)]
    return [word for word in words[:MAX_SUGGESTED] if word == one_line(word, limit_chars=500)]


def _message(message: JsonObject) -> str:
    content = message.get("content")
    text = content_text(content if isinstance(content, list) else [content])
    return text if message.get("role") == "user" else f"(an earlier answer:) {text}"


def _cut(text: str) -> str:
    if len(text) <= OUTPUT_LIMIT_CHARS:
        return text
    return f"{text[:OUTPUT_LIMIT_CHARS]}\n\n[{len(text) - OUTPUT_LIMIT_CHARS:,} characters left out]"


def _word(table: JsonObject, key: str) -> str:
    value = table.get(key)
    return value if isinstance(value, str) else ""
