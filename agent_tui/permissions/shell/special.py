"""Harmless uses of programs that an option list cannot describe."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from agent_tui.permissions.shell.awk import awk_only_prints
from agent_tui.permissions.shell.options import Operand, parse_spec, read_use
from agent_tui.permissions.shell.sed import sed_only_prints
from agent_tui.permissions.shell.tables import words_of
from agent_tui.permissions.shell.words import Word


@dataclass(frozen=True, slots=True)
class Reading:
    """What a harmless use reads: words that name paths, with what is done with them.

    `refused` says why it is not harmless; then nothing else counts. A search of directories may follow links,
    may leave out hidden files and may look only at files of certain names (`only`, glob patterns; () is all).
    """

    paths: tuple[tuple[Word, Operand], ...] = ()
    refused: str = ""
    follows_links: bool = False
    skips_hidden: bool = False
    only: tuple[str, ...] = ()


def refuse(why: str) -> Reading:
    """Give a use that is not known to be harmless."""
    return Reading(refused=why)


HARMLESS = Reading()
Check = Callable[[Sequence[Word]], Reading]
"""Judges the words after the program's name."""


def check_echo(_words: Sequence[Word]) -> Reading:
    """`echo` prints whatever it gets."""
    return HARMLESS


def check_printf(words: Sequence[Word]) -> Reading:
    """`printf` prints, but -v and %n set variables."""
    if not words or words[0].text.startswith("-"):
        return refuse("an option of printf")
    if re.search(r"%[^%A-Za-z]*[hjlLqtz]*n", words[0].text):
        return refuse("%n in the format of printf")
    return HARMLESS


def check_test(words: Sequence[Word]) -> Reading:
    """`test` and `[` look at files; -v and -R evaluate what they are given."""
    if words and words[-1].text == "]":
        words = words[:-1]
    texts = [word.text for word in words]
    if any(text in ("-v", "-R") for text in texts):
        return refuse("-v of test")
    files = [
        words[at + 1]
        for at, text in enumerate(texts[:-1])
        if re.fullmatch(r"-[a-uwxyzGLNOS]", text) and text not in ("-n", "-z", "-o", "-a", "-t")
    ]
    around = [
        words[at + step]
        for at, text in enumerate(texts)
        if text in ("-nt", "-ot", "-ef")
        for step in (-1, 1)
        if 0 <= at + step < len(words)
    ]
    return Reading(tuple((word, Operand.NAME) for word in (*files, *around)))


def check_lookup(words: Sequence[Word]) -> Reading:
    """`type` and `command -v` say what a name would run."""
    flags = [word.text for word in words if word.text.startswith("-")]
    return HARMLESS if all(re.fullmatch(r"-[atpPvV]+", flag) for flag in flags) else refuse("an option")


def check_date(words: Sequence[Word]) -> Reading:
    """`date` prints; an operand without `+`, -s and -f set the clock or read files."""
    texts = [word.text for word in words]
    at = 0
    while at < len(texts):
        text = texts[at]
        if text in ("-d", "-v", "-r") and at + 1 < len(texts) and (text != "-r" or texts[at + 1].isdigit()):
            at += 1
        elif not re.fullmatch(
            r"\+.*|-[uRI]+|-I\w*|--utc|--universal|--rfc-email|--iso-8601(=\w+)?|--rfc-3339=\w+|--date=.*|-d.+|--help|--version",
            text,
            re.DOTALL,
        ):
            return refuse(f"{text!r} of date")
        at += 1
    return HARMLESS


_FIND_FILE = frozenset({"-newer", "-anewer", "-cnewer", "-samefile"})


def check_find(words: Sequence[Word]) -> Reading:
    """`find` with tests and printing only; links are not followed."""
    paths: list[tuple[Word, Operand]] = []
    only: tuple[str, ...] = ()
    at = 0
    while at < len(words) and words[at].text in ("-P", "-O1", "-O2", "-O3"):
        at += 1
    while at < len(words) and not words[at].text.startswith(("-", "(", "!", ",")):
        paths.append((words[at], Operand.NAME))
        at += 1
    while at < len(words):
        text = words[at].text
        if text in _FIND_FILE and at + 1 < len(words):
            paths.append((words[at + 1], Operand.NAME))
            at += 1
        elif text in words_of("programs.txt", "find value") and at + 1 < len(words):
            only = (*only, words[at + 1].text) if text == "-name" else only
            at += 1
        elif text not in words_of("programs.txt", "find plain"):
            return refuse(f"{text} of find")
        at += 1
    branches = any(word.text in ("-o", "-or", "!", "-not", ",") for word in words)
    return Reading(tuple(paths), only=() if branches else only[:1])


