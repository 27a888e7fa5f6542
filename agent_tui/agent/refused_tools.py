"""Finds the one tool of a request that a model server refuses to take."""

import re
from collections.abc import Sequence

from agent_tui.protocol.tools import ToolSpec

MAX_DROPPED = 8
"""How many tools a turn gives up before the refusal is told instead."""

_NUMBERED = re.compile(r"\btools(?:\.|\[|\.\[)(\d{1,5})\b")
_NAMED = re.compile(r"\b(?:function|tool)\s+(?:name\s+)?['\"`]([A-Za-z0-9_-]{1,128})['\"`]", re.IGNORECASE)


def refused_tool(words: str, tools: Sequence[ToolSpec]) -> str:
    """Give the name of the tool that a refusal means, "" when it means none.

    Servers name it by its place in the request, counted from 0 (`tools.3.custom.input_schema: ...`,
    `tools[3].function.parameters`), or by its name (`Invalid schema for function 'mcp__a__b': ...`).
    """
    if numbered := _NUMBERED.search(words):
        index = int(numbered[1])
        return tools[index].name if index < len(tools) else ""
    named = _NAMED.search(words)
    return named[1] if named and any(tool.name == named[1] for tool in tools) else ""
