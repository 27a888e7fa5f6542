"""The slash commands there are, found by name, alias or a few letters."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

from agent_tui.protocol.near_names import near_names
from agent_tui.protocol.slash_line import slash_line
from agent_tui.ui.commands.fuzzy import Match, rank

if TYPE_CHECKING:
    from agent_tui.protocol.replay import ReplayBlock
    from agent_tui.protocol.tools import TurnResult
    from agent_tui.ui.backend import Backend, ModeName
    from agent_tui.ui.changes import Scope
    from agent_tui.ui.house import TrustView
    from agent_tui.ui.keymap import Keymap
    from agent_tui.ui.presets import Preset
    from agent_tui.ui.screens.picker import Choice
    from agent_tui.ui.series import Series
    from agent_tui.ui.servers import ChangedView
    from agent_tui.ui.talk import DraftView

Level = Literal["info", "warning", "error"]


class CommandHost(Protocol):
    """What a command may do with the program."""

    @property
    def backend(self) -> Backend: ...

    @property
    def busy(self) -> bool: ...

    def notice(self, level: Level, text: str) -> None:
        """Show a text in the conversation; it is never sent to the model."""
        ...

    async def confirm(
        self, title: str, message: str, *, yes: str = "Yes", no: str = "No", danger: bool = False
    ) -> bool:
        """Ask yes or no; False when it cannot be asked."""
        ...

    def submit(self, text: str) -> None:
        """Send `text` as the person's next message; it is queued while a turn runs."""
        ...

    def compose_prompt(self, text: str) -> None:
        """Put `text` in the prompt without sending it."""
        ...

    async def pick(self, title: str, choices: Sequence[Choice], *, empty: str = "") -> str | None:
        """Let the person choose one; give its key, None when left."""
        ...

    async def view(self, block: ReplayBlock) -> None:
        """Show a block over the whole screen until it is closed."""
        ...

    async def ask_trust(self, view: TrustView) -> bool:
        """Show what a project would run and ask whether it may; False when left."""
        ...

    def show_trusted(self, view: TrustView) -> None:
        """Show what a trusted project runs."""
        ...

    async def show_settings(self, page: str) -> None:
        """Show every setting with where it comes from until it is closed; `page` may be "problems"."""
        ...

    async def setting_changed(self, key: str) -> None:
        """Let a setting that was changed count now where it can."""
        ...

    def picture(self) -> str:
        """Give the screen as it is now as SVG."""
        ...

    def replies(self) -> Sequence[str]:
        """Give the replies of the conversation as the model wrote them, oldest first."""
        ...

    def copy(self, text: str) -> None:
        """Put a text into the clipboard and say so."""
        ...

    async def ask_secret(self, title: str, message: str) -> str | None:
        """Ask for a line that is not shown; None when left or empty."""
        ...

    @property
    def keys(self) -> Keymap:
        """The keys that are in force."""
        ...

    def use_keys(self, preset: Preset) -> None:
        """Switch the preset of the keymap and remember it."""
        ...

    @property
    def segments(self) -> Sequence[str]:
        """What the status line shows, empty for the usual."""
        ...

    def use_segments(self, names: Sequence[str]) -> None:
        """Choose what the status line shows and remember it."""
        ...

    def queued(self) -> Sequence[tuple[str, bool]]:
        """List what waits, oldest first, as (text, after_turn)."""
        ...

    def take_back(self, index: int, text: str) -> str | None:
        """Remove a waiting message, if it still is `text`, and give it."""
        ...

    @property
    def log_file(self) -> Path | None:
        """Where faults of the program are written down."""
        ...

    async def show_changes(self, scope: Scope) -> None:
        """Show what changed in the files; what is written about it goes to the model."""
        ...

    async def show_servers(self) -> None:
        """Show the MCP servers until they are closed."""
        ...

    async def sign_in(self, name: str) -> None:
        """Let the person sign in to an MCP server, and say how it ended."""
        ...

    async def ask_changed(self, name: str, changed: Sequence[ChangedView]) -> bool:
        """Show how a server describes its tools now and ask whether that counts."""
        ...

    async def reload(self) -> None:
        """Show the conversation of the open session anew."""
        ...

    def go_on(self) -> None:
        """Let the turn that waits for approvals go on, once no other runs."""
        ...

    def begin_turn(self, command: Command, args: str, work: Callable[[], Awaitable[TurnResult]]) -> None:
        """Run a turn that `command` begins; while another runs the command waits for its end."""
        ...

    async def refresh_commands(self) -> None:
        """Look at the commands that files describe again."""
        ...

    def perform(self, action: str) -> None:
        """Do a keymap action of the global context."""
        ...

    def switch_mode(self, mode: ModeName) -> None: ...

    async def switch_model(self, name: str) -> None: ...

    async def switch_theme(self, name: str) -> None: ...

    def theme_names(self) -> Sequence[str]: ...

    async def open_session(self, session_id: str) -> None: ...

    async def new_session(self) -> None: ...

    async def drafting(self, work: Awaitable[DraftView]) -> DraftView:
        """Wait for a summary, saying so meanwhile."""
        ...

    def edit_file(self, path: Path) -> bool:
        """Let the person's own editor change a file; False when there is none or it failed."""
        ...

    def edit_outside(self, text: str) -> str | None:
        """Let the person's own editor change a text; None when there is none or it failed."""
        ...

    @property
    def pursued(self) -> Series | None:
        """The turns that follow each other by themselves, or None."""
        ...

    def pursue(self, series: Series | None) -> None:
        """Begin a series in the place of another, or end the one there is."""
        ...

    def show_rules(self) -> None: ...

    def show_help(self, topic: str) -> None: ...

    def search(self, text: str) -> None: ...

    def refresh_status(self) -> None: ...

    def leave(self) -> None: ...