def check_sed(words: Sequence[Word]) -> Reading:
    """`sed SCRIPT FILE` without -i, where the script only prints."""
    spec = parse_spec(
        "-nErsuz -e= --quiet --silent --regexp-extended --separate --null-data --unbuffered --posix --expression= | text+file"
    )
    use = read_use(spec, tuple(words))
    if use.refused:
        return refuse(use.refused)
    scripts = [value.text for name, value in use.options if name in ("-e", "--expression") and value]
    files = list(use.operands)
    if not scripts and files:
        scripts = [files.pop(0).text]
    if not scripts or not all(sed_only_prints(script) for script in scripts):
        return refuse("a sed script that may do more than print")
    return Reading(tuple((word, Operand.FILE) for word in files if word.text != "-"))


def check_jq(words: Sequence[Word]) -> Reading:
    """`jq FILTER FILE`, without options that read files by themselves and without modules."""
    from agent_tui.permissions.shell.readers import readers  # the table is built on first use

    rest: list[Word] = []
    at = 0
    while at < len(words):
        if words[at].text == "--":
            rest.extend(words[at:])
            break
        if words[at].text in ("--arg", "--argjson") and at + 2 < len(words):
            at += 3
            continue
        rest.append(words[at])
        at += 1
    use = read_use(readers()["jq"], tuple(rest))
    if use.refused:
        return refuse(use.refused)
    if use.operands and re.search(
        r"\b(import|include|input_line_number|\$__loc__|get_search_list)\b", use.operands[0].text
    ):
        return refuse("a module of jq")
    return Reading(tuple((word, Operand.FILE) for word in use.operands[1:] if word.text != "-"))


def check_yq(words: Sequence[Word]) -> Reading:
    """`yq FILTER FILE` without -i and without operators that load files or variables."""
    spec = parse_spec(
        "-CMNPSerjnsy -o= -p= -I= --output-format= --input-format= --prettyPrint --colors --no-colors --no-doc"
        " --unwrapScalar? --indent= --null-input --exit-status --raw-output | text+file >=1"
    )
    use = read_use(spec, tuple(words))
    if use.refused or use.has("-s"):
        return refuse(use.refused or "-s of yq writes files")
    is_named = use.operands[0].text in ("e", "eval", "ea", "eval-all")
    operands = use.operands[1:] if is_named else use.operands
    if not operands or re.search(
        r"\b(load\w*|env|envsubst|strenv|split_doc|system|eval)\b", operands[0].text
    ):
        return refuse("an operator of yq that reads more than its input")
    return Reading(tuple((word, Operand.FILE) for word in operands[1:] if word.text != "-"))


def check_awk(words: Sequence[Word]) -> Reading:
    """`awk 'PROGRAM' FILE` where the program only computes and prints."""
    use = read_use(parse_spec("-F= -v= | text+file >=1"), tuple(words))
    if use.refused:
        return refuse(use.refused)
    if any("=" in word.text for word in use.operands[1:]) or not awk_only_prints(use.operands[0].text):
        return refuse("an awk program that may write, run or read something else")
    return Reading(tuple((word, Operand.FILE) for word in use.operands[1:] if word.text != "-"))


def check_tar(words: Sequence[Word]) -> Reading:
    """`tar -tf FILE` lists an archive."""
    rest = list(words)
    if rest and re.fullmatch(r"(?=.)[tvzjJ]*f?[tvzjJ]*", rest[0].text):
        # Without a dash the letters are flags, and their values are the words that follow.
        letters = rest[0].text.replace("f", "") + ("f" if "f" in rest[0].text else "")
        rest[0] = Word(f"-{letters}", rest[0].raw)
    use = read_use(
        parse_spec("-tvzjJ -f=@ --list --verbose --gzip --bzip2 --xz --zstd --file=@ --full-time | text"),
        tuple(rest),
    )
    files = [value for name, value in use.options if name in ("-f", "--file") and value]
    if (
        use.refused
        or not use.has("-t", "--list")
        or len(files) != 1
        or ":" in files[0].text
        or files[0].text == "-"
    ):
        return refuse(use.refused or "more than listing an archive")
    return Reading(((files[0], Operand.FILE),))


