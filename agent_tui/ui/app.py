"""The program on screen: it paints at once and lets the core come after."""

from __future__ import annotations

import asyncio
import importlib
import sys
from collections.abc import Awaitable, Callable, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual import events
from textual.binding import BindingType
from textual.screen import Screen
from textual.widgets import TextArea

from agent_tui.protocol.errors import ConfigError
from agent_tui.protocol.replay import KEPT_BLOCKS, ReplayBlock
from agent_tui.ui.ahead import load_ahead
from agent_tui.ui.commands.registry import Command, Level, Registry
from agent_tui.ui.crash import write_crash
from agent_tui.ui.driver import TurnDriver
from agent_tui.ui.early import EarlySession
from agent_tui.ui.files import FileIndex
from agent_tui.ui.hand_over import HandOver
from agent_tui.ui.instant import InstantPrompt
from agent_tui.ui.keymap import spell
from agent_tui.ui.keymap_file import KeymapFile
from agent_tui.ui.leaving import Leaving
from agent_tui.ui.main_screen import MainScreen
from agent_tui.ui.notify import Notifier
from agent_tui.ui.palette import Palette
from agent_tui.ui.presets import Preset
from agent_tui.ui.presses import Presses
from agent_tui.ui.progress import Progress
from agent_tui.ui.render.rowdiff import RowDiffApp
from agent_tui.ui.render.safe import install
from agent_tui.ui.render.uncoloured import without_greys
from agent_tui.ui.settings import AppSettings
from agent_tui.ui.terminal_driver import TakesOver, TerminalDriver
from agent_tui.ui.themes import BUILT_IN, NamedTheme, ThemeShelf, textual_theme
from agent_tui.ui.transcript.collect import QUIET_S, Collector, give_back
from agent_tui.ui.transcript.view import Transcript
from agent_tui.ui.widgets.activity import Activity, Banner, QueueView
from agent_tui.ui.widgets.below import Below
from agent_tui.ui.widgets.completion import Completion
from agent_tui.ui.widgets.editor import Editor
from agent_tui.ui.widgets.prompt import Prompt
from agent_tui.ui.widgets.status import StatusLine
from agent_tui.ui.widgets.todos import TodoView

if TYPE_CHECKING:
    from textual.driver import Driver

    from agent_tui.ui.actions import AppActions
    from agent_tui.ui.backend import Backend
    from agent_tui.ui.link import Link

FOCUS_CLICK_S = 0.2


