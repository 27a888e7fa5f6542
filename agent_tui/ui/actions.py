"""What commands and keys do with the program."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from agent_tui.protocol.errors import AgentTuiError, ConfigError
from agent_tui.ui.backend import ModeName
from agent_tui.ui.commands.house import offer_trust
from agent_tui.ui.commands.registry import Command, Level
from agent_tui.ui.outside_editor import edit_outside
from agent_tui.ui.screens.confirm import Confirm
from agent_tui.ui.screens.dialog import Dialog
from agent_tui.ui.screens.help import Help
from agent_tui.ui.screens.picker import Choice, Picker
from agent_tui.ui.screens.rules import RulesScreen
from agent_tui.ui.screens.sessions import SessionPicker, session_choice
from agent_tui.ui.screens.trust import TrustScreen, trust_text
from agent_tui.ui.screens.viewer import Viewer
from agent_tui.ui.shell_lines import ShellLines

if TYPE_CHECKING:
    from textual.worker import Worker

    from agent_tui.protocol.replay import ReplayBlock
    from agent_tui.ui.app import AgentApp
    from agent_tui.ui.backend import Backend
    from agent_tui.ui.house import TrustView
    from agent_tui.ui.series import Series
    from agent_tui.ui.talk import DraftView

T = TypeVar("T")

CYCLE: tuple[ModeName, ...] = ("default", "accept-edits", "plan")
_LEAVING = ("exit", "quit", ":q")


class AppActions:
    """Implements CommandHost and the keymap's global actions on top of the app."""

    def __init__(self, app: AgentApp) -> None:
        self._app = app
        self._shell = ShellLines(app, lambda: self.backend, self._work)
        self._table = self._make_table()

    def _make_table(self) -> dict[str, Callable[[], object]]:
        transcript = self._app.transcript
        return {
            "interrupt": self._interrupt,
            "quit": self.leave,
            "exit": self._exit,
            "escape": self._escape,
            "cycle_mode": self._cycle_mode,
            "toggle_outputs": transcript.toggle_all,
            "toggle_block": self._toggle_block,
            "previous_block": lambda: self._move_block(-1),
            "next_block": lambda: self._move_block(1),
            "page_up": lambda: transcript.scroll_page(-1),
            "page_down": lambda: transcript.scroll_page(1),
            "line_up": lambda: transcript.scroll_rows(-1),
            "line_down": lambda: transcript.scroll_rows(1),
            "top": transcript.go_home,
            "bottom": transcript.go_end,
            "search": self._search_screen,
            "next_match": lambda: self._go_to_match(1),
            "previous_match": lambda: self._go_to_match(-1),
            "redraw": self._redraw,
            "suspend": self._suspend,
            "background": self._shell.to_background,
            "models": lambda: self._work(self._pick_model()),
            "sessions": lambda: self._work(self._pick_session()),
            "themes": self._pick_theme,
            "new_session": lambda: self._run_named("clear"),
            "compact": lambda: self._run_named("compact"),
            "palette": self._palette,
            "previous": self._palette,
            "kill_line": self._palette,
            "help": lambda: self.show_help(""),
            "sheet": lambda: self.show_help("keys"),
            "history_search": self._history,
            "editor": self._edit_outside,
            "up": self._take_back,
            "submit_empty": self._submit_empty,
            "approvals": self._raise_approval,
            "stashed": lambda: self._app.status.show_hint("Draft put aside; the same key brings it back"),
            "unstashed": lambda: self._app.status.show_hint(""),
        }

    def perform(self, action: str) -> None:
        """Do a keymap action."""
        do = self._table.get(action)
        if do is not None:
            try:
                do()
            except AgentTuiError as error:
                self._app.status.show_hint(str(error))

    def _work(self, job: Awaitable[None], group: str = "action") -> Worker[None]:
        async def guarded() -> None:
            try:
                await job
            except AgentTuiError as error:
                self.notice("error", str(error))
            except Exception as error:  # the core or a command failed: one line, not the program
                self._app.report_bug(error)

        return self._app.run_worker(guarded(), group=group, exit_on_error=True)

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

    async def _ask_screen(self, screen: Dialog[T]) -> T | None:
        answer: asyncio.Future[T | None] = asyncio.get_running_loop().create_future()

        def answered(result: T | None) -> None:
            if not answer.done():
                answer.set_result(result)

        self._app.push_screen(screen, answered)
        try:
            return await answer
        finally:
            screen.finish(None)

    async def confirm(self, title: str, message: str, *, danger: bool = False) -> bool:
        """Ask yes or no."""
        return bool(await self._ask_screen(Confirm(self._app.keys, title, message, danger=danger)))

    async def pick(self, title: str, choices: Sequence[Choice], *, empty: str = "") -> str | None:
        """Let the person choose one."""
        return await self._ask_screen(Picker(self._app.keys, title, choices, empty=empty))

    async def view(self, block: ReplayBlock) -> None:
        """Show a block over the whole screen."""
        await self._ask_screen(Viewer(self._app.keys, block, self._app.palette))

    async def reload(self) -> None:
        """Show the conversation anew."""
        await self._show_session()

    async def ask_trust(self, view: TrustView) -> bool:
        """Show what a project would run and ask whether it may."""
        return bool(await self._ask_screen(TrustScreen(self._app.keys, view, self._app.palette)))

    def show_trusted(self, view: TrustView) -> None:
        """Show what a trusted project runs."""
        self.notice("info", f"You trust this project's configuration. It brings:\n{trust_text(view.lines)}")

    def copy_reply(self, number: int) -> None:
        """Copy the text of a reply as the model wrote it."""
        transcript = self._app.transcript
        replies = [i for i, block in enumerate(transcript.document.blocks) if block.data.kind == "assistant"]
        if number > len(replies):
            self.notice("warning", f"There are {len(replies)} replies in this session.")
            return
        text = transcript.source(replies[-number])
        self._app.copy_to_clipboard(text)
        self._app.status.show_hint(f"Copied {len(text):,} characters")

    def ready(self) -> None:
        """Do what waited for the core: ask about what the project brings, run early shell lines."""
        self._work(offer_trust(self))
        self._shell.ready()

    def go_on(self) -> None:
        """Let the turn that waits for approvals go on."""
        self._app.driver.redrive()

    def submit(self, text: str, *, after_turn: bool = False) -> None:
        """Run a command, or send a text to the model."""
        stripped = text.strip()
        if stripped in _LEAVING:
            self.leave()
            return
        if self._app.link is not None:
            self._app.link.backend.remember_prompt(text)
        parsed = self._app.registry.parse(text)
        if parsed is not None:
            self._submit_command(parsed.command, parsed.word, parsed.args)
        elif stripped.startswith("!"):
            self._shell.submit(stripped)
        elif stripped:
            self._app.driver.send(text[1:] if text.startswith("//") else text, after_turn=after_turn)

    def _submit_command(self, command: Command | None, word: str, args: str) -> None:
        if command is None:
            self.notice("warning", self._app.registry.unknown(word))
        elif command.needs_args and not args:
            self.compose_prompt(f"/{command.name} ")
        elif self.busy and not command.while_busy:
            self._app.driver.after_turn(command, args)
        else:
            self.run_command(command, args)

    def run_command(self, command: Command, args: str) -> None:
        """Run a command now."""
        self._work(command.run(self, args))

    def _run_named(self, name: str) -> None:
        command = self._app.registry.find(name)
        if command is not None:
            self._submit_command(command, name, "")

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
            self.notice("error", f"{error}. The theme stays {self._app.chosen_theme.label}.")
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
        self.refresh_status()

    async def drafting(self, work: Awaitable[DraftView]) -> DraftView:
        """Wait for a summary, saying so meanwhile."""
        self._app.activity.start("Writing a summary")
        try:
            return await work
        finally:
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
        backend = self.backend
        self._app.push_screen(
            RulesScreen(self._app.keys, backend.rules, backend.remove_rule, backend.rulings)
        )

    def show_help(self, topic: str) -> None:
        """Open the help sheet."""
        self._app.push_screen(Help(self._app.keys, self._app.registry, topic=topic))

    def search(self, text: str) -> None:
        """Find a text in the conversation."""
        hits = self._app.transcript.search(text)
        if not hits:
            self._app.status.show_hint(f"{text!r} is not in the conversation")
            return
        self._go_to_match(0)

    def _go_to_match(self, step: int) -> None:
        transcript = self._app.transcript
        if not transcript.matches:
            self.perform("search")
            return
        at = transcript.next_match(step)
        following = self._app.keys.hint("global", "next_match")
        where = f"{at} of {len(transcript.matches)}"
        self._app.status.show_hint(f"{transcript.needle!r}: {where} · {following} next · Esc ends")

    def refresh_status(self) -> None:
        """Read the status line's facts again."""
        self._app.refresh_status()

    def leave(self) -> None:
        """Quit."""
        self._app.run_worker(self._app.leave(), group="leave", exit_on_error=False)

    # Keys

    def _interrupt(self) -> None:
        app = self._app
        if app.link is not None and app.link.approver.pending:
            app.link.approver.deny_all()
        if self.busy:
            self._stop_turn()
        elif app.in_dialog and isinstance(app.screen, Dialog):
            app.screen.act("cancel")
        elif self._shell.end():
            pass
        elif app.prompt.text:
            app.prompt.clear_to_history()
        elif app.arm_exit("ctrl+c"):
            self.leave()

    def _stop_turn(self) -> None:
        self._app.activity.say("Stopping")
        self._app.driver.stop()

    def _exit(self) -> None:
        prompt = self._app.prompt
        if prompt.text:
            prompt.action_delete_right()
        elif self._app.arm_exit("ctrl+d"):
            self.leave()

    def _escape(self) -> None:
        app = self._app
        if app.transcript.needle:
            app.transcript.search("")
            app.status.show_hint("")
        elif self.busy:
            if app.link is not None and app.link.approver.pending:
                app.link.approver.deny_all()
            self._stop_turn()
        elif self._shell.end():
            pass
        elif app.prompt.text and app.escape_twice():
            app.prompt.clear_to_history()
        elif app.transcript.cursor is not None:
            app.transcript.set_cursor(None)

    def _cycle_mode(self) -> None:
        mode = self.backend.status().mode
        following = CYCLE[(CYCLE.index(mode) + 1) % len(CYCLE)] if mode in CYCLE else "default"
        self.switch_mode(following)

    def _move_block(self, step: int) -> None:
        self._app.transcript.move_cursor(step)

    def _toggle_block(self) -> None:
        index = self._app.transcript.cursor
        if index is None:
            index = self._app.transcript.move_cursor(-1)
        if index is not None:
            self._app.transcript.toggle(index)

    def _redraw(self) -> None:
        self._app.redraw()

    def _suspend(self) -> None:
        self._app.action_suspend_process()

    def _take_back(self) -> None:
        text = self._app.driver.take_back()
        if text is not None:
            self._app.prompt.put(text)
        self._app.queue_changed()

    def _submit_empty(self) -> None:
        self._raise_approval()

    def _raise_approval(self) -> None:
        if self._app.link is not None:
            self._app.link.approver.raise_screen()

    # Pickers

    async def _pick_model(self) -> None:
        current = self.backend.status()
        mine = {current.model, f"{current.provider}:{current.model}"}
        choices = [Choice(name, name, current=name in mine) for name in await self.backend.models()]
        picker = Picker(self._app.keys, "Model", choices, empty="No models are known; write /model NAME.")
        if chosen := await self._ask_screen(picker):
            await self.switch_model(chosen)

    async def _pick_session(self) -> None:
        current, here = self.backend.status().session_id, str(self.backend.workspace)
        views = sorted(await self.backend.sessions(), key=lambda view: view.workspace not in ("", here))
        choices = [session_choice(view, current, here) for view in views]
        past = self.backend.past
        picker = SessionPicker(self._app.keys, choices, excerpt=past.excerpt, search=past.search)
        chosen = await self._ask_screen(picker)
        if chosen and chosen != current:
            command = Command("resume", "", lambda _host, _args: self.open_session(chosen))
            self._submit_command(command, "resume", "")

    def _pick_theme(self) -> None:
        self._work(self._choose_theme())

    async def _choose_theme(self) -> None:
        app = self._app
        before = app.chosen_theme
        choices = [
            Choice(name, self._theme_label(name), name, current=name == before.name)
            for name in self.theme_names()
        ]

        def preview(name: str | None) -> None:
            try:
                app.use_theme(before if name is None else app.shelf.load(name))
            except ConfigError:
                app.use_theme(before)

        chosen = await self._ask_screen(Picker(app.keys, "Theme", choices, preview=preview))
        if chosen is None:
            app.use_theme(before)
        else:
            await self.switch_theme(chosen)

    def _theme_label(self, name: str) -> str:
        try:
            return self._app.shelf.load(name).label
        except ConfigError:
            return f"{name} (cannot be used)"

    def _palette(self) -> None:
        self._work(self._choose_command())

    async def _choose_command(self) -> None:
        choices = [Choice(c.name, f"/{c.name}", c.summary) for c in self._app.registry.all()]
        chosen = await self._ask_screen(Picker(self._app.keys, "Commands", choices))
        if chosen:
            self._run_named(chosen)

    def _history(self) -> None:
        self._work(self._choose_prompt())

    async def _choose_prompt(self) -> None:
        entries = list(dict.fromkeys(reversed(self._app.prompt.past.entries)))
        choices = [Choice(str(index), " ".join(text.split())) for index, text in enumerate(entries)]
        picker = Picker(self._app.keys, "Earlier prompts", choices, empty="No earlier prompts.")
        chosen = await self._ask_screen(picker)
        if chosen is not None:
            self.compose_prompt(entries[int(chosen)])

    def _search_screen(self) -> None:
        self.compose_prompt("/search ")

    def open_full(self, call_id: str) -> None:
        """Show the whole of a result that was cut for display."""
        self._work(self._open_full(call_id))

    async def _open_full(self, call_id: str) -> None:
        block = await self.backend.full_output(call_id)
        if block is None:
            self.notice("warning", "The whole output was not kept.")
            return
        self._app.push_screen(Viewer(self._app.keys, block, self._app.palette))

    # The editor outside

    def _edit_outside(self) -> None:
        text = self.edit_outside(self._app.prompt.expanded)
        if text is not None:
            self._app.prompt.put(text)

    def edit_outside(self, text: str) -> str | None:
        """Let the person's own editor change a text; None when there is none or it failed."""
        return edit_outside(self._app, text)
