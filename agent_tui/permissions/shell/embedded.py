"""Finds the files that code inside a word names: `sed 'r FILE'`, `python -c "open('FILE')"`, `sqlite3 x '.read FILE'`."""

import re
from collections.abc import Iterator, Sequence

from agent_tui.permissions.shell.readers import readers
from agent_tui.permissions.shell.script import Simple
from agent_tui.permissions.shell.sed import sed_files, sed_scripts
from agent_tui.permissions.shell.tables import words_of
from agent_tui.permissions.shell.words import Word

_CODE_OPTIONS = re.compile(r"-(?:c|e|ex|E|o|eval|expr)|--(?:eval|exec|expr|execute|command|cmd|rsh)")
_GLUED_SETTING = re.compile(r"-o[A-Za-z]+")
_PATHS_FED = re.compile(r"--stdin-paths|--(?:pathspec-from-file|files-from|files0-from)=-")
_RUNS_COMMANDS = re.compile(r"system|popen|exec|spawn|subprocess|shell|check_|getline|`|\bqx|%x|\|", re.I)
_MODULES = {
    "jq": re.compile(r"(?:import|include)\s*\"([^\"]*)\""),
    "yq": re.compile(r"load\w*\(\s*\"([^\"]*)\""),
}
_LIST = re.compile(r"(?:\bq[qwrx]?|%[qQwWx])\s*[{(\[<|!/]([^})\]>|!\n]*)")
_QUOTES = re.compile(r"['\"`]")
_BETWEEN = re.compile(r"[\s'\"`()\[\]{};,|&<>=!]+")


def runs_code(program: str) -> bool:
    """Tell whether a program is known to take its program as an argument."""
    return _is_listed(program, "runs code")


def files_in_code(program: str, words: Sequence[Word], fed: Sequence[Word]) -> Iterator[tuple[str, bool]]:
    """Give what may name a file in the code that a program gets in `words` or is fed, and whether it is written.

    Strings of programming languages count as a whole, every word where a language knows names without quotes. Both
    give much that is no path; what is put together at run time is not found.
    """
    if program in ("sed", "gsed"):
        for script in (*sed_scripts(words), *fed):
            yield from sed_files(script.text)
    else:
        yield from ((name, False) for name in _names(program, words, fed))


def _names(program: str, words: Sequence[Word], fed: Sequence[Word]) -> Iterator[str]:
    texts = [word.text for word in words if not word.plain]
    inputs = [word.text for word in fed]
    if program in _MODULES:
        yield from (match for text in (*texts, *inputs) for match in _MODULES[program].findall(text))
    elif runs_code(program):
        for text in (*texts, *inputs):
            yield from _strings(text)
    elif _is_listed(program, "runs lines"):
        for text in (*texts, *inputs):
            yield from words_in(text)
    else:
        if program not in readers():  # `grep -E` takes a pattern
            yield from (name for text in _values(words) for name in words_in(text))
        if _is_listed(program, "is fed names") or any(_PATHS_FED.fullmatch(word.text) for word in words):
            yield from (name for text in inputs for name in words_in(text))


def _values(words: Sequence[Word]) -> Iterator[str]:
    """Give what options whose value is code were given, in a word of its own or behind `=`."""
    before = ""
    for word in words:
        name, _, value = word.text.partition("=")
        if not word.plain and _CODE_OPTIONS.fullmatch(before):
            yield word.text
        elif not word.plain and (_CODE_OPTIONS.fullmatch(name) or _GLUED_SETTING.fullmatch(name)):
            yield value
        before = word.text


def _is_listed(program: str, table: str) -> bool:
    listed = words_of("programs.txt", table)
    return program in listed or re.sub(r"[\d.]+$", "", program) in listed


def _strings(code: str) -> Iterator[str]:
    """Give what stands between two quotes, whichever; the words of it as well where the code may run commands."""
    runs = _RUNS_COMMANDS.search(code) is not None
    for piece in _QUOTES.split(code)[1:]:
        name = piece.rstrip("\\").lstrip("<>+|& ")
        if name and "\n" not in name and len(name) < 4096:
            yield name
            if runs and " " in name:
                yield from words_in(name)
    for match in _LIST.finditer(code):
        yield from words_in(match[1])


def words_in(text: str) -> Iterator[str]:
    """Give the words of a script whose names stand without quotes."""
    for word in dict.fromkeys(_BETWEEN.split(text)):
        if name := word.lstrip("@:+\\").rstrip("\\:."):
            yield name


def fed_texts(simple: Simple, upstream: Simple | None) -> list[Word]:
    """Give the texts a command is fed: here-documents and here-strings, also of what feeds it, what `echo` prints."""
    texts = [*_here(simple), *(_here(upstream) if upstream is not None else ())]
    if upstream is not None and upstream.words and upstream.words[0].text in ("echo", "printf"):
        texts.append(" ".join(word.text for word in upstream.words[1:] if not word.text.startswith("-")))
    return [Word(text, "", static=False) for text in texts if text]


def _here(simple: Simple) -> Iterator[str]:
    for redirect in simple.redirects:
        if redirect.body or (redirect.op == "<<<" and redirect.target):
            yield redirect.body or (redirect.target.text if redirect.target else "")
