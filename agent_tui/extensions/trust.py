"""Remembers which content of which project a person trusts; changed content is not trusted any more."""

import contextlib
import difflib
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from agent_tui.extensions.trust_content import MAX_KEPT_BYTES, Content, TooMuch, project_content
from agent_tui.extensions.trust_items import TrustItem, trust_items
from agent_tui.protocol.private_file import alone_with, write_private

MAX_DIFF_LINES = 2_000


@dataclass(frozen=True)
class Trust:
    """What is known of a project. `trusted` says that its configuration may count.

    That is so when this content was accepted here, or when there is none. `accepted` says that a person accepted this
    very content. `changed` says that other content was accepted before; `diff` is the difference then, in unified
    form. `items` is what would run or apply. `problem` says why the content could not be read: it is not trusted then.
    """

    trusted: bool
    accepted: bool = False
    changed: bool = False
    items: tuple[TrustItem, ...] = ()
    diff: str = ""
    digest: str = ""
    problem: str = ""


class _File(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", defer_build=True)

    kind: str
    content: str


class _Accepted(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", defer_build=True)

    digest: str
    when: datetime
    files: dict[str, _File]


class _State(BaseModel):
    model_config = ConfigDict(extra="ignore")

    projects: dict[str, _Accepted] = {}


class TrustStore:
    """Trust decisions in `state_dir`/trust.json (0600), with private copies of what was accepted beside it.

    `home` is the user's home folder, whose own configuration is nobody's project. Workspaces are real paths.
    """

    def __init__(self, state_dir: Path, *, home: Path | None = None) -> None:
        self._file = state_dir / "trust.json"
        self._copies = state_dir / "trust"
        self._home = (home or Path.home()).resolve()

    def verdict(self, workspace: Path) -> Trust:
        """Say whether the configuration of `workspace` is trusted as it is now. Runs nothing."""
        try:
            content = project_content(workspace, home=self._home)
            return self._judge(workspace, content)
        except (OSError, TooMuch) as error:
            return Trust(trusted=False, problem=f"the project's configuration cannot be read: {error}")

    def accept(self, workspace: Path, *, digest: str = "") -> Trust:
        """Trust the configuration of `workspace` and give the new verdict.

        With `digest`, that of the verdict which was shown, only that very content is accepted: otherwise the answer is
        a verdict that still is not trusted. Raises OSError when the decision cannot be written.
        """
        try:
            content = project_content(workspace, home=self._home)
        except TooMuch as error:
            return Trust(trusted=False, problem=str(error))
        if digest and content.digest != digest:
            return self._judge(workspace, content)
        kept = self._keep_copies(content)
        if kept != content.digest:
            return self.verdict(workspace)  # changed while it was copied
        files = {name: _File(kind=e.kind, content=e.content) for name, e in content.entries.items()}
        with self._changing() as state:
            accepted = _Accepted(digest=content.digest, when=datetime.now(UTC), files=files)
            state.projects[str(workspace)] = accepted
        return self._judge(workspace, content)

    def revoke(self, workspace: Path) -> bool:
        """Forget that `workspace` was trusted; whether it was. Raises OSError."""
        with self._changing() as state:
            return state.projects.pop(str(workspace), None) is not None

    def _judge(self, workspace: Path, content: Content) -> Trust:
        before = self._load().projects.get(str(workspace))
        accepted = before is not None and before.digest == content.digest
        changed = before is not None and not accepted
        return Trust(
            trusted=accepted or not content.entries,
            accepted=accepted,
            changed=changed,
            items=trust_items(content),
            diff=self._diff(before.files, content) if before is not None and changed else "",
            digest=content.digest,
        )

    def _diff(self, before: Mapping[str, _File], content: Content) -> str:
        lines: list[str] = []
        for name in sorted({*before, *content.entries}):
            old, new = before.get(name), content.entries.get(name)
            if old and new and (old.kind, old.content) == (new.kind, new.content):
                continue
            lines += _file_diff(name, self._old_text(old), _new_text(content, name))
            if len(lines) > MAX_DIFF_LINES:
                return "\n".join([*lines[:MAX_DIFF_LINES], "... and more"])
        return "\n".join(lines)

    def _old_text(self, file: _File | None) -> str:
        if file is None:
            return ""
        try:
            return (self._copies / _copy_name(file.content)).read_bytes().decode("utf-8", "replace")
        except OSError:
            return f"({file.kind} {file.content})\n"

    def _keep_copies(self, content: Content) -> str:
        """Keep the text of every file and give the digest of what was read at the end."""
        self._copies.mkdir(mode=0o700, parents=True, exist_ok=True)
        for name, entry in content.entries.items():
            path = content.path(name)
            if entry.content and path.is_file() and path.stat().st_size <= MAX_KEPT_BYTES:
                copy = self._copies / _copy_name(entry.content)
                if not copy.exists():
                    write_private(copy, path.read_bytes())
        return project_content(content.workspace, home=self._home).digest

    def _load(self) -> _State:
        """Read the decisions; a damaged file trusts nothing."""
        try:
            return _State.model_validate_json(self._file.read_bytes())
        except (OSError, ValidationError):
            return _State()

    @contextlib.contextmanager
    def _changing(self) -> Generator[_State]:
        """Give the decisions for a change, alone, and write them back."""
        with alone_with(self._file):
            state = self._load()
            yield state
            write_private(self._file, state.model_dump_json(indent=1).encode())


def _copy_name(content: str) -> str:
    return content.split(" ")[-1] or "none"


def _new_text(content: Content, name: str) -> str:
    entry = content.entries.get(name)
    path = content.path(name)
    if entry is None:
        return ""
    if path.is_file() and path.stat().st_size <= MAX_KEPT_BYTES:
        return path.read_bytes().decode("utf-8", "replace")
    return f"({entry.kind} {entry.content})\n"


def _file_diff(name: str, old: str, new: str) -> list[str]:
    before, after = old.splitlines(), new.splitlines()
    return list(difflib.unified_diff(before, after, f"a/{name}", f"b/{name}", lineterm="")) or [
        f"changed: {name}"
    ]
