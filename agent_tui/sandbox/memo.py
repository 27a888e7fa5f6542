"""Remembers what the last probe found, for commands that must answer at once."""

import json
import os
from pathlib import Path

from agent_tui.sandbox.interface import Sandbox, Strength

_NAME = "sandbox.json"


def remember_probe(state: Path, found: Sandbox) -> None:
    """Write down strength and reason below `state`; a folder that refuses costs only the memory."""
    data = json.dumps({"strength": found.strength.value, "reason": found.reason})
    temporary = state / f".{_NAME}.{os.getpid()}.tmp"
    try:
        state.mkdir(parents=True, exist_ok=True, mode=0o700)
        temporary.write_text(data, encoding="utf-8")
        temporary.replace(state / _NAME)
    except OSError:
        temporary.unlink(missing_ok=True)


def remembered_probe(state: Path) -> tuple[Strength, str]:
    """Give what the last probe found, and a sentence that says so."""
    try:
        data: dict[str, str] = json.loads((state / _NAME).read_text(encoding="utf-8"))
        return Strength(data["strength"]), "as the last probe found"
    except (OSError, ValueError, KeyError, TypeError):
        return Strength.NONE, "no probe has run yet"