def check_ps(words: Sequence[Word]) -> Reading:
    """`ps` lists processes; the `e` that shows their environment is refused."""
    from agent_tui.permissions.shell.readers import readers  # the table is built on first use

    use = read_use(readers()["ps"], tuple(words))
    shown = [word.text for word in use.operands] + [
        word.text[1:] for word in words if re.fullmatch(r"-[A-Za-z]*[ax][A-Za-z]*", word.text)
    ]
    formats = [value.text for name, value in use.options if name in ("-o", "-O", "--format") and value]
    if any(re.fullmatch(r"[A-Za-z]*e[A-Za-z]*", text) for text in shown) or any(
        "env" in text for text in formats
    ):
        return refuse("the environment of processes")
    return HARMLESS if not use.refused else refuse(use.refused)


def check_xargs_free(words: Sequence[Word]) -> Reading:
    """Nothing at all may follow (`jobs`, `times`)."""
    return refuse("operands") if words else HARMLESS


def check_ss(words: Sequence[Word]) -> Reading:
    """`ss` and `netstat` list sockets, by number where names would be looked up."""
    texts = [word.text for word in words]
    return (
        HARMLESS
        if texts
        and all(re.fullmatch(r"-[tulnpa46xeo]+", text) for text in texts)
        and any("n" in text for text in texts)
        else refuse("an option")
    )


_IP_OBJECT = re.compile(r"a|addr|address|l|link|r|ro|route|ru|rule|n|neigh|neighbour")


def check_ip(words: Sequence[Word]) -> Reading:
    """`ip addr`, `ip -br link show dev eth0`: an object, and nothing or `show` and what to show of it."""
    texts = [word.text for word in words]
    while texts and re.fullmatch(
        r"-[46cdjops]|-br|-brief|-c=\w+|-color(=\w+)?|-details|-json|-oneline|-pretty|-stats", texts[0]
    ):
        texts = texts[1:]
    if not texts or not _IP_OBJECT.fullmatch(texts[0]):
        return refuse("an object or option of ip")
    if texts[1:] and (
        texts[1] not in ("show", "list", "ls") or not all(re.fullmatch(r"[\w.:@/]+", t) for t in texts[2:])
    ):
        return refuse(f"{texts[1]} of ip")
    return HARMLESS


def check_ifconfig(words: Sequence[Word]) -> Reading:
    """`ifconfig`, `ifconfig -a` and `ifconfig eth0` show; more words set something."""
    shows = len(words) < 2 and all(re.fullmatch(r"-[as]|\w+", word.text) for word in words)
    return HARMLESS if shows else refuse("more than one word of ifconfig")


def check_history(words: Sequence[Word]) -> Reading:
    """`history` and `history 20` print."""
    shows = len(words) < 2 and all(word.text.isdigit() for word in words)
    return HARMLESS if shows else refuse("an option of history")


def check_env(words: Sequence[Word]) -> Reading:
    """`env` alone prints the environment."""
    return refuse("operands of env") if any(word.text not in ("-0", "--null") for word in words) else HARMLESS


def check_umask(words: Sequence[Word]) -> Reading:
    """`umask` and `ulimit` without a new value only print."""
    return HARMLESS if all(re.fullmatch(r"-[Spa]", word.text) for word in words) else refuse("a new value")


CHECKS: dict[str, Check] = {
    "echo": check_echo, "printf": check_printf, "test": check_test, "[": check_test, "type": check_lookup,
    "date": check_date, "find": check_find, "sed": check_sed, "jq": check_jq, "yq": check_yq, "awk": check_awk,
    "gawk": check_awk, "mawk": check_awk, "tar": check_tar, "ps": check_ps,
    "jobs": check_xargs_free, "times": check_xargs_free, "dirs": check_xargs_free, "ss": check_ss, "ip": check_ip,
    "ifconfig": check_ifconfig, "history": check_history, "env": check_env,
    "umask": check_umask, "ulimit": check_umask,
}  # fmt: skip

BUILTINS = frozenset(
    [
        "echo",
        "printf",
        "test",
        "[",
        "type",
        "cd",
        "pwd",
        "true",
        "false",
        ":",
        "command",
        "builtin",
        "jobs",
        "times",
        "dirs",
        "umask",
        "ulimit",
        "help",
        "history",
        "alias",
        "kill",
    ]
)
"""Names that bash answers itself, wherever PATH points."""
