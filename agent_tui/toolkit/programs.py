"""Finds programs that the workspace cannot have put in the way."""

import os
from pathlib import Path


def find_program(name: str, *, outside: Path) -> Path | None:
    """Find `name` in the absolute entries of PATH that do not lead into `outside`, None when it is not there."""
    for entry in os.environ.get("PATH", os.defpath).split(os.pathsep):
        if not os.path.isabs(entry):
            continue
        path = Path(os.path.realpath(Path(entry) / name))
        if not path.is_relative_to(outside) and path.is_file() and os.access(path, os.X_OK):
            return path
    return None
