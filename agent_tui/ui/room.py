"""Keeps the end of the conversation in sight while a box stands over the lower part of the screen."""

from __future__ import annotations

from typing import cast

from textual.screen import Screen
from textual.signal import Signal
from textual.widget import Widget


class Room:
    """Ends the transcript where the box above it begins, for as long as the box is there."""

    def __init__(self, transcript: Widget) -> None:
        self._transcript = transcript

    def make(self, dialog: Screen[None]) -> None:
        """Follow the frame of `dialog`, whatever height it takes."""
        for screen in (dialog, self._transcript.screen):  # a layout of either moves one of the two edges
            _layouts(screen).subscribe(self._transcript, lambda _: self._fit(dialog), immediate=True)

    def give_back(self) -> None:
        """Let the transcript have all rows again."""
        _layouts(self._transcript.screen).unsubscribe(self._transcript)
        self._spare(0)

    def _fit(self, dialog: Screen[None]) -> None:
        transcript = self._transcript
        spared = transcript.styles.margin.bottom
        end = transcript.region.bottom + spared
        if not dialog.is_attached:
            return
        frame = dialog.query_one(".frame").region
        if transcript.region.height and frame.height:
            most = end - transcript.region.y - 1
            self._spare(max(0, min(end - frame.y, most)))

    def _spare(self, rows: int) -> None:
        if self._transcript.styles.margin.bottom != rows:
            self._transcript.styles.margin = (0, 0, rows, 0)


def _layouts(screen: Screen[None] | Screen[object]) -> Signal[Screen[None]]:
    return cast("Signal[Screen[None]]", screen.screen_layout_refresh_signal)  # pyright: ignore[reportUnknownMemberType] - bare Screen
