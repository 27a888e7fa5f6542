"""The lines between conversation and prompt: what runs, what waits, what is queued."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence

from textual import events
from textual.content import Content
from textual.message import Message
from textual.timer import Timer
from textual.widget import Widget

from agent_tui.ui.keymap import Keymap
from agent_tui.ui.look import spans
from agent_tui.ui.render.safe import clean_line

_FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_FRAME_S = 0.16
_SHOWN = 3
_LEAST_TEXT = 20
LEFT = "\N{HOURGLASS}"


class Activity(Widget):
    """Says that a turn runs, for how long and how to stop it. Its timer lives only as long as the turn."""

    DEFAULT_CSS = """
    Activity { height: 1; padding: 0 1; display: none; color: $muted; }
    """

    def __init__(
        self, keys: Keymap, *, clock: Callable[[], float] = time.monotonic, id: str | None = None
    ) -> None:
        super().__init__(id=id)
        self._keys = keys
        self._clock = clock
        self._since = 0.0
        self._word = ""
        self._until = 0.0
        self._timer: Timer | None = None

    def start(self, word: str) -> None:
        """Show that work goes on; `word` says what kind."""
        self._since = self._clock()
        self._word = word
        self.display = True
        self._resume()

    def say(self, word: str, *, wait_s: float = 0.0) -> None:
        """Change the word. With `wait_s`, the `LEFT` in it is drawn as the seconds that are left, counting down."""
        self._until = self._clock() + wait_s
        if word != self._word:
            self._word = word
            self.refresh()

    @property
    def spins(self) -> bool:
        """Whether the line's timer runs."""
        return self._timer is not None

    def hold(self) -> None:
        """Stand still while a person is asked."""
        self._pause()

    def go_on(self) -> None:
        """Move again after `hold`."""
        if self.display:
            self._resume()

    def stop(self) -> None:
        """Show nothing any more."""
        self._pause()
        self.display = False

    def _resume(self) -> None:
        self._pause()
        if self.is_running:  # nothing stops a timer that a closed widget sets
            self._timer = self.set_interval(_FRAME_S, self.refresh)

    def _pause(self) -> None:
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
        self.refresh()

    def render(self) -> Content:
        """Draw the line."""
        passed = self._clock() - self._since
        frame = _FRAMES[int(passed / _FRAME_S) % len(_FRAMES)] if self._timer is not None else "∙"
        left = max(0, math.ceil(self._until - self._clock()))
        word = self._word.replace(LEFT, str(left))
        line = spans((f"{frame} ", "$accent"), (word, "$foreground"), f"  {_duration(passed)}")
        hint = Content.styled(f"  {self._keys.legend(('prompt', 'escape', 'stops'))}", "$faint")
        whole = line + hint
        width = self.content_size.width
        return whole if whole.cell_length <= width else line.truncate(width, ellipsis=True)


def _duration(seconds: float) -> str:
    whole = int(seconds)
    return f"{whole} s" if whole < 60 else f"{whole // 60} min {whole % 60:02d} s"


def waiting_words(count: int, undecided: int) -> str:
    """Say what `count` calls wait for, when `undecided` of them have no answer yet."""
    if undecided:
        return f"{'1 call waits' if undecided == 1 else f'{undecided} calls wait'} for your decision"
    return "Your answer waits to be sent" if count == 1 else f"Your {count} answers wait to be sent"


class Banner(Widget):
    """Says that calls wait for a decision while the person writes."""

    DEFAULT_CSS = """
    Banner { height: auto; padding: 0 1; display: none; background: $banner; color: $foreground; }
    """

    class Raised(Message):
        """The banner was clicked."""

    def __init__(self, keys: Keymap, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._keys = keys
        self._text = ""
        self._on_empty = True

    def show(self, count: int, undecided: int, *, prompt_empty: bool) -> None:
        """Show that `count` calls wait, `undecided` of them for a decision; 0 hides the banner."""
        self._text = waiting_words(count, undecided)
        self._on_empty = prompt_empty
        self.display = count > 0
        self.refresh(layout=True)

    def render(self) -> Content:
        """Draw the sentence."""
        send, stop = self._keys.hint("prompt", "submit"), self._keys.hint("prompt", "escape")
        how = f"{send} opens" if self._on_empty else f"empty the prompt and press {send}, or click here"
        return spans(
            ("◆ ", "bold $warning"),
            (self._text, "bold"),
            (f"  {how} · {stop} stops the turn", "$muted"),
        )

    def on_click(self, event: events.Click) -> None:
        """Open the round."""
        event.stop()
        self.post_message(self.Raised())


class QueueView(Widget):
    """Shows what the person wrote while a turn runs."""

    DEFAULT_CSS = """
    QueueView { height: auto; max-height: 5; padding: 0 1; display: none; color: $muted; }
    """

    def __init__(self, keys: Keymap, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._keys = keys
        self._queued: list[tuple[str, bool]] = []
        self._takes_back = True

    def show(self, queued: Sequence[tuple[str, bool]], *, takes_back: bool) -> None:
        """Show (text, after_turn) pairs, oldest first; `takes_back` says that Up takes the newest one back now."""
        if (list(queued), takes_back) == (self._queued, self._takes_back):
            return
        self._queued, self._takes_back = list(queued), takes_back
        self.display = bool(self._queued)
        self.refresh(layout=True)

    def render(self) -> Content:
        """Draw the newest entries, one line each."""
        width = self.content_size.width or 80
        lines = [self._line(text, after_turn, width) for text, after_turn in self._queued[-_SHOWN:]]
        if hidden := len(self._queued) - _SHOWN if len(self._queued) > _SHOWN else 0:
            lines.insert(0, Content.styled(f"  and {hidden} more", "$faint"))
        return Content("\n").join(lines)

    def _line(self, text: str, after_turn: bool, width: int) -> Content:
        when = "after this turn" if after_turn else "at the next step"
        key = self._keys.hint("prompt", "up")
        hint = f" · {key} takes back" if self._takes_back and key else ""
        tail = Content.styled(f"  {when}{hint}", "$faint")
        if width - 2 - tail.cell_length < _LEAST_TEXT:
            tail = Content.styled(f"  {when}", "$faint")
        room = max(8, width - 2 - tail.cell_length)
        line = spans(("» ", "$accent"), Content(clean_line(text)).truncate(room, ellipsis=True), tail)
        return line.truncate(width, ellipsis=True)
