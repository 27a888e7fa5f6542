"""Tells what a command leaves to a container or another machine, and which paths of this one it hands over."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from agent_tui.permissions.shell.tables import words_of
from agent_tui.permissions.shell.words import Word

_CONTAINERS = frozenset({"docker", "podman", "nerdctl"})
_RUNS = frozenset({"exec", "run", "create"})
_BEHIND_DASHES = {"kubectl": ("exec", "run", "debug"), "oc": ("exec", "run", "debug", "rsh"), "lxc": ("exec",), "incus": ("exec",)}  # fmt: skip
# An option that is missing here counts as one with a value: then less seems to run elsewhere, never more.
_PLAIN = frozenset(
    ["detach", "interactive", "tty", "privileged", "rm", "init", "read-only", "publish-all", "no-healthcheck", "oom-kill-disable", "quiet", "help",
     "debug", "no-TTY", "no-tty", "no-deps", "service-ports", "build", "remove-orphans", "quiet-pull", "use-aliases", "replace", "no-hosts"]
)  # fmt: skip
_PLAIN_LETTERS = frozenset("ditPqT")
_SSH_PLAIN_LETTERS = frozenset("46AaCfGgKkMNnqsTtVvXxYy")
_INSIDE = frozenset(
    ["-w", "--workdir", "--entrypoint", "--tmpfs", "-e", "--env", "-l", "--label", "-h", "--hostname", "--name", "-u", "--user", "--annotation",
     "--detach-keys", "--network", "--add-host", "-p", "--publish", "--expose", "--health-cmd"]
)  # fmt: skip
_MOUNTS = frozenset({"-v", "--volume", "--mount", "--device"})
_WRITTEN = frozenset({"--cidfile", "--pidfile", "--conmon-pidfile"})
_IN_CONTAINER = re.compile(r"[\w][\w.-]*:")
_FOLDERS = ("/bin/", "/usr/bin/", "/usr/local/bin/", "/opt/homebrew/bin/")
_RUN_BY_FIND = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
_READ_ONLY = re.compile(r"(?:ro|readonly)(?:=true|=1)?|r")


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """A command whose words from `at` on mean a container or another machine.

    `here` are the words before that mean this one; `mounts` its paths that the container gets or that are written
    for it, each with whether it may be changed.
    """

    at: int
    here: tuple[Word, ...]
    mounts: tuple[tuple[str, bool], ...] = ()


def elsewhere(words: Sequence[Word]) -> Elsewhere | None:
    """Read `docker exec`, `run`, `cp`, `docker compose run`, `kubectl exec -- ...` and `ssh`; None for others."""
    program = _name(words)
    if words and words[0].text not in (program, *(folder + program for folder in _FOLDERS)):
        return None  # a program of the project may be called ssh
    if program in _BEHIND_DASHES:
        return _behind_dashes(words, _BEHIND_DASHES[program])
    if program == "ssh":
        reader = _Reader(words, _SSH_PLAIN_LETTERS, is_container=False)
        reader.options()
        reader.operand()
        reader.options()
        return reader.found(operands=0)
    if program not in _CONTAINERS and program not in ("docker-compose", "podman-compose"):
        return None
    reader = _Reader(words, _PLAIN_LETTERS, is_container=True)
    reader.options()
    if reader.next_is("container") or (program in _CONTAINERS and reader.next_is("compose")):
        reader.operand()
        reader.options()
    if reader.next_is("cp"):
        return reader.copied()
    if not reader.next_is(*_RUNS):
        return None
    reader.operand()
    reader.options()
    return reader.found()


def leaving(words: Sequence[Word], layers: Sequence[Sequence[Word]]) -> int:
    """Give where in `words` the program stands that leaves this machine, len(words) for none.

    `layers` are what the wrappers among `words` may run. What could be the value of an option or an operand of a
    wrapper is no program: `sudo -u ssh cat FILE`, `find ssh h FOLDER -delete`.
    """
    operands = _name(words) in words_of("programs.txt", "wrappers with operands")
    for layer in layers:
        at = len(words) - len(layer)
        before = words[at - 1].text if at else ""
        is_certain = at == 0 or before in _RUN_BY_FIND or not (operands or before.startswith("-"))
        if is_certain and elsewhere(layer) is not None:
            return at
    return len(words)


def _name(words: Sequence[Word]) -> str:
    return words[0].text.rsplit("/", 1)[-1] if words else ""


def _behind_dashes(words: Sequence[Word], runs: Sequence[str]) -> Elsewhere | None:
    texts = [word.text for word in words]
    at = texts.index("--") if "--" in texts else len(words)
    return Elsewhere(at, tuple(words[:at])) if any(text in runs for text in texts[1:at]) else None


class _Reader:
    """Reads options and operands up to what runs elsewhere."""

    def __init__(self, words: Sequence[Word], plain_letters: frozenset[str], *, is_container: bool) -> None:
        self._words = words
        self._plain_letters = plain_letters
        self._is_container = is_container
        self._at = 1
        self._here: list[Word] = [words[0]]
        self._mounts: list[tuple[str, bool]] = []

    def next_is(self, *names: str) -> bool:
        return self._at < len(self._words) and self._words[self._at].text in names

    def operand(self) -> None:
        self._here.extend(self._words[self._at : self._at + 1])
        self._at += 1

    def found(self, *, operands: int = 1) -> Elsewhere:
        """Take the image or container; what follows runs there."""
        for _ in range(operands):
            self.operand()
        return Elsewhere(min(self._at, len(self._words)), tuple(self._here), tuple(self._mounts))

    def copied(self) -> Elsewhere:
        """Read `cp CONTAINER:PATH PATH`: only the sides without a container are here."""
        self.operand()
        self._plain_letters |= {"a", "L"}
        self.options()
        sides = [word.text for word in self._words[self._at :]]
        here = [
            (text, at > 0) for at, text in enumerate(sides) if text != "-" and not _IN_CONTAINER.match(text)
        ]
        return Elsewhere(len(self._words), tuple(self._here), tuple(here))

    def options(self) -> None:
        while self._at < len(self._words) and self._words[self._at].text.startswith("-"):
            word = self._words[self._at]
            self._at += 1
            if word.text == "--":
                return
            name, value = self._option(word.text)
            if value is None and name:
                following = self._words[self._at : self._at + 1]
                self._at += 1
                self._take(name, following[0].text if following else "", (word, *following))
            else:
                self._take(name, value or "", (word,))

    def _option(self, text: str) -> tuple[str, str | None]:
        """Give the option that takes a value and that value, None when the next word is it; ("", "") for plain ones."""
        if text.startswith("--"):
            name, equals, value = text.partition("=")
            return ("", "") if name[2:] in _PLAIN and not equals else (name, value if equals else None)
        for at, letter in enumerate(text[1:], start=1):
            if letter not in self._plain_letters:
                rest = text[at + 1 :]
                return f"-{letter}", rest.removeprefix("=") if rest else None
        return "", ""

    def _take(self, name: str, value: str, words: Sequence[Word]) -> None:
        if not self._is_container or name not in _MOUNTS | _WRITTEN | _INSIDE:
            self._here.extend(words)
        elif name in _WRITTEN:
            self._mounts.append((value, True))
        elif name in _MOUNTS:
            self._mounts.extend(_mounted(name, value))


def _mounted(name: str, value: str) -> Iterator[tuple[str, bool]]:
    """Give the path of this machine in `-v PATH:/x:ro` or `--mount type=bind,source=PATH,target=/x`."""
    if name == "--mount":
        fields = value.split(",")
        named = {name: given for name, _, given in (field.partition("=") for field in fields)}
        path = named.get("source") or named.get("src") or ""
        if path and named.get("type", "bind") != "volume":
            yield path, not any(_READ_ONLY.fullmatch(field) for field in fields)
        return
    parts = value.split(":")
    if name == "--device" or (len(parts) > 1 and re.match(r"[/.~]|.*/", parts[0])):
        modes = parts[2].split(",") if len(parts) > 2 else []
        yield parts[0], not any(_READ_ONLY.fullmatch(mode) for mode in modes)
