"""Carries events to one extension, in order and without ever holding the program up."""

import asyncio
import contextlib
import logging

from agent_tui.extensions.plain import one_line
from agent_tui.extensions.plugged.person import Voice
from agent_tui.extensions.plugged.plug import Pace, Plug
from agent_tui.protocol.data import JsonObject

MAX_WAITING = 1_000
_LOG = logging.getLogger(__name__)


class Feed:
    """At most 1,000 events wait; what comes then is lost for this extension, and it is said once."""

    def __init__(self, plug: Plug, voice: Voice, *, pace: Pace) -> None:
        self._plug = plug
        self._voice = voice
        self._pace = pace
        self._waiting: asyncio.Queue[JsonObject] = asyncio.Queue(maxsize=MAX_WAITING)
        self._has_lost = False
        self._failed: set[str] = set()

    def put(self, event: JsonObject) -> None:
        """Queue an event if it was subscribed to."""
        if self._plug.state != "starting" and event["type"] not in self._plug.offer.events:
            return  # what one that starts will want is not known yet
        try:
            self._waiting.put_nowait(event)
        except asyncio.QueueFull:
            if not self._has_lost:
                self._has_lost = True
                self._voice.notify("warning", "hears events more slowly than they come; some are lost.")

    async def run(self) -> None:
        """Pass events on until cancelled. A listener that fails is told of once for each type of event."""
        await self._plug.settled()
        while True:
            event = await self._waiting.get()
            try:
                await self._pass_on(event)
            finally:
                self._waiting.task_done()

    async def drained(self, limit_s: float) -> None:
        """Wait until what is queued was heard, at most `limit_s`."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(limit_s):
                await self._waiting.join()

    async def _pass_on(self, event: JsonObject) -> None:
        kind = str(event["type"])
        if kind not in self._plug.offer.events:
            return
        try:
            async with asyncio.timeout(self._pace.event_s):
                await self._plug.hear(event, self._voice)
        except TimeoutError:
            self._tell(kind, f"did not end within {self._pace.event_s:g} s")
        except Exception as error:  # foreign code: a listener that fails costs one event
            _LOG.warning("a listener of %s failed", self._plug.name, exc_info=True)
            self._tell(kind, f"{type(error).__name__}: {error}")

    def _tell(self, kind: str, why: str) -> None:
        if kind not in self._failed:
            self._failed.add(kind)
            self._voice.notify("warning", f"its listener for {kind} failed: {one_line(why)}")