class AgentApp(RowDiffApp[int], TakesOver, inherit_bindings=False):
    """The full-screen program. `backend_loader` is awaited after the first paint.

    What is typed before the core is there is kept and sent then; `drawn` is the prompt that took keys before the
    first paint. A start that fails ends the program: `leaving.failure` holds what was raised.
    """

    ENABLE_COMMAND_PALETTE = False
    CSS_PATH = "app.tcss"
    TITLE = "agent-tui"
    BINDINGS: ClassVar[list[BindingType]] = []

    def __init__(
        self,
        backend_loader: Callable[[], Awaitable[Backend]],
        *,
        settings: AppSettings | None = None,
        initial_prompt: str = "",
        commands: Sequence[Command] = (),
        drawn: InstantPrompt | None = None,
        driver: type[Driver] | None = None,
    ) -> None:
        self.drawn = drawn
        super().__init__(driver_class=driver or TerminalDriver)
        install()
        self._filters = without_greys(self._filters)
        self.settings = settings or AppSettings()
        self.diffs_rows = self.settings.row_diff
        self.collector = Collector(self.settings.clock)
        self._loader = backend_loader
        self._initial_prompt = initial_prompt
        self._start_notices: list[tuple[Level, str]] = []
        self.keymap_file = KeymapFile(
            self.settings.keymap_file, preset=self.settings.keys, clock=self.settings.clock
        )
        self.keys = self.keymap_file.keys
        if self.keymap_file.problem:
            self._start_notices.append(("error", f"{self.keymap_file.problem} The default keys are used."))
        self.shelf = ThemeShelf(self.settings.theme_folders)
        self.chosen_theme = self._first_theme()
        self.palette: Palette = self.chosen_theme.palette
        painted = textual_theme(self.chosen_theme)
        self.register_theme(painted)
        self.set_reactive(AgentApp.theme, painted.name)
        self._refresh_truecolor_filter(self.ansi_theme)  # no watcher has seen whose colours this theme uses
        self.stylesheet.set_variables(self.get_css_variables())
        for command in commands:
            if refused := self.registry.register(command):
                self._start_notices.append(("warning", refused))
        self.driver = TurnDriver(self)
        self.notifier = Notifier(
            self.settings.notify,
            send=self._send_to_terminal,
            has_focus=lambda: self.app_focus,
            progress=Progress(is_shown=self.settings.progress, send=self._send_to_terminal),
        )
        self.presses = Presses(
            self.settings.clock,
            later=self.set_timer,
            has_draft=lambda: bool(self.prompt.text),
            ask_again=lambda key: self.status.show_hint(
                f"Press {spell(key)} again to quit" if key else "", stays=True
            ),
            typing_s=self.settings.typing_s,
        )
        self.focused_at = float("-inf")
        self._link: Link | None = None
        self.crash_message = ""
        self._warming = False
        self._asked = 0
        self._make_parts()
        self.early = EarlySession(self)
        self.leaving = Leaving(self)

    def _make_parts(self) -> None:
        self.transcript = Transcript(self.palette, id="transcript", clock=self.settings.clock)
        self.transcript.document.opens_all = self.settings.verbose
        self.below = Below(self.keys, self.transcript.go_end)
        self.todos = TodoView(self._read_todos)
        self.activity = Activity(self.keys, clock=self.settings.clock)
        self.queue_view = QueueView(self.keys)
        self.banner = Banner(self.keys)
        self.prompt = Prompt(self.keys, id="prompt")
        self.completion = Completion(self.prompt, lambda: self.registry, lambda: self.actions)
        self.prompt.popup = self.completion.handle
        self.status = StatusLine(self.settings.status)

    @cached_property
    def registry(self) -> Registry:
        """The slash commands."""
        from agent_tui.ui.commands.builtin import builtin_commands  # 12 ms, not before the first paint

        return Registry(builtin_commands())

    @cached_property
    def actions(self) -> AppActions:
        """What keys and commands do."""
        from agent_tui.ui.actions import AppActions  # 40 ms with every dialog, not before the first paint

        return AppActions(self)

    def _first_theme(self) -> NamedTheme:
        try:
            return self.shelf.load(self.settings.theme)
        except ConfigError as error:
            self._start_notices.append(("error", f"{error.sentence} The dark theme is used."))
            return BUILT_IN["dark"]

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Give the variables of our own, for the stylesheet that Textual reads before a theme is chosen."""
        return textual_theme(BUILT_IN["dark"]).variables

    # Start and end

    def get_default_screen(self) -> Screen[None]:
        """Give the main screen."""
        return MainScreen(
            transcript=self.transcript,
            below=self.below,
            todos=self.todos,
            activity=self.activity,
            queue=self.queue_view,
            banner=self.banner,
            completion=self.completion,
            prompt=self.prompt,
            status=self.status,
        )

    def on_mount(self) -> None:
        """Paint, then begin to load the core."""
        self.watch_terminal()
        self.leaving.watch_signals()
        self.watch(self.transcript, "new_messages", self.below.say, init=False)
        for level, text in self._start_notices:
            self.notice(level, text)
        self._hand_over = HandOver(self, self._painted)
        self._hand_over.begin()

    def _painted(self) -> None:
        self.run_worker(self._load, group="load", exit_on_error=False)

    async def _load(self) -> None:
        try:
            await self._begin()
        except Exception as error:  # whatever the start of the core runs into must end in one sentence
            self.leaving.give_up(error)

    async def _begin(self) -> None:
        try:
            link_type = await asyncio.to_thread(_import_link)
            backend = await self._loader()
        finally:  # with the collector off until here, loading takes a fifth less
            self.collector.started()
        self._link = link_type(self, backend)
        await self._hand_over.keep_look()
        await self._welcome(backend)

    async def _welcome(self, backend: Backend) -> None:
        self.completion.use_files(FileIndex(backend.workspace))
        self.completion.use_resources(backend.mcp.resources)
        self.prompt.past.load(backend.prompt_history())
        blocks = await backend.replay(known=self.early.blocks)
        self.early.over([*blocks, *self._own_blocks()])
        self.opened(len(blocks))
        for text in backend.notices():
            self.notice("info", text)
        self.refresh_status()
        self.actions.plug_in()
        await self.actions.refresh_commands()
        self.driver.use(backend)
        if self._initial_prompt:
            self.actions.submit(self._initial_prompt)
        self.actions.ready()
        if self.prompt.text:
            self._warm_up()

    def _warm_up(self) -> None:
        """Load what the first prompt and its answer need, now that the person begins to type."""
        if self._link is None:
            return
        self._link.backend.warm_up()
        if not self._warming:
            self._warming = True
            self.run_worker(partial(asyncio.to_thread, load_ahead), group="warm", exit_on_error=False)

    def _own_blocks(self) -> list[ReplayBlock]:
        return [ReplayBlock(kind="notice", text=text) for _, text in self._start_notices]

    @property
    def link(self) -> Link | None:
        """The connection to the core, None while it loads."""
        return self._link

    def report_bug(self, error: Exception) -> None:
        """Log a traceback and say one line."""
        self.notice("error", write_crash(self.settings.crash_log, error))

    def _fatal_error(self) -> None:
        # Textual prints a traceback with local variables here; ours goes to the log, the person gets a sentence.
        error = sys.exc_info()[1] or self._exception
        if error is None:
            super()._fatal_error()
            return
        self.crash_message = write_crash(self.settings.crash_log, error)
        self.notifier.close()
        self.panic(Text(self.crash_message))

    def on_terminal_lost(self) -> None:
        """End when the terminal is gone: nobody can be asked any more."""
        self.leaving.begin()

    def opened(self, blocks: int) -> None:
        """Give the memory back that reading a long session took, once it stands there."""
        if blocks > KEPT_BLOCKS:
            self.set_timer(QUIET_S, give_back)

    # Keys

    async def on_event(self, event: events.Event) -> None:
        """See all input first: any but a repeat of the same key takes back "press again to quit"."""
        if isinstance(event, events.Key | events.Paste) and not event.is_forwarded:
            self.status.key_pressed()
            self.presses.saw(event.key if isinstance(event, events.Key) else "paste")
            self.collector.active()
            self.app_focus = True  # a key is a sign of it: what had the focus gets it back
            if self.focused is None and not self.in_dialog:
                # Before it is passed on: the next key may be there already.
                self.screen.set_focus(self.prompt, scroll_visible=False)
        if isinstance(event, events.AppFocus | events.Key) and self.keymap_file.look():
            self._keys_changed()
        if isinstance(event, events.AppFocus):
            self.focused_at = self.settings.clock()
        await super().on_event(event)

    def on_key(self, event: events.Key) -> None:
        """Take keys that no field and no dialog took."""
        press = self.keys.press(("global",), event.key, event.character)
        if press.action in ("quit", "interrupt", "help") or (press.action and not self.in_dialog):
            event.stop()
            self.actions.perform(press.action)

    def _keys_changed(self) -> None:
        if self.keymap_file.problem:
            self.notice("error", f"{self.keymap_file.problem} The keys stay as they were.")
        else:
            self.status.show_hint("The keys were read again")
        self.use_keys()

    def use_keys(self, preset: Preset | None = None) -> None:
        """Show the keys that are in force now, those of another preset if one is named."""
        if preset is not None:
            self.keys.change(preset=preset)
        self.prompt.keys_changed()
        for part in (self.activity, self.queue_view, self.banner):
            part.refresh()

    @property
    def in_dialog(self) -> bool:
        """Whether a dialog stands over the conversation."""
        return len(self.screen_stack) > 1

    def on_editor_act(self, event: Editor.Act) -> None:
        """Do what a key in the prompt asks of the program."""
        event.stop()
        self.actions.perform(event.action)

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        """Offer completions, and load what the first request needs once the person begins to type."""
        if event.text_area is not self.prompt:
            return
        self.completion.refresh_offers()
        if self.prompt.has_queue:
            self.queue_changed()
        if self.prompt.text:
            self._warm_up()
        if self.banner.display and self._link is not None:
            self.show_banner(self._link.approver.pending, self._link.approver.undecided)

    def on_prompt_sent(self, event: Prompt.Sent) -> None:
        """Send what was written."""
        self.actions.submit(event.text, after_turn=event.after_turn)

    def attach(self, mentions: str) -> None:
        """Put mentions behind the first prompt, or into the draft when there is none."""
        if self._initial_prompt:
            self._initial_prompt += f" {mentions}"
        else:
            self.prompt.insert_text(f"{mentions} ")

    def on_prompt_path_pasted(self, event: Prompt.PathPasted) -> None:
        """Attach the image whose path was pasted."""
        self.actions.attach_image(event.path, event.pasted)

    def on_prompt_mode_shown(self, event: Prompt.ModeShown) -> None:
        """Show the mode of vim's keys."""
        self.status.show_mode(event.label)

    def on_banner_raised(self) -> None:
        """Open the round behind the banner."""
        self.actions.perform("approvals")

    def on_transcript_open_full(self, event: Transcript.OpenFull) -> None:
        """Show the whole of a result that was cut."""
        self.actions.open_full(event.call_id)

    def on_transcript_open_pictures(self, event: Transcript.OpenPictures) -> None:
        """Open images in the desktop's program."""
        self.actions.open_pictures(event.call_id, event.prompt)

    def copy_to_clipboard(self, text: str) -> None:
        """Put a text into the clipboard: by the terminal at once, by tmux and the desktop's program beside it."""
        from agent_tui.ui.clipboard import Clipboard  # not before the first paint

        self._clipboard = text
        clipboard = Clipboard(self._send_to_terminal)
        clipboard.put(text)
        if not self.is_headless and not self.is_web:
            copying = partial(asyncio.to_thread, partial(clipboard.hand_over, text))
            self.run_worker(copying, group="copy", exit_on_error=False)

    def _send_to_terminal(self, sequence: str) -> None:
        if self._driver is not None and not self.is_headless:
            self._driver.write(sequence)

    # What others show

    def notice(self, level: Level, text: str) -> None:
        """Add a sentence to the conversation; it is not sent to the model."""
        marks = {"info": "", "warning": "! ", "error": "✗ "}
        self.transcript.add(ReplayBlock(kind="notice", text=f"{marks[level]}{text}"))

    def working_on(self, word: str, *, wait_s: float = 0.0) -> None:
        """Say what the turn does, or for how long it waits."""
        if not self.driver.stopping:
            self.activity.say(word, wait_s=wait_s)
        self.todos.look()

    def _read_todos(self) -> str:
        return self._link.backend.house.todos() if self._link is not None else ""

    def refresh_status(self) -> None:
        """Read the facts of the status line again."""
        if self._link is not None:
            status = self._link.backend.status()
            self.status.show(status)
            self.query("#prompt-box").set_class(status.mode == "bypass", "-bypass")  # none while it ends

    def give_back(self, prompt: str) -> None:
        """Put what was typed and not sent back, and say so."""
        if self.driver.is_of_series(prompt):
            return
        self.status.show_hint(self.prompt.give_back(prompt))

    def show_banner(self, count: int, undecided: int) -> None:
        """Show how many calls wait behind the banner."""
        self.banner.show(count, undecided, prompt_empty=not self.prompt.text)

    def attention(self, text: str) -> None:
        """Tell a person who looks elsewhere."""
        self.notifier.attention(text)

    def waits_for_person(self, text: str) -> None:
        """A dialog asks the person: nothing moves meanwhile, so that a terminal left alone is sent nothing."""
        self._asked += 1
        self.activity.hold()
        self.transcript.hold()
        self.attention(text)

    def person_answered(self) -> None:
        """A dialog of `waits_for_person` is gone; things move again with the last one."""
        self._asked -= 1
        if not self._asked:
            self.activity.go_on()
            self.transcript.go_on()
            self.notifier.at_ease()

    # Turns

    def run_turn_in_worker(self, work: Callable[[], Awaitable[None]]) -> None:
        """Run a turn beside the screen."""

        async def turn() -> None:
            await work()

        self.run_worker(turn, group="turn", exit_on_error=True)

    def turn_began(self) -> None:
        """Show that work goes on."""
        self.prompt.busy = True
        self.activity.start("Working")
        self.notifier.turn_began()

    def turn_over(self) -> None:
        """Show that nothing runs."""
        self.prompt.busy = False
        self.activity.stop()
        self.queue_changed()
        self.refresh_status()
        self.notifier.turn_over()
        if self._link is not None:
            self._link.turn.settle()  # a fault of ours told no end
        self.collector.turn_ended()  # what is young now, the rest once nobody acts
        if self.is_running:  # nothing stops a timer that a closed program sets
            self.set_timer(QUIET_S + 0.1, self.collector.idle)
        self.actions.page_out()

    def queue_changed(self) -> None:
        """Show what waits."""
        queued = self.driver.queued()
        self.prompt.has_queue = bool(queued)
        self.status.show_queue(len(queued))
        self.queue_view.show(queued, takes_back=not self.prompt.text)

    def run_command(self, command: Command, args: str) -> None:
        """Run a slash command beside the screen."""
        self.actions.run_command(command, args)

    # Themes

    def use_theme(self, theme: NamedTheme) -> None:
        """Paint everything in other colours."""
        self.palette = theme.palette
        painted = textual_theme(theme)
        self.register_theme(painted)
        self.theme = painted.name
        self.transcript.set_palette(theme.palette)

    def just_focused(self) -> bool:
        """Tell whether the terminal got its focus a moment ago: such a click only wanted the window."""
        return self.settings.clock() - self.focused_at < FOCUS_CLICK_S


def _import_link() -> type[Link]:
    importlib.import_module("agent_tui.ui.actions")  # for the first key that needs them
    importlib.import_module("agent_tui.ui.commands.builtin")
    from agent_tui.ui.link import Link  # 110 ms (pydantic): after the first paint, in a thread

    return Link
