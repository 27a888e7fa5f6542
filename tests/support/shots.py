"""A screen as text that can be compared: its characters, a letter for the style of each cell, and what the letters are."""

from dataclasses import dataclass
from itertools import groupby

from rich.cells import cell_len
from rich.color import Color
from rich.style import Style
from textual._context import visible_screen_stack
from textual.app import App
from textual.geometry import Region

from agent_tui.ui.palette import contrast

_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
MARK = 3.0
"""The least contrast of what is no text, after WCAG 2.1."""
DRAWN = "─│╭╮╰╯┌┐└┘├┤┬┴┼━┃╍═║▌▐▏▕█░▒▓▀▄▁▔▂▃▅▆▇▉▊▋▍▎·"
"""Lines, bars and dots: they show where things are and are no text."""


@dataclass(frozen=True)
class Cell:
    """Neighbouring cells of one style."""

    text: str
    ink: str
    behind: str
    attributes: str

    @property
    def style(self) -> str:
        return f"{self.ink} on {self.behind} {self.attributes}".rstrip()


@dataclass(frozen=True)
class Shot:
    rows: tuple[tuple[Cell, ...], ...]

    @property
    def text(self) -> str:
        return "\n".join("".join(cell.text for cell in row).rstrip() for row in self.rows)

    def styles(self) -> tuple[str, str]:
        """Give the runs of each row by letter, such as "a3 b77", and what each letter stands for."""
        letters: dict[str, str] = {}
        lines: list[str] = []
        for row in self.rows:
            named = [
                (letters.setdefault(cell.style, _letter(len(letters))), cell_len(cell.text)) for cell in row
            ]
            runs = [
                (letter, sum(width for _, width in run))
                for letter, run in groupby(named, key=lambda one: one[0])
            ]
            lines.append(" ".join(f"{letter}{width}" for letter, width in runs))
        return "\n".join(lines), "\n".join(f"{letter} {style}" for style, letter in letters.items())

    def weak(self, least: float, region: Region | None = None) -> list[str]:
        """Name the words whose ink is too near to what is behind them, inside `region` only."""
        found: dict[str, None] = {}
        for y, row in enumerate(self.rows):
            x = 0
            for cell in row:
                inside = region is None or region.contains(x, y)
                x += cell_len(cell.text)
                shown = cell.text.strip(f" {DRAWN}")
                if not (inside and shown and cell.ink.startswith("#") and cell.behind.startswith("#")):
                    continue
                ratio = contrast(cell.ink, cell.behind)
                if ratio < (least if len(shown) > 1 else MARK):  # a single character is a mark or the cursor
                    found[f"{shown!r}: {cell.ink} on {cell.behind} is {ratio:.2f}"] = None
        return list(found)


def _letter(number: int) -> str:
    return _LETTERS[number] if number < len(_LETTERS) else f"({number})"


def shoot(app: App[object]) -> Shot:
    """Take what is on the screen now, with what shines through from behind."""
    visible_screen_stack.set(app._background_screens)  # as Textual does before it draws the top screen
    app.screen._set_dirty()
    strips = app.screen._compositor.render_strips()
    return Shot(
        tuple(
            tuple(_cell(text, style or Style.null()) for text, style, _ in strip if text) for strip in strips
        )
    )


def _cell(text: str, style: Style) -> Cell:
    ink, behind = _colour(style.color), _colour(style.bgcolor)
    if style.reverse:
        ink, behind = behind, ink
    names = ("bold", "dim", "italic", "underline", "strike")
    return Cell(text, ink, behind, " ".join(name for name in names if getattr(style, name)))


def _colour(colour: Color | None) -> str:
    if colour is None or colour.is_default:
        return "default"
    return colour.triplet.hex if colour.triplet is not None else colour.name
