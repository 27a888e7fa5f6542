"""The folder of all sessions: makes, finds, lists and opens them."""

import os
import re
import secrets
import time
import unicodedata
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from agent_tui import __version__
from agent_tui.protocol.errors import SessionError, SessionNameError
from agent_tui.protocol.near_names import slips
from agent_tui.protocol.private_file import write_all
from agent_tui.sessions.blobs import Blobs
from agent_tui.sessions.frames import (
    FORMAT_VERSION,
    Frames,
    RawRecord,
    dumps,
    each_record,
    read_frames,
    read_header,
    seal,
    text_of,
    unread_version,
)
from agent_tui.sessions.info import SessionInfo, name_of, read_info
from agent_tui.sessions.lock import SessionLock
from agent_tui.sessions.outline import Outline
from agent_tui.sessions.redact import Redactor
from agent_tui.sessions.session import Session
from agent_tui.sessions.writer import SessionFile

if TYPE_CHECKING:
    from agent_tui.sessions.index import Found, SessionIndex

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_MIN_PREFIX_CHARS = 4

BLOBS = "blobs"
CHECKPOINTS = "checkpoints"
"""Where below the root the contents of checkpoints are kept."""


def project_folder(workspace: Path) -> str:
    """Give the name of the folder that holds a workspace's sessions: readable, and unique by its real path."""
    real = os.path.realpath(workspace)
    ascii_name = unicodedata.normalize("NFKD", Path(real).name).encode("ascii", "ignore").decode()
    stem = re.sub(r"[^A-Za-z0-9._-]+", "-", ascii_name).strip("-.")[:40] or "root"
    return f"{stem}-{zlib.crc32(os.fsencode(real)):08x}"


def new_session_id() -> str:
    """Make an id: a version 7 UUID, so that ids sort by time."""
    millis = time.time_ns() // 1_000_000
    tail = secrets.randbits(74)
    value = (millis << 80) | (7 << 76) | ((tail >> 62) << 64) | (2 << 62) | (tail & ((1 << 62) - 1))
    digits = f"{value:032x}"
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


