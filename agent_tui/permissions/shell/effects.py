"""Says what a command that is not known to be harmless touches outside the project."""

import contextlib
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from agent_tui.permissions.paths import is_inside, is_secret, protected_by
from agent_tui.permissions.shell.elsewhere import elsewhere
from agent_tui.permissions.shell.embedded import files_in_code, runs_code
from agent_tui.permissions.shell.model import Touch
from agent_tui.permissions.shell.network import Network
from agent_tui.permissions.shell.pathwords import in_cluster, in_lists, in_urls, is_label, leads_somewhere
from agent_tui.permissions.shell.sed import sed_scripts
from agent_tui.permissions.shell.tables import words_of
from agent_tui.permissions.shell.words import NotStatic, Word
from agent_tui.permissions.shell.world import Place, World
from agent_tui.permissions.shell.wrappers import SHELLS, base_name
from agent_tui.protocol.permissions import PermissionKind, Risk

_WRITING_OPTIONS = re.compile(
    r"--?(?:[oOdCtDJPTrf]|(?i:out|outfile|output|output-\w+|out-?dir|dest|destination|target|target-dir\w*|prefix|directory|dir"
    r"|install-dir|log-?file|save|export|dump|report|cwd|chdir|work-tree|git-dir|root|userbase|cache-dir|trace"
    r"|fprint\w*|fls|cookie-jar|dump-header|directory-prefix|append-output|profile|datadir|compress-program|suffix"
    r"|write-out\w*|keyout|path|one-top-level|junit-?xml|basetemp|[\w-]+-(?:destination|output|outdir|out)|\w+_out))"
)
_CLUSTER = re.compile(r"-[A-Za-z]{2,}")
_SECOND_IS_TARGET = frozenset({"uniq", "xxd"})
_LAST_IS_TARGET = frozenset({"cp", "ln", "install", "scp", "rsync", "link"})


_PRINTS = frozenset(
    ["echo", "printf", "true", "false", ":", "export", "declare", "typeset", "local", "readonly", "unset"]
)
_LOOKS = frozenset(
    [
        "list",
        "show",
        "search",
        "policy",
        "info",
        "status",
        "-l",
        "-L",
        "-S",
        "-a",
        "-q",
        "--list",
        "--version",
    ]
)
_TOUCHES_LINKS = frozenset(["rm", "unlink", "mv", "ln", "rmdir", "trash"])
_REMOVES = frozenset(["rm", "mv", "rmdir", "trash"])
_RUNS_CODE = re.compile(
    r"g?sed|[gmn]?awk|python[\d.]*|node(js)?|perl|ruby|php|lua|deno|bun|Rscript|jq|ed|ex|vim?|nvim|emacs"
)
_WRITES_IN_CODE = re.compile(
    r"""\bw\b|['"](w|a|x|wb|ab|w\+|a\+)['"]|[wW]rite|>|unlink|remove|rmtree|mkdir|rename|copy|move|symlink|chmod|system"""
)
_PATH_IN_CODE = re.compile(r"(?<![\w.)/~-])(~/|/(?=[a-z]))[\w.@+/-]*[\w]")


