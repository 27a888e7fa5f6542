"""Remembers what the last probe found, for commands that must answer at once."""

import json
from contextlib import suppress
from pathlib import Path

from agent_tui.protocol.json_text import parse_json
from agent_tui.protocol.private_file import write_private
from agent_tui.sandbox.interface import Sandbox, Strength

_NAME = "sandbox.json"


def remember_probe(state: Path, found: Sandbox) -> None:
    """Write down strength and reason below `state`; a folder that refuses costs only the memory."""
    data = json.dumps({"strength": found.strength.value, "reason": found.reason})
    with suppress(OSError):
        write_private(state / _NAME, data.encode(), waits=False)


def remembered_probe(state: Path) -> tuple[Strength, str]:
    """Give what the last probe found, and a sentence that says so."""
    try:
        data: dict[str, str] = parse_json((state / _NAME).read_text(encoding="utf-8"))
        return Strength(data["strength"]), "as the last probe found"
    except (OSError, ValueError, KeyError, TypeError):
        return Strength.NONE, "no probe has run yet"
