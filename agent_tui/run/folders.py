"""Private folders below the system's temporary one that a run makes and gives back, also those of a run that was killed."""

import contextlib
import os
import re
import shutil
import tempfile
from pathlib import Path

_OURS = re.compile(r"agent-tui-(\d+)-")


def make_run_folder() -> Path:
    """Make a folder (0700) whose name says which process it belongs to."""
    return Path(tempfile.mkdtemp(prefix=f"agent-tui-{os.getpid()}-"))


def sweep_run_folders() -> None:
    """Remove folders of this user whose process is gone."""
    base = Path(tempfile.gettempdir())
    with contextlib.suppress(OSError), os.scandir(base) as entries:
        for entry in entries:
            found = _OURS.match(entry.name)
            if found and _is_abandoned(entry, int(found[1])):
                shutil.rmtree(entry.path, ignore_errors=True)


def _is_abandoned(entry: "os.DirEntry[str]", pid: int) -> bool:
    try:
        if not entry.is_dir(follow_symlinks=False) or entry.stat(follow_symlinks=False).st_uid != os.getuid():
            return False
    except OSError:  # another program removed it
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):  # not ours to ask about, or no number of a process
        return False
    return False