Handler = Callable[[CommandHost, str], Awaitable[None]]
Completer = Callable[[CommandHost, str], Awaitable[Sequence[str]]]


@dataclass(frozen=True)
class Command:
    """A slash command. `name` has no slash; `usage` shows its arguments, such as "[name]".

    With `needs_args` choosing it in the list puts its name in the prompt instead of running it. `while_busy`
    says that it may run during a turn; the others wait for its end.
    """

    name: str
    summary: str
    run: Handler
    aliases: tuple[str, ...] = ()
    usage: str = ""
    needs_args: bool = False
    while_busy: bool = False
    complete: Completer | None = None
    source: str = "built in"

    @property
    def told(self) -> str:
        """The summary with where the command comes from, unless it is built in."""
        return self.summary if self.source == "built in" else f"{self.summary} ({self.source})"


@dataclass(frozen=True)
class Parsed:
    """A prompt that begins with one slash: the command or None, the word as typed, and the trimmed arguments."""

    command: Command | None
    word: str
    args: str

    @property
    def goes_ahead(self) -> bool:
        """Whether it needs no core: it ends the program, or asks for the words that it lacks."""
        command = self.command
        return command is not None and (command.name == "quit" or (command.needs_args and not self.args))


class Registry:
    """Commands by name and alias. The first to register a name keeps it."""

    def __init__(self, commands: Sequence[Command] = ()) -> None:
        self._commands: list[Command] = []
        self._by_word: dict[str, Command] = {}
        for command in commands:
            self.register(command)

    def register(self, command: Command) -> str:
        """Add a command; give a sentence when its name is taken, else "". A taken alias is left out."""
        if (other := self._by_word.get(command.name)) is not None:
            return f"The command /{command.name} of {command.source} is left out: {other.source} has one of that name."
        self._commands.append(command)
        self._by_word[command.name] = command
        for alias in command.aliases:
            self._by_word.setdefault(alias, command)
        return ""

    def forget(self, commands: Sequence[Command]) -> None:
        """Take commands away again."""
        gone = {id(command) for command in commands}
        self._commands = [command for command in self._commands if id(command) not in gone]
        self._by_word = {word: known for word, known in self._by_word.items() if id(known) not in gone}

    def all(self) -> Sequence[Command]:
        """List the commands in the order they were registered."""
        return self._commands

    def find(self, word: str) -> Command | None:
        """Give the command called `word`, by name or alias, ignoring case."""
        return self._by_word.get(word.lower())

    def parse(self, text: str) -> Parsed | None:
        """Read a prompt as a command; None when it is text for the model."""
        line = slash_line(text)
        return None if line is None else Parsed(self.find(line[0]), *line)

    def matches(self, typed: str) -> list[Match[Command]]:
        """Rank the commands against the letters after the slash; an exact alias comes first."""
        found = rank(typed, self._commands, lambda command: command.name)
        names = {match.item.name for match in found}
        by_alias = [
            Match(command, 0.0, ())
            for command in self._commands
            if command.name not in names and any(alias.startswith(typed.lower()) for alias in command.aliases)
        ]
        exact = self.find(typed)
        ranked = [*found, *by_alias]
        if exact is not None:
            ranked.sort(key=lambda match: match.item is not exact)
        return ranked

    def suggestions(self, word: str) -> list[str]:
        """Give up to three names near a word that is no command."""
        near = near_names(word, self._by_word)
        names = dict.fromkeys(self._by_word[one].name for one in near)
        if word and not names:
            names = dict.fromkeys(match.item.name for match in self.matches(word)[:3])
        return list(names)

    def unknown(self, word: str) -> str:
        """Say that there is no such command and what to do."""
        near = self.suggestions(word)
        hint = f" Did you mean {' or '.join(f'/{name}' for name in near)}?" if near else " /help lists them."
        return f"There is no command /{word}.{hint} To send it as text, begin with two slashes."
