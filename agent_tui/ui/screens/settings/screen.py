"""Shows every setting with where it comes from, by scope, and what is wrong; changes one at a time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial

from textual import events
from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Static, TextArea

from agent_tui.protocol.errors import ConfigError
from agent_tui.ui.configuring import SettingScope, SettingsDesk, SettingsView, SettingView
from agent_tui.ui.keymap import Keymap
from agent_tui.ui.render.safe import clean_line
from agent_tui.ui.screens.dialog import Dialog
from agent_tui.ui.screens.frame import Frame
from agent_tui.ui.screens.picker import Choice, Picker
from agent_tui.ui.screens.settings.pages import (
    IN_FORCE,
    PAGES,
    PROBLEMS,
    PageRow,
    bar,
    details,
    rows,
    scope_of,
    short,
)
from agent_tui.ui.screens.settings.value import ValueDialog
from agent_tui.ui.widgets.editor import Editor, Field
from agent_tui.ui.widgets.rows import Rows

_FRAME_CELLS = 6  # border, padding, scrollbar and the cursor's bar


class SettingsScreen(Dialog[None]):
    """Pages: what is in force, one for each file that can be changed, and problems.

    `words` are further choices by key, such as the themes there are; `changed` is told the key and the value now in
    force after each change; `more_problems` are those the interface itself knows of.
    """

    DEFAULT_CSS = """
    SettingsScreen {
        & > .frame { width: 110; height: 90%; }
        & .pages { height: 1; }
        & .file { height: 1; color: $muted; margin-bottom: 1; }
        & Field { margin-bottom: 1; }
        & Rows { height: 1fr; }
        & .details { height: 2; margin-top: 1; }
        & .said { height: auto; max-height: 3; color: $accent; }
        &.-low .details { display: none; }
        &.-low .file { margin-bottom: 0; }
        &.-low Field { margin-bottom: 0; }
    }
    """

    def __init__(
        self,
        keys: Keymap,
        desk: SettingsDesk,
        *,
        words: Mapping[str, Sequence[str]],
        changed: Callable[[str, str], Awaitable[None]],
        more_problems: Sequence[str] = (),
        page: str = IN_FORCE,
    ) -> None:
        super().__init__(keys, "pages")
        self._desk, self._words, self._changed = desk, words, changed
        self._more_problems = tuple(more_problems)
        self._view = SettingsView(())
        self._page = page
        self._shown: list[PageRow] = []
        self._bar = Static("", classes="pages", markup=False)
        self._file = Static("", classes="file", markup=False)
        self._field = Field(keys, ("pages", "list", "edit"), placeholder="type to search")
        self._rows = Rows()
        self._details = Static("", classes="details", markup=False)
        self._said = Static("", classes="said", markup=False)

    def compose(self) -> ComposeResult:
        """Lay out the pages, the search line, the list and what the marked setting means."""
        with Frame(self.keys) as frame:
            frame.border_title = Content("Settings")
            yield self._bar
            yield self._file
            yield self._field
            yield self._rows
            yield self._details
            yield self._said

    def on_mount(self) -> None:
        """Read the files."""
        self.set_focus(self._field)
        self._in_worker(self._look)

    def _in_worker(self, work: Callable[[], Awaitable[None]]) -> None:
        async def run() -> None:
            await work()

        self.run_worker(run, group="settings", exit_on_error=True)

    async def _look(self) -> None:
        view = await self._desk.look()
        problems = tuple(dict.fromkeys([*view.problems, *self._more_problems]))
        self._view = SettingsView(view.settings, problems, view.files)
        self._refresh()

    def on_resize(self, event: events.Resize) -> None:
        """Lay the rows out anew."""
        self.set_class(event.size.height < 20, "-low")
        self._refresh()

    @property
    def _width(self) -> int:
        return max(10, min(110, self.program.size.width) - _FRAME_CELLS)

    def _refresh(self) -> None:
        """Show the open page."""
        self._bar.update(bar(self._page, self._view, self._width))
        self._file.update(Content(self._place()))
        self._shown = rows(self._page, self._view, self._field.text.strip(), self._width)
        self._rows.set_rows([row.content for row in self._shown])
        self._show_details()
        self.query_one(Frame).legend = self._keys()

    def _keys(self) -> str:
        hint = self.keys.hint
        pages = f"{hint('pages', 'next_page')} next page"
        if self._page == PROBLEMS:
            return f"{pages} · {hint('list', 'cancel')} closes"
        removes = f" · {hint('list', 'remove')} takes out" if scope_of(self._page) else ""
        return f"{hint('list', 'choose')} changes{removes} · {pages} · {hint('list', 'cancel')} closes"

    def _place(self) -> str:
        files = dict(self._view.files)
        if self._page in files:
            return short(clean_line(files[self._page]))
        if self._page == PROBLEMS:
            return "What could not be used; the rest of each file counts."
        return "Strongest first: managed, flags, environment, private, project, user."

    @property
    def _marked(self) -> SettingView | None:
        at = self._rows.cursor
        return self._shown[at].setting if 0 <= at < len(self._shown) else None

    def _show_details(self) -> None:
        setting = self._marked
        self._details.update(details(setting, self._width) if setting is not None else "")

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        """Narrow the list."""
        event.stop()
        self._refresh()
        self._rows.move_to(0)

    def on_rows_moved(self, event: Rows.Moved) -> None:
        """Say what the marked setting means."""
        event.stop()
        self._show_details()

    def on_rows_chosen(self, event: Rows.Chosen) -> None:
        """Change what was clicked."""
        event.stop()
        self.act("choose")

    def on_editor_act(self, event: Editor.Act) -> None:
        """Do what a key in the search line means."""
        event.stop()
        self.act(event.action)

    def act(self, action: str) -> None:
        """Move, turn the page, change, take out or leave."""
        if self._rows.perform(action):
            return
        match action:
            case "next_page" | "previous_page":
                step = 1 if action == "next_page" else -1
                self._page = PAGES[(PAGES.index(self._page) + step) % len(PAGES)]
                self._say("")
                self._refresh()
            case "choose" if (setting := self._marked) is not None:
                self._ask(setting)
            case "remove" if (setting := self._marked) is not None:
                self._take_out(setting)
            case "cancel":
                self.finish(None)
            case _:
                pass

    def _say(self, text: str) -> None:
        self._said.update(Content(short(clean_line(text))))

    def _ask(self, setting: SettingView) -> None:
        """Ask for a value: by a list where there are fixed words, else in a field."""
        scope = scope_of(self._page) or _setter(setting)
        place = setting.at(scope)
        value = place.value if place is not None else setting.value
        words = self._words.get(setting.key) or setting.choices
        where = short(dict(self._view.files).get(scope, scope))

        def answered(text: str | None) -> None:
            if text is not None:
                self._in_worker(partial(self._write, setting.key, text, scope))

        if words:
            choices = [Choice(word, word or "(empty)", current=word == value) for word in words]
            self.program.push_screen(Picker(self.keys, f"{setting.key} in {where}", choices), answered)
        else:
            about = setting.meaning or "a value as it stands in a settings file"
            self.program.push_screen(
                ValueDialog(self.keys, f"{setting.key} in {where}", about, value), answered
            )

    async def _write(self, key: str, text: str, scope: SettingScope) -> None:
        try:
            said = await self._desk.set(key, text, scope)
        except ConfigError as error:
            self._say(f"✗ {error}")
            return
        await self._written(key, said)

    def _take_out(self, setting: SettingView) -> None:
        scope = scope_of(self._page)
        if scope is None:
            self._say("Turn to the page of a file to take a setting out of it.")
        elif setting.at(scope) is None:
            self._say(f"{setting.key} does not stand in this file.")
        else:
            self._in_worker(partial(self._unset, setting.key, scope))

    async def _unset(self, key: str, scope: SettingScope) -> None:
        try:
            said = await self._desk.unset(key, scope)
        except ConfigError as error:
            self._say(f"✗ {error}")
            return
        await self._written(key, said)

    async def _written(self, key: str, said: str) -> None:
        await self._look()
        value = next((one.value for one in self._view.settings if one.key == key), "")
        await self._changed(key, value)
        self._say(f"✓ {said}")


def _setter(setting: SettingView) -> SettingScope:
    """Give the file that a change on the first page goes to: the one whose value counts, else the user's."""
    for place in setting.places:
        scope = scope_of(place.scope)
        if scope is not None and place.where == setting.origin:
            return scope
    return "user"