@dataclass(frozen=True)
class Effects:
    """Finds the touches of one command that runs in `cwd`."""

    world: World
    cwd: str

    def of(self, words: Sequence[Word]) -> Iterator[Touch]:
        """Give the paths outside the project that the words name, and what is known of the program."""
        program = base_name(words[0].text)
        if program in _PRINTS:
            return
        if (left := elsewhere(words)) is not None:
            yield from self.named(program, left.here[1:])
            yield from self._handed_over(program, left.mounts)
        elif program in ("git", "tar", "make", "gmake", "cmake", "ninja", "bsdtar"):
            kept = [
                word for at, word in enumerate(words) if not (at and "-C" in (word.text, words[at - 1].text))
            ]
            yield from Effects(self.world, self._moved(words)).named(program, kept[1:])
        else:
            scripts = sed_scripts(words[1:]) if program in ("sed", "gsed") else ()
            operands = [word for word in words[1:] if self._is_no_script(word, scripts)]
            yield from self.named(program, operands)
        yield from self._known(program, [word.text for word in words[1:]])

    def _is_no_script(self, word: Word, scripts: Sequence[Word]) -> bool:
        """Tell whether a word is none of the scripts; one that names a file may be it after an empty script."""
        is_script = any(word is script for script in scripts)
        return not is_script or os.path.lexists(os.path.join(self.cwd, word.text))

    def _handed_over(self, program: str, mounts: Sequence[tuple[str, bool]]) -> Iterator[Touch]:
        """Give a touch for each path that a container gets."""
        for path, writes in mounts:
            for place in self._places(Word(path, path), path):
                if self._is_path(place, path):
                    kind = PermissionKind.WRITE if writes else PermissionKind.READ
                    yield self._by_code(place, kind, program)

    def _moved(self, words: Sequence[Word]) -> str:
        """Give the directory that `-C DIR` moves to."""
        cwd = self.cwd
        for at in range(1, len(words) - 1):
            if words[at].text == "-C":
                cwd = self.world.place(words[at + 1].text, cwd).named
        return cwd

    def named(self, program: str, words: Sequence[Word]) -> Iterator[Touch]:
        """Give a touch for each path outside among the words."""
        if self.cwd != self.world.project and not is_inside(os.path.realpath(self.cwd), self.world.project):
            yield self.write(self.world.place(".", self.cwd), f"{program} works in {self.cwd}", folder=True)
        operands = [at for at, word in enumerate(words) if not word.text.startswith("-")]
        for at, word in enumerate(words):
            for text, option in self._candidates(program, words, at):
                is_target = option != "" or operands[-1:] == [at]
                for place in self._places(word, text, itself=program in _TOUCHES_LINKS):
                    if self._is_path(place, text) or self._is_taken_away(program, place, is_target):
                        yield self._touch(program, place, option, at, operands, words)

    def _candidates(self, program: str, words: Sequence[Word], at: int) -> Iterator[tuple[str, str]]:
        """Give (text that may be a path, option it belongs to) for one word."""
        text = words[at].text
        before = words[at - 1].text if at else ""
        yield from ((path, before) for path in in_urls(text))
        if "://" in text or is_label(program, text):
            return
        if not _RUNS_CODE.fullmatch(program) and program not in words_of(
            "programs.txt", "one letter options"
        ):
            glued = in_cluster(text)
            if glued and leads_somewhere(glued[1]):
                yield glued[1], glued[0]
            option = text.partition("=")[0] if text.startswith("-") else before
            yield from ((path, option) for path in in_lists(text.partition("=")[2] or text))
        if "@" in text:
            at_sign = text.rpartition("@")[2]
            yield at_sign.partition(";")[0].strip('"') if program == "curl" else at_sign, ""
        if text.startswith("--"):
            name, _, value = text.partition("=")
            yield value, name
        elif text.startswith("-") and len(text) > 2:
            yield text[2:].removeprefix("="), text[:2]
            name, equals, value = text.partition("=")
            if equals and len(name) > 2:
                yield value, name
        elif not text.startswith("-"):
            if ":" not in text or os.path.lexists(os.path.join(self.cwd, text)):
                yield text, before if before.startswith("-") and "=" not in before else ""
            name, equals, value = text.partition("=")
            if equals:
                yield value, "" if name in ("if", "IN") else "--output"
            if ":" in text and not equals:
                yield from ((part, before) for part in text.split(":")[:2])

    def in_code(self, program: str, words: Sequence[Word], fed: Sequence[Word]) -> Iterator[Touch]:
        """Give the paths that a piece of code (`python -c`, `sed`, `awk`, what is fed to one) seems to read or write."""
        written: set[str] = set()
        if _RUNS_CODE.fullmatch(program) or runs_code(program):
            for place in self._written_in_code((*words, *fed)):
                written.add(place.real)
                yield self.write(place, f"{program} may write {place.real}")
        for text, writes in files_in_code(program, words, fed):
            for path in (text, *in_urls(text)):
                place = self._place_in_code(path)
                if place is not None and place.real not in written:
                    kind = PermissionKind.WRITE if writes else PermissionKind.READ
                    yield self._by_code(place, kind, program)

    def _by_code(self, place: Place, kind: PermissionKind, program: str) -> Touch:
        if self.world.contains(place):
            return self.secret(place, kind, program)
        if kind is PermissionKind.WRITE:
            return self.write(place, f"{program} may write {place.real}")
        return self.read(place, f"{program} may read {place.real}")

    def _place_in_code(self, text: str) -> Place | None:
        """Give where a text of code leads, when it may be a path that matters."""
        if text.strip("/.") == "" or "://" in text or not leads_somewhere(text):
            return None
        if text.startswith("~/"):
            text = self.world.home + text[1:]
        if "\n" in text or len(text) > 4096:
            return None
        place = self.world.place(text, self.cwd)
        if re.search(r"\s", text) and not os.path.lexists(place.named):
            return None
        return place if self._is_path(place, text) else None

    def _written_in_code(self, words: Sequence[Word]) -> Iterator[Place]:
        for word in words:
            if word.plain or not _WRITES_IN_CODE.search(word.text):
                continue
            for match in _PATH_IN_CODE.finditer(word.text):
                text = self.world.home + match[0][1:] if match[0].startswith("~") else match[0]
                place = self.world.place(text, self.cwd)
                if self._is_path(place, text):
                    yield place

    def _places(self, word: Word, text: str, *, itself: bool = False) -> Iterator[Place]:
        if text == "~" or text.startswith("~/"):
            text = self.world.home + text[1:]
        found = [text] if text else []
        if word.glob and text == word.text:
            with contextlib.suppress(NotStatic):
                found = [name.text for name in self.world.expand(word, self.cwd)]
        for name in found:
            yield self.world.entry(name, self.cwd) if itself else self.world.place(name, self.cwd)

    def _is_path(self, place: Place, text: str) -> bool:
        """Tell whether a word is worth asking about: it leads out of the project or to a secret in it."""
        if "\n" in text or len(text) > 4096 or "\0" in text or self.world.is_open(place):
            return False
        if place.named.startswith(("/dev/tcp/", "/dev/udp/")):
            return False
        return not self.world.contains(place) or is_secret(place.real) or is_secret(place.named)

    def _is_taken_away(self, program: str, place: Place, is_target: bool) -> bool:
        """Tell whether the project itself is removed or renamed, which changes the directory around it."""
        return (
            place.real == self.world.project and program in _REMOVES and not (program == "mv" and is_target)
        )

    def _touch(
        self, program: str, place: Place, option: str, at: int, operands: list[int], words: Sequence[Word]
    ) -> Touch:
        writes = self._writes(program, option, at, operands, words)
        if place.real == self.world.project:
            holder = os.path.dirname(place.real) or "/"
            return self.write(Place(holder, holder), f"{program} changes what {holder} holds", folder=True)
        if self.world.contains(place):
            kind = PermissionKind.WRITE if writes else PermissionKind.READ
            return self.secret(place, kind, program)
        if writes:
            return self.write(place, f"{program} may write {place.real}")
        return self.read(place, f"{program} reads {place.real}")

    def _writes(self, program: str, option: str, at: int, operands: list[int], words: Sequence[Word]) -> bool:
        if program in ("tar", "bsdtar") and not option.startswith(("-C", "--directory", "--one-top-level")):
            return _is_archive_written(words)
        if option:
            letter = option.lstrip("-")
            if letter in words_of("programs.txt", f"not written by {program}"):
                return False
            if (letter[-1:] if _CLUSTER.fullmatch(option) else letter) in words_of(
                "programs.txt", f"written by {program}"
            ):
                return True
            if _WRITING_OPTIONS.fullmatch(option) or (
                program == "git" and option == "--file" and words[0].text == "config"
            ):
                return True
            if option.startswith("--") and "=" in words[at].text:
                return program not in words_of("programs.txt", "reads operands")
        if program in _LAST_IS_TARGET:
            return (
                bool(operands)
                and at == operands[-1]
                and not any(
                    word.text.startswith(("-t", "--target")) and program in ("cp", "ln", "install")
                    for word in words
                )
            )
        if program in _SECOND_IS_TARGET:
            return len(operands) > 1 and at == operands[-1]
        if program == "find":
            return any(word.text in ("-delete", "-exec", "-execdir", "-ok", "-okdir") for word in words)
        if in_place := words_of("programs.txt", f"in place {program}"):
            return any(re.fullmatch(pattern, word.text) for pattern in in_place for word in words)
        if program == "git":
            return any(
                word.text
                in (
                    "clean",
                    "checkout",
                    "reset",
                    "worktree",
                    "clone",
                    "init",
                    "bundle",
                    "archive",
                    "format-patch",
                    "apply",
                    "restore",
                    "submodule",
                )
                for word in words
            )
        return (
            _module(program, words, at) not in words_of("programs.txt", "reads operands") or program == "zip"
        )

    def write(self, place: Place, reason: str, *, folder: bool = False) -> Touch:
        """Give the touch of a write to a path; outside the project a person is asked for the directory."""
        outside = not self.world.contains(place)
        sealed = next((name for path in place.spellings if (name := protected_by(path))), "")
        target = self._folder(place, folder) if outside else place.real
        too_wide = (
            is_inside(self.world.home, target) or is_inside(self.world.project, target) or target == "/"
        )
        return Touch(
            PermissionKind.WRITE,
            target,
            f"{reason}; {sealed} is protected" if sealed else reason,
            paths=place.spellings,
            outside=outside,
            risk=Risk.HIGH if sealed or (outside and too_wide) else Risk.MEDIUM,
            lasting=not sealed and not (outside and too_wide),
            is_folder=outside,
            sealed=f"{sealed} is protected" if sealed else "",
        )

    def _folder(self, place: Place, folder: bool) -> str:
        if folder or os.path.isdir(place.real):
            return place.real
        return os.path.dirname(place.real) or "/"

    def read(self, place: Place, reason: str) -> Touch:
        """Give the touch of reading a path outside the project, or a file that may hold secrets."""
        if any(is_secret(path) for path in place.spellings):
            return self.secret(place, PermissionKind.READ, "the command")
        is_folder = os.path.isdir(place.real)
        too_wide = is_folder and (
            is_inside(self.world.home, place.real) or is_inside(self.world.project, place.real)
        )
        return Touch(
            PermissionKind.READ,
            place.real,
            reason,
            place.spellings,
            True,
            lasting=not too_wide,
            is_folder=is_folder,
        )

    def secret(self, place: Place, kind: PermissionKind, who: str) -> Touch:
        """Give the touch of a file that may hold secrets: no rule covers it."""
        return Touch(
            kind,
            place.real,
            f"{who} touches {os.path.basename(place.named)}, which may hold secrets",
            place.spellings,
            not self.world.contains(place),
            Risk.HIGH,
            lasting=False,
            sealed=f"{os.path.basename(place.named)} may hold secrets",
        )

    def _known(self, program: str, arguments: list[str]) -> Iterator[Touch]:
        """Give directories that a program is known to change without naming them."""
        place = next(iter(words_of("programs.txt", f"changes {program.partition('.')[0]}")), "")
        if place and not _LOOKS & set(arguments):
            yield self.write(Place(place, place), f"{program} changes {place}", folder=True)
        home = Place(self.world.home, self.world.home)
        if (
            program == "git"
            and ("--global" in arguments or "--system" in arguments)
            and "config" in arguments
        ):
            yield self.write(home, "git config --global changes the settings of the user", folder=True)
        if program in ("npm", "yarn", "pnpm") and (
            {"-g", "--global", "--location=global"} & set(arguments) or arguments[:1] == ["link"]
        ):
            yield self.write(
                Place("/usr/local", "/usr/local"), f"{program} installs for the whole machine", folder=True
            )
        if program in ("pip", "pip3") and "--user" in arguments:
            yield self.write(home, "pip installs below home", folder=True)
        if program == "crontab" and not arguments:
            return


