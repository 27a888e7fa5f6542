"""File names in the headers of a patch."""

import re

from agent_tui.protocol.errors import ToolError

_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
_ESCAPE = re.compile(r"\\([0-7]{3}|.)")
_LETTERS = {"a": 7, "b": 8, "t": 9, "n": 10, "v": 11, "f": 12, "r": 13, '"': 34, "\\": 92}
_PREFIXES = (("a/", "b/"), ("i/", "w/"), ("c/", "i/"), ("c/", "w/"), ("o/", "w/"), ("1/", "2/"))
_EPOCH = re.compile(r"\t(?:1970-01-01|1969-12-31)[ T]")
DEV_NULL = "/dev/null"


def header_name(value: str) -> str:
    """Give the name of a `---`, `+++` or rename line: without its time stamp and quotes; "" for /dev/null."""
    quoted = _QUOTED.match(value)
    name = unquoted(quoted[1]) if quoted else value.partition("\t")[0].rstrip("\r")
    return "" if name == DEV_NULL else name


def is_epoch(value: str) -> bool:
    """Tell whether the time stamp says that the file does not exist, as `diff -N` writes it."""
    return bool(_EPOCH.search(value))


def unquoted(name: str) -> str:
    """Undo the quoting of git: backslash letters and three octal digits, which stand for bytes of UTF-8."""
    raw = bytearray()
    at = 0
    for match in _ESCAPE.finditer(name):
        raw += name[at : match.start()].encode("utf-8", "surrogateescape")
        code = match[1]
        raw.append(int(code, 8) & 0xFF if code[0].isdigit() else _LETTERS.get(code, ord(code[0]) & 0xFF))
        at = match.end()
    raw += name[at:].encode("utf-8", "surrogateescape")
    return raw.decode("utf-8", "surrogateescape")


def stripped_pair(old: str, new: str) -> tuple[str, str]:
    """Take `a/` and `b/`, or another pair that git uses, from two names; "" stands for a missing side."""
    for first, second in _PREFIXES:
        if (not old or old.startswith(first)) and (not new or new.startswith(second)):
            return old[len(first) :], new[len(second) :]
    return old, new


def git_names(line: str) -> tuple[str, str]:
    """Give both names of a `diff --git` line; equal ones when they hold blanks and no quotes."""
    rest = line.removeprefix("diff --git ").rstrip("\r")
    parts = [unquoted(part) for part in _QUOTED.findall(rest)]
    if len(parts) == 2:
        return stripped_pair(*parts)
    if len(parts) == 1:
        plain = _QUOTED.sub("", rest).strip()
        return stripped_pair(*((parts[0], plain) if rest.startswith('"') else (plain, parts[0])))
    middle = len(rest) // 2
    if len(rest) % 2 and rest[middle] == " ":
        old, new = stripped_pair(rest[:middle], rest[middle + 1 :])
        if old == new:
            return old, new
    old, _, new = rest.partition(" ")
    if " " in new:
        return "", ""  # the lines that follow name them
    return stripped_pair(old, new)


def check_name(name: str) -> None:
    """Refuse a name that leads out of the project by its spelling. Raises ToolError."""
    if name.startswith(("/", "~")):
        raise ToolError(f"{name!r}: a patch must use paths relative to the project. Nothing was changed.")
    if ".." in name.split("/"):
        raise ToolError(f"{name!r}: a patch must not use '..' in a path. Nothing was changed.")
