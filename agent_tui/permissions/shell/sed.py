"""Tells whether a sed script only prints: every command it holds is read, unknown ones are refused.

Also finds the files that a script reads and writes.
"""

import re
from collections.abc import Iterator, Sequence

from agent_tui.permissions.shell.words import Word

_BLANKS = re.compile(r"[ \t]*")
_BETWEEN = re.compile(r"[ \t\n;]*")
_END = re.compile(r"[ \t]*(?:[;\n]|(?=\})|$)")
_LABEL_END = re.compile(r"[ \t]*(?:[;\n]|$)")
_LABEL = re.compile(r"[ \t]*\w*", re.ASCII)
_NUMBER = re.compile(r"\d+(?:~\d+)?|\$", re.ASCII)
_STEPS = re.compile(r"[+~]?\d+|\$", re.ASCII)
_SUBSTITUTE_FLAGS = re.compile(r"[gpiIM0-9]*", re.ASCII)
_DIGITS = re.compile(r"[ \t]*\d*", re.ASCII)
_PLAIN = frozenset("=dDgGhHnNpPxzF")
_DELIMITERS = frozenset("/|,#@!%:_+~")
_CLASS = re.compile(r"\[([:.=])[a-zA-Z]*\1\]")
_MAX_CHARS = 1_000
_LINE = re.compile(r"[ \t]*([^\n]*)")
_TEXT = re.compile(r"(?:[^\n\\]|\\.)*", re.DOTALL)
_MAYBE_FILE = re.compile(r"(?<![A-Za-z_])[gpiIMm0-9e]{0,40}([rRwW])[ \t]*([^\n]+)")
_APART = re.compile(r"[\s|#,;@!%{}]+")
_FLAGS_BEHIND = re.compile(r"/[gpiIMme0-9]*$")
_SCRIPT_OPTION = re.compile(r"(?:-[nErsuzi]*e|--expression(?:=|$))(.*)", re.DOTALL)
_FILE_OPTION = re.compile(r"(?:-[nErsuzi]*f|--file(?:=|$))(.*)", re.DOTALL)


class _Refused(ValueError):
    """Something in the script is not known to be harmless, or sed and we could read it in two ways."""


def sed_only_prints(script: str) -> bool:
    """Tell whether a script has only commands that print, skip, branch and change what is printed.

    Comments, `a`, `i`, `c`, `r`, `w`, `e`, the flags `w` and `e` of `s`, a line break inside a command and a
    delimiter inside brackets (where seds differ) are refused.
    """
    if len(script) > _MAX_CHARS or not script.strip():
        return False
    try:
        _Script(script).read()
    except _Refused:
        return False
    return True


def sed_scripts(words: Sequence[Word]) -> list[Word]:
    """Give the scripts among the words after `sed`: those of -e, else the first operand."""
    scripts: list[Word] = []
    operands: list[Word] = []
    has_options = False
    rest = iter(words)
    for word in rest:
        if word.text == "--":
            operands.extend(rest)
        elif match := _SCRIPT_OPTION.fullmatch(word.text):
            has_options = True
            following = None if match[1] else next(rest, None)
            scripts.append(following or Word(match[1], match[1]))
        elif match := _FILE_OPTION.fullmatch(word.text):
            has_options = True
            if not match[1]:
                next(rest, None)
        elif word.text and not word.text.startswith("-"):
            operands.append(word)
    return scripts if has_options else operands[:1]


def sed_files(script: str) -> Iterator[tuple[str, bool]]:
    """Give the files that a script names, each with whether it is written; too many where it cannot be read."""
    reader = _Script(script)
    try:
        reader.read(tolerant=True)
    except _Refused:
        yield from ((match[2], match[1] in "wW") for match in _MAYBE_FILE.finditer(script))
        for word in _APART.split(script.replace("\\/", "/")):
            yield from ((name, False) for name in {word, _FLAGS_BEHIND.sub("", word)} if name)
    else:
        yield from reader.files


