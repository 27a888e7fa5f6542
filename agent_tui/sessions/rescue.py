"""A place for a session that could not be written where it belongs."""

import os
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from agent_tui.protocol.private_file import write_all
from agent_tui.sessions.frames import RawRecord, dumps


def other_places() -> list[Path]:
    """Give the folders that are tried, the best first."""
    places = [Path(os.environ.get("HOME", "/")), Path(tempfile.gettempdir())]
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    return [*places, Path(runtime)] if runtime else places


def write_elsewhere(records: Iterable[RawRecord], name: str, places: Sequence[Path]) -> Path | None:
    """Write records as lines that can be imported to a new private file in the first place that takes all of them.

    None when no place does; then nothing is left behind.
    """
    data = "".join(f"{dumps(record)}\n" for record in records).encode("utf-8", "replace")
    for place in places:
        path = place / name
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        except OSError:
            continue
        try:
            write_all(descriptor, data)
            os.fsync(descriptor)
        except OSError:
            path.unlink(missing_ok=True)
            continue
        finally:
            os.close(descriptor)
        return path
    return None
