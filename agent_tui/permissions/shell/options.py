"""Checks the words of a command against an exact list of its harmless options."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from agent_tui.permissions.shell.words import Word


class Takes(StrEnum):
    """What an option takes: nothing, text, a file it reads, text that may only follow `=`."""

    NOTHING = ""
    TEXT = "="
    FILE = "=@"
    MAYBE = "?"


class Operand(StrEnum):
    """What operands are: none allowed, plain text, names whose content is not shown, files that are read,
    directories that are read as a whole."""

    NONE = "none"
    TEXT = "text"
    NAME = "name"
    FILE = "file"
    TREE = "tree"


@dataclass(frozen=True, slots=True)
class Spec:
    """The harmless uses of one program. `options` maps the exact spelling to what it takes.

    `first` is the kind of the first operand when it differs (a pattern); `numbers` allows `-5`; `at_most` and
    `at_least` limit the operands. `plain` programs know no options: every word is an operand. One of `needs` must
    be given, where there are any; of `apart` no two may be, because the last one wins. `letters` says how short
    options may be written: "" for any cluster; "last" when one that takes a value ends its cluster; "alone" for
    programs that look at the first letter of a word only (`xxd -ps IN OUT`). Then a value is glued only when it is a
    number. With `options_first` every word after the first operand is one too: `xxd IN -p` writes a file -p, and
    `git config a.b --global` sets a.b.
    """

    options: dict[str, Takes]
    operands: Operand
    first: Operand | None = None
    numbers: bool = False
    at_most: int = 1000
    at_least: int = 0
    plain: bool = False
    needs: tuple[str, ...] = ()
    apart: tuple[str, ...] = ()
    letters: str = ""
    options_first: bool = False


@dataclass(frozen=True, slots=True)
class Use:
    """How a command is used: options with their values, operands, and "" or why it is not harmless."""

    options: tuple[tuple[str, Word | None], ...]
    operands: tuple[Word, ...]
    refused: str = ""

    def has(self, *names: str) -> bool:
        """Tell whether one of the options was given."""
        return any(name in names for name, _ in self.options)


def parse_spec(text: str) -> Spec:
    """Read `options ... | operands` as the tables write them.

    Options: `-abc` are flags, `-n=` takes text, `-f=@` reads a file, `--color?` may have `=text`, `-#` allows `-5`.
    Operands: `none`, `text`, `name`, `file`, `tree`; `text+file` when the first differs; `<=1`, `>=1` limit them;
    `needs:-l,--list` says that one of these options must be given, `apart:-t,-d` that no two of these may be;
    for `letters:last`, `letters:alone` and `options:first` see `Spec`.
    """
    left, _, right = text.partition("|")
    options: dict[str, Takes] = {}
    for token in left.split():
        options.update(_option(token))
    kinds = [word for word in right.split() if not word.startswith(("<=", ">=")) and ":" not in word]
    named = {
        name: tuple(value.split(",")) for name, _, value in (word.partition(":") for word in right.split())
    }
    limits = {word[:2]: int(word[2:]) for word in right.split() if word.startswith(("<=", ">="))}
    first, _, rest = (kinds[0] if kinds else "none").rpartition("+")
    return Spec(
        options=options,
        operands=Operand(rest),
        first=Operand(first) if first else None,
        numbers="-#" in left.split(),
        at_most=limits.get("<=", 0 if rest == "none" else 1000),
        at_least=limits.get(">=", 0),
        plain="plain" in kinds[1:],
        needs=named.get("needs", ()),
        apart=named.get("apart", ()),
        letters=named.get("letters", ("",))[0],
        options_first="options" in named,
    )


def _option(token: str) -> Iterator[tuple[str, Takes]]:
    name = token.rstrip("=?@")
    takes = Takes(token[len(name) :])
    if token.startswith("--") or takes is not Takes.NOTHING or len(token) < 2:
        yield name, takes
    else:
        for char in name[1:]:
            yield f"-{char}", takes


_LIKE_AN_OPTION = re.compile(r"-(?!$|\s|\d+[A-Za-z]*$)")
_TAKES_ANYTHING = frozenset({"-e", "--regexp", "--expression", "--sort"})
"""Options with a pattern, script or order, for which every program takes the next word, whatever it looks like."""


class _Reader:
    """Reads the words of one command by its spec."""

    def __init__(self, spec: Spec, words: tuple[Word, ...]) -> None:
        self._spec = spec
        self._words = words
        self._at = 0
        self.options: list[tuple[str, Word | None]] = []
        self.operands: list[Word] = []

    def read(self) -> str:
        """Read all words; "" or what was refused."""
        while self._at < len(self._words):
            word = self._words[self._at]
            self._at += 1
            ended = self._spec.plain or (self._spec.options_first and len(self.operands) > 0)
            if word.text == "--" and not ended:
                self.operands.extend(self._words[self._at :])
                break
            if ended or word.text == "-" or not word.text.startswith("-"):
                self.operands.append(word)
            elif (refused := self._option(word)) != "":
                return refused
        return self._counted()

    def _counted(self) -> str:
        if not self._spec.at_least <= len(self.operands) <= self._spec.at_most:
            return "this number of operands"
        if self._spec.needs and not any(name in self._spec.needs for name, _ in self.options):
            return f"a use without {self._spec.needs[0]}"
        if len({name for name, _ in self.options if name in self._spec.apart}) > 1:
            return f"more than one of {', '.join(self._spec.apart)}"
        return ""

    def _option(self, word: Word) -> str:
        if word.text.startswith("--"):
            return self._long(word)
        if self._spec.numbers and word.text[1:].isdigit():
            return ""
        return self._cluster(word)

    def _long(self, word: Word) -> str:
        if word.text in self._spec.options and "=" in word.text:
            self.options.append((word.text, None))
            return ""
        name, equals, value = word.text.partition("=")
        takes = self._spec.options.get(name)
        if takes is None:
            return f"the option {name}"
        if takes is Takes.NOTHING and equals:
            return f"a value of {name}"
        given = Word(value, value) if equals else None
        if takes in (Takes.TEXT, Takes.FILE) and not equals:
            given = self._next(name)
            if given is None:
                return f"the option {name} without a certain value"
        self.options.append((name, given))
        return ""

    def _cluster(self, word: Word) -> str:
        """Read `-abc` or `-n5`; what follows an option that takes a value is the value."""
        rest = word.text[1:]
        while rest:
            name, rest = f"-{rest[0]}", rest[1:]
            takes = self._spec.options.get(name)
            if self._spec.letters and rest and not self._may_follow(takes, rest):
                return f"{word.text}, which is read letter by letter,"
            if takes is None:
                return f"the option {name}"
            if takes in (Takes.TEXT, Takes.FILE):
                given = Word(rest, rest) if rest else self._next(name)
                if given is None:
                    return f"the option {name} without a certain value"
                self.options.append((name, given))
                return ""
            self.options.append((name, None))
            if takes is Takes.MAYBE:
                return ""
        return ""

    def _may_follow(self, takes: Takes | None, rest: str) -> bool:
        """Tell whether a program that reads its clusters in its own way reads this one as we do."""
        return rest.isdigit() if takes in (Takes.TEXT, Takes.FILE) else self._spec.letters != "alone"

    def _next(self, name: str) -> Word | None:
        """Give the value of an option in a word of its own; None for one that could be an option as well.

        Which words a program takes as values differs between versions: for git 2.39 `log --min-parents --output=x`
        holds an error and a file x, which is written first.
        """
        if self._at >= len(self._words):
            return None
        self._at += 1
        word = self._words[self._at - 1]
        return word if name in _TAKES_ANYTHING or not _LIKE_AN_OPTION.match(word.text) else None


def read_use(spec: Spec, words: tuple[Word, ...]) -> Use:
    """Read the words after the program's name by `spec`."""
    reader = _Reader(spec, words)
    refused = reader.read()
    return Use(tuple(reader.options), tuple(reader.operands), refused)


def file_values(spec: Spec, use: Use) -> Iterator[tuple[Word, Operand]]:
    """Give every word that names a path, with what is done with it."""
    for name, value in use.options:
        if value is not None and spec.options.get(name) is Takes.FILE:
            yield value, Operand.FILE
    for index, word in enumerate(use.operands):
        kind = spec.first if index == 0 and spec.first is not None else spec.operands
        if kind in (Operand.NAME, Operand.FILE, Operand.TREE) and word.text != "-":
            yield word, kind
