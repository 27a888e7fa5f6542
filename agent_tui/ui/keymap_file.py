"""The user's keymap file while the program runs: read at the start, and again when it was changed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from agent_tui.protocol.errors import ConfigError
from agent_tui.ui.keymap import Keymap, read_overrides
from agent_tui.ui.presets import Preset

LOOK_EVERY_S = 1.0


class KeymapFile:
    """Keeps a keymap as its file says. Nothing polls: `look` is called when the person acts."""

    def __init__(self, path: Path | None, *, preset: Preset, clock: Callable[[], float]) -> None:
        self._path = path
        self._clock = clock
        self._looked_at = clock()
        self._stamp = self._now()
        self.problem = ""
        self.keys = Keymap(preset=preset)
        self._read()

    def look(self) -> bool:
        """Read the file again if it is another one than before; tell whether it was, and see `problem`."""
        now = self._clock()
        if self._path is None or now - self._looked_at < LOOK_EVERY_S:
            return False
        self._looked_at = now
        stamp = self._now()
        if stamp == self._stamp:
            return False
        self._stamp = stamp
        self._read()
        return True

    def _read(self) -> None:
        if self._path is None:
            return
        try:
            self.keys.change(overrides=read_overrides(self._path))
            self.problem = ""
        except ConfigError as error:
            self.problem = error.sentence

    def _now(self) -> tuple[int, int, int]:
        try:
            status = self._path.stat() if self._path is not None else None
        except OSError:
            status = None
        return (status.st_mtime_ns, status.st_size, status.st_ino) if status is not None else (0, 0, 0)