class SessionStore:
    """All sessions below `root`: one folder per project, one JSONL file per session, blobs beside them.

    Directories are 0700, files 0600. `redact` takes secrets out of all that is written. `spare` is a private folder for
    the full outputs of sessions that have none of their own.
    """

    def __init__(
        self, root: Path, *, redact: Callable[[str], str] | None = None, spare: Path | None = None
    ) -> None:
        self.root = root
        self.blobs = Blobs(root / BLOBS)
        self._redact = redact or Redactor()
        self._spare = spare

    def create(
        self, workspace: Path, *, session_id: str = "", name: str = "", with_screen: bool = True
    ) -> Session:
        """Begin a session; its file appears with the first record. Raises SessionError for an id that is in use."""
        chosen = session_id or new_session_id()
        if not _ID.fullmatch(chosen):
            raise SessionNameError(
                f"{chosen!r} cannot be a session id; use letters, digits, - and _", path=self.root
            )
        if session_id and self._find_file(session_id) is not None:
            raise SessionNameError(
                f"There is a session {session_id!r} already; resume it instead.", path=self.root
            )
        session = self._session(
            self._new_path(workspace, chosen),
            header={**self._header(chosen, workspace, name=name), "with_screen": with_screen},
            name=name,
        )
        problem = self._problem()
        if problem:
            session.notices.append(
                f"Sessions cannot be saved at {self.root}: {problem}. This one stays in memory."
            )
        return session

    def ephemeral(self, workspace: Path) -> Session:
        """Begin a session that is kept in memory only, on purpose."""
        chosen = new_session_id()
        return Session(
            session_id=chosen,
            workspace=_real(workspace),
            file=None,
            blobs=self.blobs,
            redact=self._redact,
            data_dir=self._spare,
            header=self._header(chosen, workspace),
        )

    def open(self, session_id: str) -> Session:
        """Open a session to go on with it.

        Raises SessionInUseError while another program has it, SessionError when there is none, when it cannot be
        read, or when a newer program wrote it.
        """
        path = self.path_of(session_id)
        try:
            lock = SessionLock.acquire(path.with_suffix(".lock"))
        except OSError as error:
            raise SessionError(f"cannot be locked: {error.strerror or error}", path=path) from error
        try:
            outline = self._outline(path)
        except BaseException:
            lock.release()
            raise
        session = self._session(path, lock=lock, outline=outline)
        if outline.damage:
            where = ", ".join(f"line {d.line}: {d.reason}" for d in outline.damage[:3])
            session.notices.append(
                f"{len(outline.damage)} record(s) were skipped ({where}); the rest is there."
            )
        return session

    def read(self, session_id: str) -> Frames:
        """Read a session without opening it, also while another program writes it. Raises SessionError."""
        return self._read(self.path_of(session_id))

    def refuse_inside(self, target: Path) -> None:
        """Raise SessionError for a file among those of the sessions: an export would be written over what it reads."""
        if target.resolve().is_relative_to(self.root.resolve()):
            raise SessionError("is where sessions are stored; name another place", path=target)

    def whole_records(self, session_id: str) -> Iterator[RawRecord]:
        """Give the records that `read` would hold one by one, with the large texts that they only name.

        Raises SessionError.
        """
        from agent_tui.sessions.encoding import Filler

        path = self.path_of(session_id)
        try:
            lines = path.open("rb")
        except OSError as error:
            raise SessionError(f"cannot be read: {error.strerror or error}", path=path) from error
        with lines:
            filler = Filler(self.blobs)
            for record in each_record(lines):
                _refuse_newer([record], path)
                yield filler.load_blobs(record)

    def outline(self, session_id: str) -> Outline:
        """Look through a session as `read` does, to read its records one by one. Raises SessionError."""
        return self._outline(self.path_of(session_id))

    def latest(self, workspace: Path, *, with_screen: bool = False) -> str | None:
        """Give the id of the session of `workspace` that was written last, None when there is none.

        `with_screen` prefers those that were begun on a screen to the runs of scripts.
        """
        folder = self.root / project_folder(workspace)
        of_scripts: list[str] = []
        for path in sorted(_files(folder), key=_changed_ns, reverse=True):
            header = _header_of(path)
            if header and not (with_screen and header.get("with_screen") is False):
                return path.stem
            if header:
                of_scripts.append(path.stem)
        return of_scripts[0] if of_scripts else None

    def moved_here(self, workspace: Path) -> list[SessionInfo]:
        """List sessions of a directory that is gone and was this very one under another name, newest first.

        Nothing is moved: the person must be asked, since the number of a removed directory may be given to another.
        """
        here = _inode(workspace)
        found: list[SessionInfo] = []
        for folder in self._folders():
            for path in _files(folder):
                header = _header_of(path)
                old = text_of(header, "workspace")
                if here and header.get("workspace_inode") == here and old and not Path(old).exists():
                    found.append(read_info(path))
        return sorted(found, key=lambda info: -info.changed_at)

    def list(self, workspace: Path | None = None) -> "list[SessionInfo]":
        """List the sessions of `workspace`, or all, newest first; files that are no session are left out."""
        paths = list(_files(self.root / project_folder(workspace)) if workspace else self.paths())
        wanted = set(paths)
        return [info for info in self._index().infos(paths) if info.path in wanted]

    def search(self, text: str, workspace: Path | None = None) -> "list[Found]":
        """Find sessions of `workspace`, or all, that hold all words of `text`; the best first."""
        paths = set(_files(self.root / project_folder(workspace)) if workspace else self.paths())
        return [found for found in self._index().search(text, self.paths()) if found.info.path in paths]

    def _index(self) -> "SessionIndex":
        from agent_tui.sessions.index import SessionIndex  # sqlite3 takes 8 ms, and most starts list nothing

        return SessionIndex(self.root)

    def find(self, text: str, workspace: Path) -> str:
        """Give the id that `text` means: an id, the beginning of one, or a name; this workspace comes first.

        Raises SessionError with what could be meant.
        """
        if self._find_file(text) is not None:
            return text
        infos = [*self.list(workspace), *self.list()]
        ids = {info.session_id for info in infos if info.session_id.startswith(text)}
        if len(text) >= _MIN_PREFIX_CHARS and len(ids) == 1:
            return ids.pop()
        for info in infos:
            if info.name and info.name.casefold() == text.casefold():
                return info.session_id
        hint = f" Did you mean: {'; '.join(close)}?" if (close := _meant(text, infos)) else ""
        raise SessionNameError(f"No session is called {text!r}.{hint} {self._looked}", path=self.root)

    @property
    def _looked(self) -> str:
        return f"Looked in {self.root}; 'agent-tui sessions list --all' lists what is there."

    def paths(self) -> Iterator[Path]:
        """List the files of all sessions."""
        for folder in self._folders():
            yield from _files(folder)

    def path_of(self, session_id: str) -> Path:
        """Give the file of a session. Raises SessionError when there is none."""
        path = self._find_file(session_id)
        if path is None:
            raise SessionNameError(f"There is no session {session_id!r}. {self._looked}", path=self.root)
        return path

    def write_whole(
        self, workspace: Path, records: Iterable[RawRecord], *, name: str = "", origin: str = ""
    ) -> str:
        """Write a new session from records that are whole in themselves (a fork, an import); give its id.

        Raises OSError.
        """
        chosen = new_session_id()
        header = {**self._header(chosen, workspace, name=name), "forked_from": origin}
        path = self._new_path(workspace, chosen)
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            for record in chain([header], records):
                write_all(descriptor, seal(self._redact(dumps(record))))
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        return chosen

    def copy(
        self, workspace: Path, outline: Outline, path: Sequence[int], *, name: str = "", origin: str = ""
    ) -> str:
        """Write the entries of `path` as a new session; give its id. Raises OSError.

        Calls that wait for approvals are answered as not run in the copy: they are decided where they came from.
        """
        from agent_tui.sessions.restore import restore  # pydantic, not at every start

        records = filter(None, outline.records(path))
        last_reply = next(
            (at for at in reversed(range(len(path))) if outline.kinds[path[at]] == "assistant"), 0
        )
        restored = restore(
            outline.records(path[last_reply:]), self.blobs
        )  # what is open is of the last reply
        if not restored.pending or not restored.messages:
            return self.write_whole(workspace, records, name=name, origin=origin)
        answers: RawRecord = {
            "type": "results",
            "id": os.urandom(6).hex(),
            "at": round(time.time(), 3),
            "parent": text_of(next(outline.records(path[-1:])), "id"),
            "message": restored.messages[-1].model_dump(mode="json"),
        }
        return self.write_whole(workspace, chain(records, [answers]), name=name, origin=origin)

    def _session(
        self,
        path: Path,
        *,
        header: RawRecord | None = None,
        lock: SessionLock | None = None,
        outline: Outline | None = None,
        name: str = "",
    ) -> Session:
        notices: list[str] = []
        first = header or (outline.facts[0] if outline and outline.begins_with_header else {})
        session = Session(
            session_id=path.stem,
            workspace=Path(text_of(first, "workspace")),
            file=SessionFile(path, notices.append, lock),
            blobs=self.blobs,
            redact=self._redact,
            data_dir=path.with_suffix(""),
            name=name_of(outline.facts) if outline else name,
            header=header,
            outline=outline,
        )
        session.notices = notices
        return session

    def _header(self, session_id: str, workspace: Path, *, name: str = "") -> RawRecord:
        return {
            "type": "header",
            "id": f"h{session_id[-8:]}",
            "at": round(time.time(), 3),
            "version": FORMAT_VERSION,
            "session_id": session_id,
            "workspace": str(_real(workspace)),
            "workspace_inode": _inode(workspace),
            "name": name,
            "program": f"agent-tui {__version__}",
        }

    def _new_path(self, workspace: Path, session_id: str) -> Path:
        return self.root / project_folder(workspace) / f"{session_id}.jsonl"

    def _problem(self) -> str:
        """Say why nothing can be written below the root, "" when it can."""
        try:
            self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            return error.strerror or str(error)
        if not os.access(self.root, os.W_OK | os.X_OK):
            return "permission denied"
        return ""

    def _find_file(self, session_id: str) -> Path | None:
        if not _ID.fullmatch(session_id):
            return None
        for folder in self._folders():
            path = folder / f"{session_id}.jsonl"
            if path.is_file():
                return path
        return None

    def _folders(self) -> Iterator[Path]:
        try:
            with os.scandir(self.root) as entries:
                names = sorted(entry.name for entry in entries if entry.is_dir())
        except OSError:
            return
        for name in names:
            if name not in (BLOBS, CHECKPOINTS):
                yield self.root / name

    def _read(self, path: Path) -> Frames:
        try:
            frames = read_frames(path.read_bytes())
        except OSError as error:
            raise SessionError(f"cannot be read: {error.strerror or error}", path=path) from error
        _refuse_newer(frames.records, path)
        return frames

    def _outline(self, path: Path) -> Outline:
        try:
            outline = Outline(path)
        except OSError as error:
            raise SessionError(f"cannot be read: {error.strerror or error}", path=path) from error
        _refuse_newer(outline.facts, path)
        return outline


