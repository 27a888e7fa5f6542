"""A disposable index of all sessions for lists and search; the files are the truth."""

import os
import sqlite3
from collections.abc import Generator, Iterable
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from agent_tui.sessions.blobs import Blobs
from agent_tui.sessions.info import SessionInfo, info_of, words_of
from agent_tui.sessions.outline import Outline

NAME = "index.sqlite"
_SCHEMA_VERSION = 2
_SNIPPET_WORDS = 16
_COLUMNS = "path, size, mtime_ns, id, workspace, name, created, turns, first_prompt"
_SCHEMA = f"""
CREATE TABLE session({_COLUMNS}, PRIMARY KEY(path)) WITHOUT ROWID;
CREATE TABLE worded(path, size, mtime_ns, PRIMARY KEY(path)) WITHOUT ROWID;
CREATE VIRTUAL TABLE words USING fts5(path UNINDEXED, text);
PRAGMA user_version = {_SCHEMA_VERSION};
"""


@dataclass(frozen=True)
class Found:
    """A session that a search found, with the words around the first place."""

    info: SessionInfo
    snippet: str


class SessionIndex:
    """Keeps what lists and searches need of the files in `paths`; reads only those that changed since.

    Words are taken in by a search only: a list, and a session that is opened by its name, need none.
    Lives in one SQLite file that may be deleted at any time. Where it cannot be written it is built in memory.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._blobs = Blobs(root / "blobs")

    def infos(self, paths: Iterable[Path]) -> list[SessionInfo]:
        """Give the facts of all sessions in `paths`, newest first; files that are no session are left out."""
        with self._fresh(list(paths), with_words=False) as database:
            rows = database.execute(f"SELECT {_COLUMNS} FROM session WHERE id != ''").fetchall()  # noqa: S608  # constants
        return sorted((_info(row) for row in rows), key=lambda info: -info.changed_at)

    def search(self, text: str, paths: Iterable[Path], *, limit: int = 50) -> list[Found]:
        """Find sessions that hold all words of `text`, the last one as a beginning; the best first."""
        words = [word.replace('"', '""') for word in text.split()]
        if not words:
            return []
        query = " ".join(f'"{word}"' for word in words) + "*"
        with self._fresh(list(paths), with_words=True) as database:
            rows = database.execute(
                f"SELECT {', '.join('session.' + c for c in _COLUMNS.split(', '))}, "  # noqa: S608  # constants
                f"snippet(words, 1, '', '', '…', {_SNIPPET_WORDS}) FROM words "
                "JOIN session ON session.path = words.path "
                "WHERE words.text MATCH ? AND session.id != '' ORDER BY rank LIMIT ?",
                (query, limit),
            ).fetchall()
        return [Found(_info(row), " ".join(str(row[-1]).split())) for row in rows]

    @contextmanager
    def _fresh(self, paths: list[Path], *, with_words: bool) -> Generator[sqlite3.Connection]:
        """Open the index with what is in `paths` now, and only that."""
        wanted = {str(path): status for path in paths if (status := _stat(path)) is not None}
        with closing(self._open()) as database:
            try:
                self._refresh(database, wanted, with_words=with_words)
            except sqlite3.Error:  # locked for long, full or broken: the files are read instead
                with closing(_connected(":memory:", _SCHEMA)) as spare:
                    self._refresh(spare, wanted, with_words=with_words)
                    yield spare
                    return
            yield database

    def _open(self) -> sqlite3.Connection:
        path = self._root / NAME
        try:
            if not path.exists():
                _create(path)
            database = _connected(path, "PRAGMA user_version")
            if database.execute("PRAGMA user_version").fetchone()[0] == _SCHEMA_VERSION:
                return database
            database.close()
            path.unlink()
            _create(path)
            return _connected(path, _SCHEMA)
        except (OSError, sqlite3.Error):
            return _connected(":memory:", _SCHEMA)

    def _refresh(
        self, database: sqlite3.Connection, wanted: dict[str, os.stat_result], *, with_words: bool
    ) -> None:
        rows = database.execute(f"SELECT path, size, mtime_ns FROM {'worded' if with_words else 'session'}")  # noqa: S608  # constants
        known = {row[0]: (row[1], row[2]) for row in rows}
        stale = [
            path for path, status in wanted.items() if known.get(path) != (status.st_size, status.st_mtime_ns)
        ]
        gone = [path for path in known if path not in wanted and not Path(path).exists()]
        with database:
            for path in (*stale, *gone):
                database.execute("DELETE FROM session WHERE path = ?", (path,))
                if with_words or path in gone:
                    database.execute("DELETE FROM worded WHERE path = ?", (path,))
                    database.execute("DELETE FROM words WHERE path = ?", (path,))
            for path in stale:
                self._add(database, Path(path), wanted[path], with_words=with_words)

    def _add(
        self, database: sqlite3.Connection, path: Path, status: os.stat_result, *, with_words: bool
    ) -> None:
        try:
            outline = Outline(path)
        except OSError:
            return
        info = info_of(outline, path, changed_at=status.st_mtime)
        row = (
            str(path),
            status.st_size,
            status.st_mtime_ns,
            info.session_id,
            info.workspace,
            info.name,
            info.created_at,
            info.turns,
            info.first_prompt,
        )
        database.execute(f"INSERT INTO session({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", row)  # noqa: S608  # constants
        if not with_words:
            return
        database.execute("INSERT INTO worded(path, size, mtime_ns) VALUES (?, ?, ?)", row[:3])
        text = f"{info.name}\n{words_of(outline, self._blobs)}"
        database.execute("INSERT INTO words(path, text) VALUES (?, ?)", (str(path), text))


def _create(path: Path) -> None:
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600))


def _connected(path: Path | str, script: str) -> sqlite3.Connection:
    """Open a database and run `script` in it; one that cannot be used is closed again. Raises sqlite3.Error."""
    with ExitStack() as undo:
        database = undo.enter_context(closing(sqlite3.connect(path, timeout=2.0)))
        database.executescript(script)
        undo.pop_all()
    return database


def _stat(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except OSError:
        return None


def _info(row: tuple[object, ...]) -> SessionInfo:
    path, size, mtime_ns, session_id, workspace, name, created, turns, first_prompt = row[:9]
    return SessionInfo(
        session_id=str(session_id),
        name=str(name),
        workspace=str(workspace),
        created_at=float(str(created)),
        changed_at=int(str(mtime_ns)) / 1e9,
        turns=int(str(turns)),
        first_prompt=str(first_prompt),
        path=Path(str(path)),
        size_bytes=int(str(size)),
    )
