"""Tells what a command leaves to a container or another machine, and which paths of this one it hands over."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from agent_tui.permissions.shell.words import Word

_CONTAINERS = frozenset({"docker", "podman", "nerdctl"})
_RUNS = frozenset({"exec", "run", "create"})
_BEHIND_DASHES = {"kubectl": ("exec", "run", "debug"), "oc": ("exec", "run", "debug", "rsh"), "lxc": ("exec",), "incus": ("exec",)}  # fmt: skip
_BEFORE_VERB = frozenset(
    ["-H", "--host", "-c", "--context", "--connection", "--config", "-l", "--log-level", "--tlscacert", "--tlscert", "--tlskey", "--url", "--identity",
     "--root", "--runroot", "-n", "--namespace", "-s", "--server", "--cluster", "--user", "--kubeconfig", "--project", "-f", "--file", "-p",
     "--project-name", "--project-directory", "--profile", "--env-file", "--parallel", "--ansi", "--progress"]
)  # fmt: skip
# An option that is missing here counts as one with a value; one whose value looks like an option makes nothing run elsewhere.
_PLAIN = frozenset(
    ["detach", "interactive", "tty", "privileged", "rm", "init", "read-only", "publish-all", "no-healthcheck", "oom-kill-disable", "quiet", "help",
     "debug", "no-TTY", "no-tty", "no-deps", "service-ports", "build", "remove-orphans", "quiet-pull", "use-aliases", "replace", "no-hosts", "archive",
     "follow-link"]
)  # fmt: skip
_PLAIN_LETTERS = frozenset("ditPqT")
_SSH_PLAIN_LETTERS = frozenset("46AaCfGgKkMNnqsTtVvXxYy")
_INSIDE = frozenset(
    ["-w", "--workdir", "--entrypoint", "--tmpfs", "-e", "--env", "-l", "--label", "-h", "--hostname", "--name", "-u", "--user", "--annotation",
     "--detach-keys", "--network", "--add-host", "-p", "--publish", "--expose", "--health-cmd"]
)  # fmt: skip
_MOUNTS = frozenset({"-v", "--volume", "--mount", "--device"})
_WRITTEN = frozenset({"--cidfile", "--pidfile", "--conmon-pidfile"})
_TARGETS = frozenset({"target", "dst", "destination"})
_SETTING = re.compile(r"\s*(\w+)(?:\s*=|\s)\s*(.*)", re.DOTALL)
_COMMANDS = frozenset({"proxycommand", "localcommand", "knownhostscommand"})
_IN_CONTAINER = re.compile(r"[\w][\w.-]*:")
_FOLDERS = ("/bin/", "/usr/bin/", "/usr/local/bin/", "/opt/homebrew/bin/")
_RUN_BY_FIND = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
_CARRIERS = frozenset(
    ["builtin", "caffeinate", "command", "doas", "env", "exec", "ionice", "nice", "noglob", "nohup", "setsid", "stdbuf", "sudo", "time",
     "timeout", "unbuffer"]
)  # fmt: skip
_NO_PROGRAM = re.compile(r"-.*|[A-Za-z_]\w*=.*|[\d.]+[smhd]?", re.DOTALL)
_THIS_MACHINE = re.compile(
    r"(?:ssh://)?(?:.*@)?(?:localhost|127\.|ip6-|0[x.]|\d+(?::\d+)?$|\[?[0:]*:)", re.IGNORECASE
)
_READ_ONLY = re.compile(r"(?:ro|readonly)(?:=true|=1)?|r")


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """A command whose words from `at` on mean a container or another machine.

    `here` are the words before that mean this one; `mounts` its paths that the container gets or that are written
    for it, each with whether it may be changed. `options` are those with a value, `name` what ssh connects to.
    """

    at: int
    here: tuple[Word, ...]
    mounts: tuple[tuple[str, bool], ...] = ()
    options: tuple[tuple[str, str], ...] = ()
    name: str = ""


def elsewhere(words: Sequence[Word]) -> Elsewhere | None:
    """Read `docker exec`, `run`, `cp`, `docker compose run`, `kubectl exec -- ...` and `ssh`; None for others."""
    program = _name(words)
    if program == "ssh":
        left = over_ssh(words)
        names = [left.name, *(value for key, value in settings(left) if key == "hostname")] if left else []
        return None if any(_THIS_MACHINE.match(name) for name in names) else left
    if not _is_installed(words):
        return None
    if program in _BEHIND_DASHES:
        return _behind_dashes(words, _BEHIND_DASHES[program])
    if program not in _CONTAINERS and program not in ("docker-compose", "podman-compose"):
        return None
    reader = _Reader(words, _PLAIN_LETTERS, is_container=True)
    reader.options(known=_BEFORE_VERB)
    if reader.next_is("container") or (program in _CONTAINERS and reader.next_is("compose")):
        reader.operand()
        reader.options(known=_BEFORE_VERB)
    if reader.next_is("cp"):
        return reader.copied()
    if not reader.next_is(*_RUNS):
        return None
    reader.operand()
    reader.options()
    reader.operand()
    return reader.found()


def over_ssh(words: Sequence[Word]) -> Elsewhere | None:
    """Read `ssh`, also to this machine; None for what is not it."""
    if _name(words) != "ssh" or not _is_installed(words):
        return None
    reader = _Reader(words, _SSH_PLAIN_LETTERS, is_container=False)
    reader.options()
    name = reader.operand()
    reader.options()
    return reader.found(name)


def settings(left: Elsewhere) -> Iterator[tuple[str, str]]:
    """Give the name, in small letters, and the value of each setting that ssh gets by -o."""
    for option, text in left.options:
        if option == "-o" and (match := _SETTING.match(text)):
            yield match[1].lower(), match[2].strip().strip('"')


def local_scripts(words: Sequence[Word]) -> Iterator[str]:
    """Give what ssh runs on this machine."""
    if (left := over_ssh(words)) is not None:
        yield from (value for key, value in settings(left) if key in _COMMANDS and value)


def leaving(words: Sequence[Word], layers: Sequence[Sequence[Word]]) -> int:
    """Give where in `words` the program stands that leaves this machine, len(words) for none.

    `layers` are what the wrappers among `words` may run. What could be the value of an option, an operand of a
    wrapper or of another program is none: `sudo -u ssh cat FILE`, `sudo -n rm ssh FILE`, `find ssh h FOLDER -delete`.
    """
    for layer in layers:
        at = len(words) - len(layer)
        if _is_program(words, at) and elsewhere(layer) is not None:
            return at
    return len(words)


def _is_program(words: Sequence[Word], at: int) -> bool:
    """Tell whether the word at `at` is what is certainly run, with all words that follow."""
    carrier, before = _name(words), words[at - 1].text
    if at == 0:
        return True
    if carrier == "find":
        ends = (end for end in range(at, len(words)) if words[end].text in (";", "+"))
        return before in _RUN_BY_FIND and next(ends, len(words) - 1) == len(words) - 1
    if carrier not in _CARRIERS or before.startswith("-"):
        return False
    named = {i + 1 for i in range(1, at) if carrier in ("sudo", "doas") and words[i].text == "-u"}
    return all(i in named or _NO_PROGRAM.fullmatch(words[i].text) for i in range(1, at))


def _name(words: Sequence[Word]) -> str:
    return words[0].text.rsplit("/", 1)[-1] if words else ""


def _is_installed(words: Sequence[Word]) -> bool:
    """Tell a program of the machine from one of the project, which may be called ssh."""
    name = _name(words)
    return bool(words) and words[0].text in (name, *(folder + name for folder in _FOLDERS))


def _behind_dashes(words: Sequence[Word], runs: Sequence[str]) -> Elsewhere | None:
    texts = [word.text for word in words]
    end = texts.index("--") if "--" in texts else len(words)
    at = 1
    while at < end and texts[at].startswith("-"):
        if "=" not in texts[at] and texts[at] not in _BEFORE_VERB:
            return None
        at += 1 if "=" in texts[at] else 2
    return Elsewhere(end, tuple(words[:end])) if at < end and texts[at] in runs else None


class _Reader:
    """Reads options and operands up to what runs elsewhere."""

    def __init__(self, words: Sequence[Word], plain_letters: frozenset[str], *, is_container: bool) -> None:
        self._words = words
        self._plain_letters = plain_letters
        self._is_container = is_container
        self._at = 1
        self._here: list[Word] = [words[0]]
        self._mounts: list[tuple[str, bool]] = []
        self._options: list[tuple[str, str]] = []
        self._is_certain = True

    def next_is(self, *names: str) -> bool:
        return self._at < len(self._words) and self._words[self._at].text in names

    def operand(self) -> str:
        taken = self._words[self._at : self._at + 1]
        self._here.extend(taken)
        self._at += 1
        return taken[0].text if taken else ""

    def found(self, name: str = "") -> Elsewhere | None:
        """Give what was read; what follows runs elsewhere."""
        if not self._is_certain:
            return None
        at = min(self._at, len(self._words))
        return Elsewhere(at, tuple(self._here), tuple(self._mounts), tuple(self._options), name)

    def copied(self) -> Elsewhere | None:
        """Read `cp CONTAINER:PATH PATH`: only the sides without a container are here."""
        self.operand()
        self._plain_letters |= {"a", "L"}
        self.options()
        sides = [word.text for word in self._words[self._at :]]
        self._at = len(self._words)
        self._mounts.extend(
            (text, at > 0 or len(sides) == 1)
            for at, text in enumerate(sides)
            if text != "-" and not _IN_CONTAINER.match(text)
        )
        return self.found()

    def options(self, *, known: frozenset[str] | None = None) -> None:
        """Read options; with `known` others that take a value leave it open what follows."""
        while self._at < len(self._words) and self._words[self._at].text.startswith("-"):
            word = self._words[self._at]
            self._at += 1
            if word.text == "--":
                return
            name, value = self._option(word.text)
            if known is not None and name and name not in known:
                self._is_certain = False
            if value is None and name:
                following = self._words[self._at : self._at + 1]
                self._at += 1
                given = following[0].text if following else ""
                self._is_certain &= not given.startswith("-") or given == "-"
                self._take(name, given, (word, *following))
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
        if not self._is_container:
            self._here.extend(words)
            self._options.append((name, value))
            if name == "-E":
                self._mounts.append((value, True))
        elif name in _WRITTEN:
            self._mounts.append((value, True))
        elif name in _MOUNTS:
            self._mounts.extend(_mounted(name, value))
        elif name not in _INSIDE:
            self._here.extend(words)


def _mounted(name: str, value: str) -> Iterator[tuple[str, bool]]:
    """Give the path of this machine in `-v PATH:/x:ro` or `--mount type=bind,source=PATH,target=/x`."""
    if name == "--mount":
        fields = [field.strip('"') for field in value.split(",")]
        is_read_only = any(_READ_ONLY.fullmatch(field.lower()) for field in fields)
        for field in fields:
            key, _, path = field.partition("=")
            if key.lower() in ("source", "src") or (
                key.lower() not in _TARGETS and "/" in (path := path.rpartition("=")[2])
            ):
                yield path, not is_read_only
        return
    parts = value.split(":")
    if name == "--device" or (len(parts) > 1 and re.match(r"[/.~]|.*/", parts[0])):
        modes = parts[2].split(",") if len(parts) > 2 else []
        yield parts[0], not any(_READ_ONLY.fullmatch(mode) for mode in modes)
