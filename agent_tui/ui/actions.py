"""What commands may do with the program, and how a text that was sent is taken."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from agent_tui.protocol.errors import AgentTuiError, ConfigError, NothingThereError
from agent_tui.protocol.slash_line import without_escape
from agent_tui.ui.backend import ModeName
from agent_tui.ui.commands.house import offer_trust
from agent_tui.ui.commands.registry import Command, Level
from agent_tui.ui.finding import Finder
from agent_tui.ui.greeting import greet
from agent_tui.ui.key_actions import KeyActions
from agent_tui.ui.mcp_prompts import PromptDesk
from agent_tui.ui.outside_editor import edit_outside, open_outside
from agent_tui.ui.own_commands import OwnCommandDesk
from agent_tui.ui.paging import OldTexts, Replies
from agent_tui.ui.picture import picture_of
from agent_tui.ui.plugged import ExtensionDesk
from agent_tui.ui.screens.dialog import Dialog
from agent_tui.ui.shell_lines import ShellLines
from agent_tui.ui.unsent import offer_unsent

if TYPE_CHECKING:
    from textual.worker import Worker

    from agent_tui.protocol.replay import ReplayBlock
    from agent_tui.protocol.tools import TurnResult
    from agent_tui.ui.app import AgentApp
    from agent_tui.ui.backend import Backend
    from agent_tui.ui.changes import Scope
    from agent_tui.ui.house import TrustView
    from agent_tui.ui.keymap import Keymap
    from agent_tui.ui.presets import Preset
    from agent_tui.ui.screens.picker import Choice
    from agent_tui.ui.series import Series
    from agent_tui.ui.servers import ChangedView
    from agent_tui.ui.talk import DraftView

T = TypeVar("T")

_LEAVING = ("exit", "quit", ":q")


class AppActions:
    """Implements CommandHost on top of the app; what keys do is `KeyActions`, the lists are `Pickers`.

    A dialog is imported when it is opened, or ahead once the person begins to type: 20 ms of CPU for all.
    """

    def __init__(self, app: AgentApp) -> None:
        self._app = app
        self._own: OwnCommandDesk | None = None
        self.drafts = False
        self.shell = ShellLines(app, lambda: self.backend, self.work)
        self.finder = Finder(app, self.perform)
        self._keys = KeyActions(app, self)
        self._old_texts = OldTexts(app.transcript.document)

    def perform(self, action: str) -> None:
        """Do a keymap action."""
        try:
            self._keys.perform(action)
        except AgentTuiError as error:
            self._app.status.show_hint(str(error))

    def work(
        self,
        job: Callable[[], Awaitable[None]],
        group: str = "action",
        *,
        then: Callable[[], None] | None = None,
    ) -> Worker[None]:
        """Do a job beside the screen, `then` what follows in any case; what goes wrong is one line."""

        async def guarded() -> None:
            try:
                await job()
            except AgentTuiError as error:
                self.notice("info" if isinstance(error, NothingThereError) else "error", str(error))
            except Exception as error:  # the core or a command failed: one line, not the program
                self._app.report_bug(error)
            finally:
                if then is not None:
                    then()

        return self._app.run_worker(guarded, group=group, exit_on_error=True)

    # CommandHost

    @property
    def backend(self) -> Backend:
        """The core. Raises AgentTuiError while it loads."""
        if self._app.link is None:
            raise AgentTuiError("The program is still starting; try again in a moment.")
        return self._app.link.backend

    @property
    def busy(self) -> bool:
        """Whether a turn runs."""
        return self._app.driver.busy

    def notice(self, level: Level, text: str) -> None:
        """Show a text in the conversation."""
        self._app.notice(level, text)

    async def ask_screen(self, screen: Dialog[T]) -> T | None:
        """Open a dialog and wait for its answer."""
        answer: asyncio.Future[T | None] = asyncio.get_running_loop().create_future()

        def answered(result: T | None) -> None:
            if not answer.done():
                answer.set_result(result)

        self._app.push_screen(screen, answered)
        try:
            return await answer
        finally:
            screen.finish(None)

    async def confirm(
        self, title: str, message: str, *, yes: str = "Yes", no: str = "No", danger: bool = False
    ) -> bool:
        """Ask yes or no."""
        from agent_tui.ui.screens.confirm import Confirm

        screen = Confirm(self._app.keys, title, message, yes=yes, no=no, danger=danger)
        return bool(await self.ask_screen(screen))

    async def pick(self, title: str, choices: Sequence[Choice], *, empty: str = "") -> str | None:
        """Let the person choose one."""
        from agent_tui.ui.screens.picker import Picker

        return await self.ask_screen(Picker(self._app.keys, title, choices, empty=empty))

    async def view(self, block: ReplayBlock) -> None:
        """Show a block over the whole screen."""
        from agent_tui.ui.screens.viewer import Viewer

        await self.ask_screen(Viewer(self._app.keys, block, self._app.palette))

    async def show_changes(self, scope: Scope) -> None:
        """Show what changed in the files, and send what is written about it."""
        changes = self.backend.past.changes
        first = await changes.compare(scope)
        if not first.changes:
            self.notice("info", first.nothing)
            return
        from agent_tui.ui.screens.changes import ChangesScreen

        words = await self.ask_screen(ChangesScreen(self._app.keys, changes, scope, first))
        if words:
            self._app.driver.send(words)

    async def reload(self) -> None:
        """Show the conversation anew."""
        await self._show_session()

    async def ask_trust(self, view: TrustView) -> bool:
        """Show what a project would run and ask whether it may."""
        from agent_tui.ui.screens.trust import TrustScreen

        return bool(await self.ask_screen(TrustScreen(self._app.keys, view, self._app.palette)))

    def show_trusted(self, view: TrustView) -> None:
        """Show what a trusted project runs."""
        from agent_tui.ui.screens.trust import trust_text

        self.notice("info", f"You trust this project's configuration. It brings:\n{trust_text(view.lines)}")

    async def show_servers(self) -> None:
        """Open the panel of MCP servers."""
        from agent_tui.ui.screens.mcp.panel import ServersScreen

        await self.ask_screen(ServersScreen(self._app.keys, self.backend.mcp, self._app.palette))

    async def sign_in(self, name: str) -> None:
        """Sign in to an MCP server."""
        from agent_tui.ui.screens.mcp.sign_in import SignInScreen

        if said := await self.ask_screen(SignInScreen(self._app.keys, self.backend.mcp, name)):
            self.notice("info", said)

    async def ask_changed(self, name: str, changed: Sequence[ChangedView]) -> bool:
        """Ask whether changed tools of an MCP server count."""
        from agent_tui.ui.screens.mcp.changed import ChangedScreen

        screen = ChangedScreen(self._app.keys, name, changed, self._app.palette)
        return bool(await self.ask_screen(screen))

    async def show_settings(self, page: str) -> None:
        """Open the settings screen."""
        from agent_tui.ui.settings_open import settings_screen

        await self.ask_screen(settings_screen(self._app, self.backend.house.settings, page))

    async def setting_changed(self, key: str) -> None:
        """Let a setting count now where it can."""
        from agent_tui.ui.settings_open import apply_setting

        view = await self.backend.house.settings.look()
        for setting in view.settings:
            if setting.key == key:
                apply_setting(self._app, key, setting.value)

    def picture(self) -> str:
        """Give the screen as it is now as SVG."""
        return picture_of(self._app)

    def replies(self) -> Sequence[str]:
        """Give the replies of the conversation, oldest first."""
        return Replies(self._app.transcript)

    def copy(self, text: str) -> None:
        """Put a text into the clipboard and say so."""
        self._app.copy_to_clipboard(text)
        self._app.status.show_hint(f"Copied {len(text):,} characters")

    async def ask_secret(self, title: str, message: str) -> str | None:
        """Ask for a line that is not shown."""
        from agent_tui.ui.screens.secret import SecretScreen

        return await self.ask_screen(SecretScreen(self._app.keys, title, message))

    @property
    def keys(self) -> Keymap:
        """The keys that are in force."""
        return self._app.keys

    def use_keys(self, preset: Preset) -> None:
        """Switch the preset of the keymap and remember it."""
        self._app.use_keys(preset)
        self._app.settings.remember("keys", preset)

    @property
    def segments(self) -> Sequence[str]:
        """What the status line shows, empty for the usual."""
        return self._app.status.chosen

    def use_segments(self, names: Sequence[str]) -> None:
        """Choose what the status line shows and remember it."""
        self._app.status.choose(tuple(names))
        self._app.settings.remember("status", " ".join(names))

    def queued(self) -> Sequence[tuple[str, bool]]:
        """List what waits, oldest first."""
        return self._app.driver.queued()

    def take_back(self, index: int, text: str) -> str | None:
        """Remove a waiting message, if it still is `text`, and give it."""
        queued = self._app.driver.queued()
        if index >= len(queued) or queued[index][0] != text:
            return None
        taken = self._app.driver.take_back(index)
        self._app.queue_changed()
        return taken

    @property
    def log_file(self) -> Path | None:
        """Where faults of the program are written down."""
        return self._app.settings.crash_log

    def plug_in(self) -> None:
        """Let extensions speak to the person and bring their commands."""
        app = self._app
        ExtensionDesk(
            self,
            self.backend.extensions,
            registry=app.registry,
            send=lambda text: app.driver.send(text, after_turn=True),
            attend=app.attention,
            joined=app.completion.refresh_offers,
        )

    def ready(self) -> None:
        """Do what waited for the core: what was typed, offer what was not sent, ask what the project brings."""
        self._app.driver.catch_up(self.submit)
        offer_unsent(self._app, self.backend.unsent(), draft=self._app.prompt.text)
        self.work(self._meet)
        prompts = PromptDesk(
            self._app.registry,
            self.backend.mcp,
            joined=self._app.completion.refresh_offers,
            warn=lambda text: self._app.notice("warning", text),
        )
        self.work(prompts.follow, group="prompts")

    async def _meet(self) -> None:
        await offer_trust(self)
        await greet(self._app, self)

    def go_on(self) -> None:
        """Let the turn that waits for approvals go on."""
        self._app.driver.redrive()

    def begin_turn(self, command: Command, args: str, work: Callable[[], Awaitable[TurnResult]]) -> None:
        """Run a turn that a command begins."""
        self._app.driver.begin(command, args, work)

    async def refresh_commands(self) -> None:
        """Look at the commands that files describe again."""
        if self._own is None:
            self._own = OwnCommandDesk(self._app.registry, self.backend.own)
        for text in await self._own.refresh():
            self.notice("warning", text)

    def submit(self, text: str, *, after_turn: bool = False) -> None:
        """Run a command, or send a text to the model; what it shows is brought into sight."""
        self._app.transcript.go_end()
        stripped = text.strip()
        if stripped in _LEAVING:
            self.leave()
            return
        parsed = self._app.registry.parse(text)
        if self._app.driver.is_ready:
            self.backend.remember_prompt(text)
        elif parsed is None or not parsed.goes_ahead:
            self._app.driver.wait_for_core(text)
            return
        if parsed is not None:
            self.submit_command(parsed.command, parsed.word, parsed.args)
        elif stripped.startswith("!"):
            self.shell.submit(stripped)
        elif stripped:
            self._app.driver.send(without_escape(text), after_turn=after_turn)

    def submit_command(self, command: Command | None, word: str, args: str) -> None:
        """Run a command, now or after the turn; say so when there is none."""
        if command is None:
            self.notice("warning", self._app.registry.unknown(word))
        elif command.needs_args and not args:
            self.compose_prompt(f"/{command.name} ")
            self._app.status.show_hint(f"Write /{command.name} {command.usage}".rstrip())
        elif self._app.driver.is_taken and not command.while_busy:
            self._app.driver.after_turn(command, args)
        else:
            self.run_command(command, args)

    def run_command(self, command: Command, args: str) -> None:
        """Run a command now."""
        self.work(lambda: command.run(self, args), then=self._app.driver.hold_for(command))

    def run_named(self, name: str) -> None:
        """Run the command of this name as if it was typed."""
        command = self._app.registry.find(name)
        if command is not None:
            self.submit_command(command, name, "")

    def compose_prompt(self, text: str) -> None:
        """Put a text in the prompt."""
        self._app.prompt.put(text)
        self._app.prompt.focus()

    def switch_mode(self, mode: ModeName) -> None:
        """Switch the permission mode."""
        if refused := self.backend.set_mode(mode):
            self.notice("warning", refused)
        self.refresh_status()

    async def switch_model(self, name: str) -> None:
        """Switch the model."""
        self.notice("info", await self.backend.set_model(name))
        self.refresh_status()

    async def switch_theme(self, name: str) -> None:
        """Switch the theme; one that cannot be used changes nothing."""
        try:
            theme = self._app.shelf.load(name)
        except ConfigError as error:
            self.notice("error", f"{error.sentence} The theme stays {self._app.chosen_theme.label}.")
            return
        self._app.chosen_theme = theme
        self._app.use_theme(theme)
        self._app.settings.remember("theme", theme.name)

    def theme_names(self) -> Sequence[str]:
        """List the themes."""
        return self._app.shelf.names()

    async def open_session(self, session_id: str) -> None:
        """Show another session."""
        said = await self.backend.resume(session_id)
        await self._show_session()
        offer_unsent(self._app, self.backend.unsent(), draft=self._app.prompt.text)
        if said:
            self.notice("info", said)

    async def new_session(self) -> None:
        """Begin an empty session."""
        await self.backend.new_session()
        await self._show_session()

    async def _show_session(self) -> None:
        blocks = await self.backend.replay()
        self._app.driver.series = None
        if self._app.link is not None:
            self._app.link.turn.forget()
        self._app.transcript.load(blocks)
        self._app.opened(len(blocks))
        self.refresh_status()

    async def drafting(self, work: Awaitable[DraftView]) -> DraftView:
        """Wait for a summary, saying so meanwhile."""
        self._app.activity.start("Writing a summary")
        self.drafts = True
        try:
            return await work
        finally:
            self.drafts = False
            if not self.busy:
                self._app.activity.stop()

    @property
    def pursued(self) -> Series | None:
        """The turns that follow each other by themselves."""
        return self._app.driver.series

    def pursue(self, series: Series | None) -> None:
        """Begin or end a series."""
        self._app.driver.pursue(series)

    def show_rules(self) -> None:
        """Open the rules."""
        from agent_tui.ui.screens.rules import RulesScreen

        backend = self.backend
        self._app.push_screen(
            RulesScreen(self._app.keys, backend.rules, backend.remove_rule, backend.rulings)
        )

    def show_help(self, topic: str, *, context: str = "prompt") -> None:
        """Open the help sheet; the topic "keys" at the keys of `context`."""
        from agent_tui.ui.screens.help import Help

        self._app.push_screen(Help(self._app.keys, self._app.registry, topic=topic, context=context))

    def search(self, text: str) -> None:
        """Find a text in the conversation."""
        self.work(lambda: self.finder.find(text))

    def page_out(self) -> None:
        """Leave the texts of this run on disk that are far above by now."""
        if self._old_texts.are_many() and self._app.link is not None:
            self.work(lambda: self._old_texts.leave(self.backend), group="paging")

    def refresh_status(self) -> None:
        """Read the status line's facts again."""
        self._app.refresh_status()

    def leave(self) -> None:
        """Quit."""
        self._app.leaving.begin()

    def open_pictures(self, call_id: str, prompt: str) -> None:
        """Open images outside; say so when that failed."""
        self.work(lambda: self._open_pictures(call_id, prompt), "pictures")

    async def _open_pictures(self, call_id: str, prompt: str) -> None:
        if said := await self.backend.open_images(call_id=call_id, prompt=prompt):
            self.notice("warning", said)

    def attach_image(self, path: str = "", pasted: str = "") -> None:
        """Attach an image file, or the image of the clipboard; a file that is none is the text that was `pasted`."""
        self.work(lambda: self._attach_image(path, pasted), "attach")

    async def _attach_image(self, path: str, pasted: str) -> None:
        try:
            self._app.prompt.attach_image(await self.backend.keep_image(path))
        except AgentTuiError as error:
            if pasted:
                self._app.prompt.insert_paste(pasted)
            self._app.status.show_hint(str(error))

    def open_full(self, call_id: str) -> None:
        """Show the whole of a result that was cut for display."""
        self.work(lambda: self._open_full(call_id))

    async def _open_full(self, call_id: str) -> None:
        block = await self.backend.full_output(call_id)
        if block is None:
            self.notice("warning", "The whole output was not kept.")
            return
        from agent_tui.ui.screens.viewer import Viewer

        self._app.push_screen(Viewer(self._app.keys, block, self._app.palette))

    def edit_file(self, path: Path) -> bool:
        """Let the person's own editor change a file."""
        return open_outside(self._app, path)

    def edit_outside(self, text: str, *, say: Callable[[str], None] | None = None) -> str | None:
        """Let the person's own editor change a text; None when there is none or it failed."""
        return edit_outside(self._app, text, say=say)
