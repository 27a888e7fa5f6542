"""Reads what flags name: prompt files, an answer schema, rules and names of tools."""

import os
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from agent_tui.extensions.mcp.config import read_source
from agent_tui.permissions.grammar import Layer, Origin, Rule, RuleError, canonical_tool, parse_rule
from agent_tui.permissions.known_tools import no_tool
from agent_tui.protocol.data import JsonObject
from agent_tui.protocol.errors import UsageError
from agent_tui.protocol.json_text import parse_json
from agent_tui.protocol.permissions import Decision
from agent_tui.protocol.rule_words import split_words
from agent_tui.run.options import RunOptions

MAX_FILE_BYTES = 1_000_000


@dataclass(frozen=True)
class Inputs:
    """What one start was given. `tools` None means all tools; `hidden` names, as rules do, those the model is not told of."""

    schema: JsonObject | None = None
    system_prompt: str = ""
    append_system_prompt: str = ""
    rules: tuple[Rule, ...] = ()
    tools: tuple[str, ...] | None = None
    hidden: tuple[str, ...] = ()


def read_inputs(options: RunOptions, workspace: Path) -> Inputs:
    """Read the files and words of the flags; paths are relative to the current directory. Raises UsageError."""
    for given in options.mcp_config:
        _check_servers(given)
    allowed, denied = split_words(options.allowed_tools), split_words(options.disallowed_tools)
    return Inputs(
        schema=read_schema(options.json_schema) if options.json_schema else None,
        system_prompt=_text("--system-prompt", options.system_prompt, options.system_prompt_file),
        append_system_prompt=_text(
            "--append-system-prompt", options.append_system_prompt, options.append_system_prompt_file
        ),
        rules=(
            *_rules("--allowed-tools", allowed, Decision.ALLOW, workspace),
            *_rules("--disallowed-tools", denied, Decision.DENY, workspace),
        ),
        tools=None if options.tools is None else tuple(split_words([options.tools])),
        hidden=tuple(canonical_tool(word) for word in denied if "(" not in word),
    )


def _check_servers(given: str) -> None:
    """Read what --mcp-config names. A server in it that cannot be used costs only itself. Raises UsageError."""
    if given.lstrip().startswith("[") and not os.path.exists(
        given
    ):  # of a text that is too long, too, it says no
        raise UsageError(
            '--mcp-config must be an object, such as {"mcpServers": {"NAME": {"command": "..."}}}'
        )
    try:
        read_source(given, origin="flag", environ=os.environ)
    except ValueError as error:
        what = "" if given.lstrip().startswith("{") else f" {given!r}:"
        raise UsageError(
            f"--mcp-config:{what} {error}; give a file or a JSON text with mcpServers"
        ) from error


def read_schema(given: str) -> JsonObject:
    """Read a JSON schema from the text itself or from the file it names. Raises UsageError."""
    from jsonschema import exceptions, validators  # 40 ms, and few runs ask for structured output

    text = given if given.lstrip().startswith("{") else read_text("--json-schema", Path(given))
    try:
        parsed = parse_json(text)
    except ValueError as error:
        raise UsageError(f"--json-schema is no JSON: {error}") from error
    schema = cast("JsonObject", parsed) if isinstance(parsed, dict) else {}
    if schema.get("type") != "object":
        raise UsageError('--json-schema must be a schema of type "object", such as {"type": "object", ...}')
    try:
        validators.validator_for(schema).check_schema(schema)  # pyright: ignore[reportUnknownMemberType]  # the package has no types
    except exceptions.SchemaError as error:
        raise UsageError(f"--json-schema is no JSON schema: {error.message}") from error
    return schema


def read_text(flag: str, path: Path) -> str:
    """Read a text file that a flag names. Raises UsageError."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)  # a device tells no size and may have no end
        if len(data) > MAX_FILE_BYTES:
            raise UsageError(f"{flag}: {str(path)!r} holds more than {MAX_FILE_BYTES:,} bytes")
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except OSError as error:
        raise UsageError(f"{flag}: cannot read {str(path)!r}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{flag}: {str(path)!r} is not UTF-8") from error


def _text(flag: str, text: str, file: Path | None) -> str:
    if text and file is not None:
        raise UsageError(f"give {flag} or {flag}-file, not both")
    return text if file is None else read_text(f"{flag}-file", file)


def _rules(flag: str, words: Sequence[str], effect: Decision, workspace: Path) -> list[Rule]:
    origin = Origin(Layer.CLI, workspace, flag)
    try:
        return [parse_rule(word, effect, origin) for word in words]
    except RuleError as error:
        raise UsageError(f"{flag}: {error}; write it as 'Bash(git *)' or 'Read'") from error


def refuse_unknown_tools(rules: Iterable[Rule], tools: Collection[str]) -> None:
    """Refuse rules of flags that name none of `tools`, which are all there are. Raises UsageError."""
    for rule in rules:
        if said := no_tool(rule, tools, are_all=True):
            raise UsageError(f"{rule.origin.file}: {said}")
