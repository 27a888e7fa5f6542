"""What a list of sessions shows of one."""

from dataclasses import dataclass
from pathlib import Path

from agent_tui.sessions.blobs import Blobs
from agent_tui.sessions.frames import RawRecord, text_of
from agent_tui.sessions.outline import Outline
from agent_tui.sessions.replay import blocks_of

_TITLE_CHARS = 60


@dataclass(frozen=True)
class SessionInfo:
    """The facts of a session. Times are POSIX seconds; `turns` counts prompts."""

    session_id: str
    name: str
    workspace: str
    created_at: float
    changed_at: float
    turns: int
    first_prompt: str
    path: Path
    size_bytes: int

    @property
    def title(self) -> str:
        """The name, or the beginning of the first prompt."""
        return self.name or title_of(self.first_prompt) or "(empty)"


def title_of(prompt: str) -> str:
    """Make a title of a prompt: its first line with words, at most 60 characters."""
    line = next((" ".join(part.split()) for part in prompt.split("\n") if part.strip()), "")
    return line if len(line) <= _TITLE_CHARS else f"{line[: _TITLE_CHARS - 1]}…"


def read_info(path: Path) -> SessionInfo:
    """Give the facts of a session file; `session_id` is "" when it is none."""
    try:
        outline, status = Outline(path), path.stat()
    except OSError:
        return SessionInfo("", "", "", 0.0, 0.0, 0, "", path, 0)
    return info_of(outline, path, changed_at=status.st_mtime)


def info_of(outline: Outline, path: Path, *, changed_at: float) -> SessionInfo:
    """Give the facts of a session that was looked through."""
    header = outline.facts[0] if outline.begins_with_header else {}
    at = (header or next(outline.records(range(len(outline.kinds))), header)).get("at")
    prompts = (text_of(record, "text") for record in outline.records(outline.of_kinds("user")))
    turns, first_prompt = 0, ""
    for prompt in filter(None, prompts):
        turns, first_prompt = turns + 1, first_prompt or prompt
    return SessionInfo(
        session_id="" if outline.is_empty else path.stem,
        name=name_of(outline.facts),
        workspace=text_of(header, "workspace"),
        created_at=float(at) if isinstance(at, int | float) else 0.0,
        changed_at=changed_at,
        turns=turns,
        first_prompt=first_prompt,
        path=path,
        size_bytes=outline.size_bytes,
    )


def name_of(records: list[RawRecord]) -> str:
    """Give the name the session has now."""
    for record in reversed(records):
        if record.get("type") in ("rename", "header"):
            return text_of(record, "name")
    return ""


def words_of(outline: Outline, blobs: Blobs) -> str:
    """Give all text of the active path that a search looks through."""
    return "\n".join(block.text for block in blocks_of(outline.records(outline.path()), blobs))
