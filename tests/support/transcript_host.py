from collections.abc import Sequence

from textual.app import App, ComposeResult
from textual.pilot import Pilot
from textual.strip import Strip
from textual.widgets import TextArea

from agent_tui.protocol.replay import ReplayBlock
from agent_tui.ui.palette import Palette
from agent_tui.ui.transcript.view import Transcript


class Host(App[None]):
    def __init__(
        self, blocks: Sequence[ReplayBlock] = (), *, palette: Palette = Palette.DARK, prompt: bool = False
    ) -> None:
        super().__init__()
        self.now_s = 100.0
        self.transcript = Transcript(palette, clock=lambda: self.now_s)
        self.opened: list[str] = []
        self.links: list[str] = []
        self._blocks = blocks
        self._prompt = prompt

    def compose(self) -> ComposeResult:
        yield self.transcript
        if self._prompt:
            yield TextArea()

    def on_mount(self) -> None:
        if self._blocks:
            self.transcript.load(self._blocks)

    def on_transcript_open_full(self, event: Transcript.OpenFull) -> None:
        self.opened.append(event.call_id)

    def on_transcript_link_clicked(self, event: Transcript.LinkClicked) -> None:
        self.links.append(event.url)

    def rows(self) -> list[str]:
        return [strip.text.rstrip(" ▐") for strip in self.strips()]

    def strips(self) -> list[Strip]:
        return self.transcript.render_lines(self.transcript.size.region)

    def shown(self) -> str:
        return "\n".join(self.rows())


async def settle(pilot: Pilot[None]) -> None:
    await pilot.pause()


def panel(call_id: str, text: str = "", **fields: object) -> ReplayBlock:
    block = ReplayBlock(
        "tool", text, call_id=call_id, tool="bash", display_name="Bash", title=f"run {call_id}"
    )
    for name, value in fields.items():
        setattr(block, name, value)
    return block


def lines(count: int, word: str = "line") -> str:
    return "\n".join(f"{word} {number}" for number in range(count))
