"""All extensions of one run: loaded, joined to tools and commands, told of events, ended with the program.

What runs an extension costs 30 ms to import and is imported with the first one: most runs have none.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

from agent_tui.extensions.plain import one_line
from agent_tui.extensions.plugged.discover import Findings, Found
from agent_tui.extensions.plugged.faults import ExtensionFault
from agent_tui.extensions.plugged.person import Nobody, Person, Reception, Voice
from agent_tui.extensions.plugged.plug import Pace, Plug
from agent_tui.protocol.data import JsonObject
from agent_tui.protocol.errors import ToolError
from agent_tui.protocol.events import Event
from agent_tui.protocol.near_names import did_you_mean
from agent_tui.toolkit.extension import Level
from agent_tui.toolkit.text import count

if TYPE_CHECKING:
    from agent_tui.extensions.hooks.python import PythonHook
    from agent_tui.extensions.plugged.feed import Feed
    from agent_tui.extensions.plugged.offers import CommandOffer
    from agent_tui.extensions.plugged.source import PluggedSource

_LOG = logging.getLogger(__name__)
_LAST_WORDS_S = 0.2


class Door(Protocol):
    """Where the tools of all sources stand side by side."""

    def add(self, name: str, source: PluggedSource, *, namespace: Literal["extension"]) -> None: ...

    def remove(self, name: str) -> None: ...

    def origin(self, name: str) -> str: ...


@dataclass(frozen=True)
class Row:
    """One extension for a list: where it comes from, what it offers, and why it does not run ("" when it does)."""

    name: str
    origin: str
    where: str
    offers: str
    problem: str


@dataclass
class _Joined:
    """A loaded extension with what belongs to it; `offer` is the one that its tools were joined from."""

    plug: Plug
    voice: Voice
    feed: Feed
    tasks: list[asyncio.Task[None]]
    offer: object = None
    told: str = ""


class ExtensionHost:
    """The extensions of one run. `load` may be called from a thread, everything else on the loop."""

    def __init__(self, workspace: Path, *, pace: Pace | None = None) -> None:
        self._reception = Reception(workspace)
        self._workspace = workspace
        self._pace = pace or Pace()
        self._joined: dict[str, _Joined] = {}
        self._faults: list[Row] = []
        self._gone: list[str] = []
        self._session: JsonObject | None = None

    # Their life.

    def load(self, findings: Findings) -> list[str]:
        """Load what was found; give a sentence for each that failed. Programs are started by `start`."""
        notices = list(findings.notices)
        if not findings.found:
            return notices
        from agent_tui.extensions.plugged.feed import Feed

        for found in findings.found:
            voice = Voice(found.name, self._reception)
            try:
                plug = self._plug(found, voice)
            except ExtensionFault as fault:
                self._faults.append(Row(found.name, found.origin, found.where, "", str(fault)))
                notices.append(f"The extension {found.name!r} is left out: {found.where}: {fault}")
                continue
            joined = _Joined(plug, voice, Feed(plug, voice, pace=self._pace), [])
            self._joined = {**self._joined, found.name: joined}  # the loop may go through it meanwhile
            if self._session is not None:
                joined.feed.put({"type": "session_start", **self._session})
        return notices

    def _plug(self, found: Found, voice: Voice) -> Plug:
        """Raises ExtensionFault."""
        if found.find is not None:
            from agent_tui.extensions.plugged.python import PythonPlug, extended

            registered = extended(found.find, found.name, self._workspace, limit_s=self._pace.load_s)
            return PythonPlug(found.name, found.origin, found.where, registered)
        from agent_tui.extensions.plugged.manifest import launch_of, read_manifest
        from agent_tui.extensions.plugged.process import ProcessPlug

        path = found.path
        assert path is not None  # what has no code has a manifest
        manifest = read_manifest(path)
        return ProcessPlug(
            found.name,
            found.origin,
            found.where,
            launch=lambda: launch_of(manifest, path.parent, self._workspace),
            voice=voice,
            pace=self._pace,
            on_change=self._changed,
        )

    def start(self) -> None:
        """Start the programs and the feeds in the background. Must be called on the main thread's loop."""
        loop = asyncio.get_running_loop()
        for name, joined in self._joined.items():
            if not joined.tasks:
                joined.tasks = [
                    loop.create_task(self._guarded(joined.plug), name=f"extension-{name}"),
                    loop.create_task(joined.feed.run(), name=f"events-{name}"),
                ]  # owned: ended by drop_project and aclose

    async def _guarded(self, plug: Plug) -> None:
        while True:
            try:
                return await plug.run()
            except Exception as error:  # a bug of ours costs one extension, never the program
                _LOG.exception("extension %s", plug.name)
                why = f"{type(error).__name__}: {error}"
            await plug.given_up(why)

    async def settled(self) -> None:
        """Wait until each has said what it offers; none takes longer than the handshake may."""
        async with asyncio.TaskGroup() as group:
            for joined in self._joined.values():
                group.create_task(joined.plug.settled())

    async def drop_project(self) -> None:
        """End what the project brought: it is not trusted any more."""
        self._faults = [row for row in self._faults if row.origin != "project"]
        dropped = [name for name, joined in self._joined.items() if joined.plug.origin == "project"]
        await self._end([self._joined.pop(name) for name in dropped])
        for name in dropped:
            self._gone.append(name)
            self._reception.set_status(name, "")
        self._reception.person.commands_changed()

    async def aclose(self) -> None:
        """Tell them that the session ends, then end them and all that they started."""
        self.session_ended()
        async with asyncio.TaskGroup() as group:
            for joined in self._joined.values():
                if joined.tasks:
                    group.create_task(joined.feed.drained(_LAST_WORDS_S))
        await self._end(list(self._joined.values()))

    async def _end(self, ending: Sequence[_Joined]) -> None:
        tasks = [task for joined in ending for task in joined.tasks]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    def _changed(self) -> None:
        self._reception.person.commands_changed()

    # Their tools.

    def publish(self, door: Door) -> list[tuple[Level, str]]:
        """Join the tools of extensions that are ready to the others, behind them; give what a person should know.

        Called between turns only: the tools of a turn stay as they are.
        """
        notices: list[tuple[Level, str]] = []
        for name in self._gone:
            door.remove(_door_name(name))
        self._gone.clear()
        for name, joined in self._joined.items():
            plug = joined.plug
            if plug.problem and plug.state == "off" and joined.told != plug.problem:
                joined.told = plug.problem
                why = one_line(plug.problem, limit_chars=400)
                notices.append(("warning", f"The extension {name!r} is not there: {why}"))
            if plug.state == "ready" and joined.offer is not plug.offer:
                notices += self._join(joined, door)
        return notices

    def _join(self, joined: _Joined, door: Door) -> list[tuple[Level, str]]:
        from agent_tui.extensions.plugged.process import ProcessPlug
        from agent_tui.extensions.plugged.source import PluggedSource

        plug, first = joined.plug, joined.offer is None
        joined.offer, joined.told = plug.offer, ""
        mine = _door_name(plug.name)
        door.remove(mine)
        notices: list[tuple[Level, str]] = []
        free = {tool.name: tool for tool in plug.offer.tools.values()}
        for name in list(free):
            if owner := door.origin(name):
                del free[name]
                left_out = f"The tool {name!r} of the extension {plug.name!r} is left out"
                notices.append(("warning", f"{left_out}: {owner} has one of that name."))
        if free:
            door.add(mine, PluggedSource(plug, list(free.values()), pace=self._pace), namespace="extension")
        if isinstance(plug, ProcessPlug) and free:
            word = "joined with" if first else "offers now"
            notices.append(("info", f"The extension {plug.name!r} {word} {count(len(free), 'tool')}."))
        return notices

    def tool_names(self) -> list[str]:
        """Name the tools that those which are ready offer."""
        return [name for joined in self._joined.values() for name in joined.plug.offer.tools]

    @property
    def may_bring_more(self) -> bool:
        """Whether one has not said yet, or could not say, which tools it has."""
        return bool(self._faults) or any(joined.plug.state != "ready" for joined in self._joined.values())

    # What the person has of them.

    def bind(self, person: Person) -> None:
        """Let `person` answer and hear from now on."""
        self._reception.bind(person)

    def commands(self) -> list[tuple[str, CommandOffer]]:
        """List (extension, command); of two with one name the first counts."""
        taken: dict[str, tuple[str, CommandOffer]] = {}
        for name, joined in self._joined.items():
            for command in joined.plug.offer.commands.values():
                taken.setdefault(command.name, (name, command))
        return list(taken.values())

    async def run_command(self, name: str, args: str) -> None:
        """Run a command to its end. Raises ToolError with a sentence for the person."""
        owner = next((extension for extension, command in self.commands() if command.name == name), None)
        if owner is None:
            raise ToolError(f"No extension offers /{name}.")
        joined = self._joined[owner]
        try:
            await joined.plug.command(name, args.strip(), joined.voice)
        except ToolError:
            raise
        except Exception as error:  # foreign code: a command that fails is one sentence
            _LOG.warning("the command /%s of %s failed", name, owner, exc_info=True)
            raise ToolError(
                f"/{name} of the extension {owner!r} failed: {type(error).__name__}: {error}"
            ) from error

    def said(self) -> list[tuple[Level, str]]:
        """Take what was said while nobody was there to show it to."""
        person = self._reception.person
        if not isinstance(person, Nobody):
            return []
        taken, person.said = person.said, []
        return taken

    def names(self) -> list[str]:
        """List the extensions that were loaded."""
        return list(self._joined)

    def hooks(self) -> Sequence[PythonHook]:
        """Give the hooks of all extensions that are loaded now, in the order of these."""
        if not self._joined:
            return []
        from agent_tui.extensions.plugged.python import PythonPlug

        plugs = [joined.plug for joined in self._joined.values()]
        return [hook for plug in plugs if isinstance(plug, PythonPlug) for hook in plug.hooks()]

    def statuses(self) -> tuple[str, ...]:
        """Give what extensions show in the status line."""
        return tuple(self._reception.statuses.values())

    def rows(self) -> list[Row]:
        """Describe all extensions, those with faults too."""
        loaded = [
            Row(plug.name, plug.origin, plug.where, plug.offer.summary(), plug.problem)
            for plug in (joined.plug for joined in self._joined.values())
        ]
        return [*loaded, *self._faults]

    def log(self, name: str) -> list[str]:
        """Give the last lines of an extension's log. Raises ToolError."""
        return self._named(name).plug.log()

    async def restart(self, name: str) -> str:
        """Start an extension anew; give a sentence. Raises ToolError."""
        return await self._named(name).plug.restart()

    def _named(self, name: str) -> _Joined:
        joined = self._joined.get(name)
        if joined is None:
            raise ToolError(f"There is no extension {name!r}{did_you_mean(name, self._joined, end='.')}")
        return joined

    # What they hear.

    def hear(self, event: Event) -> None:
        """Queue an event for those that subscribed to it; nothing is waited for."""
        if not any(event.type in joined.plug.offer.events for joined in self._joined.values()):
            return
        fact: JsonObject = event.model_dump(mode="json")
        for joined in self._joined.values():
            joined.feed.put(fact)

    def session_started(self, session_id: str) -> None:
        """Tell that a session is open."""
        self.session_ended()
        self._session = {"session_id": session_id, "workspace": str(self._workspace)}
        self._tell("session_start", self._session)

    def session_ended(self) -> None:
        """Tell that the open session ends; nothing when there is none."""
        if self._session is not None:
            self._tell("session_end", self._session)
            self._session = None

    def _tell(self, kind: str, facts: JsonObject) -> None:
        for joined in self._joined.values():
            joined.feed.put({"type": kind, **facts})


def _door_name(name: str) -> str:
    return f"extension:{name}"
