"""Shows the MCP servers: how each is, what it offers, its log; starts, switches, signs in, accepts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Static

from agent_tui.protocol.errors import AgentTuiError
from agent_tui.protocol.replay import ReplayBlock
from agent_tui.ui.keymap import Keymap
from agent_tui.ui.palette import Palette
from agent_tui.ui.render.safe import clean, clean_line
from agent_tui.ui.screens.dialog import Dialog
from agent_tui.ui.screens.frame import Frame
from agent_tui.ui.screens.mcp.changed import ChangedScreen
from agent_tui.ui.screens.mcp.sign_in import SignInScreen
from agent_tui.ui.screens.mcp.text import NONE, about, row
from agent_tui.ui.screens.viewer import Viewer
from agent_tui.ui.servers import ServerDesk, ServerView
from agent_tui.ui.widgets.rows import Rows

LOOK_S = 0.5
LOG_LINES = 6


class ServersScreen(Dialog[None]):
    """The panel of `/mcp`. It looks again every half second, so that what happens meanwhile is seen."""

    DEFAULT_CSS = """
    ServersScreen {
        & > .frame { width: 110; }
        & Rows { height: auto; max-height: 12; min-height: 1; }
        & .about { height: auto; margin-top: 1; }
        & .log { height: auto; max-height: 6; color: $muted; margin-top: 1; }
        & .said { height: auto; color: $accent; margin-top: 1; }
    }
    """

    def __init__(self, keys: Keymap, desk: ServerDesk, palette: Palette) -> None:
        super().__init__(keys, "servers", "list")
        self._desk, self._palette = desk, palette
        self._servers: list[ServerView] = []
        self._rows = Rows(can_focus=True)
        self._about = Static("", classes="about", markup=False)
        self._log = Static("", classes="log", markup=False)
        self._said = Static("", classes="said", markup=False)

    def compose(self) -> ComposeResult:
        """Lay out the list, the facts of the marked server, its log, and what was done."""
        with Frame(self.keys) as frame:
            frame.border_title = Content("MCP servers")
            frame.legend = self.keys.legend(
                ("servers", "reconnect", "restarts"),
                ("servers", "switch", "on/off"),
                ("servers", "login", "signs in"),
                ("servers", "accept", "changes"),
                ("list", "choose", "log"),
                ("servers", "logout", "out"),
                ("servers", "reload", "reads settings"),
                ("list", "cancel", "closes"),
            )
            yield self._rows
            yield self._about
            yield self._log
            yield self._said

    def on_mount(self) -> None:
        """Look now and again."""
        self._look()
        self.set_focus(self._rows)
        self.set_interval(LOOK_S, self._look)

    def on_rows_moved(self, event: Rows.Moved) -> None:
        """Show the facts of the server under the cursor."""
        event.stop()
        self._show_facts()

    def on_rows_chosen(self, event: Rows.Chosen) -> None:
        """A click opens the log."""
        event.stop()
        self.act("choose")

    def _look(self) -> None:
        if not self.is_attached:
            return
        self._servers = list(self._desk.servers())
        names = [server.name for server in self._servers]
        rows = [row(server, names) for server in self._servers]
        self._rows.set_rows(rows or [Content.styled(NONE, "$muted")])
        self._show_facts()

    def _show_facts(self) -> None:
        server = self._marked
        lines = about(server) if server else []
        self._about.update(Content("\n".join(lines)))
        log = self._desk.log(server.name)[-LOG_LINES:] if server else ()
        self._log.update(Content("\n".join(clean_line(line) for line in log)))

    @property
    def _marked(self) -> ServerView | None:
        at = self._rows.cursor
        return self._servers[at] if 0 <= at < len(self._servers) else None

    def say(self, text: str) -> None:
        """Say what was done."""
        self._said.update(Content(clean(text)))
        self._look()

    def act(self, action: str) -> None:
        """Move, close, or do something with the marked server."""
        match action:
            case "up" | "down":
                self._rows.move(-1 if action == "up" else 1)
            case "page_up" | "page_down":
                self._rows.page(-1 if action == "page_up" else 1)
            case "first":
                self._rows.first()
            case "last":
                self._rows.last()
            case "cancel":
                self.finish(None)
            case "reload":
                self._later(self._desk.reload)
            case _:
                if self._marked is not None:
                    self._act_on(self._marked, action)

    def _act_on(self, server: ServerView, action: str) -> None:
        match action:
            case "reconnect":
                self.say(self._desk.reconnect(server.name))
            case "switch":
                self.say(self._desk.enable(server.name, server.state == "off"))
            case "choose":
                self._open_log(server.name)
            case "login" if not server.signs_in:
                self.say(f"{server.name} has no sign-in: it is a program, or its settings hold a key.")
            case "login":
                self.program.push_screen(SignInScreen(self.keys, self._desk, server.name), self._signed_in)
            case "logout":
                self._later(lambda: self._desk.logout(server.name))
            case "accept" if not server.changed:
                self.say(f"{server.name} describes its tools as you accepted them.")
            case "accept":
                self._ask_about(server)
            case _:
                pass

    def _later(self, work: Callable[[], Awaitable[str]]) -> None:
        async def do() -> None:
            try:
                self.say(await work())
            except AgentTuiError as error:
                self.say(str(error))

        self.run_worker(do, group="servers")

    def _signed_in(self, said: str | None) -> None:
        if said:
            self.say(said)

    def _ask_about(self, server: ServerView) -> None:
        def answered(accepted: bool | None) -> None:
            if accepted:
                self._later(lambda: self._desk.accept(server.name))

        self.program.push_screen(
            ChangedScreen(self.keys, server.name, server.changed, self._palette), answered
        )

    def _open_log(self, name: str) -> None:
        text = "\n".join(self._desk.log(name)) or "(nothing yet)"
        block = ReplayBlock(
            kind="tool",
            text=text,
            display_name="Log",
            title=name,
            content_type="text",
            full_length=len(text),
            full_lines=text.count("\n") + 1,
        )
        self.program.push_screen(Viewer(self.keys, block, self._palette))
