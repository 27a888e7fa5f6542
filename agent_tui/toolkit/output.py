"""What a command printed: the ends in memory, the whole in a file, whatever its size."""

import asyncio
import codecs
import hashlib
import os
import re
from pathlib import Path

from agent_tui.protocol.data import JsonObject
from agent_tui.toolkit.terminal_text import LineCollapser, strip_sequences

OUTPUT_LIMIT_CHARS = 30_000
HEAD_CHARS = 14_000
TAIL_CHARS = 14_000
# Below this the whole stands in the result; above, the display is cut and a file makes the rest reachable.
FILE_FROM_BYTES = 8_000
FILE_LIMIT_BYTES = 2 << 30
WRITE_BYTES = 1 << 20
_TRIM_CHARS = 131_072
_PLAIN_BYTES = bytes([*range(0x20, 0x7F), 0x09, 0x0A])
_PLAIN_ID = re.compile(r"[A-Za-z0-9_.-]{1,80}")


class HeadTail:
    """Text of any length, of which the first and the last 14,000 characters stay once it is over 30,000."""

    def __init__(self) -> None:
        self.chars = 0
        self.newlines = 0
        self._start = ""
        self._rest: list[str] = []
        self._rest_chars = 0
        self._ends_line = True

    def feed(self, text: str) -> None:
        """Add `text`."""
        if not text:
            return
        self.chars += len(text)
        self.newlines += text.count("\n")
        self._ends_line = text.endswith("\n")
        room = OUTPUT_LIMIT_CHARS - len(self._start)
        self._start += text[:room]
        if len(text) > room:
            self._keep(text[room:])

    def _keep(self, text: str) -> None:
        self._rest.append(text)
        self._rest_chars += len(text)
        if self._rest_chars > _TRIM_CHARS:
            last = "".join(self._rest)[-TAIL_CHARS:]
            self._rest = [last]
            self._rest_chars = len(last)

    @property
    def lines(self) -> int:
        """How many lines there were; a final newline adds none."""
        return self.newlines + (0 if self._ends_line else 1)

    @property
    def is_cut(self) -> bool:
        """Whether something is left out."""
        return self.chars > OUTPUT_LIMIT_CHARS

    def ends(self) -> tuple[str, str]:
        """Give the head and the tail; the tail is "" when nothing is left out."""
        if not self.is_cut:
            return self._start, ""
        rest = "".join(self._rest)
        tail = rest if len(rest) >= TAIL_CHARS else self._start[HEAD_CHARS:] + rest
        return self._start[:HEAD_CHARS], tail[-TAIL_CHARS:]

    def text(self, *, where: str = "") -> str:
        """Give the text with a notice in place of what is left out; `where` says where the whole is."""
        head, tail = self.ends()
        if not self.is_cut:
            return head
        lines = max(self.newlines - head.count("\n") - tail.count("\n"), 0)
        chars = self.chars - len(head) - len(tail)
        whole = f"; the whole output is in {where}" if where else ""
        return f"{head}\n\n[{lines:,} lines ({chars:,} characters) left out{whole}]\n\n{tail}"


class OutputLog:
    """Takes the bytes a command prints; holds little, keeps all in a file.

    `plain` is for the model (no control sequences), `shown` for the screen (colours kept); in both, progress
    lines are collapsed. The file holds the bytes as they came, readable by the owner only, at most 2 GiB; with
    `eager` it is always up to date.
    """

    def __init__(self, path: Path) -> None:
        self.eager = False
        self.plain = HeadTail()
        self.shown = HeadTail()
        self.bytes = 0
        self.file_note = ""
        self._path = path
        self._fd = -1
        self._unwritten: list[bytes] = []
        self._unwritten_bytes = 0
        self._written_bytes = 0
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._collapser = LineCollapser()

    @property
    def path(self) -> str:
        """The file with the whole output, "" while there is none."""
        return str(self._path) if self._fd >= 0 or self._written_bytes else ""

    def take(self, chunk: bytes) -> str:
        """Add what was printed and give it decoded, as it came; `keep` writes it."""
        self.bytes += len(chunk)
        self._unwritten.append(chunk)
        self._unwritten_bytes += len(chunk)
        # Without this short cut 1 GB of plain text takes 24 s of CPU instead of 4.
        is_plain = not self._decoder.getstate()[0] and not chunk.translate(None, _PLAIN_BYTES)
        text = chunk.decode("ascii") if is_plain else self._decoder.decode(chunk)
        self._add(self._collapser.feed(text, is_plain=is_plain))
        return text

    async def keep(self) -> None:
        """Write what was taken, once it is enough for a write or where the file is to be up to date."""
        if self.eager or self._unwritten_bytes >= WRITE_BYTES:
            await self._write()

    async def close(self) -> None:
        """Take the end of the stream and finish the file."""
        self._add(self._collapser.feed(self._decoder.decode(b"", final=True)))
        self._add(self._collapser.flush())
        if self.bytes > FILE_FROM_BYTES:
            await self._write()
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    async def flush(self) -> None:
        """Bring the file up to date; for whoever wants to read it while the command runs."""
        await self._write()

    def _add(self, text: str) -> None:
        self.shown.feed(text)
        self.plain.feed(text if self._collapser.gave_plain else strip_sequences(text))

    async def _write(self) -> None:
        data = b"".join(self._unwritten)
        self._unwritten, self._unwritten_bytes = [], 0
        if self.file_note or not data:
            return
        try:
            await asyncio.to_thread(self._append, data)
        except OSError as error:
            self.file_note = f"the full output could not be kept: {error.strerror}"

    def _append(self, data: bytes) -> None:
        if self._fd < 0:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_APPEND
            self._fd = os.open(self._path, flags, 0o600)
        room = FILE_LIMIT_BYTES - self._written_bytes
        rest = memoryview(data)[:room]
        while rest:
            written = os.write(self._fd, rest)
            self._written_bytes += written
            rest = rest[written:]
        if len(data) > room:
            self.file_note = "the file holds the first 2 GiB of the output"

    def facts(self) -> JsonObject:
        """Give what a display needs of the output: `raw`, `full_chars`, `full_lines`, `log_path`."""
        return {
            "raw": self.shown.text(where=self.path),
            "full_chars": self.shown.chars,
            "full_lines": self.shown.lines,
            "log_path": self.path,
        }


def log_path(data_dir: Path, call_id: str) -> Path:
    """Give a fresh path for the output of call `call_id`, which the model's server chose."""
    plain = _PLAIN_ID.fullmatch(call_id) and not call_id.startswith(".")
    stem = call_id if plain else hashlib.sha256(call_id.encode("utf-8", "replace")).hexdigest()[:16]
    folder = data_dir / "output"
    path = folder / f"{stem}.txt"
    number = 2
    while path.exists() or path.is_symlink():
        path = folder / f"{stem}-{number}.txt"
        number += 1
    return path
