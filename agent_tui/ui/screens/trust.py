"""Shows what a project's own configuration would run and asks whether it may."""

from __future__ import annotations

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from agent_tui.protocol.replay import ReplayBlock
from agent_tui.ui.house import TrustLine, TrustView
from agent_tui.ui.keymap import Keymap
from agent_tui.ui.palette import Palette
from agent_tui.ui.render.safe import vis
from agent_tui.ui.screens.dialog import Dialog
from agent_tui.ui.transcript.view import Transcript
from agent_tui.ui.widgets.rows import Rows

NO, YES = "No, leave it out", "Trust exactly this content"
_NEW = "This project brings configuration of its own. None of it counts or runs before you trust it."
_CHANGED = (
    "This project's configuration changed since you trusted it. It does not count until you trust it anew."
)


class TrustScreen(Dialog[bool]):
    """Gives True only when "trust" was chosen; the cursor stands on no, and leaving is a no."""

    DEFAULT_CSS = """
    TrustScreen {
        & > .frame { width: 100; height: 90%; border: round $warning; border-title-color: $warning; }
        & .why { height: auto; margin: 1 0; }
        & Transcript { height: 1fr; min-height: 3; }
        & Rows { height: 2; margin: 1 0; }
        &.-low .why { margin: 0; max-height: 3; }
        &.-low Rows { margin: 0; }
        &.-low Transcript { min-height: 1; }
    }
    """

    def __init__(self, keys: Keymap, view: TrustView, palette: Palette) -> None:
        super().__init__(keys)
        self._view = view
        self._text = Transcript(palette)
        self._rows = Rows(can_focus=True)

    def compose(self) -> ComposeResult:
        """Lay out the reason, what would run, and the two answers."""
        with Vertical(classes="frame") as frame:
            frame.border_title = Content("Trust this project?")
            frame.border_subtitle = Content(
                self.keys.legend(
                    ("list", "page_up", ""),
                    ("list", "page_down", "scroll"),
                    ("list", "choose", "chooses"),
                    ("list", "cancel", "is no"),
                )
            )
            yield Static(Content(_CHANGED if self._view.changed else _NEW), classes="why", markup=False)
            yield self._text
            yield self._rows

    def on_mount(self) -> None:
        """Open everything and put the cursor on no."""
        self._text.load(_blocks(self._view))
        self._text.toggle_all()
        self._text.go_home()
        self._rows.set_rows([Content(f" {label}") for label in (NO, YES)], cursor=0)
        self._rows.focus()

    def take_key(self, event: events.Key) -> None:
        """Know the key of no besides those of every list; one for yes is too easily typed for this."""
        press = self.keys.press(("confirm", self.context), event.key, event.character)
        if press.action or press.pending:
            event.stop()
        if press.action == "no":
            self.finish(False)
        elif press.action and press.action != "yes":
            self.act(press.action)

    def on_resize(self, event: events.Resize) -> None:
        """Keep the answers in sight where there is little room."""
        self.set_class(event.size.height < 18, "-low")

    def on_rows_chosen(self, event: Rows.Chosen) -> None:
        """Answer by a click."""
        event.stop()
        self.finish(event.index == 1)

    def act(self, action: str) -> None:
        """Scroll, move, answer or leave."""
        match action:
            case "up" | "down":
                self._rows.move(1)
            case "page_up" | "page_down":
                self._text.scroll_page(-1 if action == "page_up" else 1)
            case "first":
                self._text.go_home()
            case "last":
                self._text.go_end()
            case "choose":
                self.finish(self._rows.cursor == 1)
            case "cancel":
                self.finish(False)
            case _:
                pass


def trust_text(lines: tuple[TrustLine, ...]) -> str:
    """Write what would run, one thing a paragraph, with every invisible character made visible."""
    return "\n".join(
        f"{vis(line.kind)}: {vis(line.name)}\n    {vis(line.detail)}\n    in {vis(line.file)}"
        for line in lines
    )


def _blocks(view: TrustView) -> list[ReplayBlock]:
    listed = trust_text(view.lines)
    count = len(view.lines)
    blocks = [_block("It would", "1 thing" if count == 1 else f"{count} things", listed, "text")]
    if view.diff:
        blocks.append(_block("Changed", "since you trusted it", view.diff, "diff"))
    return blocks


def _block(name: str, title: str, text: str, content_type: str) -> ReplayBlock:
    return ReplayBlock(
        kind="tool",
        text=text,
        display_name=name,
        title=title,
        content_type=content_type,
        full_length=len(text),
        full_lines=text.count("\n") + 1,
        state="waiting",
    )
