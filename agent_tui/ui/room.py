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
        signal = cast("Signal[Screen[None]]", dialog.screen_layout_refresh_signal)  # pyright: ignore[reportUnknownMemberType] - bare Screen
        signal.subscribe(self._transcript, self._fit, immediate=True)

    def give_back(self) -> None:
        """Let the transcript have all rows again."""
        self._spare(0)

    def _fit(self, dialog: Screen[None]) -> None:
        transcript = self._transcript
        spared = transcript.styles.margin.bottom
        end = transcript.region.bottom + spared
        frame = dialog.query_one(".frame").region
        if dialog.is_attached and transcript.region.height and frame.height:
            most = end - transcript.region.y - 1
            self._spare(max(0, min(end - frame.y, most)))

    def _spare(self, rows: int) -> None:
        if self._transcript.styles.margin.bottom != rows:
            self._transcript.styles.margin = (0, 0, rows, 0)
