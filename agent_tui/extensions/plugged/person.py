"""The way from an extension to the person: questions, notices, follow-up messages, status."""

import asyncio
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Protocol, get_args

from agent_tui.extensions.plain import one_line, plain
from agent_tui.toolkit.extension import Level, Reply

MAX_NOTICES = 30
NOTICE_WINDOW_S = 10.0
MAX_NOTICE_CHARS = 10_000
MAX_STATUS_CHARS = 60


class Person(Protocol):
    """Whoever sits before the program. All methods are called on the event loop."""

    async def confirm(self, title: str, message: str, *, yes: str, no: str, danger: bool) -> bool:
        """Ask; False when it cannot be asked."""
        ...

    def notify(self, level: Level, text: str) -> None:
        """Show a text in the conversation."""
        ...

    def submit(self, text: str) -> None:
        """Queue a message for the model."""
        ...

    def status_changed(self) -> None:
        """The texts of the status line are different now."""
        ...

    def commands_changed(self) -> None:
        """There are other commands now."""
        ...


class Nobody:
    """Stands in until somebody is there: nothing is confirmed, what is said is kept in `said`."""

    def __init__(self) -> None:
        self.said: list[tuple[Level, str]] = []

    async def confirm(self, title: str, message: str, *, yes: str, no: str, danger: bool) -> bool:
        return False

    def notify(self, level: Level, text: str) -> None:
        self.said.append((level, text))

    def submit(self, text: str) -> None:
        self.said.append(("warning", f"A message was not sent, there is no screen: {one_line(text)}"))

    def status_changed(self) -> None:
        return None

    def commands_changed(self) -> None:
        return None


class Reception:
    """Knows who is there now and what each extension shows in the status line."""

    def __init__(self, workspace: Path) -> None:
        self.workspace = workspace
        self.person: Person = Nobody()
        self.statuses: dict[str, str] = {}

    def bind(self, person: Person) -> None:
        """Let `person` answer from now on; what was said before is said to them."""
        before, self.person = self.person, person
        if isinstance(before, Nobody):
            for level, text in before.said:
                person.notify(level, text)

    def set_status(self, name: str, text: str) -> None:
        """Change what an extension shows; "" takes it away."""
        if self.statuses.get(name, "") == text:
            return
        if text:
            self.statuses[name] = text
        else:
            self.statuses.pop(name, None)
        self.person.status_changed()


class Voice:
    """The context of an extension's handlers that run on the loop, and of its process."""

    def __init__(self, name: str, reception: Reception, clock: Callable[[], float] = time.monotonic) -> None:
        self.name = name
        self._reception = reception
        self._clock = clock
        self._said: deque[float] = deque(maxlen=MAX_NOTICES)
        self._is_muted = False

    @property
    def workspace(self) -> Path:
        """The project's real path."""
        return self._reception.workspace

    async def confirm(
        self, title: str, message: str, *, yes: str = "Yes", no: str = "No", danger: bool = False
    ) -> Reply:
        """Ask the person."""
        ok = await self._reception.person.confirm(
            f"{self.name}: {one_line(title)}",
            plain(message),
            yes=one_line(yes),
            no=one_line(no),
            danger=danger,
        )
        return Reply(ok)

    def notify(self, level: Level, text: str) -> None:
        """Show a text; of more than 30 in ten seconds the rest is left out."""
        if level not in get_args(Level):
            raise ValueError(f"the level is info, warning or error, got {level!r}")
        now = self._clock()
        if len(self._said) == MAX_NOTICES and now - self._said[0] < NOTICE_WINDOW_S:
            if not self._is_muted:
                self._is_muted = True
                self._reception.person.notify(
                    "warning", f"{self.name} says too much; some of it is left out."
                )
            return
        self._is_muted = False
        self._said.append(now)
        self._reception.person.notify(level, f"{self.name}: {plain(str(text))[:MAX_NOTICE_CHARS]}")

    def submit(self, text: str) -> None:
        """Queue a message for the model."""
        if text.strip():
            self._reception.person.submit(text)

    def set_status(self, text: str) -> None:
        """Show a text in the status line."""
        self._reception.set_status(self.name, one_line(text, limit_chars=MAX_STATUS_CHARS))


class ThreadVoice:
    """The context of handlers that run in a thread of their own: everything is done on the loop."""

    def __init__(self, voice: Voice, loop: asyncio.AbstractEventLoop) -> None:
        self._voice = voice
        self._loop = loop

    @property
    def workspace(self) -> Path:
        """The project's real path."""
        return self._voice.workspace

    def confirm(
        self, title: str, message: str, *, yes: str = "Yes", no: str = "No", danger: bool = False
    ) -> Reply:
        """Ask the person and wait for the answer."""
        asked = self._voice.confirm(title, message, yes=yes, no=no, danger=danger)
        return asyncio.run_coroutine_threadsafe(asked, self._loop).result()

    def notify(self, level: Level, text: str) -> None:
        """Show a text. Raises ValueError for another level."""
        if level not in get_args(Level):
            raise ValueError(f"the level is info, warning or error, got {level!r}")
        self._loop.call_soon_threadsafe(self._voice.notify, level, text)

    def submit(self, text: str) -> None:
        """Queue a message for the model."""
        self._loop.call_soon_threadsafe(self._voice.submit, text)

    def set_status(self, text: str) -> None:
        """Show a text in the status line."""
        self._loop.call_soon_threadsafe(self._voice.set_status, text)