def _module(program: str, words: Sequence[Word], at: int) -> str:
    """Give the module that `python -m MODULE` hands the word at `at` to; else the program itself."""
    texts = [word.text for word in words]
    if not program.startswith("python") or "-m" not in texts[: max(at - 1, 0)]:
        return program
    return texts[texts.index("-m") + 1]


def _is_archive_written(words: Sequence[Word]) -> bool:
    """Tell whether tar creates or extracts (both may write paths it names)."""
    modes = [word.text for word in words[:1] if not word.text.startswith("-")] + [
        word.text for word in words if re.match(r"-[A-Za-z]", word.text)
    ]
    return any(char in mode for mode in modes for char in "cruxA") or any(
        word.text in ("--create", "--extract", "--get", "--append", "--update") for word in words
    )


def deletes_too_much(words: Sequence[Word], world: World, cwd: str) -> str:
    """Say why a recursive delete must always be asked for; "" when it need not."""
    program = base_name(words[0].text)
    flags = [word.text for word in words[1:] if word.text.startswith("-")]
    recursive = any(flag == "--recursive" or re.fullmatch(r"-[A-Za-z]*[rR][A-Za-z]*", flag) for flag in flags)
    if program == "find":
        recursive = any(word.text in ("-delete", "rm") for word in words)
    if not recursive or program not in ("rm", "find", "srm", "trash", "chmod", "chown", "shred"):
        return ""
    for word in words[1:]:
        if word.text.startswith("-"):
            continue
        if not word.static:
            return "a recursive change of a path that is not known"
        if (wide := _too_wide(word, world, cwd, program)) != "":
            return wide
        if program == "find" and not word.text.startswith((".", "/")):
            break
    return ""


