"""Writes one line per decision to a file that only grows."""

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from agent_tui.protocol.json_text import parse_json


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One decision: who decided what about which target, by which rule, for how long.

    `when` is ISO 8601 with a zone; `who` a DecidedBy value; `rule` the rule's text with file and line, or the
    built-in reason; `pattern` what was stored, `offered` what "always" would have stored; `args_sha256` the hex
    digest of the exact arguments, "" when no call was asked about; `edited` that the person wrote those arguments.
    """

    when: str
    who: str
    decision: str
    scope: str
    tool: str
    kind: str
    target: str
    pattern: str = ""
    offered: str = ""
    rule: str = ""
    call_id: str = ""
    origin: str = ""
    args_sha256: str = ""
    feedback: str = ""
    project: str = ""
    session_id: str = ""
    edited: bool = False


class AuditLog:
    """An append-only JSONL file, mode 0600. Writing raises OSError: who cannot write it down must answer no."""

    def __init__(self, state_dir: Path) -> None:
        self.path = state_dir / "audit.jsonl"

    def write(self, entries: Sequence[AuditEntry]) -> None:
        """Append one line per entry, in one write. Raises OSError."""
        if not entries:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        data = "".join(f"{json.dumps(asdict(entry))}\n" for entry in entries).encode()
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        descriptor = os.open(self.path, flags, 0o600)
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(descriptor, view) :]
        finally:
            os.close(descriptor)

    def read(self) -> Iterator[AuditEntry]:
        """Give the entries, oldest first; lines that cannot be read are left out."""
        try:
            file = self.path.open(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            return
        with file:
            for line in file:
                try:
                    yield AuditEntry(**parse_json(line))
                except (ValueError, TypeError):
                    continue
