"""Takes off programs that only run another one (`timeout 5 ls`)."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from agent_tui.permissions.shell.options import Spec, parse_spec, read_use
from agent_tui.permissions.shell.tables import words_of
from agent_tui.permissions.shell.words import Word

SHELLS = frozenset({"bash", "sh", "zsh", "dash", "ksh", "mksh", "ash", "fish", "csh", "tcsh", "rbash"})
SUPERUSER = frozenset({"sudo", "doas", "su", "pkexec", "runuser", "gosu", "su-exec", "machinectl"})

_HARMLESS = {
    "timeout": ("-pv --foreground --preserve-status --verbose -k= -s= --kill-after= --signal=", 1),
    "nice": ("-# -n= --adjustment=", 0),
    "nohup": ("", 0),
    "time": ("-p", 0),
    "command": ("", 0),
    "builtin": ("", 0),
    "env": ("", 0),
    "stdbuf": ("-i= -o= -e= --input= --output= --error=", 0),
    "ionice": ("-t -c= -n= --class= --classdata= --ignore", 0),
}
"""Wrappers that change nothing but time and priority: their options and how many operands come first."""

MAX_LAYERS = 128
_SUBCOMMANDS = frozenset({"run", "exec", "tool", "x", "stat", "record", "shell"})
_DURATION = re.compile(r"[\d.]+[smhd]?")
_NAME = re.compile(r"[A-Za-z0-9_.+/~-]+")
_ASSIGN = re.compile(r"[A-Za-z_]\w*=")
_SPLIT_STRING = re.compile(r"(?:-[A-Za-z0-9]*?S|--split-string(?:=|$))(.*)", re.DOTALL)
_CALLBACK = re.compile(r"-[A-Za-z]*?C(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Unwrapped:
    """What is left of a command. `words` is the program that counts, `through` the wrappers taken off.

    `in_shell` says that only what the shell itself knows (`command`, `builtin`, the keyword `time`) stands before
    it, so a builtin is meant; `found` are the wrappers that PATH finds instead.
    """

    words: tuple[Word, ...]
    through: tuple[str, ...] = ()
    in_shell: bool = True
    found: tuple[str, ...] = ()


def unwrap(words: tuple[Word, ...]) -> Unwrapped:
    """Take off harmless wrappers whose options are understood."""
    through: list[str] = []
    found: list[str] = []
    while words and (rest := _inner(words)) is not None:
        name = words[0].text
        is_keyword = name == "time" and words[0].plain and not through
        if found or not (is_keyword or name in ("command", "builtin")):
            found.append(name)
        through.append(name)
        words = rest
    return Unwrapped(words, tuple(through), not found, tuple(found))


def _inner(words: tuple[Word, ...]) -> tuple[Word, ...] | None:
    """Give the command inside one harmless wrapper; None when there is none."""
    name = words[0].text
    known = _HARMLESS.get(name)
    if known is None:
        return None
    options, skipped = known
    spec = parse_spec(f"{options} | text")
    own = _own_words(spec, words[1:])
    rest = words[1 + own :]
    if read_use(spec, words[1 : 1 + own]).refused or len(rest) <= skipped:
        return None
    rest = rest[skipped:]
    is_plain = not rest[0].text.startswith("-") and not rest[0].glob
    return rest if is_plain and not _ASSIGN.match(rest[0].text) else None


def _own_words(spec: Spec, words: tuple[Word, ...]) -> int:
    """Count the words of a wrapper's own options: it stops at the first operand."""
    at = 0
    while at < len(words) and words[at].text.startswith("-") and words[at].text != "-":
        text = words[at].text
        at += 1
        if text == "--":
            break
        name = text if text.startswith("--") else text[:2]
        takes = spec.options.get(name)
        if takes and takes != "?" and "=" not in text and len(text) == len(name):
            at += 1
    return min(at, len(words))


def possible_inner(words: tuple[Word, ...]) -> Iterator[tuple[Word, ...]]:
    """Give every command that a wrapper could run, for rules that deny: liberal on purpose, the first MAX_LAYERS."""
    if not words or base_name(words[0].text) not in words_of("programs.txt", "wrappers"):
        return
    goes_on = base_name(words[0].text) in words_of("programs.txt", "wrappers with operands")
    for at in range(1, min(len(words), MAX_LAYERS + 1)):
        text, before = words[at].text, words[at - 1].text
        if text.startswith("-") or _ASSIGN.match(text) or _DURATION.fullmatch(text):
            continue
        if _NAME.fullmatch(text):
            yield words[at:]
        may_be_value = before.startswith("-") and before != "--" and "=" not in before
        if not (may_be_value or goes_on or text in _SUBCOMMANDS):
            return


def base_name(program: str) -> str:
    """Give the last component of a program's name."""
    return program.rsplit("/", 1)[-1]


def shell_script(words: tuple[Word, ...]) -> Word | None:
    """Give the script that `bash -c SCRIPT`, `eval ...`, `trap`, `env -S` would run; None when it runs none."""
    name = base_name(words[0].text) if words else ""
    if name == "eval" and len(words) > 1:
        return _joined(words[1:])
    if name in SHELLS or name in ("su", "script", "flock", "watch"):
        return _after_c(words, name)
    if name == "trap":
        operands = [word for word in words[1:] if not word.text.startswith("-")]
        return operands[0] if len(operands) > 1 else None
    if name == "alias":
        text = "\n".join(word.text.partition("=")[2] for word in words[1:])
        return Word(text, text, static=all(word.static for word in words)) if text.strip() else None
    if name == "env":
        return _valued(words, _SPLIT_STRING)
    if name in ("complete", "compgen", "mapfile", "readarray"):
        return _valued(words, _CALLBACK)
    if name in ("ssh", "parallel") and len(words) > 2:
        return _joined(words[2:])
    return None


def _valued(words: tuple[Word, ...], option: re.Pattern[str]) -> Word | None:
    """Give the value of an option, glued to it or in the word that follows."""
    for at in range(1, len(words)):
        if match := option.fullmatch(words[at].text):
            following = words[at + 1] if at + 1 < len(words) else None
            return Word(match[1], match[1], static=words[at].static) if match[1] else following
    return None


def _after_c(words: tuple[Word, ...], name: str) -> Word | None:
    if name == "watch":
        rest = [word for word in words[1:] if not word.text.startswith("-")]
        return _joined(tuple(rest)) if rest else None
    for at in range(1, len(words) - 1):
        text = words[at].text
        if text == "--command" or (
            re.fullmatch(r"[-+][A-Za-z]*c[A-Za-z]*", text) and not text.startswith("--")
        ):
            following = [word for word in words[at + 1 :] if not word.text.startswith(("-", "+"))]
            return following[0] if following else None
    return None


def _joined(words: tuple[Word, ...]) -> Word:
    text = " ".join(word.text for word in words)
    return Word(text, text, static=all(word.static for word in words))