def _meant(text: str, infos: Sequence[SessionInfo]) -> list[str]:
    """Give the sessions whose title holds `text`, else those whose title or id it is a slip for; at most five."""
    wanted = text.casefold()
    close = [info for info in infos if wanted in info.title.casefold()]
    if not close:
        near = slips(text, [word for info in infos for word in (info.title, info.session_id)])
        close = [info for info in infos if info.title in near or info.session_id in near]
    return list(dict.fromkeys(f"{info.session_id} ({info.title})" for info in close))[:5]


def _refuse_newer(records: Sequence[RawRecord], path: Path) -> None:
    newer = unread_version(records)
    if newer:
        raise SessionError(
            f"was written by a newer agent-tui (format {newer}, this one reads up to {FORMAT_VERSION}); "
            "update agent-tui to go on with it, or start a new session",
            path=path,
        )


def _files(folder: Path) -> Iterator[Path]:
    try:
        entries = sorted(os.listdir(folder))
    except OSError:
        return
    for name in entries:
        if name.endswith(".jsonl"):
            yield folder / name


def _changed_ns(path: Path) -> int:
    """Give when the file was written last; 0 for one that is gone or a link to nothing, which hold no session."""
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


def _header_of(path: Path) -> RawRecord:
    try:
        return read_header(path)
    except OSError:
        return {}


def _real(workspace: Path) -> Path:
    return Path(os.path.realpath(workspace))


def _inode(workspace: Path) -> str:
    try:
        status = workspace.stat()
    except OSError:
        return ""
    return f"{status.st_dev}:{status.st_ino}"
