"""The list above the prompt: commands after `/`, their arguments, files after `@`."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal

from textual.content import Content

from agent_tui.protocol.errors import AgentTuiError
from agent_tui.ui.commands.fuzzy import Match, rank
from agent_tui.ui.commands.registry import Command, CommandHost, Registry
from agent_tui.ui.files import FileIndex
from agent_tui.ui.look import matched, spans
from agent_tui.ui.render.safe import clean_line
from agent_tui.ui.widgets.prompt import Prompt
from agent_tui.ui.widgets.rows import Rows

if TYPE_CHECKING:
    from agent_tui.ui.servers import ResourceView

Kind = Literal["command", "argument", "file"]

_RESOURCES = 20
_FILE = re.compile(r"(?:^|(?<=\s))@(\"[^\"]*|[^\s@#\"]*)$")


@dataclass(frozen=True)
class Wanted:
    """What is being completed: its kind, the letters typed, and where they start in the line."""

    kind: Kind
    query: str
    start: int
    command: Command | None = None


@dataclass(frozen=True)
class Item:
    """One offer: the text that replaces what was typed, the row, and whether choosing it sends at once."""

    insert: str
    row: Content
    sends: bool = False


def wanted(line: str, row: int, registry: Callable[[], Registry]) -> Wanted | None:
    """Say what the text before the cursor asks to be completed; `line` ends at the cursor."""
    if row == 0 and line.startswith("/") and not line.startswith("//"):
        word, space, args = line[1:].partition(" ")
        if not space:
            return Wanted("command", word, 0)
        command = registry().find(word)
        if command is not None and command.complete is not None:
            return Wanted("argument", args.lstrip(), len(word) + 2, command)
        return None
    found = _FILE.search(line)
    return Wanted("file", found.group(1).lstrip('"'), found.start()) if found else None


class Completion(Rows):
    """Offers completions for the prompt below it. It is fed by `update` and asked by `handle`."""

    DEFAULT_CSS = """
    Completion { display: none; height: auto; max-height: 10; background: $surface; padding: 0 1; }
    """

    def __init__(
        self,
        prompt: Prompt,
        registry: Callable[[], Registry],
        host: Callable[[], CommandHost],
        *,
        id: str | None = None,
    ) -> None:
        super().__init__(id=id)
        self._prompt = prompt
        self._registry = registry
        self._host = host
        self._files: FileIndex | None = None
        self._resources: Callable[[], Awaitable[Sequence[ResourceView]]] = _nothing
        self._items: list[Item] = []
        self._wanted: Wanted | None = None
        self._offered_for: Wanted | None = None
        self._dismissed = ""
        self._looked_at = ("", (0, 0))

    @property
    def is_open(self) -> bool:
        """Whether offers are shown."""
        return bool(self.display and self._items)

    def use_files(self, index: FileIndex) -> None:
        """Say which files `@` means."""
        self._files = index

    def use_resources(self, resources: Callable[[], Awaitable[Sequence[ResourceView]]]) -> None:
        """Say what `@server:uri` may mean."""
        self._resources = resources

    def close(self) -> None:
        """Hide the list until the text changes."""
        self._items = []
        self._wanted = None
        self.display = False

    def dismiss_list(self) -> None:
        """Hide the list for this text, as Esc does."""
        self._dismissed = self._prompt.text
        self.close()

    def refresh_offers(self) -> None:
        """Look at the prompt again."""
        row, column = self._prompt.cursor_location
        text = self._prompt.text
        self._looked_at = (text, (row, column))
        if text == self._dismissed or self._prompt.past.browsing:
            self.close()
            return
        self._dismissed = ""
        asked = wanted(self._prompt.document[row][:column], row, self._registry)
        self._wanted = asked
        if asked is None:
            self.close()
        elif asked.kind == "command":
            self._offer(_command_items(self._registry().matches(asked.query), self._prompt.size.width))
        else:
            self.run_worker(partial(self._load, asked), group="completion", exclusive=True)

    async def _load(self, asked: Wanted) -> None:
        if asked.kind == "argument":
            names = await self._arguments(asked)
            items = [_argument_item(match) for match in rank(asked.query, names, lambda name: name)]
        elif self._files is not None:
            self._files.refresh(self.refresh_offers)
            items = [_file_item(match) for match in await self._files.search(asked.query)]
            if self._wanted == asked:
                self._offer(items)  # servers may take a while
            items = await self._with_resources(asked.query, items)
        else:
            items = []
        if self._wanted == asked:
            self._offer(items)

    async def _arguments(self, asked: Wanted) -> Sequence[str]:
        if asked.command is None or asked.command.complete is None:
            return ()
        try:
            return await asked.command.complete(self._host(), asked.query)
        except AgentTuiError:  # the core still loads, or cannot tell: the command itself says so
            return ()

    async def _with_resources(self, query: str, items: list[Item]) -> list[Item]:
        """Add what servers have: first when a server is named, else behind the files."""
        found = await self._resources()
        ranked = rank(query, found, lambda resource: resource.mention)
        offers = [_resource_item(match) for match in ranked[:_RESOURCES]]
        named = any(query and resource.mention.startswith(query) for resource in found)
        return [*offers, *items] if named else [*items, *offers]

    def _offer(self, items: Sequence[Item]) -> None:
        self._items, self._offered_for = list(items), self._wanted
        self.display = bool(items)
        self.set_rows([item.row for item in items], cursor=0)

    def handle(self, action: str) -> bool:
        """Do what a prompt action means while the list is open; tell whether it did."""
        if self.is_open and self._looked_at != (self._prompt.text, self._prompt.cursor_location):
            self.refresh_offers()  # keys came faster than the news of what they changed
        if not self.is_open:
            return False
        if self._offered_for != self._wanted and action in ("complete", "submit"):
            # What is shown was meant for an earlier text, the new list is on its way: what was typed counts.
            return action == "complete"
        match action:
            case "up" | "previous":
                self.move(-1)
            case "down" | "next":
                self.move(1)
            case "escape":
                self.dismiss_list()
            case "complete":
                self._accept(send=False)
            case "submit":
                return self._accept(send=True)
            case _:
                return False
        return True

    def on_rows_chosen(self, event: Rows.Chosen) -> None:
        """A click accepts the offer."""
        event.stop()
        self._accept(send=False)
        self._prompt.focus()

    def _accept(self, *, send: bool) -> bool:
        asked, item = self._wanted, self._items[self.cursor]
        if asked is None:
            return False
        row, column = self._prompt.cursor_location
        typed = self._prompt.document[row][asked.start : column]
        if send and asked.kind == "file" and item.insert.rstrip() == typed:
            self.dismiss_list()
            return False  # it stands there already: Enter sends
        self._prompt.replace(item.insert, (row, asked.start), (row, column), maintain_selection_offset=False)
        self.close()
        if send and item.sends:
            self._dismissed = self._prompt.text
            return False  # the prompt goes on and sends it
        return True


_WIDEST_COMMAND = 34
"""Cells of the first column: what a command does is worth more than all of its arguments."""


def _command_items(matches: Sequence[Match[Command]], room: int) -> list[Item]:
    width = max((len(match.item.name) + len(match.item.usage) for match in matches), default=0) + 4
    width = min(width, _WIDEST_COMMAND, max(16, room // 2))
    return [_command_item(match, width) for match in matches]


def _command_item(match: Match[Command], width: int) -> Item:
    command = match.item
    name = Content("/") + matched(command.name, match.positions)
    usage = Content.styled(f" {command.usage}", "$muted") if command.usage else Content("")
    head = (name + usage).truncate(width - 2, ellipsis=True)
    head = head.pad_right(max(1, width - head.cell_length))
    row = head + Content.styled(command.told, "$muted")
    return Item(f"/{command.name}{' ' if command.needs_args else ''}", row, sends=not command.needs_args)


def _argument_item(match: Match[str]) -> Item:
    return Item(match.item, matched(match.item, match.positions), sends=True)


async def _nothing() -> Sequence[ResourceView]:
    return ()


def _resource_item(match: Match[ResourceView]) -> Item:
    resource = match.item
    mention = resource.mention.partition("{")[0] if resource.is_template else resource.mention
    end = "" if resource.is_template else " "
    insert = f'@"{mention}"{end}' if set(mention) & set(' "#') and end else f"@{mention}{end}"
    row = matched(clean_line(resource.mention), match.positions)
    return Item(insert, spans(row, (f"  {clean_line(resource.name)}", "$muted")))


def _file_item(match: Match[str]) -> Item:
    path = match.item
    if path.endswith("/"):
        insert = f"@{path}"
    else:
        insert = f'@"{path}" ' if " " in path else f"@{path} "
    return Item(insert, matched(path, match.positions))
