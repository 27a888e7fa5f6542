"""Names a call for a person where its tool cannot be asked: before it was prepared, and in stored sessions."""

from typing import cast

from agent_tui.protocol.json_text import parse_json

TITLE_KEYS = (
    "command",
    "file_path",
    "pattern",
    "path",
    "url",
    "query",
    "description",
    "job_id",
    "name",
    "prompt",
)
"""Arguments that say best what a call is about, the best first."""
_TITLE_CHARS = 200


def plain_name(tool: str) -> str:
    """Give the name of a tool as a person reads it: `bash_output` is `Bash output`; a server's tool keeps its own."""
    return tool if "__" in tool or not tool else (tool[0].upper() + tool[1:]).replace("_", " ")


def plain_title(arguments_json: str) -> str:
    """Give what a call is about in one line, from its arguments; "" when none of them says it."""
    try:
        arguments: object = parse_json(arguments_json or "{}")
    except ValueError:
        return ""
    if not isinstance(arguments, dict):
        return ""
    known = cast("dict[str, object]", arguments)
    found = next((value for key in TITLE_KEYS if isinstance(value := known.get(key), str) and value), "")
    return " ".join(found[:_TITLE_CHARS].split())
