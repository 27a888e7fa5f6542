"""The frame of a dialog: its lower edge names the keys, as many whole ones as there is room for."""

from __future__ import annotations

from rich.cells import cell_len
from textual.containers import Vertical
from textual.content import Content

from agent_tui.ui.keymap import Keymap

BETWEEN = " · "
_EDGE_CELLS = 6
"""Corners, lines and blanks beside what stands in the edge."""


def fit_legend(legend: str, width: int, more: str) -> str:
    """Give the parts of "key words · key words" that fit into `width` cells, whole ones and in their order.

    The last part says how to leave and is the most important, then they count from the first on. Where one is left
    out, `more` says where all stand, if that fits beside two of them.
    """
    parts = legend.split(BETWEEN)
    if cell_len(legend) <= width:
        return legend
    kept = _fitting(parts, width - cell_len(BETWEEN + more)) if more else []
    if len(kept) > 1:
        return BETWEEN.join((*kept, more))
    return BETWEEN.join(_fitting(parts, width))


def _fitting(parts: list[str], width: int) -> list[str]:
    """Give the parts that fit; none when the last does not."""
    used, kept = -cell_len(BETWEEN), set[int]()
    for at in (len(parts) - 1, *range(len(parts) - 1)):
        cost = cell_len(parts[at]) + cell_len(BETWEEN)
        if used + cost > width:
            break
        used += cost
        kept.add(at)
    return [part for at, part in enumerate(parts) if at in kept]


class Frame(Vertical):
    """Holds the parts of a dialog. `legend` names its keys, the way out last."""

    def __init__(self, keys: Keymap, *, classes: str = "") -> None:
        super().__init__(classes=f"frame {classes}".strip())
        self._keys = keys
        self._legend = ""

    @property
    def legend(self) -> str:
        """All keys that the lower edge would name."""
        return self._legend

    @legend.setter
    def legend(self, legend: str) -> None:
        self._legend = legend
        self._fit()

    def on_resize(self) -> None:
        """Name as many keys as there is room for now."""
        self._fit()

    def _fit(self) -> None:
        room = self.outer_size.width - _EDGE_CELLS
        if room > 0:
            self.border_subtitle = Content(fit_legend(self._legend, room, more_keys(self._keys)))


def more_keys(keys: Keymap) -> str:
    """Say where all keys stand; "" without a single key for it, since a chord does not get through a dialog."""
    single = [key for key in keys.keys_of("global", "help") if " " not in key]
    return f"{single[0]} all" if single else ""
