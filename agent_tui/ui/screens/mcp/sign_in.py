"""Lets a person sign in to a server: shows the page's address and takes the one they come back with."""

from __future__ import annotations

import asyncio

from textual import events
from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Static

from agent_tui.protocol.errors import AgentTuiError
from agent_tui.ui.keymap import Keymap
from agent_tui.ui.render.safe import clean_line
from agent_tui.ui.screens.dialog import Dialog
from agent_tui.ui.screens.frame import Frame
from agent_tui.ui.servers import ServerDesk
from agent_tui.ui.widgets.editor import Editor, Field

_OPENED = "Its page was opened in your browser. Sign in there; this closes by itself."
_PRINTED = "Open this address in a browser and sign in there; this closes by itself."
_PASTE = (
    "If the browser runs on another machine, its last address does not load there: copy it and paste it here."
)


class SignInScreen(Dialog[str | None]):
    """Gives the sentence that says how it ended, None when it was left."""

    DEFAULT_CSS = """
    SignInScreen {
        & .why, & .paste { height: auto; margin-top: 1; }
        & .address { height: auto; color: $accent; margin-top: 1; }
        & .paste { color: $muted; }
        & Field { margin: 1 0; }
    }
    """

    def __init__(self, keys: Keymap, desk: ServerDesk, name: str) -> None:
        super().__init__(keys, "field")
        self._desk, self._name = desk, name
        self._url = ""
        self._pasted: asyncio.Queue[str] = asyncio.Queue()
        self._why = Static("Asking the server where to sign in ...", classes="why", markup=False)
        self._address = Static("", classes="address", markup=False)
        self._field = Field(keys, ("field", "edit"), placeholder="the address you came back to")

    def compose(self) -> ComposeResult:
        """Lay out what to do, the address, and the field."""
        with Frame(self.keys) as frame:
            frame.border_title = Content(clean_line(f"Sign in to {self._name}"))
            frame.legend = self.keys.legend(
                ("field", "accept", "copies the address, or takes yours"), ("field", "cancel", "leaves")
            )
            yield self._why
            yield self._address
            yield Static(_PASTE, classes="paste", markup=False)
            yield self._field

    def on_mount(self) -> None:
        """Begin."""
        self.set_focus(self._field)
        self.run_worker(self._sign_in, group="sign-in")

    async def _sign_in(self) -> None:
        try:
            said = await self._desk.login(self._name, show=self._show, pasted=self._pasted.get)
        except AgentTuiError as error:
            said = str(error)
        self.finish(said)

    def _show(self, url: str, opened: bool) -> None:
        self._why.update(Content(_OPENED if opened else _PRINTED))
        self._url = clean_line(url)
        self._address.update(Content(self._url))

    def on_editor_act(self, event: Editor.Act) -> None:
        """Do what a key in the field means."""
        event.stop()
        self.act(event.action)

    def take_key(self, event: events.Key) -> None:
        """Know no keys but those of the field."""

    def act(self, action: str) -> None:
        """Take the pasted address, on an empty field copy the page's, or leave; leaving ends the sign-in."""
        if action == "accept" and (text := self._field.text.strip()):
            self._pasted.put_nowait(text)
            self._field.load_text("")
        elif action == "accept" and self._url:
            self.program.copy_to_clipboard(self._url)
            self._why.update(Content(f"{_PRINTED} It is in the clipboard now."))
        elif action == "cancel":
            self.finish(None)
