"""Inline markdown (emphasis, code, links) to runs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from urllib.parse import unquote

from markdown_it.token import Token
from rich.segment import Segment
from rich.style import Style

from agent_tui.ui.render.inks import Inks
from agent_tui.ui.render.rows import expand_tabs
from agent_tui.ui.render.safe import clean, clean_line, safe_url

Runs = list[Segment]
# ASCII only: the text of a Chinese sentence goes on right behind an address.
_BARE_URL = re.compile(r"https?://(?:(?![<>\"'`|\\^{}\[\]])[!-~])*(?![<>\"'`|\\^{}\[\].,;:!?)(*_~])[!-~]")
_LETTERS = {"strong_open": "b", "em_open": "i", "s_open": "s"}


class Inline:
    """Turns the children of an inline token into lines of runs. `colour` and `attributes` are the text's own."""

    def __init__(self, inks: Inks, colour: str = "", attributes: str = "") -> None:
        self._inks = inks
        self._palette = inks.palette
        self._colour = colour or inks.palette.text
        self._base = attributes
        self._lines: list[Runs] = []
        self._open: list[str] = []
        self._links: list[tuple[str, int, int]] = []  # address, line and run at which its text begins

    def lines(self, tokens: Sequence[Token]) -> list[Runs]:
        """Give one list of runs for each line; soft and hard breaks end a line. At least one line."""
        self._lines = [[]]
        self._open.clear()
        self._links.clear()
        for token in tokens:
            self._token(token)
        return [[run for run in line if run.text] for line in self._lines]

    def _token(self, token: Token) -> None:
        match token.type:
            case "text" | "text_special":
                self._text(token.content)
            case "softbreak" | "hardbreak":
                self._lines.append([])
            case "code_inline":
                style = self._inks(
                    self._palette.inline_code, self._palette.inline_code_bg, self._attributes()
                )
                self._put(token.content, style)
            case "strong_open" | "em_open" | "s_open":
                self._open.append(_LETTERS[token.type])
            case "strong_close" | "em_close" | "s_close":
                self._open.pop()
            case "link_open":
                self._links.append(
                    (str(token.attrGet("href") or ""), len(self._lines) - 1, len(self._lines[-1]))
                )
            case "link_close":
                self._close_link()
            case "image":
                self._image(token)
            case _:
                self._put(token.content, self._inks.muted)

    def _attributes(self) -> str:
        return "".join(sorted({*self._open, *self._base}))

    def _style(self) -> Style:
        if self._links:
            return self._link_style(self._links[-1][0])
        return self._inks(self._colour, attributes=self._attributes())

    def _link_style(self, href: str) -> Style:
        style = self._inks(self._palette.link, attributes="".join(sorted({*self._attributes(), "u"})))
        url = safe_url(href)
        return style.update_link(url) if url else style

    def _text(self, text: str) -> None:
        if self._links or "://" not in text:
            self._put(text, self._style())
            return
        at = 0
        for found in _BARE_URL.finditer(text):
            self._put(text[at : found.start()], self._style())
            self._put(found.group(), self._link_style(found.group()))
            at = found.end()
        self._put(text[at:], self._style())

    def _put(self, text: str, style: Style) -> None:
        # Entities such as &#27; become characters only here, behind the first cleaning.
        first, *others = expand_tabs(clean(text)).split("\n")
        self._lines[-1].append(Segment(first, style))
        self._lines += [[Segment(line, style)] for line in others]

    def _close_link(self) -> None:
        """Show where a link really leads, unless its text says just that."""
        href, line, run = self._links.pop()
        label = "".join([part.text for part in self._lines[line][run:]])
        if len(self._lines) - 1 > line:
            label += "".join([part.text for runs in self._lines[line + 1 :] for part in runs])
        shown = clean_line(readable_url(href))
        if shown and shown.removeprefix("mailto:").rstrip("/") != label.rstrip("/"):
            self._put(f" ({shown})" if label else shown, self._inks(self._palette.faint))

    def _image(self, token: Token) -> None:
        source = clean_line(readable_url(str(token.attrGet("src") or "")))
        label = clean_line(token.content) or "image"
        self._put(f"[{label}]", self._inks(self._palette.link, attributes=self._attributes()))
        self._put(f" ({source})", self._inks(self._palette.faint))


def readable_url(href: str) -> str:
    """Undo percent encoding of letters that are not ASCII, which markdown-it adds; nothing else changes."""
    if "%" not in href:
        return href
    plain = unquote(href)
    return plain if plain.isprintable() and " " not in plain and "%" not in plain else href
