"""Finds reasoning and tool calls that a model wrote into its text, as local servers without a parser pass them on."""

import json
import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal, cast

from agent_tui.protocol.data import JsonObject
from agent_tui.protocol.json_text import parse_json

_OPENINGS = {"<think>": "</think>", "<tool_call>": "</tool_call>"}


@dataclass(frozen=True)
class Written:
    """A part of the text. For a call `text` is its name and `arguments_json` its arguments."""

    kind: Literal["text", "thinking", "call"]
    text: str
    arguments_json: str = ""


class TextScanner:
    """Feeds on text deltas and gives what they are. Only text that may begin a tag is held back.

    `<think>` counts only at the very start. A `<tool_call>` that is no call of one of `tools` is plain text.
    """

    def __init__(self, tools: Collection[str]) -> None:
        self._tools = frozenset(tools)
        self._held = ""
        self._inside = ""
        self._said_anything = False
        self._skip_newlines = False

    def feed(self, text: str) -> list[Written]:
        """Take more text."""
        is_plain = not self._held and not self._inside and self._said_anything and not self._skip_newlines
        if is_plain and "<" not in text:
            return [Written("text", text)]
        self._held += text
        found: list[Written] = []
        while self._step(found):
            pass
        return found

    def finish(self) -> list[Written]:
        """Take the end: an open call counts when it is complete but for its closing tag."""
        held, self._held = self._held, ""
        if self._inside == "<tool_call>":
            call = self._call(held)
            return [call if call is not None else Written("text", f"<tool_call>{held}")]
        kind: Literal["text", "thinking"] = "thinking" if self._inside == "<think>" else "text"
        return [Written(kind, held)] if held else []

    def _step(self, found: list[Written]) -> bool:
        """Take one part off what is held; False when more text is needed."""
        if self._inside == "<think>":
            return self._thinking(found)
        if self._inside == "<tool_call>":
            return self._tool_call(found)
        return self._plain(found)

    def _plain(self, found: list[Written]) -> bool:
        at, tag = self._next_opening()
        if tag:
            self._say(found, self._held[:at])
            self._held, self._inside = self._held[at + len(tag) :], tag
            return True
        keep = _partial(self._held, self._openings())
        if keep and not self._held[: len(self._held) - keep].strip() and not self._said_anything:
            return False  # white space before a first tag is no text yet
        cut = len(self._held) - keep
        self._say(found, self._held[:cut])
        self._held = self._held[cut:]
        return False

    def _next_opening(self) -> tuple[int, str]:
        places = [(self._held.find(tag), tag) for tag in self._openings()]
        present = [(at, tag) for at, tag in places if at >= 0]
        at, tag = min(present, default=(-1, ""))
        return (at, tag) if tag != "<think>" or not self._held[:at].strip() else (-1, "")

    def _openings(self) -> list[str]:
        wanted = [] if self._said_anything else ["<think>"]
        return [*wanted, *(["<tool_call>"] if self._tools else [])]

    def _say(self, found: list[Written], text: str) -> None:
        if self._skip_newlines:
            text = text.lstrip("\n")
            self._skip_newlines = not text
        if text and (text.strip() or self._said_anything):
            self._said_anything = True
            found.append(Written("text", text))

    def _thinking(self, found: list[Written]) -> bool:
        closing = _OPENINGS["<think>"]
        at = self._held.find(closing)
        if at >= 0:
            if self._held[:at]:
                found.append(Written("thinking", self._held[:at]))
            self._held, self._inside = self._held[at + len(closing) :], ""
            self._said_anything = self._skip_newlines = True
            return True
        cut = len(self._held) - _partial(self._held, [closing])
        if cut:
            found.append(Written("thinking", self._held[:cut]))
            self._held = self._held[cut:]
        return False

    def _tool_call(self, found: list[Written]) -> bool:
        closing = _OPENINGS["<tool_call>"]
        at = self._held.find(closing)
        if at < 0:
            return False
        inner, self._held, self._inside = self._held[:at], self._held[at + len(closing) :], ""
        call = self._call(inner)
        if call is None:
            self._say(found, f"<tool_call>{inner}{closing}")
        else:
            found.append(call)
            self._said_anything = True
        return True

    def _call(self, inner: str) -> Written | None:
        call = _json_call(inner) or _xml_call(inner)
        return call if call is not None and call.text in self._tools else None


def _partial(text: str, tags: list[str]) -> int:
    """The length of the longest end of `text` that begins one of the tags."""
    longest = max((len(tag) for tag in tags), default=1) - 1
    for size in range(min(longest, len(text)), 0, -1):
        if any(tag.startswith(text[-size:]) for tag in tags):
            return size
    return 0


def _json_call(inner: str) -> Written | None:
    try:
        parsed: object = parse_json(inner.strip())
    except ValueError:
        return None
    if not isinstance(parsed, dict):
        return None
    call = cast(JsonObject, parsed)
    name = call.get("name")
    arguments = call.get("arguments", call.get("parameters", {}))
    if not isinstance(name, str):
        return None
    return Written(
        "call", name, arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    )


def _xml_call(inner: str) -> Written | None:
    """Read the other common form: <function=name><parameter=key>value</parameter></function>."""
    found = re.fullmatch(r"\s*<function=([\w-]+)>(.*?)(?:</function>)?\s*", inner, re.DOTALL)
    if found is None:
        return None
    pairs = re.findall(r"<parameter=([\w-]+)>\n?(.*?)\n?</parameter>", found[2], re.DOTALL)
    return Written(
        "call", found[1], json.dumps({key: _value(text) for key, text in pairs}, ensure_ascii=False)
    )


def _value(text: str) -> object:
    """Numbers, booleans, lists and objects are written bare in this form; the rest is text."""
    try:
        parsed: object = parse_json(text)
    except ValueError:
        return text
    return text if isinstance(parsed, str) or parsed is None else parsed
