from textual.app import App, ComposeResult

from agent_tui.ui.palette import Palette
from agent_tui.ui.transcript.view import Transcript


class Host(App[None]):
    def compose(self) -> ComposeResult:
        yield Transcript(Palette.DARK, id="transcript")


async def test_reply_that_ends_before_its_first_frame_is_drawn_whole() -> None:
    app = Host()
    async with app.run_test(size=(80, 20)) as pilot:
        transcript = app.query_one(Transcript)
        index = transcript.stream_start("assistant")
        for piece in ("I look ", "at the ", "folder first."):
            transcript.stream_append(index, piece)
        transcript.stream_end(index)
        await pilot.pause()

        shown = "\n".join(strip.text for strip in app.screen._compositor.render_strips())

    assert "I look at the folder first." in shown