def _too_wide(word: Word, world: World, cwd: str, program: str) -> str:
    text = word.text
    stem = (
        text[: -len("*")].rstrip("./") or "/"
        if word.glob and re.fullmatch(r"(.*/)?\.?\*", text) and text.startswith("/")
        else text
    )
    if word.glob and re.fullmatch(r"(\./)?\.?\*", text):
        stem = "."
    elif word.glob and text.endswith("/*"):
        stem = text[:-2] or "/"
    place = world.place(stem, cwd)
    for real in place.spellings:
        if is_inside(world.project, real) and program != "find":
            return "a recursive change of the project or of what holds it"
        if is_inside(world.home, real) or (
            program == "find" and real != world.project and is_inside(world.project, real)
        ):
            return "a recursive change of home or of what holds it"
    return ""


def network_touches(use: Network, program: str) -> Iterator[Touch]:
    """Give a touch for each host a command talks to."""
    for host in use.hosts:
        target = f"raw:{host}" if use.raw else host
        reason = f"{program} talks to {host}" if host != "*" else f"{program} uses the network"
        yield Touch(PermissionKind.NETWORK, target, reason, lasting=not use.raw and host != "*", outside=True)


def is_shell(program: str) -> bool:
    """Tell whether a program runs shell scripts."""
    return base_name(program) in SHELLS
