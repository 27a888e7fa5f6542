"""Reads one shell word as bash would: quotes, escapes, `~`, and what is not known without running it."""

import re
from dataclasses import dataclass

_EXPANDS = re.compile(r"[A-Za-z0-9_@*#?\-$!({\[]")
_SIMPLE_ESCAPES = {
    "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v",
    "\\": "\\", "'": "'", '"': '"', "?": "?",
}  # fmt: skip
_ANSI = re.compile(
    r"\\(?:(?P<simple>[abeEfnrtv\\'\"?])|(?P<octal>[0-7]{1,3})|x(?P<hex>[0-9A-Fa-f]{1,2})"
    r"|u(?P<four>[0-9A-Fa-f]{1,4})|U(?P<eight>[0-9A-Fa-f]{1,8}))"
)
_GLOBS = re.compile(r"[*?]|\[.*\]", re.DOTALL)
ENDS_WORD = frozenset(" \t\n|&;()<>")


class NotStatic(ValueError):
    """A word or command is not known without running it; the text says why."""


@dataclass(frozen=True, slots=True)
class Word:
    """One word. `text` is what the program gets, a best guess when not `static`.

    `glob` is a glob pattern when file names take its place, else ""; `raw` is how it was written.
    """

    text: str
    raw: str
    static: bool = True
    glob: str = ""

    @property
    def plain(self) -> bool:
        """Whether it was written without any quoting."""
        return self.text == self.raw


def decode_ansi(body: str) -> str:
    """Decode the inside of `$'...'`. Raises NotStatic for what has no certain text."""
    out: list[str] = []
    position = 0
    while position < len(body):
        if body[position] != "\\":
            out.append(body[position])
            position += 1
            continue
        match = _ANSI.match(body, position)
        if match is None:
            raise NotStatic("an escape that is not known in $'...'")
        out.append(_ansi_char(match))
        position = match.end()
    return "".join(out)


def _ansi_char(match: re.Match[str]) -> str:
    if match["simple"]:
        return _SIMPLE_ESCAPES[match["simple"]]
    code = (
        int(match["octal"], 8) if match["octal"] else int(match["hex"] or match["four"] or match["eight"], 16)
    )
    if not 0 < code < 0x80:  # what bash makes of the rest depends on the locale
        raise NotStatic("a character in $'...' that depends on the locale")
    return chr(code)


def single_quoted_end(text: str, start: int) -> int:
    """Give the place of the quote that closes `'` before `start`. Raises NotStatic."""
    end = text.find("'", start)
    if end < 0:
        raise NotStatic("a quote that is not closed")
    return end


def ansi_end(text: str, start: int) -> int:
    """Give the place of the quote that closes `$'` before `start`. Raises NotStatic."""
    position = start
    while position < len(text) and text[position] != "'":
        position += 2 if text[position] == "\\" else 1
    if position >= len(text):
        raise NotStatic("a quote that is not closed")
    return position


class WordScanner:
    """Scans one word from `text` at `start`. Raises NotStatic as soon as its text is not certain."""

    def __init__(self, text: str, start: int, *, home: str) -> None:
        self.text = text
        self.position = start
        self._start = start
        self._home = home
        self._out: list[str] = []
        self._glob: list[str] = []
        self._globs = False
        self._braces: list[str] = []

    def scan(self) -> Word:
        """Read up to the first character that ends a word."""
        self._tilde()
        while self.position < len(self.text) and self.text[self.position] not in ENDS_WORD:
            self._step(self.text[self.position])
        raw = self.text[self._start : self.position]
        self._refuse_braces()
        glob = "".join(self._glob) if self._globs else ""
        return Word("".join(self._out), raw, True, glob if _GLOBS.search(glob) else "")

    def _step(self, char: str) -> None:
        match char:
            case "'":
                end = single_quoted_end(self.text, self.position + 1)
                self._literal(self.text[self.position + 1 : end])
                self.position = end + 1
            case '"':
                self._double()
            case "\\":
                self._escape()
            case "`":
                raise NotStatic("a command substitution")
            case "$":
                self._dollar()
            case _:
                self._bare(char)

    def _bare(self, char: str) -> None:
        if char == "~" and self._out and self.text[self.position - 1] in "=:":
            raise NotStatic("a ~ that may be expanded")
        self._out.append(char)
        self._glob.append(char)
        self._globs = self._globs or char in "*?["
        if char in "{},.":
            self._braces.append(char)
        self.position += 1

    def _literal(self, text: str) -> None:
        self._out.append(text)
        self._glob.append(re.sub(r"([*?\[])", r"[\1]", text))

    def _escape(self) -> None:
        if self.position + 1 >= len(self.text):
            raise NotStatic("a backslash at the end")
        following = self.text[self.position + 1]
        if following == "\n":
            raise NotStatic("a line break inside a word")
        self._literal(following)
        self.position += 2

    def _double(self) -> None:
        self.position += 1
        while self.position < len(self.text):
            char = self.text[self.position]
            following = self.text[self.position + 1 : self.position + 2]
            if char == '"':
                self.position += 1
                return
            if char == "`":
                raise NotStatic("a command substitution")
            if char == "$" and following and _EXPANDS.match(following):
                raise NotStatic(_expansion_name(self.text, self.position))
            if char == "\\" and following == "\n":
                raise NotStatic("a line break inside a word")
            if char == "\\" and following and following in '$`"\\':
                self._literal(following)
                self.position += 2
                continue
            self._literal(char)
            self.position += 1
        raise NotStatic("a quote that is not closed")

    def _dollar(self) -> None:
        following = self.text[self.position + 1 : self.position + 2]
        if following == "'":
            end = ansi_end(self.text, self.position + 2)
            self._literal(decode_ansi(self.text[self.position + 2 : end]))
            self.position = end + 1
        elif following == '"':
            raise NotStatic("a translated string")
        elif following and _EXPANDS.match(following):
            raise NotStatic(_expansion_name(self.text, self.position))
        else:
            self._literal("$")
            self.position += 1

    def _tilde(self) -> None:
        if self.text[self.position : self.position + 1] != "~":
            return
        following = self.text[self.position + 1 : self.position + 2]
        if following and following != "/" and following not in ENDS_WORD:
            raise NotStatic("another user's home or a directory of the shell")
        self._literal(self._home)
        self.position += 1

    def _refuse_braces(self) -> None:
        """A brace expansion needs `,` or `..` between unquoted braces; `{}` and `@{1}` are plain text."""
        marks = "".join(self._braces)
        if re.search(r"\{.*(,|\.\.).*\}", marks):
            raise NotStatic("a brace expansion")


def _expansion_name(text: str, position: int) -> str:
    if text.startswith("$((", position) or text.startswith("$[", position):
        return "an arithmetic expansion"
    return "a command substitution" if text.startswith("$(", position) else "a variable"
