"""All tools behind one door: sources side by side, each name routed to the one that owns it."""

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from agent_tui.executor.naming import repaired, unknown_tool
from agent_tui.protocol.display import DisplayResult
from agent_tui.protocol.errors import ToolError
from agent_tui.protocol.permissions import Permission
from agent_tui.protocol.tools import ToolResult, ToolSpec
from agent_tui.toolkit.context import ToolContext
from agent_tui.toolkit.source import ToolSource

Namespace = Literal["local", "mcp", "extension"]


class Late(Protocol):
    """What a source has that knows its names before its tools are loaded."""

    @property
    def is_ready(self) -> bool: ...

    def names(self) -> Sequence[str]: ...

    def get_ready(self) -> None:
        """Load the tools; whoever needs one before waits for it. Raises ToolLoadError."""
        ...


@dataclass(frozen=True)
class Entry:
    """A source with its name and where it comes from; `late` is the source again when it is loaded late."""

    name: str
    source: ToolSource
    namespace: Namespace
    late: Late | None = None

    def names(self) -> Sequence[str]:
        """Give the names of its tools; loads none."""
        return self.late.names() if self.late is not None else [spec.name for spec in self.source.specs()]


class CompositeSource:
    """Several sources as one. Of two tools with one name the one of the earlier source counts.

    `override` lists names for which a later source wins: it takes the earlier tool's place, so that the order the
    model sees stays. `only` limits the tools to a subset; names in `always` pass every subset.
    """

    def __init__(
        self,
        *,
        override: Collection[str] = (),
        only: Collection[str] | None = None,
        always: Collection[str] = ("__respond__",),
    ) -> None:
        self._entries: list[Entry] = []
        self._override = frozenset(override)
        self._only = None if only is None else frozenset(only)
        self._hidden: frozenset[str] = frozenset()
        self._always = frozenset(always)

    # What stands behind the door.

    def add(
        self, name: str, source: ToolSource, *, namespace: Namespace = "local", late: Late | None = None
    ) -> None:
        """Add a source behind the others; one with the same name is replaced in its place."""
        entry = Entry(name, source, namespace, late)
        for index, known in enumerate(self._entries):
            if known.name == name:
                self._entries[index] = entry
                return
        self._entries.append(entry)

    def remove(self, name: str) -> None:
        """Remove a source; one that is not there is no error."""
        self._entries = [entry for entry in self._entries if entry.name != name]

    def subset(self, names: Collection[str]) -> "CompositeSource":
        """Give the same sources limited to `names`, for a sub-agent."""
        allowed = frozenset(names) if self._only is None else self._only & frozenset(names)
        part = CompositeSource(override=self._override, only=allowed, always=self._always)
        part._entries, part._hidden = list(self._entries), self._hidden
        return part

    def without(self, names: Collection[str]) -> "CompositeSource":
        """Give the same sources with `names` left out, also of sources that are added later."""
        part = CompositeSource(override=self._override, only=self._only, always=self._always)
        part._entries, part._hidden = list(self._entries), self._hidden | frozenset(names)
        return part

    def origin(self, name: str) -> str:
        """Give the name of the source that owns a tool, "" when nobody does."""
        entry = self._owner_entry(name)
        return entry.name if entry else ""

    def warnings(self) -> Sequence[str]:
        """Name every tool that is hidden by an earlier one of the same name."""
        taken: dict[str, Entry] = {}
        hidden: list[str] = []
        for entry in self._entries:
            for name in entry.names():
                first = taken.setdefault(name, entry)
                if first is not entry and name not in self._override:
                    hidden.append(
                        f"The tool {name!r} of {entry.name} is left out: {first.name} has one of that name."
                    )
        return hidden

    @property
    def is_ready(self) -> bool:
        """Whether the tools of all sources are loaded."""
        return all(entry.late is None or entry.late.is_ready for entry in self._entries)

    def load_late(self) -> None:
        """Load what is not loaded yet. Raises ToolLoadError."""
        for entry in self._entries:
            if entry.late is not None:
                entry.late.get_ready()

    async def get_ready(self) -> None:
        """Load what is not loaded yet, in a thread. Raises ToolLoadError."""
        if not self.is_ready:
            await asyncio.to_thread(self.load_late)

    def names(self) -> Sequence[str]:
        """Give the names of all tools; loads none."""
        found = dict.fromkeys(name for entry in self._entries for name in entry.names())
        return [name for name in found if self._passes(name)]

    def repair(self, name: str) -> str | None:
        """Give the name of the tool that was meant (at most 2 edits away), or None."""
        return name if self.owns(name) else repaired(name, self.names())

    def unknown(self, name: str) -> str:
        """Say to the model that there is no such tool."""
        return unknown_tool(name, self.names())

    # The ToolSource protocol: everything goes to the owner.

    def specs(self) -> Sequence[ToolSpec]:
        found: dict[str, ToolSpec] = {}
        for entry in self._entries:
            for spec in entry.source.specs():
                if self._passes(spec.name) and (spec.name not in found or spec.name in self._override):
                    found[spec.name] = spec
        return list(found.values())

    def owns(self, name: str) -> bool:
        return self._owner_entry(name) is not None

    def validate(self, name: str, args_json: str) -> str | None:
        return self._owner(name).validate(name, args_json)

    def needs_approval(self, name: str) -> bool:
        return self._owner(name).needs_approval(name)

    def readable(self, name: str) -> bool:
        return self._owner(name).readable(name)

    def interruptible(self, name: str) -> bool:
        return self._owner(name).interruptible(name)

    def timeout_s(self, name: str) -> int:
        return self._owner(name).timeout_s(name)

    def display_name(self, name: str) -> str:
        return self._owner(name).display_name(name)

    async def foresee(self, name: str, args_json: str) -> None:
        return await self._owner(name).foresee(name, args_json)

    def title(self, name: str, args_json: str) -> str:
        return self._owner(name).title(name, args_json)

    def permissions(self, name: str, args_json: str, ctx: ToolContext) -> Sequence[Permission]:
        return self._owner(name).permissions(name, args_json, ctx)

    async def preview(self, name: str, args_json: str, ctx: ToolContext) -> DisplayResult | None:
        return await self._owner(name).preview(name, args_json, ctx)

    async def execute(self, name: str, args_json: str, ctx: ToolContext) -> ToolResult:
        return await self._owner(name).execute(name, args_json, ctx)

    async def execute_json(self, name: str, args_json: str, ctx: ToolContext) -> str:
        return await self._owner(name).execute_json(name, args_json, ctx)

    def show(self, name: str, args_json: str, result: ToolResult) -> DisplayResult:
        return self._owner(name).show(name, args_json, result)

    def summarize(self, name: str, args_json: str, result: ToolResult) -> str:
        return self._owner(name).summarize(name, args_json, result)

    def forget(self, session_id: str) -> None:
        for entry in self._entries:
            entry.source.forget(session_id)

    def _passes(self, name: str) -> bool:
        """Tell whether the subset holds `name`."""
        if name in self._always:
            return True
        return name not in self._hidden and (self._only is None or name in self._only)

    def _owner_entry(self, name: str) -> Entry | None:
        """Find the source that answers for `name`, without asking any for its schemas."""
        if not self._passes(name):
            return None
        entries = reversed(self._entries) if name in self._override else iter(self._entries)
        return next((entry for entry in entries if entry.source.owns(name)), None)

    def _owner(self, name: str) -> ToolSource:
        """Find the source that answers for `name`. Raises ToolError."""
        entry = self._owner_entry(name)
        if entry is None:
            raise ToolError(self.unknown(name))
        return entry.source