class _Script:
    """Reads one script from left to right; a `tolerant` reading notes the files that others refuse."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._depth = 0
        self._tolerant = False
        self.files: list[tuple[str, bool]] = []

    def read(self, *, tolerant: bool = False) -> None:
        """Read every command. Raises _Refused."""
        self._tolerant = tolerant
        while True:
            self._skip(_BETWEEN)
            if self._at >= len(self._text):
                break
            self._command()
        if self._depth:
            raise _Refused

    def _skip(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self._text, self._at)
        if match is None:
            raise _Refused
        self._at = match.end()
        return match[0]

    def _next(self) -> str:
        char = self._text[self._at : self._at + 1]
        self._at += 1
        return char

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _command(self) -> None:
        if self._address(_NUMBER) and self._peek() == ",":
            self._at += 1
            self._skip(_BLANKS)
            if not self._address(_STEPS):
                raise _Refused
        while self._peek() in ("!", " ", "\t") and self._at < len(self._text):
            self._at += 1
        self._verb(self._next())

    def _address(self, number: re.Pattern[str]) -> bool:
        if self._peek() == "/":
            self._at += 1
            self._until("/", is_pattern=True)
            while self._peek() in ("I", "M"):
                self._at += 1
        elif self._tolerant and self._peek() == "\\":
            self._at += 1
            self._until(self._next(), is_pattern=True)
        elif match := number.match(self._text, self._at):
            self._at = match.end()
        else:
            return False
        self._skip(_BLANKS)
        return True

    def _verb(self, verb: str) -> None:
        if verb == "{":
            self._depth += 1
        elif verb == "}" and self._depth:
            self._depth -= 1
            self._skip(_END)
        elif verb in _PLAIN and verb:
            self._skip(_END)
        elif verb in ("q", "Q", "l") and verb:
            self._skip(_DIGITS)
            self._skip(_END)
        elif verb in (":", "b", "t", "T") and verb:
            self._skip(_LABEL)
            self._skip(_LABEL_END)
        elif verb in ("s", "y") and verb:
            self._replace(is_pattern=verb == "s")
        elif verb in ("r", "R", "w", "W") and verb and self._tolerant:
            self._file(writes=verb in "wW")
        elif verb in ("#", "a", "i", "c") and self._tolerant:
            self._skip(_LINE if verb == "#" else _TEXT)
        else:
            raise _Refused

    def _file(self, *, writes: bool) -> None:
        match = _LINE.match(self._text, self._at)
        if match is None or not match[1]:
            raise _Refused
        self._at = match.end()
        self.files.append((match[1], writes))

    def _replace(self, *, is_pattern: bool) -> None:
        delimiter = self._next()
        if delimiter not in _DELIMITERS or not delimiter:
            raise _Refused
        self._until(delimiter, is_pattern=is_pattern)
        self._until(delimiter, is_pattern=False)
        if is_pattern:
            self._skip(_SUBSTITUTE_FLAGS)
            if self._tolerant and self._peek() == "w":
                self._at += 1
                self._file(writes=True)
        self._skip(_END)

    def _until(self, delimiter: str, *, is_pattern: bool) -> None:
        """Read up to the delimiter that ends a pattern or a replacement."""
        while (char := self._next()) != delimiter:
            if char in ("", "\n"):
                raise _Refused
            if char == "\\":
                # `\c` takes the next character with it, a line break goes on with the text of a command.
                if self._next() in ("", "\n", "c"):
                    raise _Refused
            elif char == "[" and is_pattern:
                self._brackets(delimiter)

    def _brackets(self, delimiter: str) -> None:
        if self._peek() == "^":
            self._at += 1
        if self._peek() == "]":
            self._at += 1
        while True:
            if match := _CLASS.match(self._text, self._at):
                self._at = match.end()
                continue
            char = self._next()
            if char == "]":
                return
            if char in ("", "\n", delimiter, "[") or (
                char == "\\" and self._peek() in ("]", "\\", delimiter)
            ):
                raise _Refused
