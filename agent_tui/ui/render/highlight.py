"""Code to coloured runs, a page of lines at a time and only the pages that are looked at."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.segment import Segment
from rich.style import Style

from agent_tui.ui.render.inks import Inks
from agent_tui.ui.render.lexing import ROOT, State, Token, find_lexer, lex
from agent_tui.ui.render.rows import expand_tabs

PAGE = 32
RESTART_PAGES = 16
LONG_LINE = 2_000
# Palette colour and attributes of token types; a type without an entry takes its parent's.
COLOURS: dict[tuple[str, ...], tuple[str, str]] = {
    ("Keyword",): ("tok_keyword", ""),
    ("Keyword", "Constant"): ("tok_constant", ""),
    ("Keyword", "Type"): ("tok_class", ""),
    ("Operator", "Word"): ("tok_keyword", ""),
    ("Name",): ("tok_variable", ""),
    ("Name", "Function"): ("tok_function", ""),
    ("Name", "Class"): ("tok_class", ""),
    ("Name", "Exception"): ("tok_class", ""),
    ("Name", "Namespace"): ("tok_class", ""),
    ("Name", "Builtin"): ("tok_builtin", ""),
    ("Name", "Constant"): ("tok_constant", ""),
    ("Name", "Decorator"): ("tok_decorator", ""),
    ("Name", "Tag"): ("tok_tag", ""),
    ("Name", "Attribute"): ("tok_attribute", ""),
    ("Name", "Property"): ("tok_attribute", ""),
    ("Name", "Entity"): ("tok_escape", ""),
    ("Literal",): ("tok_constant", ""),
    ("Literal", "String"): ("tok_string", ""),
    ("Literal", "String", "Escape"): ("tok_escape", ""),
    ("Literal", "String", "Interpol"): ("tok_escape", ""),
    ("Literal", "String", "Regex"): ("tok_escape", ""),
    ("Literal", "Number"): ("tok_number", ""),
    ("Comment",): ("tok_comment", "i"),
    ("Comment", "Preproc"): ("tok_decorator", ""),
    ("Operator",): ("tok_operator", ""),
    ("Punctuation",): ("tok_punctuation", ""),
    ("Generic", "Inserted"): ("diff_add", ""),
    ("Generic", "Deleted"): ("diff_del", ""),
    ("Generic", "Heading"): ("heading", "b"),
    ("Generic", "Subheading"): ("diff_hunk", ""),
    ("Generic", "Prompt"): ("tok_comment", ""),
    ("Generic", "Strong"): ("tok_variable", "b"),
    ("Generic", "Emph"): ("tok_variable", "i"),
    ("Generic", "Error"): ("tok_error", ""),
    ("Generic", "Traceback"): ("tok_error", ""),
}


class Highlighter:
    """Runs of each of `lines` (safe text, may grow at its end), as `language`, else as the file `path` says.

    Lines are lexed by pages of 32, each from the state in which the page before it ended, so that a page's
    colours depend on nothing below it; every 512 lines the state starts anew, which bounds the work of a jump
    to the end. What has no lexer, and a page with a very long line, is plain.
    """

    def __init__(self, lines: Sequence[str], inks: Inks, *, language: str = "", path: str = "") -> None:
        self._lines = lines
        self._inks = inks
        self._plain = inks(inks.palette.code_text)
        self._lexer = find_lexer(language, path)
        self._styles: dict[tuple[str, ...], Style] = {}
        self._pages: dict[int, list[list[Segment]]] = {}
        self._ends: dict[int, State] = {}

    def line(self, index: int) -> list[Segment]:
        """Give the runs of a line, tabs expanded."""
        page, place = divmod(index, PAGE)
        runs = self._pages.get(page)
        if runs is None:
            runs = self._pages[page] = self._lexed(page)
        return runs[place]

    def grown(self, first: int) -> None:
        """Take in that the lines from `first` on changed or were added."""
        for page in range(first // PAGE, (max(first, len(self._lines) - 1)) // PAGE + 1):
            self._pages.pop(page, None)
            self._ends.pop(page, None)

    def _lexed(self, page: int) -> list[list[Segment]]:
        lines = self._lines[page * PAGE : (page + 1) * PAGE]
        if self._lexer is None or _too_long(lines):
            return [[Segment(expand_tabs(line), self._plain)] for line in lines]
        tokens, self._ends[page] = lex(self._lexer, _joined(lines), self._start(page))
        return self._runs(tokens, lines)

    def _start(self, page: int) -> State:
        """Give the state in which a page begins, lexing the pages before it that were never seen."""
        if self._lexer is None or page % RESTART_PAGES == 0:
            return ROOT
        first = page - 1
        while first not in self._ends and first % RESTART_PAGES:
            first -= 1
        state = self._ends.get(first - 1, ROOT) if first % RESTART_PAGES else ROOT
        for earlier in range(first, page):
            known = self._ends.get(earlier)
            if known is None:
                lines = self._lines[earlier * PAGE : (earlier + 1) * PAGE]
                known = ROOT if _too_long(lines) else lex(self._lexer, _joined(lines), state)[1]
                self._ends[earlier] = known
            state = known
        return state

    def _runs(self, tokens: Iterable[Token], lines: Sequence[str]) -> list[list[Segment]]:
        result: list[list[Segment]] = [[]]
        for kind, value in tokens:
            style = self._style(kind)
            pieces = value.split("\n")
            for number, piece in enumerate(pieces):
                if number:
                    result.append([])
                if piece:
                    result[-1].append(Segment(piece, style))
        result += [[] for _ in range(len(lines) - len(result))]
        return [self._checked(runs, line) for runs, line in zip(result, lines, strict=False)]

    def _checked(self, runs: list[Segment], line: str) -> list[Segment]:
        if "".join([run.text for run in runs]) != line:  # a lexer that does not give back what it was given
            return [Segment(expand_tabs(line), self._plain)]
        return untabbed(runs) if "\t" in line else runs

    def _style(self, kind: tuple[str, ...]) -> Style:
        style = self._styles.get(kind)
        if style is None:
            style = self._styles[kind] = token_style(self._inks, kind)
        return style


def _too_long(lines: Sequence[str]) -> bool:
    return any(len(line) > LONG_LINE for line in lines)


def _joined(lines: Sequence[str]) -> str:
    return "\n".join(lines) + "\n"


def token_style(inks: Inks, kind: tuple[str, ...]) -> Style:
    """Give the style of a token type, or of the nearest parent that has one."""
    while kind and kind not in COLOURS:
        kind = kind[:-1]
    if not kind:
        return inks(inks.palette.code_text)
    name, attributes = COLOURS[kind]
    return inks(str(vars(inks.palette)[name]), attributes=attributes)


def untabbed(runs: Sequence[Segment]) -> list[Segment]:
    """Expand the tabs of one line of runs."""
    result: list[Segment] = []
    before = ""
    for text, style, _ in runs:
        grown = expand_tabs(before + text)
        result.append(Segment(grown[len(before) :], style))
        before = grown
    return result
