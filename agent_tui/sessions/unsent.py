"""What was typed ahead in a session and not sent yet: a private file in its folder, so that a crash does not lose it."""

import json
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import cast

from agent_tui.protocol.private_file import write_private

NAME = "unsent.json"
MAX_READ_BYTES = 4_000_000


def write_unsent(folder: Path, texts: Sequence[str]) -> None:
    """Keep `texts` in the place of what was kept; a disk that fails loses them, never the turn that runs."""
    path = folder / NAME
    with suppress(OSError):
        if not texts:
            path.unlink(missing_ok=True)
            return
        if folder.is_dir():  # a session that was deleted meanwhile stays deleted
            write_private(path, json.dumps(list(texts)).encode(), waits=False)


def read_unsent(folder: Path) -> list[str]:
    """Give what is kept, oldest first; nothing where the file is missing or damaged."""
    try:
        with (folder / NAME).open("rb") as stream:
            found: object = json.loads(stream.read(MAX_READ_BYTES))
    except (OSError, ValueError, RecursionError):
        return []
    items = cast("list[object]", found) if isinstance(found, list) else []
    return [item for item in items if isinstance(item, str) and item.strip()]
