"""What all dialogs share: a frame, a title, and keys that come from the keymap."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, TypeVar, cast

from textual import events
from textual.app import App
from textual.binding import BindingType
from textual.screen import ModalScreen

from agent_tui.ui.keymap import Keymap
from agent_tui.ui.widgets.editor import Editor

Result = TypeVar("Result")


class Dialog(ModalScreen[Result], inherit_bindings=False):
    """A screen over the conversation. Every key it knows is looked up in `contexts`, the first first; the rest bubbles to the app.

    A field gets the focus by `set_focus`, which counts from the next key on; `Widget.focus` comes later.
    A dialog is closed by `finish`, which is safe to call twice: the first result counts.
    """

    BINDINGS: ClassVar[list[BindingType]] = []
    AUTO_FOCUS: ClassVar[str | None] = None

    DEFAULT_CSS = """
    Dialog {
        align: center middle;
        background: $background 60%;
        &:ansi { background: transparent; }
        & > .frame {
            width: 84; max-width: 100%; height: auto; max-height: 90%;
            background: $surface; border: round $line; padding: 0 1;
            border-title-color: $accent; border-title-style: bold;
            border-subtitle-color: $faint;
        }
    }
    """

    def __init__(self, keys: Keymap, *contexts: str) -> None:
        super().__init__()
        self.keys = keys
        self.contexts = contexts or ("list",)
        self._finished = False

    @property
    def program(self) -> App[int]:
        """The app."""
        return cast("App[int]", self.app)  # pyright: ignore[reportUnknownMemberType] - Textual leaves its type open

    def on_key(self, event: events.Key) -> None:
        """Take a key that no field took; one that came before the field had the focus is still the field's."""
        field = self.focused
        if isinstance(field, Editor) and field.seen is not event:
            event.stop()
            field.post_message(events.Key(event.key, event.character))
        else:
            self.take_key(event)

    def take_key(self, event: events.Key) -> None:
        """Look a key up and do its action. Overridden instead of `on_key`, which Textual calls once per class."""
        press = self.keys.press(self.contexts, event.key, event.character)
        if press.action or press.pending:
            event.stop()
        if press.action:
            self.act(press.action)

    def act(self, action: str) -> None:
        """Do a keymap action of this dialog."""

    def call_after_refresh(self, callback: Callable[..., Any], *args: Any, **kwargs: Any) -> bool:
        """Call it after the next frame, unless this dialog is closed by then: its parts are gone one by one."""

        def unless_closed() -> object:
            return callback(*args, **kwargs) if self in self.program.screen_stack else None

        return super().call_after_refresh(unless_closed)

    def finish(self, result: Result | None) -> None:
        """Close this dialog, with whatever stands above it, and answer once."""
        if self._finished or not self.is_attached or self not in self.program.screen_stack:
            return
        self._finished = True
        self.pop_until_active()
        self.dismiss(result)
