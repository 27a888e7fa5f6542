"""Files as a call finds them: whole, in a consistent state, checked against what the agent read and a person saw."""

import hashlib
import os
from contextlib import suppress
from dataclasses import dataclass

from agent_tui.protocol.errors import ToolError
from agent_tui.toolkit.context import ToolContext
from agent_tui.toolkit.paths import Target
from agent_tui.toolkit.rooted import message_of, opened_file, refuse_special
from agent_tui.toolkit.tracker import Stamp

CHANGE_LIMIT_BYTES = 64 * 1024 * 1024
_CHUNK_BYTES = 1024 * 1024
_PLANNED_MODE = 0o644
_ASKS_EFFECTIVE_IDS = os.access in os.supports_effective_ids


@dataclass(frozen=True)
class Base:
    """The content a change starts from.

    `stamp` is None for a content that only an earlier call of the round will have written. `mode` holds
    permission bits, `links` counts the names of the file.
    """

    data: bytes
    sha256: str
    mode: int
    links: int = 1
    stamp: Stamp | None = None


class Desk:
    """Gives a call the files it works on.

    While `planning` (a preview) these are the files as earlier calls of the round will have left them; else they
    are those on disk, and one that is not as the approved preview showed it raises BaseChanged.
    """

    def __init__(self, ctx: ToolContext, *, planning: bool) -> None:
        self._ctx = ctx
        self._planning = planning

    def look(self, target: Target) -> Base | None:
        """Give what is at `target`, None when nothing is. Raises ToolError, BaseChanged."""
        files, call_id = self._ctx.files, self._ctx.call_id
        if self._planning and files.is_planned(call_id, target.real):
            return _planned(files.planned(call_id, target.real), target)
        base = load(target)
        if not self._planning:
            files.check_base(call_id, target.real, base.sha256 if base else "")
        return base

    def guard(self, target: Target, base: Base) -> None:
        """Refuse a change of a file that was not read, or changed since. Raises ToolError."""
        if base.stamp is not None:
            self._ctx.files.guard(
                target.real,
                base.stamp,
                call_id=self._ctx.call_id,
                shown=target.shown,
                planning=self._planning,
            )
            refuse_read_only(target, base)

    def guard_whole(self, target: Target, base: Base) -> None:
        """Refuse to replace a file that was not shown whole in earlier rounds. Raises ToolError."""
        if base.stamp is not None:
            self._ctx.files.guard_whole(target.real, base.stamp, shown=target.shown)
            refuse_read_only(target, base)

    def guard_absent(self, target: Target) -> None:
        """Refuse to create a file that somebody else deleted since it was read. Raises ToolError."""
        if not (self._planning and self._ctx.files.is_planned(self._ctx.call_id, target.real)):
            self._ctx.files.guard_absent(target.real, shown=target.shown)


def load(target: Target, *, limit_bytes: int = CHANGE_LIMIT_BYTES) -> Base | None:
    """Read a whole file, None when nothing is there.

    Raises ToolError for what is no regular file, is too large, or keeps changing while it is read.
    """
    try:
        for _attempt in range(3):
            base = _load_once(target, limit_bytes)
            if base is not None:
                return base
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ToolError(_refusal(error, target)) from error
    raise ToolError(f"{target.shown} is being written by another program. Try again later.")


def refuse_read_only(target: Target, base: Base) -> None:
    """Refuse to replace a file, or to change a folder, that nobody may write to. Raises ToolError."""
    writable = os.access(target.real, os.W_OK, effective_ids=_ASKS_EFFECTIVE_IDS)
    if not base.mode & 0o222 or not writable:
        raise ToolError(f"{target.shown} is read-only (mode {base.mode:o}). It was not changed.")
    refuse_read_only_folder(target)


def refuse_read_only_folder(target: Target) -> None:
    """Refuse to put a file into a folder that nobody may write to. Raises ToolError."""
    with suppress(OSError):
        mode = os.stat(target.real.parent, follow_symlinks=False).st_mode
        if not mode & 0o222:
            raise ToolError(f"The folder of {target.shown} is read-only (mode {mode & 0o777:o}).")


def digest(data: bytes) -> str:
    """Give the SHA-256 of a content in hex."""
    return hashlib.sha256(data).hexdigest()


def _load_once(target: Target, limit_bytes: int) -> Base | None:
    """Read the file; None when it changed meanwhile."""
    with opened_file(target) as descriptor:
        before = os.fstat(descriptor)
        if before.st_size > limit_bytes:
            raise ToolError(
                f"{target.shown} is {before.st_size:,} bytes; files over {limit_bytes:,} bytes cannot be "
                "changed by this tool. Use bash with sed or a script."
            )
        data = read_all(descriptor, before.st_size, limit_bytes)
        after = os.fstat(descriptor)
    sha256 = digest(data)
    stamp = Stamp.of(before, sha256)
    if Stamp.of(after, sha256) != stamp or len(data) != before.st_size:
        return None
    return Base(data, sha256, mode=before.st_mode & 0o7777, links=before.st_nlink, stamp=stamp)


def read_all(descriptor: int, size: int, limit_bytes: int) -> bytes:
    """Read up to the end, never more than one chunk beyond `limit_bytes`."""
    chunks: list[bytes] = []
    total = 0
    while total <= limit_bytes and (chunk := os.read(descriptor, max(_CHUNK_BYTES, size - total + 1))):
        chunks.append(chunk)
        total += len(chunk)
    return b"".join(chunks)


def _planned(data: bytes | None, target: Target) -> Base | None:
    if data is None:
        return None
    mode = _PLANNED_MODE
    with suppress(OSError):
        status = os.stat(target.real, follow_symlinks=False)
        refuse_special(status.st_mode, shown=target.shown)
        mode = status.st_mode & 0o7777
    return Base(data, digest(data), mode=mode)


def _refusal(error: OSError, target: Target) -> str:
    """Say what is wrong; a FIFO, socket or device is named even where it cannot be opened."""
    with suppress(OSError):
        refuse_special(os.stat(target.real, follow_symlinks=False).st_mode, shown=target.shown)
    return message_of(error, shown=target.shown)
