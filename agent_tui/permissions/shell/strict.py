"""A small parser that knows only plain lists of plain commands and refuses everything else.

It is the second opinion to tree-sitter: a command may run unasked only if both read the same words.
"""

import re
from dataclasses import dataclass, field

from agent_tui.permissions.shell.script import Redirect, Script, Simple, Step
from agent_tui.permissions.shell.words import NotStatic, Word, WordScanner

_RESERVED = frozenset(
    [
        "if",
        "then",
        "else",
        "elif",
        "fi",
        "do",
        "done",
        "case",
        "esac",
        "while",
        "until",
        "for",
        "select",
        "in",
        "function",
        "{",
        "}",
        "[[",
        "]]",
        "coproc",
    ]
)
_ASSIGNS = re.compile(r"[A-Za-z_]\w*(\[[^]]*\])?\+?=")
_FD_NAME = re.compile(r"\{[A-Za-z_]\w*\}")
_REDIRECT = re.compile(r"(\d*)(&>>|&>|<<<|<<-|<<|<>|<&|>>|>&|>\||<|>)")
_HERE_EXPANDS = re.compile(r"(?<!\\)(\\\\)*(`|\$[A-Za-z0-9_@*#?\-$!({\[])")


@dataclass
class _Draft:
    """A simple command while it is read; here-documents arrive after its end."""

    words: list[Word] = field(default_factory=list[Word])
    redirects: list[Redirect] = field(default_factory=list[Redirect])
    begin: int = -1
    end: int = -1

    @property
    def is_empty(self) -> bool:
        return self.begin < 0


@dataclass
class _Pipeline:
    joined_by: str
    drafts: list[_Draft] = field(default_factory=list[_Draft])


@dataclass(frozen=True)
class _HereDocument:
    draft: _Draft
    slot: int
    delimiter: str
    quoted: bool
    strips_tabs: bool


class StrictParser:
    """Parses one script. `parse` raises NotStatic with the reason when it is not plain."""

    def __init__(self, text: str, *, home: str) -> None:
        self._text = text
        self._home = home
        self._at = 0
        self._pipelines: list[_Pipeline] = []
        self._current = _Pipeline("")
        self._draft = _Draft()
        self._here: list[_HereDocument] = []
        self._expects = False

    def parse(self) -> Script:
        """Give the steps. Raises NotStatic."""
        self._skip_blanks()
        while self._at < len(self._text):
            self._token()
            self._skip_blanks()
        if self._expects or self._here:
            raise NotStatic("a command that is not finished")
        self._end_pipeline(";")
        return Script([self._step(pipeline) for pipeline in self._pipelines])

    def _step(self, pipeline: _Pipeline) -> Step:
        stages = tuple(
            Simple(tuple(d.words), tuple(d.redirects), self._text[d.begin : d.end]) for d in pipeline.drafts
        )
        return Step(stages, pipeline.joined_by)

    def _skip_blanks(self) -> None:
        text = self._text
        while self._at < len(text):
            if text[self._at] in " \t":
                self._at += 1
            elif text.startswith("\\\n", self._at):
                self._at += 2
            elif text[self._at] == "#":
                end = text.find("\n", self._at)
                self._at = len(text) if end < 0 else end
            else:
                return

    def _token(self) -> None:
        text, at = self._text, self._at
        if text[at] == "\n":
            self._newline()
        elif redirect := _REDIRECT.match(text, at):
            self._redirect(redirect)
        elif text.startswith(("&&", "||"), at):
            self._operator(text[at : at + 2])
        elif text[at] == "|":
            self._pipe()
        elif text[at] == ";":
            self._operator(";")
        elif text[at] == "&":
            raise NotStatic("it runs in the background")
        elif text[at] in "()":
            raise NotStatic("a subshell or function")
        else:
            self._word()

    def _newline(self) -> None:
        self._at += 1
        if not self._expects:
            self._end_pipeline(";")
        self._read_here_documents()

    def _operator(self, operator: str) -> None:
        if self._draft.is_empty:
            raise NotStatic(f"a `{operator}` out of place")
        self._at += len(operator)
        self._end_pipeline(operator)
        self._expects = operator != ";"

    def _pipe(self) -> None:
        if self._draft.is_empty:
            raise NotStatic("a `|` out of place")
        self._at += 2 if self._text.startswith("|&", self._at) else 1
        self._end_command()
        self._expects = True

    def _end_command(self) -> None:
        if not self._draft.is_empty:
            self._current.drafts.append(self._draft)
        self._draft = _Draft()

    def _end_pipeline(self, operator: str) -> None:
        self._end_command()
        if self._current.drafts:
            self._pipelines.append(self._current)
            self._current = _Pipeline(operator)

    def _open(self) -> _Draft:
        if self._draft.is_empty:
            self._draft.begin = self._at
        self._expects = False
        return self._draft

    def _word(self) -> None:
        draft = self._open()
        scanner = WordScanner(self._text, self._at, home=self._home)
        word = scanner.scan()
        following = self._text[scanner.position : scanner.position + 1]
        if following == "(" or (following in ("<", ">") and _FD_NAME.fullmatch(word.raw)):
            raise NotStatic("a subshell, a function or a descriptor kept in a variable")
        self._at = draft.end = scanner.position
        if draft.words or not self._is_prefix(word):
            draft.words.append(word)

    def _is_prefix(self, word: Word) -> bool:
        """Tell whether `word` is a `!` in front of a command; refuse what else may stand there."""
        if word.raw == "!" and not self._draft.redirects and not self._current.drafts:
            self._draft, self._expects = _Draft(), True
            return True
        if word.raw in _RESERVED or word.raw == "!":
            raise NotStatic(f"control flow ({word.raw})")
        if _ASSIGNS.match(word.raw):
            raise NotStatic("an assignment, which can change what a command does")
        if word.glob:
            raise NotStatic("a command name with a wildcard")
        return False

    def _redirect(self, match: re.Match[str]) -> None:
        draft = self._open()
        fd, op = match.groups()
        self._at = match.end()
        while self._text[self._at : self._at + 1] in (" ", "\t"):
            self._at += 1
        if self._text[self._at : self._at + 1] in ("", *"\n|&;()<>"):
            raise NotStatic("a redirection without a plain target")
        scanner = WordScanner(self._text, self._at, home=self._home)
        word = scanner.scan()
        self._at = draft.end = scanner.position
        if op in ("<<", "<<-"):
            quoted = any(char in word.raw for char in "'\"\\")
            self._here.append(_HereDocument(draft, len(draft.redirects), word.text, quoted, op == "<<-"))
            draft.redirects.append(Redirect("<<", None, fd))
        else:
            draft.redirects.append(Redirect(op, word, fd))

    def _read_here_documents(self) -> None:
        for here in self._here:
            body = self._read_body(here)
            here.draft.redirects[here.slot] = Redirect("<<", None, here.draft.redirects[here.slot].fd, body)
        self._here = []

    def _read_body(self, here: _HereDocument) -> str:
        lines: list[str] = []
        while self._at < len(self._text):
            end = self._text.find("\n", self._at)
            end = len(self._text) if end < 0 else end
            line = self._text[self._at : end]
            self._at = min(end + 1, len(self._text))
            line = line.lstrip("\t") if here.strips_tabs else line
            if line == here.delimiter:
                return "".join(lines)
            if not here.quoted and (line.endswith("\\") or _HERE_EXPANDS.search(line)):
                raise NotStatic("a here-document with expansions")
            lines.append(f"{line}\n")
        raise NotStatic("a here-document without its end")
