"""What commands ask of a screen, answered where there is none."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from agent_tui.ui.keymap import Keymap

if TYPE_CHECKING:
    from agent_tui.ui.backend import Backend
    from agent_tui.ui.presets import Preset


class Voice(Protocol):
    """Where words go."""

    def say(self, text: str) -> None: ...


class Queue(Protocol):
    """What waits for its turn."""

    def queued(self) -> list[tuple[str, bool]]: ...

    def take_back(self, index: int = -1) -> str | None: ...


class PlainParts(ABC):
    """Keys, colours, the clipboard and the status line belong to a screen; each says so, or does the next best."""

    def __init__(self, voice: Voice, queue: Queue) -> None:
        self._voice = voice
        self._queue = queue
        self._keys = Keymap()

    @property
    @abstractmethod
    def backend(self) -> Backend: ...

    @property
    def keys(self) -> Keymap:
        return self._keys

    def use_keys(self, preset: Preset) -> None:
        self._voice.say("Plain lines have no keys of their own; the terminal edits the line.")

    @property
    def segments(self) -> Sequence[str]:
        return ()

    def use_segments(self, names: Sequence[str]) -> None:
        self._voice.say("Plain lines have no status line; /status says what it would show.")

    def replies(self) -> Sequence[str]:
        last = self.backend.talk.last_reply()
        return [last] if last else []

    def copy(self, text: str) -> None:
        self._voice.say(text)

    async def ask_secret(self, title: str, message: str) -> str | None:
        self._voice.say("A key written here would be read out. Run agent-tui auth set PROVIDER in a shell.")
        return None

    def queued(self) -> Sequence[tuple[str, bool]]:
        return self._queue.queued()

    def take_back(self, index: int, text: str) -> str | None:
        queued = self._queue.queued()
        return self._queue.take_back(index) if index < len(queued) and queued[index][0] == text else None

    @property
    def log_file(self) -> Path | None:
        return None

    def edit_file(self, path: Path) -> bool:
        self._voice.say(f"Edit {path} in an editor of your own.")
        return False

    def picture(self) -> str:
        return ""
